package counting

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"mime"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"
)

const version = "2025-11-25"

// Recorder is what all clients of one server share: the run, the clock, and the numbers of the connections.
type Recorder struct {
	run         *Run
	url         string
	begun       time.Time
	connections int
}

func (r *Recorder) tell(kind string, connection int, more Line) {
	line := Line{"type": kind, "at": time.Since(r.begun).Milliseconds(), "connection": connection}
	for key, value := range more {
		line[key] = value
	}
	r.run.Tell(line)
}

// Client has a session of its own, and tells the oracle what it sees, at the point where it takes it.
type Client struct {
	t        *testing.T
	recorder *Recorder
	session  string
	ids      int
}

// Message is what the tests look at in a JSON-RPC message.
type Message struct {
	Params struct{ Data struct{ N int } }
	Result json.RawMessage
}

// Exchange is one request and its answer.
type Exchange struct {
	client     *Client
	connection int
	response   *http.Response
	lines      *bufio.Reader
	cancel     context.CancelFunc
	over       bool
	// Cursor is the id of the last event that was taken.
	Cursor string
}

// Open opens a session.
func Open(t *testing.T, recorder *Recorder) *Client {
	client := &Client{t: t, recorder: recorder}
	about := Line{"name": "example", "version": "1"}
	client.post("initialize", Line{"protocolVersion": version, "capabilities": Line{}, "clientInfo": about}, nil).Drain()
	client.post("notifications/initialized", nil, nil).Drain()
	client.post("logging/setLevel", Line{"level": "debug"}, nil).Drain()
	return client
}

// Call calls the tool that sends numbered messages. What that will be is known, and told.
func (c *Client) Call(asked Count) *Exchange {
	var keys []string
	for n := 1; n <= asked.Count; n++ {
		keys = append(keys, fmt.Sprintf("%s#%d", asked.Label, n))
	}
	keys = append(keys, fmt.Sprintf("response:%d", c.ids+1))
	return c.post("tools/call", Line{"name": "count", "arguments": asked}, keys)
}

// Resume goes on with the stream of a cursor.
func (c *Client) Resume(cursor string) *Exchange {
	return c.exchange(http.MethodGet, nil, cursor, nil)
}

// Settle is the driver's word that a call was followed to its end.
func (c *Client) Settle(call, last *Exchange) {
	c.recorder.tell("settled", call.connection, Line{"last": last.connection})
}

func (c *Client) post(method string, params Line, keys []string) *Exchange {
	message := Line{"jsonrpc": "2.0", "method": method}
	if params != nil {
		message["params"] = params
	}
	if !strings.HasPrefix(method, "notifications/") {
		c.ids++
		message["id"] = c.ids
	}
	return c.exchange(http.MethodPost, message, "", keys)
}

func (c *Client) exchange(method string, message Line, cursor string, keys []string) *Exchange {
	c.recorder.connections++
	ctx, cancel := context.WithCancel(context.Background())
	e := &Exchange{client: c, connection: c.recorder.connections, cancel: cancel}
	body, err := json.Marshal(message)
	e.must(err)
	request, err := http.NewRequestWithContext(ctx, method, c.recorder.url, bytes.NewReader(body))
	e.must(err)
	request.Header.Set("Accept", "application/json, text/event-stream")
	request.Header.Set("Content-Type", "application/json")
	sent := Line{"method": method}
	if message != nil {
		sent["rpc_id"], sent["rpc_method"], sent["payload"] = message["id"], message["method"], message
	}
	if c.session != "" {
		request.Header.Set("Mcp-Session-Id", c.session)
		request.Header.Set("MCP-Protocol-Version", version)
		sent["session"], sent["revision"] = c.session, version
	}
	if cursor != "" {
		request.Header.Set("Last-Event-ID", cursor)
		sent["cursors"] = []string{cursor}
	}
	e.tell("request", sent)
	if keys != nil {
		e.tell("expect", Line{"keys": keys})
	}
	e.response, err = http.DefaultClient.Do(request)
	e.must(err)
	e.lines = bufio.NewReader(e.response.Body)
	kind, _, _ := mime.ParseMediaType(e.response.Header.Get("Content-Type"))
	seen := Line{"status": e.response.StatusCode, "content_type": kind}
	if session := e.response.Header.Get("Mcp-Session-Id"); session != "" {
		seen["session"], c.session = session, session
	}
	e.tell("response", seen)
	if kind != "text/event-stream" {
		e.whole()
	}
	return e
}

// whole takes an answer that is no event stream.
func (e *Exchange) whole() {
	text, err := io.ReadAll(e.lines)
	e.must(err)
	if len(text) > 0 {
		e.tell("body", Line{"payload": parsed(text), "size": len(text)})
	}
	e.end("server")
}

// Next takes the next message, past events without one; nil if the server has ended the answer.
func (e *Exchange) Next() *Message {
	for !e.over {
		block := Line{}
		var data []string
		for line := e.line(); line != ""; line = e.line() {
			name, value, _ := strings.Cut(line, ":")
			value = strings.TrimPrefix(value, " ")
			switch name {
			case "data":
				data = append(data, value)
			case "id":
				block["id"], e.Cursor = value, value
			case "event":
				block["event"] = value
			case "retry":
				if milliseconds, err := strconv.Atoi(value); err == nil {
					block["retry"] = milliseconds
				}
			}
		}
		if e.over || (len(block) == 0 && data == nil) {
			continue
		}
		text := []byte(strings.Join(data, "\n"))
		block["payload"], block["has_data"], block["size"] = parsed(text), len(text) > 0, len(text)
		e.tell("frame", block)
		var message Message
		if json.Unmarshal(text, &message) == nil {
			return &message
		}
	}
	return nil
}

// Until takes messages up to the one with this number.
func (e *Exchange) Until(n int) *Exchange {
	for message := e.Next(); message != nil && message.Params.Data.N != n; {
		message = e.Next()
	}
	return e
}

// Drain takes everything up to the response, or to the end.
func (e *Exchange) Drain() *Exchange {
	for message := e.Next(); message != nil && message.Result == nil; {
		message = e.Next()
	}
	return e.Cut()
}

// Cut cuts the connection, unless the server has ended the answer.
func (e *Exchange) Cut() *Exchange {
	if !e.over {
		e.end("client")
	}
	return e
}

// line takes a line of the event stream, or its end.
func (e *Exchange) line() string {
	line, err := e.lines.ReadString('\n')
	if err == io.EOF {
		e.end("server")
		return ""
	}
	e.must(err)
	return strings.TrimRight(line, "\r\n")
}

func (e *Exchange) end(by string) {
	e.over = true
	e.tell("closed", Line{"by": by, "clean": by == "server"})
	e.cancel()
	e.response.Body.Close()
}

func (e *Exchange) tell(kind string, more Line) {
	e.client.recorder.tell(kind, e.connection, more)
}

func (e *Exchange) must(err error) {
	if err != nil {
		e.client.t.Helper()
		e.client.t.Fatal(err)
	}
}

// parsed is the message in a text; nil if there is none.
func parsed(text []byte) any {
	if !json.Valid(text) {
		return nil
	}
	return json.RawMessage(text)
}
