package smtlib

import (
	"bufio"
	"fmt"
	"io"

	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/mcm/internal/replay"
	"github.com/heisen-go/heisen/mcm/internal/window"
)

// Write writes down whether two records can be next at the same time.
func Write(w io.Writer, window *window.Window, rules window.Rules, i, j int) error {
	s := writer{Facts: replay.NewFacts(window, rules), out: bufio.NewWriter(w)}
	s.write(i, j)
	if err := s.out.Flush(); err != nil {
		return fmt.Errorf("mcm: write SMT-LIB: %w", err)
	}
	return nil
}

type writer struct {
	*replay.Facts
	out *bufio.Writer
}

func (s *writer) print(format string, args ...any) { fmt.Fprintf(s.out, format, args...) }

func (s *writer) write(asked ...int) {
	s.print("(set-logic QF_IDL)\n(declare-fun R () Int)\n")
	for i := range s.Window.Records {
		s.print("(declare-fun O%d () Int)\n", i)
	}
	s.steps()
	s.kept()
	s.exclusions()
	s.messages()
	s.values()
	for _, i := range asked {
		s.print("(assert (< R O%d))\n", i)
		if k := s.Place[i]; k > 0 {
			s.print("(assert (< O%d R))\n", s.Facts.Steps[s.Thread[i]][k-1])
		}
		if f := s.Fork[i]; f >= 0 {
			s.print("(assert (< O%d R))\n", f)
		}
		for k := range i {
			if s.apart(k, i) {
				s.print("(assert (< O%d R))\n", k)
			}
		}
	}
	s.print("(check-sat)\n")
}

// steps says that threads take their steps, start after their fork and end before
// their join.
func (s *writer) steps() {
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

// apart reports whether lives, BarrierPairs or mixed uses keep i before j.
func (s *writer) apart(i, j int) bool {
	return (s.IsOrdered[i] || s.IsOrdered[j]) && s.Thread[i] != s.Thread[j] && s.KeepsOrder(i, j)
}

func (s *writer) kept() {
	for j := range s.Window.Records {
		for i := range j {
			if s.apart(i, j) {
				s.print("(assert (< O%d O%d))\n", i, j)
			}
		}
	}
}

// interval is that a thread holds a lock: from one record to another, -1 if it is
// not in the window.
type interval struct {
	thread   heisen.Thread
	shared   bool
	from, to int
	times    int
}

// exclusions says that of two intervals of a lock that both start before R one ends
// before the other starts.
func (s *writer) exclusions() {
	done, open := map[heisen.Object][]*interval{}, map[heisen.Object][]*interval{}
	take := func(lock heisen.Object, thread heisen.Thread, shared bool, at int) {
		for _, x := range open[lock] {
			if x.thread == thread && x.shared == shared {
				x.times++
				return
			}
		}
		x := &interval{thread, shared, at, -1, 1}
		open[lock] = append(open[lock], x)
		done[lock] = append(done[lock], x)
	}
	loose := map[heisen.Object]*looseLock{}
	ofLoose := func(lock heisen.Object) *looseLock {
		if loose[lock] == nil {
			loose[lock] = &looseLock{}
		}
		return loose[lock]
	}
	for _, h := range s.Window.Held {
		if s.Unowned[h.Lock] && !h.Shared {
			ofLoose(h.Lock).held = true
			continue
		}
		take(h.Lock, h.Thread, h.Shared, -1)
	}
	var locks []heisen.Object
	seen := map[heisen.Object]bool{}
	for i := range s.Window.Records {
		r := &s.Window.Records[i]
		shared := r.Op == heisen.AcquireShared || r.Op == heisen.ReleaseShared
		switch {
		case s.Unowned[r.Object] && r.Op == heisen.Acquire:
			l := ofLoose(r.Object)
			l.taken = append(l.taken, i)
			// With who reads it is as if it were given back at once.
			x := &interval{r.Thread, false, i, i, 1}
			done[r.Object] = append(done[r.Object], x)
		case s.Unowned[r.Object] && r.Op == heisen.Release:
			l := ofLoose(r.Object)
			l.given = append(l.given, i)
		case s.Unowned[r.Object] && r.Op == heisen.AcquireShared:
			l := ofLoose(r.Object)
			l.read = append(l.read, i)
		}
		switch r.Op {
		case heisen.Acquire, heisen.AcquireShared:
			if !s.Unowned[r.Object] || shared {
				take(r.Object, r.Thread, shared, i)
			}
		case heisen.Release, heisen.ReleaseShared:
			for k, x := range open[r.Object] {
				if x.thread != s.Owner[i] || x.shared != shared {
					continue
				}
				if x.times--; x.times == 0 {
					x.to = i
					if x.from >= 0 && s.Window.Records[i].Thread != x.thread && !s.Mixed[r.Object] {
						s.print("(assert (< O%d O%d))\n", x.from, i)
					}
					open[r.Object] = append(open[r.Object][:k:k], open[r.Object][k+1:]...)
				}
				break
			}
		default:
			continue
		}
		if !seen[r.Object] {
			seen[r.Object] = true
			locks = append(locks, r.Object)
		}
	}
	for _, lock := range locks {
		if s.Mixed[lock] {
			continue
		}
		if l := loose[lock]; l != nil {
			s.alternate(l)
		}
		for k, x := range done[lock] {
			for _, y := range done[lock][:k] {
				if x.thread == y.thread || x.shared && y.shared {
					continue
				}
				s.print("(assert (or")
				for _, p := range [2][2]*interval{{x, y}, {y, x}} {
					if p[0].to >= 0 && p[1].from >= 0 {
						s.print(" (< O%d O%d)", p[0].to, p[1].from)
					}
					if p[1].from >= 0 {
						s.print(" (< R O%d)", p[1].from)
					}
				}
				s.print(" false))\n")
			}
		}
	}
}

// looseLock is what happens to a lock without an owner.
type looseLock struct {
	held               bool  // at the start
	taken, given, read []int // by exclusive acquisitions, releases of such, and shared ones
}

// alternate says that what comes before a lock is taken is that it was given back, and the
// other way round.
func (s *writer) alternate(l *looseLock) {
	follows := func(i int, first bool, choices, others []int) {
		s.print("(assert (or (< R O%d)", i)
		choice := func(c int) {
			s.print(" (and true")
			if c >= 0 {
				s.print(" (< O%d O%d)", c, i)
			}
			for _, list := range [2][]int{choices, others} {
				for _, x := range list {
					if x != i && x != c {
						s.outside(x, c, i)
					}
				}
			}
			s.print(")")
		}
		if first {
			choice(-1)
		}
		for _, c := range choices {
			choice(c)
		}
		s.print("))\n")
	}
	for _, i := range l.taken {
		follows(i, !l.held, l.given, l.taken)
	}
	for _, i := range l.read {
		follows(i, !l.held, l.given, l.taken)
	}
	for _, i := range l.given {
		follows(i, l.held, l.taken, l.given)
	}
}

// outside says that record x is not between record c, or the start if that is negative, and
// record i.
func (s *writer) outside(x, c, i int) {
	s.print(" (or (< O%d O%d)", i, x)
	if c >= 0 {
		s.print(" (< O%d O%d)", x, c)
	}
	s.print(")")
}

// messages says that what is received was sent before, and nothing else.
func (s *writer) messages() {
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

// values says that reads before R see what they saw, or the same value. With control
// flow M<i> says that it matters what record i reads.
func (s *writer) values() {
	writers := make([][]int, len(s.Bounds))
	for i := range s.Window.Records {
		r := &s.Window.Records[i]
		if r.Access().IsWrite() || r.Op == heisen.Alloc || r.Op == heisen.Free {
			for k := s.From[i]; k < s.To[i]; k++ {
				writers[k] = append(writers[k], i)
			}
		}
	}
	for _, list := range s.Clashes {
		for k, j := range list {
			for _, i := range list[:k] {
				if s.Clash(int(i), int(j)) {
					s.print("(assert (< O%d O%d))\n", i, j)
				}
			}
		}
	}
	if s.Rules.ControlFlow {
		for i := range s.Window.Records {
			s.print("(declare-fun M%d () Bool)\n", i)
		}
		s.decisions()
	}
	for i := range s.Window.Records {
		for k, saw := range s.Saw[i] {
			s.print("(assert (or ")
			if s.Rules.ControlFlow {
				s.print("(not M%d)", i)
			} else {
				s.print("(< R O%d)", i)
			}
			piece := s.From[i] + int32(k)
			same := func(x int32) bool {
				shows := x
				if x < 0 {
					shows = s.Initial[piece]
				}
				return x == saw || shows >= 0 && s.Equal(int32(i), shows)
			}
			choice := func(c int32) {
				s.print(" (and true")
				if c >= 0 {
					s.print(" (< O%d O%d)", c, i)
					if at := s.made(c); at >= 0 && s.Rules.ControlFlow {
						s.print(" M%d", at)
					}
				}
				for _, x := range writers[piece] {
					// Which write of the value it sees makes a difference to those on which
					// the write depends.
					if x != i && int32(x) != c && (!same(int32(x)) || s.Rules.ControlFlow) {
						s.outside(x, int(c), i)
					}
				}
				s.print(")")
			}
			if same(-1) {
				choice(-1)
			}
			for _, c := range writers[piece] {
				if c != i && same(int32(c)) {
					choice(int32(c))
				}
			}
			s.print("))\n")
		}
	}
}

// decisions says which reads matter.
func (s *writer) decisions() {
	for i := range s.Window.Records {
		r := &s.Window.Records[i]
		previous := -1
		if k := s.Place[i]; k > 0 {
			previous = int(s.Facts.Steps[s.Thread[i]][k-1])
		}
		// It matters what all records of a thread up to i read.
		if previous >= 0 {
			s.print("(assert (=> M%d M%d))\n", i, previous)
		}
		switch {
		case r.Op == heisen.Branch && previous >= 0:
			s.print("(assert (=> (< O%d R) M%d))\n", i, previous)
		case len(s.Saw[i]) > 0 && r.Access() != heisen.Read:
			s.print("(assert (=> (< O%d R) M%d))\n", i, i)
		}
	}
}

// made returns the last record that what a write writes depends on, -1 if there is none.
func (s *writer) made(w int32) int32 {
	switch {
	case replay.Reads(&s.Window.Records[w]):
		return w
	case s.Place[w] == 0:
		return -1
	}
	return s.Facts.Steps[s.Thread[w]][s.Place[w]-1]
}
