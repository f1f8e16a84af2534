// Package counting is the server under test: a tool on the official SDK, and an event store of its own.
package counting

import (
	"context"
	"errors"
	"iter"
	"net/http"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// stream names a stream: its id alone may be another session's too.
type stream struct{ session, id string }

func nameOf(session, id string) stream {
	return stream{session, id}
}

// Events holds the events of every session, by stream.
type Events struct {
	mu     sync.Mutex
	stored map[stream][][]byte
}

func (e *Events) Open(_ context.Context, session, id string) error {
	return nil
}

func (e *Events) Append(_ context.Context, session, id string, data []byte) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	name := nameOf(session, id)
	e.stored[name] = append(e.stored[name], data)
	return nil
}

// After gives what a stream has after the event with this index.
func (e *Events) After(_ context.Context, session, id string, index int) iter.Seq2[[]byte, error] {
	e.mu.Lock()
	events := e.stored[nameOf(session, id)]
	e.mu.Unlock()
	return func(yield func([]byte, error) bool) {
		if index >= len(events) {
			yield(nil, errors.New("no such event"))
			return
		}
		for _, data := range events[index+1:] {
			if !yield(data, nil) {
				return
			}
		}
	}
}

func (e *Events) SessionClosed(_ context.Context, session string) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	for name := range e.stored {
		if name.session == session {
			delete(e.stored, name)
		}
	}
	return nil
}

// Count is what the tool is asked for: so many numbered messages, the last ones only once it may go on.
type Count struct {
	Label string `json:"label"`
	Count int    `json:"count"`
	Waits int    `json:"waits"`
}

// Server has one tool, whose calls wait before one of their messages.
type Server struct {
	http.Handler
	goOn chan struct{}
	work sync.WaitGroup
}

// NewServer makes a server that nobody has called.
func NewServer() *Server {
	server := &Server{goOn: make(chan struct{})}
	implementation := mcp.NewServer(&mcp.Implementation{Name: "counting", Version: "1"}, nil)
	mcp.AddTool(implementation, &mcp.Tool{Name: "count"}, server.count)
	options := &mcp.StreamableHTTPOptions{EventStore: &Events{stored: map[stream][][]byte{}}}
	sdk := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return implementation }, options)
	server.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		server.work.Add(1)
		defer server.work.Done()
		sdk.ServeHTTP(w, r)
	})
	return server
}

// GoOn lets the calls that wait go on, and returns once no call runs and no response is open.
func (s *Server) GoOn() {
	close(s.goOn)
	s.work.Wait()
}

func (s *Server) count(ctx context.Context, req *mcp.CallToolRequest, asked Count) (*mcp.CallToolResult, any, error) {
	s.work.Add(1)
	defer s.work.Done()
	for n := 1; n <= asked.Count; n++ {
		if n == asked.Waits {
			<-s.goOn
		}
		said := &mcp.LoggingMessageParams{Level: "info", Data: map[string]any{"label": asked.Label, "n": n}}
		if err := req.Session.Log(ctx, said); err != nil {
			return nil, nil, err
		}
	}
	return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "done"}}}, nil, nil
}
