// A client on mcp-go, by its defaults.
//
// It keeps to the revisions that have sessions: there is nothing to resume in the newer one. By its defaults the SDK
// opens no standalone stream.
//
//	client URL
package main

import (
	"context"
	"encoding/json"
	"os"

	"github.com/mark3labs/mcp-go/client"
	"github.com/mark3labs/mcp-go/client/transport"
	"github.com/mark3labs/mcp-go/mcp"
	"reattach/tests/clients/contract"
)

func run(ctx context.Context, url string) error {
	calls, err := contract.Calls()
	if err != nil {
		return err
	}
	http, err := transport.NewStreamableHTTP(url)
	if err != nil {
		return err
	}
	session := client.NewClient(http, client.WithProtocolVersion(mcp.LATEST_LEGACY_PROTOCOL_VERSION))
	session.OnNotification(func(notification mcp.JSONRPCNotification) {
		if notification.Method != "notifications/message" {
			return
		}
		params, err := json.Marshal(notification.Params)
		if err != nil {
			contract.Tell(map[string]any{"event": err.Error()})
			return
		}
		contract.Tell(map[string]any{"applied": json.RawMessage(params)})
	})
	session.OnConnectionLost(func(err error) { contract.Tell(map[string]any{"event": err.Error()}) })
	if err := session.Start(ctx); err != nil {
		return err
	}
	var initialize mcp.InitializeRequest
	initialize.Params.ClientInfo = mcp.Implementation{Name: "reattach-client", Version: "1"}
	if _, err := session.Initialize(ctx, initialize); err != nil {
		return err
	}
	var level mcp.SetLevelRequest
	level.Params.Level = mcp.LoggingLevelDebug
	if err := session.SetLevel(ctx, level); err != nil {
		return err
	}
	contract.All(calls, func(call contract.Call) (any, error) {
		var request mcp.CallToolRequest
		request.Params.Name = call.Tool
		request.Params.Arguments = call.Arguments
		return session.CallTool(ctx, request)
	})
	return session.Close()
}

func main() {
	if err := run(context.Background(), os.Args[1]); err != nil {
		contract.Tell(map[string]any{"error": err.Error()})
		os.Exit(1)
	}
}
