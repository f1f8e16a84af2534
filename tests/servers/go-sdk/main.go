// A small, honest server on the official Go SDK, for the probe.
//
// It keeps to the SDK's public interface and its defaults. What it adds is what the SDK leaves to the deployment: the
// event store, by default the SDK's own MemoryEventStore as its documentation says, and tools that send numbered
// messages, so that an observer can tell what is missing. The tools are those of model/reattach/live/demo_server.py.
//
//	server --port 8000
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"iter"
	"log"
	"net/http"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

const (
	host = "127.0.0.1"
	path = "/mcp"
	// How long test_reconnection holds its response back once the stream is closed, and what it tells the client to wait.
	away       = 100 * time.Millisecond
	retryAfter = 10 * time.Millisecond
	// How long each operation of the slow store waits.
	storeDelay = 2 * time.Millisecond
	// The bytes that the small store holds, of all sessions together: some hundred messages.
	smallBytes = 20_000
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

type noArguments struct{}

var emitTool = &mcp.Tool{
	Name:        "reattach_emit",
	Description: "Sends numbered log notifications on the stream of this request, then the result.",
	InputSchema: json.RawMessage(`{
		"type": "object",
		"properties": {
			"count": {"type": "integer", "minimum": 0, "maximum": 10000, "description": "How many messages to send."},
			"interval_ms": {"type": "integer", "minimum": 0, "maximum": 60000, "description": "Milliseconds before each message."},
			"size": {"type": "integer", "minimum": 0, "maximum": 1000000, "description": "Bytes of padding in each message."},
			"label": {"type": "string", "description": "Repeated in every message."}
		},
		"required": ["count"]
	}`),
}

var pushTool = &mcp.Tool{
	Name:        "reattach_push",
	Description: "Sends numbered log notifications on the standalone stream of the session, then the result.",
	InputSchema: json.RawMessage(`{
		"type": "object",
		"properties": {
			"count": {"type": "integer", "minimum": 0, "maximum": 10000, "description": "How many messages to send."},
			"label": {"type": "string", "description": "Repeated in every message."}
		},
		"required": ["count"]
	}`),
}

var reconnectionTool = &mcp.Tool{
	Name:        "test_reconnection",
	Description: "Closes the stream of this request before its response.",
}

func emit(ctx context.Context, req *mcp.CallToolRequest, arguments emitArguments) (*mcp.CallToolResult, any, error) {
	padding := strings.Repeat("x", arguments.Size)
	for number := 1; number <= arguments.Count; number++ {
		if err := wait(ctx, time.Duration(arguments.IntervalMS)*time.Millisecond); err != nil {
			return nil, nil, err
		}
		data := map[string]any{"label": arguments.Label, "n": number, "padding": padding}
		if err := send(ctx, req.Session, data); err != nil {
			return nil, nil, err
		}
	}
	return text(fmt.Sprintf("sent %d", arguments.Count)), nil, nil
}

func push(_ context.Context, req *mcp.CallToolRequest, arguments pushArguments) (*mcp.CallToolResult, any, error) {
	for number := 1; number <= arguments.Count; number++ {
		// The SDK sends on the standalone stream what is sent outside the context of a request.
		data := map[string]any{"label": arguments.Label, "n": number}
		if err := send(context.Background(), req.Session, data); err != nil {
			return nil, nil, err
		}
	}
	return text(fmt.Sprintf("sent %d", arguments.Count)), nil, nil
}

func reconnection(ctx context.Context, req *mcp.CallToolRequest, _ noArguments) (*mcp.CallToolResult, any, error) {
	if req.Extra != nil && req.Extra.CloseSSEStream != nil {
		req.Extra.CloseSSEStream(mcp.CloseSSEStreamArgs{RetryAfter: retryAfter})
		if err := wait(ctx, away); err != nil {
			return nil, nil, err
		}
	}
	return text("done"), nil, nil
}

// Sends one log message; the SDK drops it if the client asked for a higher level, or for none.
func send(ctx context.Context, session *mcp.ServerSession, data map[string]any) error {
	// Log messages are the older revisions' way to send something during a call, and deprecated since 2026-07-28.
	return session.Log(ctx, &mcp.LoggingMessageParams{Level: "info", Logger: "reattach", Data: data})
}

func text(content string) *mcp.CallToolResult {
	return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: content}}}
}

// Waits, or returns the reason why the request was cancelled.
func wait(ctx context.Context, duration time.Duration) error {
	select {
	case <-time.After(duration):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// The SDK's store, each operation of which waits first, as one over a network would.
type slowStore struct{ mcp.EventStore }

func (s slowStore) Open(ctx context.Context, sessionID, streamID string) error {
	time.Sleep(storeDelay)
	return s.EventStore.Open(ctx, sessionID, streamID)
}

func (s slowStore) Append(ctx context.Context, sessionID, streamID string, data []byte) error {
	time.Sleep(storeDelay)
	return s.EventStore.Append(ctx, sessionID, streamID, data)
}

func (s slowStore) After(ctx context.Context, sessionID, streamID string, index int) iter.Seq2[[]byte, error] {
	time.Sleep(storeDelay)
	return s.EventStore.After(ctx, sessionID, streamID, index)
}

func (s slowStore) SessionClosed(ctx context.Context, sessionID string) error {
	time.Sleep(storeDelay)
	return s.EventStore.SessionClosed(ctx, sessionID)
}

func eventStore(name string) (mcp.EventStore, error) {
	store := mcp.NewMemoryEventStore(nil)
	switch name {
	case "shared":
		return store, nil
	case "small":
		store.SetMaxBytes(smallBytes)
		return store, nil
	case "slow":
		return slowStore{store}, nil
	case "none":
		return nil, nil
	}
	return nil, fmt.Errorf("no store %q: shared, small, slow or none", name)
}

func main() {
	port := flag.Int("port", 0, "the port to listen on")
	storeName := flag.String("store", "shared", "the event store: shared, small, slow or none")
	stateless := flag.Bool("stateless", false, "serve without sessions")
	flag.Parse()
	store, err := eventStore(*storeName)
	if err != nil {
		log.Fatal(err)
	}
	server := mcp.NewServer(&mcp.Implementation{Name: "reattach-go-sdk", Version: "1"}, nil)
	mcp.AddTool(server, emitTool, emit)
	mcp.AddTool(server, pushTool, push)
	mcp.AddTool(server, reconnectionTool, reconnection)
	options := &mcp.StreamableHTTPOptions{EventStore: store, Stateless: *stateless}
	handler := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server }, options)
	mux := http.NewServeMux()
	mux.Handle(path, handler)
	log.Fatal(http.ListenAndServe(fmt.Sprintf("%s:%d", host, *port), mux))
}
