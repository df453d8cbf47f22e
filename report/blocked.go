package report

import (
	"fmt"
	"io"
	"strings"

	"github.com/heisen-go/heisen"
)

// Blocked is a goroutine that did not go on.
type Blocked struct {
	Thread    heisen.Thread `json:"thread"`
	Goroutine string        `json:"goroutine"`        // the thread's name for people
	Test      string        `json:"test,omitempty"`   // that it, or what started it, ran
	Reason    string        `json:"reason"`           // what it waits for, in the runtime's words
	Object    string        `json:"object,omitempty"` // the lock or channel, if known: name, or address in hexadecimal
	Variable  string        `json:"variable,omitempty"`
	Stack     []Frame       `json:"stack"` // innermost first
	Locks     []Lock        `json:"locks"` // held, in order of acquisition, as far as known
}

// ResolveBlocked is Resolve for goroutines that do not go on. where says of each what
// it was about to do: its thread, the object, if known, the site and the context;
// reasons say why it does not go on.
func ResolveBlocked(where []heisen.Access, reasons []string, symbols *heisen.Symbols, sources *Sources) []Blocked {
	r := resolver{symbols, sources}
	blocked := make([]Blocked, len(where))
	for i, a := range where {
		access, excerpt := r.access(a)
		blocked[i] = Blocked{
			Thread: a.Thread, Goroutine: access.Goroutine, Test: access.Test, Reason: reasons[i],
			Stack: access.Stack, Locks: access.Locks,
		}
		if a.Object != 0 {
			blocked[i].Object, blocked[i].Variable = access.Object, excerpt.Variable()
		}
	}
	return blocked
}

// writeBlocked prints goroutines that do not go on.
func writeBlocked(b *strings.Builder, blocked []Blocked) {
	for i := range blocked {
		writeOneBlocked(b, &blocked[i])
	}
}

// WriteBlocked prints where a goroutine stands that does not go on, after an empty line.
func WriteBlocked(w io.Writer, g *Blocked) error {
	var b strings.Builder
	writeOneBlocked(&b, g)
	_, err := io.WriteString(w, b.String())
	return err
}

func writeOneBlocked(b *strings.Builder, g *Blocked) {
	who := g.Goroutine
	if g.Test != "" {
		who += " (" + g.Test + ")"
	}
	fmt.Fprintf(b, "\n%s does not go on: %s", heading(who), g.Reason)
	if g.Object != "" {
		fmt.Fprintf(b, ", %s", nameAndObject(g.Variable, g.Object))
	}
	b.WriteString("\n")
	writeStack(b, g.Stack, "")
	for _, l := range g.Locks {
		fmt.Fprintf(b, "  holding %s (%s), acquired at %s\n", nameAndObject(l.Variable, l.Lock), l.Mode, l.Site)
	}
}
