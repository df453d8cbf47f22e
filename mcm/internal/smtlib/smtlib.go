package smtlib

import (
	"bufio"
	"fmt"
	"io"

	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/mcm/internal/replay"
	"github.com/heisen-go/heisen/mcm/internal/window"
)

// Write writes the query whether two records can be pending together.
func Write(w io.Writer, window *window.Window, rules window.Rules, i, j int) error {
	s := writer{Facts: replay.NewFacts(window, rules), out: bufio.NewWriter(w)}
	s.write(i, j)
	if err := s.out.Flush(); err != nil {
		return fmt.Errorf("write SMT-LIB: %w", err)
	}
	return nil
}

type writer struct {
	*replay.Facts
	out *bufio.Writer
}

func (s *writer) print(format string, args ...any) { fmt.Fprintf(s.out, format, args...) }

// write writes the script with the query whether some records can be pending together.
func (s *writer) write(pending ...int) {
	s.print("(set-logic QF_IDL)\n(declare-fun R () Int)\n")
	for i := range s.Window.Records {
		s.print("(declare-fun O%d () Int)\n", i)
	}
	s.writeThreads()
	s.writeKeptOrder()
	s.writeLocks()
	s.writeMessages()
	s.writeReads()
	for _, i := range pending {
		s.print("(assert (< R O%d))\n", i)
		if k := s.Pos[i]; k > 0 {
			s.print("(assert (< O%d R))\n", s.Facts.Steps[s.Thread[i]][k-1])
		}
		if f := s.Fork[i]; f >= 0 {
			s.print("(assert (< O%d R))\n", f)
		}
		for k := range i {
			if s.keepsOrder(k, i) {
				s.print("(assert (< O%d R))\n", k)
			}
		}
	}
	s.print("(check-sat)\n")
}

// writeThreads writes the program order, that threads begin after their fork and end before their
// join, and that a thread acquires a lock after other threads have ended its earlier holds.
func (s *writer) writeThreads() {
	for i := range s.Window.Records {
		for _, j := range s.EndedByOthers[i] {
			if !s.Mixed[s.Window.Records[i].Object] {
				s.print("(assert (< O%d O%d))\n", j, i)
			}
		}
	}
	for _, list := range s.Facts.Steps {
		for k := 1; k < len(list); k++ {
			s.print("(assert (< O%d O%d))\n", list[k-1], list[k])
		}
	}
	for i := range s.Window.Records {
		if f := s.Fork[i]; f >= 0 {
			s.print("(assert (< O%d O%d))\n", f, i)
		}
		if r := &s.Window.Records[i]; r.Op == heisen.Join && s.Joins[i] > 0 {
			s.print("(assert (< O%d O%d))\n", s.Facts.Steps[s.ThreadIndex[r.Object.Thread()]][s.Joins[i]-1], i)
		}
	}
}

// keepsOrder reports whether an allocation, a BarrierPair or a mixed object keeps record i before
// record j.
func (s *writer) keepsOrder(i, j int) bool {
	return (s.IsOrdered[i] || s.IsOrdered[j]) && s.Thread[i] != s.Thread[j] && s.KeepsOrder(i, j)
}

// writeKeptOrder writes the orders of keepsOrder.
func (s *writer) writeKeptOrder() {
	for j := range s.Window.Records {
		for i := range j {
			if s.keepsOrder(i, j) {
				s.print("(assert (< O%d O%d))\n", i, j)
			}
		}
	}
}

// outside writes that record x is not between record c, or the start if c is negative, and record i.
func (s *writer) outside(x, c, i int) {
	s.print(" (or (< O%d O%d)", i, x)
	if c >= 0 {
		s.print(" (< O%d O%d)", x, c)
	}
	s.print(")")
}

// writeMessages writes that an event receives the messages that it received, and no others.
func (s *writer) writeMessages() {
	for i := range s.Window.Records {
		r := &s.Window.Records[i]
		if s.Mixed[r.Object] {
			continue
		}
		if r.Op == heisen.Send {
			for _, k := range s.Sends[r.Object] {
				if int(k) < i && s.Window.Records[k].Op == heisen.Change {
					s.print("(assert (< O%d O%d))\n", k, i)
				}
			}
		}
		if !window.IsReceive(r.Op) {
			continue
		}
		for _, k := range s.Sends[r.Object] {
			if int(k) < i {
				s.print("(assert (< O%d O%d))\n", k, i)
			} else {
				s.print("(assert (or (< R O%d) (< O%d O%d)))\n", i, i, k)
			}
		}
	}
}

// writeReads writes that reads before R see the write that they saw, or one of the same value. With
// ControlFlow, this holds only for reads that matter. It also writes the order of operations on locks
// and of other writes to their memory.
func (s *writer) writeReads() {
	writers := make([][]int, len(s.Bounds)) // by cell
	for i := range s.Window.Records {
		r := &s.Window.Records[i]
		if r.Access().IsWrite() || r.Op == heisen.Alloc || r.Op == heisen.Free {
			for k := s.From[i]; k < s.To[i]; k++ {
				writers[k] = append(writers[k], i)
			}
		}
	}
	for _, list := range s.LockWords {
		for k, j := range list {
			for _, i := range list[:k] {
				if s.OverwritesLock(int(i), int(j)) {
					s.print("(assert (< O%d O%d))\n", i, j)
				}
			}
		}
	}
	if s.Rules.ControlFlow {
		for i := range s.Window.Records {
			s.print("(declare-fun M%d () Bool)\n", i)
		}
		s.writeDecisions()
	}
	for i := range s.Window.Records {
		for k, saw := range s.Saw[i] {
			cell := s.From[i] + int32(k)
			s.writeRead(i, cell, saw, writers[cell])
		}
	}
}

// writeRead writes that record i sees saw in a cell, or a write of the same value, of the given
// writers of the cell. saw is -1 if the value was there before the window.
func (s *writer) writeRead(i int, cell, saw int32, writers []int) {
	same := func(x int32) bool {
		shows := x
		if x < 0 {
			shows = s.Initial[cell]
		}
		return x == saw || shows >= 0 && s.Equal(int32(i), shows)
	}
	choice := func(c int32) {
		s.print(" (and true")
		if c >= 0 {
			s.print(" (< O%d O%d)", c, i)
			if at := s.lastRead(c); at >= 0 && s.Rules.ControlFlow {
				s.print(" M%d", at)
			}
		}
		for _, x := range writers {
			// With ControlFlow, it matters which write of the value is seen, because the reads of
			// its thread before it matter, too.
			if x != i && int32(x) != c && (!same(int32(x)) || s.Rules.ControlFlow) {
				s.outside(x, int(c), i)
			}
		}
		s.print(")")
	}
	s.print("(assert (or ")
	switch {
	case !s.Rules.ControlFlow, s.Window.Records[i].Flags&heisen.Decides != 0:
		s.print("(< R O%d)", i)
	default:
		s.print("(not M%d)", i)
	}
	if same(-1) {
		choice(-1)
	}
	for _, c := range writers {
		if c != i && same(int32(c)) {
			choice(int32(c))
		}
	}
	s.print("))\n")
}

// writeDecisions writes which reads matter: those before a decision before R, in the same thread.
func (s *writer) writeDecisions() {
	for i := range s.Window.Records {
		r := &s.Window.Records[i]
		previous := -1
		if k := s.Pos[i]; k > 0 {
			previous = int(s.Facts.Steps[s.Thread[i]][k-1])
		}
		// If record i matters, so do all records of its thread before it.
		if previous >= 0 {
			s.print("(assert (=> M%d M%d))\n", i, previous)
		}
		switch {
		case len(s.Saw[i]) > 0 && r.Access() != heisen.Read && s.DecidesOnAll(i):
			s.print("(assert (=> (< O%d R) M%d))\n", i, i)
		case s.DecidesOnAll(i) && previous >= 0:
			s.print("(assert (=> (< O%d R) M%d))\n", i, previous)
		}
	}
}

// lastRead returns the last record of a writer's thread whose reads the written value may depend on,
// or -1.
func (s *writer) lastRead(w int32) int32 {
	switch {
	case replay.Reads(&s.Window.Records[w]):
		return w
	case s.Pos[w] == 0:
		return -1
	}
	return s.Facts.Steps[s.Thread[w]][s.Pos[w]-1]
}
