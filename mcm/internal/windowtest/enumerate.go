package windowtest

import (
	"encoding/binary"
	"slices"

	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/mcm/internal/replay"
	"github.com/heisen-go/heisen/mcm/internal/window"
)

// Enumeration enumerates the maximal causal model of a small window: all states that some
// order of a part of its events reaches, each of which is possible when it comes.
type Enumeration struct {
	Replayer *replay.Replayer
	States   []bruteState
}

// bruteState is what the future depends on.
type bruteState struct {
	done   uint64
	writer []int32
	spoilt []int32
}

func (s bruteState) key() string {
	b := binary.LittleEndian.AppendUint64(nil, s.done)
	for _, w := range s.writer {
		b = append(b, byte(w))
	}
	for _, at := range s.spoilt {
		b = append(b, byte(at))
	}
	return string(b)
}

func Enumerate(w *window.Window, rules window.Rules) *Enumeration {
	return EnumerateWithout(w, rules, nil)
}

// EnumerateWithout leaves out the steps that never says are not taken.
func EnumerateWithout(w *window.Window, rules window.Rules, never func(done []bool, i int) bool) *Enumeration {
	e := &Enumeration{Replayer: replay.New(w, rules)}
	first := e.state()
	seen := map[string]bool{first.key(): true}
	for work := []bruteState{first}; len(work) > 0; {
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

func (e *Enumeration) state() bruteState {
	s := bruteState{writer: slices.Clone(e.Replayer.Writer), spoilt: slices.Clone(e.Replayer.Deviated)}
	for i := range e.Replayer.Done {
		if e.Replayer.Done[i] {
			s.done |= 1 << i
		}
	}
	return s
}

func (e *Enumeration) Enter(s bruteState) {
	e.Replayer.Reset()
	for i := range e.Replayer.Done {
		e.Replayer.Done[i] = s.done>>i&1 != 0
		if e.Replayer.Done[i] {
			e.Replayer.Next[e.Replayer.Thread[i]]++
			e.Replayer.ApplyLock(&e.Replayer.Window.Records[i], e.Replayer.Owner[i])
		}
	}
	copy(e.Replayer.Writer, s.writer)
	copy(e.Replayer.Deviated, s.spoilt)
}

// Together reports whether all the records can be next at the same time, in a state
// that meets a condition.
func (e *Enumeration) Together(ok func() bool, records ...int) bool {
	for _, s := range e.States {
		e.Enter(s)
		good := true
		for _, i := range records {
			good = good && !e.Replayer.Done[i] && e.Replayer.Ready(i) == nil
		}
		if good && (ok == nil || ok()) {
			return true
		}
	}
	return false
}

// RacyPairs returns the pairs of records that conflict and meet.
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
