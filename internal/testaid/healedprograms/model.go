package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// model is what a program does, without its source. Its goroutines can be interpreted under all schedules.
type model struct {
	goroutines [][]node
	functions  [][]node
	objects    int
}

// cell is a variable or a lock: a field of an object, or one of package level if the object is 0.
type cell struct {
	object int
	field  string
}

// parameter is the object of a function.
const parameter = -1

// node is a statement.
type node struct {
	kind            kind
	at              cell
	n               int // a number in the statement
	body, otherwise []node
}

type kind uint8

const (
	see      kind = iota // x = 3*x + at
	fetch                // x = at
	set                  // at = x + n
	increase             // at = at + n
	branch               // if at meets the condition n
	loop                 // twice
	acquire
	release
	calling // function n, for the object of at
	send
	receive
)

// step is one that a goroutine takes at once: it accesses one variable or operates on one lock.
type step struct {
	kind kind // see, set, branch and the operations on locks and messages; increase is a write of what was read
	at   cell
	n    int
	next int // after a branch that is not taken
}

// steps returns the steps of some statements for an object, which come after some others.
func (m *model) steps(before []step, body []node, object int) []step {
	for _, n := range body {
		at := n.at
		if at.object == parameter {
			at.object = object
		}
		switch n.kind {
		case increase:
			before = append(before, step{kind: branch, at: at, n: -1}, step{kind: increase, at: at, n: n.n})
		case branch:
			head := len(before)
			before = m.steps(append(before, step{kind: branch, at: at, n: n.n}), n.body, object)
			end := len(before)
			before = append(before, step{kind: loop}) // goes on behind the other part
			before[head].next = len(before)
			before = m.steps(before, n.otherwise, object)
			before[end].next = len(before)
		case loop:
			before = m.steps(m.steps(before, n.body, object), n.body, object)
		case calling:
			before = m.steps(before, m.functions[n.n], at.object)
		default:
			before = append(before, step{kind: n.kind, at: at, n: n.n})
		}
	}
	return before
}

// state is a state of the program.
type state struct {
	at, x, read []int
	memory      map[cell]int
	locked      map[cell]bool
	messages    []int
}

func (s *state) clone() *state {
	return &state{
		slices.Clone(s.at), slices.Clone(s.x), slices.Clone(s.read), maps.Clone(s.memory), maps.Clone(s.locked), slices.Clone(s.messages),
	}
}

// maxStates bounds the states that are visited of a program.
const maxStates = 200_000

// outcomes returns all that the program may print at its end, and whether it may get stuck. all is not set if there are
// too many states.
func (m *model) outcomes() (texts map[string]bool, stuck, all bool) {
	code := make([][]step, len(m.goroutines))
	start := &state{memory: map[cell]int{}, locked: map[cell]bool{}}
	for i, body := range m.goroutines {
		code[i] = m.steps(nil, body, 0)
		start.at, start.x, start.read = append(start.at, 0), append(start.x, i+1), append(start.read, 0)
	}
	texts = map[string]bool{}
	seen := map[string]bool{}
	for work := []*state{start}; len(work) > 0; {
		s := work[len(work)-1]
		work = work[:len(work)-1]
		key := fmt.Sprint(*s)
		if seen[key] {
			continue
		}
		if seen[key] = true; len(seen) > maxStates {
			return nil, false, false
		}
		ended, moved := true, false
		for i := range code {
			if s.at[i] == len(code[i]) {
				continue
			}
			ended = false
			if next := s.clone(); next.take(i, &code[i][s.at[i]]) {
				moved = true
				work = append(work, next)
			}
		}
		switch {
		case ended:
			texts[m.text(s)] = true
		case !moved:
			stuck = true
		}
	}
	return texts, stuck, true
}

// take takes a step of a goroutine. It reports false if it is blocked.
func (s *state) take(i int, of *step) bool {
	next := s.at[i] + 1
	switch of.kind {
	case see:
		s.x[i] = 3*s.x[i] + s.memory[of.at]
	case fetch:
		s.x[i] = s.memory[of.at]
	case set:
		s.memory[of.at] = s.x[i] + of.n
	case increase:
		s.memory[of.at] = s.read[i] + of.n
		s.read[i] = 0
	case branch:
		v := s.memory[of.at]
		switch {
		case of.n < 0:
			s.read[i] = v
		case of.n == 0 && v != 0, of.n == 1 && v <= 1, of.n == 2 && v <= 3:
			next = of.next
		}
	case loop:
		next = of.next
	case acquire:
		if s.locked[of.at] {
			return false
		}
		s.locked[of.at] = true
	case release:
		delete(s.locked, of.at)
	case send:
		s.messages = append(s.messages, s.x[i])
	case receive:
		if len(s.messages) == 0 {
			return false
		}
		s.x[i] += s.messages[0]
		s.messages = s.messages[1:]
	}
	s.at[i] = next
	return true
}

// text returns the line that the program prints at its end.
func (m *model) text(s *state) string {
	var values []int
	for n := 1; n <= m.objects; n++ {
		values = append(values, s.memory[cell{n, "a"}], s.memory[cell{n, "b"}])
	}
	values = append(append(values, s.memory[cell{}]), s.x...)
	return "end: " + strings.Trim(fmt.Sprint(values), "[]") + "\n"
}
