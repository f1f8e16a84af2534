package counting

import (
	"fmt"
	"net/http/httptest"
	"os"
	"testing"
	"time"
)

var oracle *Oracle

func TestMain(m *testing.M) {
	var err error
	if oracle, err = StartOracle(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	}
	code := m.Run()
	if err := oracle.Close(); err != nil && code == 0 {
		fmt.Fprintln(os.Stderr, "the oracle:", err)
		code = 1
	}
	os.Exit(code)
}

// start starts a server with a run of its own.
func start(t *testing.T) (*Server, *Recorder) {
	server := NewServer()
	http := httptest.NewServer(server)
	t.Cleanup(http.CloseClientConnections)
	return server, &Recorder{run: oracle.Begin(t), url: http.URL, begun: time.Now()}
}

// callAndCut calls, and cuts the connection after some messages; the server sends one more before it sees that.
func callAndCut(client *Client, label string, count, after int) *Exchange {
	return client.Call(Count{Label: label, Count: count, Waits: after + 2}).Until(after).Cut()
}

// goOn goes on from where a call was cut, to its end.
func goOn(client *Client, call *Exchange) {
	client.Settle(call, client.Resume(call.Cursor).Drain())
}

func TestACallGoesOnWhereItWasCut(t *testing.T) {
	server, recorder := start(t)
	client := Open(t, recorder)
	call := callAndCut(client, "apples", 5, 2)
	server.GoOn() // what it sends now it sends to nobody
	recorder.run.Judge(t, "ask")
	goOn(client, call)
	recorder.run.Judge(t, "end", "EVT-1", "DEL-1", "DEL-2", "DEL-6", "ATT-4")
}

func TestCallsOfOneSessionDoNotMix(t *testing.T) {
	server, recorder := start(t)
	client := Open(t, recorder)
	apples, pears := callAndCut(client, "apples", 4, 1), callAndCut(client, "pears", 4, 1)
	server.GoOn()
	goOn(client, apples)
	goOn(client, pears)
	recorder.run.Judge(t, "end", "DEL-3", "DEL-5")
}

func TestAnotherSessionsCursorBringsNothingOfIt(t *testing.T) {
	server, recorder := start(t)
	one, other := Open(t, recorder), Open(t, recorder)
	theirs := callAndCut(one, "apples", 3, 1)
	callAndCut(other, "pears", 3, 1)
	server.GoOn()
	answer := other.Resume(theirs.Cursor).Drain()
	recorder.run.Judge(t, "end", "SES-5")
	if answer.response.StatusCode != 400 {
		t.Errorf("it was answered %d", answer.response.StatusCode)
	}
}
