package counting

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"
)

// Oracle is `reattach oracle` as a child process: observations in, findings and verdicts out.
type Oracle struct {
	process *exec.Cmd
	in      io.WriteCloser
	out     *json.Decoder
}

// Run is a server that is judged: the observations of all its clients, in the order in which they were made.
type Run struct {
	oracle   *Oracle
	name     string
	findings []Answer
}

// Line is a line for the oracle.
type Line map[string]any

// Answer is a line from the oracle: a finding, a verdict or an error.
type Answer struct {
	Type, Schema, Run   string
	Clause, Summary     string
	Right, Rule, Reason string
	Fails               bool
	Line                int
	Steps               []string
	Report              struct {
		Verdict string
		Clauses []struct{ ID, Outcome, Note string }
	}
}

// StartOracle starts the program that REATTACH names.
func StartOracle() (*Oracle, error) {
	program := os.Getenv("REATTACH")
	if program == "" {
		program = "reattach"
	}
	process := exec.Command(program, "oracle")
	process.Stderr = os.Stderr
	in, err := process.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := process.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := process.Start(); err != nil {
		return nil, err
	}
	oracle := &Oracle{process, in, json.NewDecoder(out)}
	var first Answer
	if err := oracle.out.Decode(&first); err != nil || first.Schema != "reattach-oracle/1" {
		return nil, fmt.Errorf("no oracle of this version: %v", err)
	}
	return oracle, nil
}

// Close ends the process. An error has its exit code: something was wrong, or nothing was looked at.
func (o *Oracle) Close() error {
	o.in.Close()
	for o.out.Decode(&Answer{}) == nil {
		// The last verdicts, of runs that a test did not end.
	}
	return o.process.Wait()
}

// Begin begins a run. All that passes between the server and its clients has to be told: it is `complete`.
func (o *Oracle) Begin(t *testing.T) *Run {
	run := &Run{oracle: o, name: t.Name()}
	run.Tell(Line{"schema": "reattach-trace/1", "revision": version, "complete": true})
	return run
}

// Tell writes a line.
func (r *Run) Tell(line Line) {
	written, err := json.Marshal(Line{"run": r.name, "line": line})
	if err == nil {
		_, err = r.oracle.in.Write(append(written, '\n'))
	}
	if err != nil {
		panic(err)
	}
}

// Judge asks for the verdict and fails the test if anything is wrong, or if a clause was not looked at: that nothing
// is wrong may mean that nothing happened.
func (r *Run) Judge(t *testing.T, word string, held ...string) {
	t.Helper()
	r.Tell(Line{"type": word})
	var verdict Answer
	for verdict.Type != "verdict" {
		verdict = Answer{}
		if err := r.oracle.out.Decode(&verdict); err != nil {
			t.Fatal(err)
		}
		switch {
		case verdict.Type == "error":
			t.Fatalf("line %d for the oracle: %s", verdict.Line, verdict.Reason)
		case verdict.Type == "finding" && verdict.Fails:
			steps := strings.Join(verdict.Steps, "\n")
			t.Errorf("%s: %s\nright: %s\n%s", verdict.Clause, verdict.Summary, verdict.Right, steps)
		}
	}
	outcomes := map[string]string{}
	for _, clause := range verdict.Report.Clauses {
		outcomes[clause.ID] = clause.Outcome
	}
	for _, clause := range held {
		if outcomes[clause] != "held" {
			t.Errorf("%s: %s", clause, outcomes[clause])
		}
	}
}
