// Package contract is what the Go clients share: which calls they are to make, and how they tell what their application
// got. contract.py beside it says what the lines are.
package contract

import (
	"encoding/json"
	"fmt"
	"os"
	"sync"
)

// Call is one that is to be made.
type Call struct {
	Label     string         `json:"label"`
	Tool      string         `json:"tool"`
	Arguments map[string]any `json:"arguments"`
}

const unlessGiven = `[{"label": "call", "tool": "reattach_emit",
	"arguments": {"count": 10, "interval_ms": 50, "label": "call"}}]`

var writing sync.Mutex

// Calls are those to make, all at once.
func Calls() ([]Call, error) {
	given := os.Getenv("REATTACH_CALLS")
	if given == "" {
		given = unlessGiven
	}
	var calls []Call
	err := json.Unmarshal([]byte(given), &calls)
	return calls, err
}

// Tell prints one line.
func Tell(said map[string]any) {
	line, err := json.Marshal(said)
	if err != nil {
		line, _ = json.Marshal(map[string]any{"error": err.Error()})
	}
	writing.Lock()
	defer writing.Unlock()
	fmt.Println(string(line))
}

// All makes every call at once, and tells how each ended.
func All(calls []Call, make func(Call) (any, error)) {
	var ended sync.WaitGroup
	for _, call := range calls {
		ended.Go(func() {
			result, err := make(call)
			if err != nil {
				Tell(map[string]any{"error": err.Error(), "call": call.Label})
				return
			}
			Tell(map[string]any{"result": result, "call": call.Label})
		})
	}
	ended.Wait()
}
