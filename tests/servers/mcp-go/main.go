// A small, honest server on mcp-go, for the probe.
//
// It keeps to the SDK's public interface and its defaults. What it adds is what the SDK leaves to the deployment: the
// event store, by default the SDK's own as its documentation says, and tools that send numbered messages, so that an
// observer can tell what is missing. The tools are those of model/reattach/live/demo_server.py; the SDK has no way to
// close a request's stream early, so there is no test_reconnection.
//
//	server --port 8000
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"log"
	"log/slog"
	"strings"
	"time"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"
)

const (
	host = "127.0.0.1"
	path = "/mcp"
	// How long each operation of the slow store waits.
	storeDelay = 2 * time.Millisecond
)

// The arguments of the tools; the schemas below bound them, and the SDK checks them against these.
type emitArguments struct {
	Count      int    `json:"count"`
	IntervalMS int    `json:"interval_ms"`
	Size       int    `json:"size"`
	Label      string `json:"label"`
}

type pushArguments struct {
	Count int    `json:"count"`
	Label string `json:"label"`
}

var emitSchema = json.RawMessage(`{
	"type": "object",
	"properties": {
		"count": {"type": "integer", "minimum": 0, "maximum": 10000, "description": "How many messages to send."},
		"interval_ms": {"type": "integer", "minimum": 0, "maximum": 60000, "description": "Milliseconds before each message."},
		"size": {"type": "integer", "minimum": 0, "maximum": 1000000, "description": "Bytes of padding in each message."},
		"label": {"type": "string", "description": "Repeated in every message."}
	},
	"required": ["count"]
}`)

var pushSchema = json.RawMessage(`{
	"type": "object",
	"properties": {
		"count": {"type": "integer", "minimum": 0, "maximum": 10000, "description": "How many messages to send."},
		"label": {"type": "string", "description": "Repeated in every message."}
	},
	"required": ["count"]
}`)

// The tools, and whether they stop when the SDK says that their request was cancelled.
type tools struct{ heedsContext bool }

func (t tools) emit(ctx context.Context, _ mcp.CallToolRequest, arguments emitArguments) (*mcp.CallToolResult, error) {
	padding := strings.Repeat("x", arguments.Size)
	for number := 1; number <= arguments.Count; number++ {
		if err := t.wait(ctx, time.Duration(arguments.IntervalMS)*time.Millisecond); err != nil {
			return nil, err
		}
		message := logMessage(map[string]any{"label": arguments.Label, "n": number, "padding": padding})
		if err := server.ServerFromContext(ctx).SendLogMessageToClient(ctx, message); err != nil {
			return nil, fmt.Errorf("message %d of %d was not sent: %w", number, arguments.Count, err)
		}
	}
	return mcp.NewToolResultText(fmt.Sprintf("sent %d", arguments.Count)), nil
}

func (tools) push(ctx context.Context, _ mcp.CallToolRequest, arguments pushArguments) (*mcp.CallToolResult, error) {
	// What is not of a request is sent by the session's id. The SDK puts both into one channel of the session.
	session := server.ClientSessionFromContext(ctx).SessionID()
	for number := 1; number <= arguments.Count; number++ {
		message := logMessage(map[string]any{"label": arguments.Label, "n": number})
		if err := server.ServerFromContext(ctx).SendLogMessageToSpecificClient(session, message); err != nil {
			return nil, fmt.Errorf("message %d of %d was not sent: %w", number, arguments.Count, err)
		}
	}
	return mcp.NewToolResultText(fmt.Sprintf("sent %d", arguments.Count)), nil
}

func (t tools) wait(ctx context.Context, duration time.Duration) error {
	if !t.heedsContext {
		time.Sleep(duration)
		return nil
	}
	select {
	case <-time.After(duration):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func logMessage(data map[string]any) mcp.LoggingMessageNotification {
	return mcp.NewLoggingMessageNotification(mcp.LoggingLevelInfo, "reattach", data)
}

// The SDK's store, each operation of which waits first, as one over a network would.
type slowStore struct{ server.EventStore }

func (s slowStore) StoreEvent(ctx context.Context, sessionID, streamID string, message json.RawMessage) (string, error) {
	time.Sleep(storeDelay)
	return s.EventStore.StoreEvent(ctx, sessionID, streamID, message)
}

func (s slowStore) ReplayEventsAfter(
	ctx context.Context, sessionID, lastEventID string, send func(eventID string, message json.RawMessage) error,
) (string, error) {
	time.Sleep(storeDelay)
	return s.EventStore.ReplayEventsAfter(ctx, sessionID, lastEventID, send)
}

func (s slowStore) PurgeSession(ctx context.Context, sessionID string) error {
	time.Sleep(storeDelay)
	return s.EventStore.PurgeSession(ctx, sessionID)
}

func eventStore(name string) (server.EventStore, error) {
	switch name {
	case "shared":
		return server.NewInMemoryEventStore(), nil
	case "slow":
		return slowStore{server.NewInMemoryEventStore()}, nil
	case "none":
		return nil, nil
	}
	return nil, fmt.Errorf("no store %q: shared, slow or none", name)
}

func main() {
	port := flag.Int("port", 0, "the port to listen on")
	storeName := flag.String("store", "shared", "the event store: shared, slow or none")
	stateful := flag.Bool("stateful", false, "have the SDK remember which sessions it issued and ended")
	heedsContext := flag.Bool("heeds-context", false, "the tools stop when the SDK cancels their context")
	flag.Parse()
	store, err := eventStore(*storeName)
	if err != nil {
		log.Fatal(err)
	}
	mcpServer := server.NewMCPServer(
		"reattach-mcp-go", "1",
		server.WithToolCapabilities(false),
		server.WithLogging(),
		server.WithInputSchemaValidation(),
	)
	handlers := tools{heedsContext: *heedsContext}
	mcpServer.AddTool(
		mcp.NewToolWithRawSchema(
			"reattach_emit",
			"Sends numbered log notifications on the stream of this request, then the result.",
			emitSchema,
		),
		mcp.NewTypedToolHandler(handlers.emit),
	)
	mcpServer.AddTool(
		mcp.NewToolWithRawSchema(
			"reattach_push",
			"Sends numbered log notifications on the standalone stream of the session, then the result.",
			pushSchema,
		),
		mcp.NewTypedToolHandler(handlers.push),
	)
	httpServer := server.NewStreamableHTTPServer(
		mcpServer,
		server.WithEndpointPath(path),
		server.WithStateful(*stateful),
		server.WithEventStore(store),
		// By default the SDK writes a line to stderr for each connection that breaks under it.
		server.WithStreamableHTTPLogger(slog.New(slog.DiscardHandler)),
	)
	log.Fatal(httpServer.Start(fmt.Sprintf("%s:%d", host, *port)))
}
