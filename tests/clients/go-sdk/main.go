// A client on the official Go SDK, by its defaults.
//
// It asks for the newest revision that has sessions: there is nothing to resume in the one after.
//
//	client URL
package main

import (
	"context"
	"os"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"reattach/tests/clients/contract"
)

const revision = "2025-11-25"

func run(ctx context.Context, url string) error {
	calls, err := contract.Calls()
	if err != nil {
		return err
	}
	client := mcp.NewClient(&mcp.Implementation{Name: "reattach-client", Version: "1"}, &mcp.ClientOptions{
		LoggingMessageHandler: func(_ context.Context, said *mcp.LoggingMessageRequest) {
			contract.Tell(map[string]any{"applied": said.Params})
		},
	})
	transport := &mcp.StreamableClientTransport{Endpoint: url}
	session, err := client.Connect(ctx, transport, &mcp.ClientSessionOptions{ProtocolVersion: revision})
	if err != nil {
		return err
	}
	if err := session.SetLoggingLevel(ctx, &mcp.SetLoggingLevelParams{Level: "debug"}); err != nil {
		return err
	}
	contract.All(calls, func(call contract.Call) (any, error) {
		return session.CallTool(ctx, &mcp.CallToolParams{Name: call.Tool, Arguments: call.Arguments})
	})
	return session.Close()
}

func main() {
	if err := run(context.Background(), os.Args[1]); err != nil {
		contract.Tell(map[string]any{"error": err.Error()})
		os.Exit(1)
	}
}
