package suspects

import (
	"fmt"
	"strings"
	"testing"

	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/internal/core/wire"
)

// TestCausality: an event is by goroutine 1, or by the one before the colon. A value is that of the access before it. Of a put, a taken and
// a read of a channel, the events that follow are parts.
func TestCausality(t *testing.T) {
	for _, test := range []struct{ name, in, want string }{
		{"value", "read x, value x 5", "read x decides"}, // of an unknown line, sizes are not known
		{"lock", "acquire x, release x", "acquire x, release x"},
		{"atomic", "atomic-update x", "atomic-update x decides"},
		{"put and taken", "put c, receive c, send c, taken c, receive c, send c", "acquire c, done -, done -, release c"},
		{"of some size", "put4 c, receive s, observe n, change n, send s", "acquire c, done -, done -, send s"},
		{"taken of some size", "taken4 c, receive s, observe n, change n, send s", "done -, done -, done -, release c"},
		{"read of some size", "read4 c, receive s, observe n, change n, send s", "receive s, done -, done -, release c"},
		{"another goroutine", "put c, 2:receive c, 2:send c", "2:receive c, 2:send c"},
		{"message", "receive c, send c", "receive c, send c"},
		{"insertion", "write m, alloc a, write a", "write m, done -, write a"},
		{"insertion into used memory", "write a, acquire l, write m, alloc a, write a", "write a, acquire l, write m, alloc a, write a"},
		{"allocation after a write", "write x, value x 5, alloc a, write a", "write x, alloc a, write a"},
		{"another goroutine's", "2:write m, alloc a", "2:write m, alloc a"},
	} {
		t.Run(test.name, func(t *testing.T) {
			var got []string
			c := newCausality(nil, heisen.NewSymbols(), handler(func(r *heisen.Record) { got = append(got, format(r)) }))
			for _, text := range strings.Split(test.in, ", ") {
				r := parse(t, text)
				c.Handle(r.Event())
			}
			if err := c.Flush(); err != nil {
				t.Fatal(err)
			}
			if got := strings.Join(got, ", "); got != test.want {
				t.Errorf("%s\nwant %s", got, test.want)
			}
		})
	}
}

type handler func(*heisen.Record)

func (h handler) Handle(e heisen.Event) { h(heisen.AsRecord(e)) }
func (h handler) Flush() error          { return nil }

// tokens are the names of operations on channels of one element.
var tokens = map[string]uint64{
	"put": wire.TokenPut, "taken": wire.TokenTaken, "put4": wire.TokenPut | wire.TokenSlot,
	"taken4": wire.TokenTaken | wire.TokenSlot, "read4": wire.TokenRead | wire.TokenSlot,
}

// parse parses an event. Objects have one letter, and are 64 bytes apart.
func parse(t *testing.T, text string) heisen.Record {
	r := heisen.Record{Thread: 1}
	if thread, rest, ok := strings.Cut(text, ":"); ok {
		fmt.Sscan(thread, &r.Thread)
		text = rest
	}
	var name, object string
	fmt.Sscan(text, &name, &object, &r.Value)
	r.Object = heisen.Object(object[0]) << 6
	token, isToken := tokens[name]
	switch {
	case isToken:
		r.Op, r.Value = heisen.Done, token
	case name == "value":
		r.Op, r.Flags = heisen.Done, heisen.HasValue
	default:
		for op := heisen.Op(1); op.Valid(); op++ {
			if op.String() == name {
				r.Op = op
			}
		}
		if r.Op == heisen.Invalid {
			t.Fatalf("%q", text)
		}
	}
	return r
}

// format is the inverse of parse.
func format(r *heisen.Record) string {
	text := fmt.Sprintf("%v %c", r.Op, rune(r.Object>>6))
	if r.Op == heisen.Done {
		text = "done -"
	}
	if r.Thread != 1 {
		text = fmt.Sprintf("%d:%s", r.Thread, text)
	}
	if r.Flags&heisen.Decides != 0 {
		text += " decides"
	}
	return text
}
