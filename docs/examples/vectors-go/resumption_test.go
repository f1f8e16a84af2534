package resumption

import (
	"cmp"
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"testing"
)

var folder = cmp.Or(os.Getenv("VECTORS"), "../../../spec/vectors")

func read(t *testing.T, into any, path ...string) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(append([]string{folder}, path...)...))
	if err == nil {
		err = json.Unmarshal(text, into)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// run asks every vector of a kind, a test for each, and compares the answer with what it expects.
func run[Asked, Answer any](t *testing.T, kind string, answer func(Asked) Answer) {
	var manifest struct{ Cases []struct{ File string } }
	read(t, &manifest, kind, "manifest.json")
	for _, each := range manifest.Cases {
		t.Run(each.File, func(t *testing.T) {
			var asked Asked
			var vector struct{ Expect Answer }
			read(t, &asked, kind, each.File)
			read(t, &vector, kind, each.File)
			if got := answer(asked); !reflect.DeepEqual(got, vector.Expect) {
				t.Errorf("got %+v, expected %+v", got, vector.Expect)
			}
		})
	}
}

func TestCursor(t *testing.T) {
	type asked struct {
		Headers []string `json:"last_event_id"`
	}
	run(t, "cursor", func(vector asked) Cursor { return ParseCursor(vector.Headers) })
}

func TestDecision(t *testing.T) {
	run(t, "decision", Decide)
}
