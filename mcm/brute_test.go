package mcm

import (
	"encoding/binary"
	"slices"

	"github.com/heisen-go/heisen"
)

// brute enumerates the maximal causal model of a small window: all states that some
// order of a part of its events reaches, each of which is possible when it comes.
type brute struct {
	p      *replayer
	states []bruteState
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

func enumerateStates(w *Window, rules rules) *brute { return enumerateStatesWithout(w, rules, nil) }

// enumerateStatesWithout leaves out the steps that never says are not taken.
func enumerateStatesWithout(w *Window, rules rules, never func(done []bool, i int) bool) *brute {
	e := &brute{p: newReplayer(w, rules)}
	first := e.state()
	seen := map[string]bool{first.key(): true}
	for work := []bruteState{first}; len(work) > 0; {
		at := work[len(work)-1]
		work = work[:len(work)-1]
		e.enter(at)
		e.states = append(e.states, at)
		for i := range w.Records {
			if e.p.done[i] || e.p.can(i) != nil || never != nil && never(e.p.done, i) {
				continue
			}
			e.p.step(i)
			if next := e.state(); !seen[next.key()] {
				seen[next.key()] = true
				work = append(work, next)
			}
			e.enter(at)
		}
	}
	return e
}

func (e *brute) state() bruteState {
	s := bruteState{writer: slices.Clone(e.p.writer), spoilt: slices.Clone(e.p.spoilt)}
	for i := range e.p.done {
		if e.p.done[i] {
			s.done |= 1 << i
		}
	}
	return s
}

func (e *brute) enter(s bruteState) {
	e.p.reset()
	for i := range e.p.done {
		e.p.done[i] = s.done>>i&1 != 0
		if e.p.done[i] {
			e.p.next[e.p.thread[i]]++
			e.p.grip(&e.p.window.Records[i], e.p.owner[i])
		}
	}
	copy(e.p.writer, s.writer)
	copy(e.p.spoilt, s.spoilt)
}

// together reports whether all the records can be next at the same time, in a state
// that meets a condition.
func (e *brute) together(ok func() bool, records ...int) bool {
	for _, s := range e.states {
		e.enter(s)
		good := true
		for _, i := range records {
			good = good && !e.p.done[i] && e.p.ready(i) == nil
		}
		if good && (ok == nil || ok()) {
			return true
		}
	}
	return false
}

// racyPairs returns the pairs of records that conflict and meet.
func racyPairs(w *Window) (pairs [][2]int) {
	for j := range w.Records {
		for i := range j {
			a, b := &w.Records[i], &w.Records[j]
			if a.Thread != b.Thread && a.Access().Conflicts(b.Access()) &&
				(heisen.Objects{extent(a)}).Meets(extent(b).Start, extent(b).Len) && w.oneLife(i, j) {
				pairs = append(pairs, [2]int{i, j})
			}
		}
	}
	return pairs
}
