// Package contract is what the Go clients share: which calls they make, and how they tell what their application got.
// The contract is reattach-client/1 (docs/clients.md).
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
	After     string         `json:"after"`
}

const unlessGiven = `[{"label": "call", "tool": "reattach_emit",
	"arguments": {"count": 10, "interval_ms": 50, "label": "call"}}]`

var writing sync.Mutex

// Calls are those to make.
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

// All makes every call, each when the one that it comes after is over, and tells how each ended.
func All(calls []Call, call func(Call) (any, error)) {
	over := make(map[string]chan struct{})
	for _, each := range calls {
		over[each.Label] = make(chan struct{})
	}
	var ended sync.WaitGroup
	for _, each := range calls {
		ended.Go(func() {
			defer close(over[each.Label])
			if each.After != "" {
				<-over[each.After]
			}
			result, err := call(each)
			if err != nil {
				Tell(map[string]any{"error": err.Error(), "call": each.Label})
				return
			}
			Tell(map[string]any{"result": result, "call": each.Label})
		})
	}
	ended.Wait()
}
