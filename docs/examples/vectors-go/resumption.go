// Package resumption is the cursor parser and the decision on a resumption, as chapters 4, 8 and 12 of the standard
// have them.
package resumption

import (
	"regexp"
	"strconv"
)

// Cursor is what the Last-Event-ID headers of a request say; without Presence "present" the rest means nothing.
type Cursor struct {
	Presence string `json:"presence"`
	Tag      string `json:"tag,omitempty"`
	Stream   int64  `json:"stream,omitempty"`
	Seq      int64  `json:"seq,omitempty"`
}

// Stream is one that is not forgotten: the seq of its birth, and that of its newest event.
type Stream struct{ Number, First, Last int64 }

// Event is one that the window holds; Prev is the seq before it on its stream.
type Event struct{ Seq, Stream, Prev int64 }

// Session is a living one, with its window oldest first.
type Session struct {
	Tag, Principal string
	Streams        []Stream
	Held           []Event
}

// Question is a server's state and a request for a view.
type Question struct {
	RefusalStatus int `json:"refusal_status"`
	Deployment    struct {
		Mode      string
		Stateless bool
	}
	Sessions map[string]Session
	Request  struct {
		OriginAllowed    bool `json:"origin_allowed"`
		Credential       string
		VersionSupported bool `json:"version_supported"`
		Session          *string
		Principal        string
		LastEventID      []string `json:"last_event_id"`
	}
}

// Range says from where to where a stream can be resumed.
type Range struct {
	Stream int64 `json:"stream"`
	Mark   int64 `json:"mark"`
	Last   int64 `json:"last"`
}

// Decision is the answer: fresh, re-attach, replay or refuse.
type Decision struct {
	Decision string `json:"decision"`
	Status   int    `json:"status"`
	Reason   string `json:"reason,omitempty"`
	Held     *Range `json:"held,omitempty"`
	Stream   int64  `json:"stream,omitempty"`
	Position int64  `json:"position,omitempty"`
}

const greatest = 1<<53 - 1

var eventID = regexp.MustCompile(`\A([A-Za-z0-9_-]{22,32})\.([1-9][0-9]{0,15})\.([1-9][0-9]{0,15})\z`)

// ParseCursor reads all the Last-Event-ID headers of a request.
func ParseCursor(headers []string) Cursor {
	if len(headers) == 0 {
		return Cursor{Presence: "absent"}
	}
	match := eventID.FindStringSubmatch(headers[0])
	if len(headers) > 1 || match == nil {
		return Cursor{Presence: "malformed"}
	}
	stream, _ := strconv.ParseInt(match[2], 10, 64) // sixteen digits fit
	seq, _ := strconv.ParseInt(match[3], 10, 64)
	if stream > greatest || seq > greatest {
		return Cursor{Presence: "malformed"}
	}
	return Cursor{"present", match[1], stream, seq}
}

// Decide takes a request through steps 0 to 10, in their order.
func Decide(asked Question) Decision {
	request := asked.Request
	switch {
	case !request.OriginAllowed:
		return refuse("origin-forbidden", 403, nil)
	case request.Credential == "missing":
		return refuse("unauthenticated", 401, nil)
	case request.Credential == "forbidden":
		return refuse("forbidden", 403, nil)
	case !request.VersionSupported:
		return refuse("version-unsupported", 400, nil)
	}
	cursor := ParseCursor(request.LastEventID)
	id := request.Session
	if id == nil {
		id = bearer(asked, cursor)
	}
	if id == nil {
		return refuse("session-missing", 400, nil)
	}
	session, lives := asked.Sessions[*id]
	if !lives || session.Principal != request.Principal {
		return refuse("session-unknown", 404, nil)
	}
	switch {
	case cursor.Presence == "absent":
		return Decision{Decision: "fresh", Status: 200}
	case cursor.Presence == "malformed":
		return refuse("cursor-malformed", 400, nil)
	case cursor.Tag != session.Tag:
		return refuse("cursor-foreign", asked.RefusalStatus, nil)
	}
	stream, known := find(session.Streams, cursor.Stream)
	if !known || asked.Deployment.Mode == "refuse" {
		return refuse("cursor-out-of-window", asked.RefusalStatus, nil)
	}
	mark, held := look(session.Held, stream, cursor.Seq)
	if asked.Deployment.Mode == "replay" {
		if mark != stream.First {
			return refuse("cursor-out-of-window", asked.RefusalStatus, nil)
		}
		return Decision{Decision: "replay", Status: 200, Stream: stream.Number, Position: mark}
	}
	within := &Range{stream.Number, mark, stream.Last}
	switch {
	case cursor.Seq > stream.Last:
		return refuse("cursor-ahead", asked.RefusalStatus, within)
	case cursor.Seq < mark:
		return refuse("cursor-out-of-window", asked.RefusalStatus, within)
	case cursor.Seq != mark && !held:
		return refuse("cursor-mismatch", asked.RefusalStatus, within)
	}
	return Decision{Decision: "re-attach", Status: 200, Stream: stream.Number, Position: cursor.Seq}
}

// bearer is the id of the session whose tag the cursor has: all that a stateless client has to name it by.
func bearer(asked Question, cursor Cursor) *string {
	if asked.Deployment.Stateless && asked.Deployment.Mode == "replay" && cursor.Presence == "present" {
		for id, session := range asked.Sessions {
			if session.Tag == cursor.Tag {
				return &id
			}
		}
	}
	return nil
}

func find(streams []Stream, number int64) (Stream, bool) {
	for _, stream := range streams {
		if stream.Number == number {
			return stream, true
		}
	}
	return Stream{}, false
}

// look is the mark of a stream, and whether the window holds its event seq.
func look(window []Event, stream Stream, seq int64) (mark int64, held bool) {
	mark = stream.Last
	for place := len(window) - 1; place >= 0; place-- {
		if event := window[place]; event.Stream == stream.Number {
			mark = event.Prev
			held = held || event.Seq == seq
		}
	}
	return mark, held
}

func refuse(reason string, status int, held *Range) Decision {
	return Decision{Decision: "refuse", Status: status, Reason: reason, Held: held}
}
