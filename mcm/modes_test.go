package mcm

import (
	"github.com/heisen-go/heisen/mcm/internal/exhaustive"
	"github.com/heisen-go/heisen/mcm/internal/replay"
	"github.com/heisen-go/heisen/mcm/internal/window"
)

// rulesOf returns the rules that options say.
func rulesOf(options []Option) window.Rules {
	s := defaults()
	for _, option := range options {
		if err := option(&s); err != nil {
			panic(err)
		}
	}
	return s.Rules
}

func enumerate(w *window.Window, options ...Option) *exhaustive.Enumeration {
	return exhaustive.Enumerate(w, rulesOf(options))
}

// enumerateWithout leaves out the steps that never says are not taken.
func enumerateWithout(w *window.Window, never func(done []bool, i int) bool, options ...Option) *exhaustive.Enumeration {
	return exhaustive.EnumerateWithout(w, rulesOf(options), never)
}

// replayIn replays a witness in a window.
func replayIn(w *window.Window, x *Witness, options ...Option) error {
	return replay.New(w, rulesOf(options)).Replay((*window.Witness)(x))
}
