package windowtest

import (
	"encoding/binary"
	"slices"

	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/mcm/internal/replay"
	"github.com/heisen-go/heisen/mcm/internal/window"
)

// Enumeration has all states that the feasible reorderings of a small window reach. It enumerates the
// maximal causal model by its definition.
type Enumeration struct {
	Replayer *replay.Replayer
	States   []state
}

// state is what the feasible continuations of a schedule depend on.
type state struct {
	done     uint64 // by record, as bits
	writer   []int32
	deviated []int32
}

func (s state) key() string {
	b := binary.LittleEndian.AppendUint64(nil, s.done)
	for _, w := range s.writer {
		b = append(b, byte(w))
	}
	for _, at := range s.deviated {
		b = append(b, byte(at))
	}
	return string(b)
}

// Enumerate enumerates the states of a window.
func Enumerate(w *window.Window, rules window.Rules) *Enumeration {
	return EnumerateWithout(w, rules, nil)
}

// EnumerateWithout enumerates the states that are reached without steps for which never, given the
// records that are done and the next one, returns true.
func EnumerateWithout(w *window.Window, rules window.Rules, never func(done []bool, i int) bool) *Enumeration {
	e := &Enumeration{Replayer: replay.New(w, rules)}
	first := e.state()
	seen := map[string]bool{first.key(): true}
	for work := []state{first}; len(work) > 0; {
		at := work[len(work)-1]
		work = work[:len(work)-1]
		e.Enter(at)
		e.States = append(e.States, at)
		for i := range w.Records {
			if e.Replayer.Done[i] || e.Replayer.Can(i) != nil || never != nil && never(e.Replayer.Done, i) {
				continue
			}
			e.Replayer.Step(i)
			if next := e.state(); !seen[next.key()] {
				seen[next.key()] = true
				work = append(work, next)
			}
			e.Enter(at)
		}
	}
	return e
}

// state returns the current state of the replayer.
func (e *Enumeration) state() state {
	s := state{writer: slices.Clone(e.Replayer.Writer), deviated: slices.Clone(e.Replayer.Deviated)}
	for i := range e.Replayer.Done {
		if e.Replayer.Done[i] {
			s.done |= 1 << i
		}
	}
	return s
}

// Enter makes s the current state of the replayer.
func (e *Enumeration) Enter(s state) {
	e.Replayer.Reset()
	for i := range e.Replayer.Done {
		e.Replayer.Done[i] = s.done>>i&1 != 0
		if e.Replayer.Done[i] {
			e.Replayer.Next[e.Replayer.Thread[i]]++
			e.Replayer.ApplyLock(&e.Replayer.Window.Records[i], e.Replayer.Owner[i])
			e.Replayer.ApplyMessage(i)
		}
	}
	copy(e.Replayer.Writer, s.writer)
	copy(e.Replayer.Deviated, s.deviated)
}

// Together reports whether the records are pending together in some state. If ok is not nil, it must
// return true for the state, which the replayer is in.
func (e *Enumeration) Together(ok func() bool, records ...int) bool {
	for _, s := range e.States {
		e.Enter(s)
		pending := true
		for _, i := range records {
			pending = pending && !e.Replayer.Done[i] && e.Replayer.Ready(i) == nil
		}
		if pending && (ok == nil || ok()) {
			return true
		}
	}
	return false
}

// RacyPairs returns the pairs of conflicting accesses by different threads that overlap in the same
// allocation epoch.
func RacyPairs(w *window.Window) (pairs [][2]int) {
	for j := range w.Records {
		for i := range j {
			a, b := &w.Records[i], &w.Records[j]
			if a.Thread != b.Thread && a.Access().Conflicts(b.Access()) &&
				(heisen.Objects{window.Extent(a)}).Meets(window.Extent(b).Start, window.Extent(b).Len) && w.SameAllocation(i, j) {
				pairs = append(pairs, [2]int{i, j})
			}
		}
	}
	return pairs
}
