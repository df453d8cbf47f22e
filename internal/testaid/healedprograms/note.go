package main

// noteSource is the package by which programs note what they do. It is not instrumented, and what it does belongs to the
// step of the access: nothing comes between an access and its note.
const noteSource = `// Package note has the accesses of a program in their order.
package note

import "fmt"

// Call is a call of a function, or a goroutine.
type Call struct {
	outer             *Call
	goroutine, id, at int
}

type event struct {
	call          *Call
	place, object int
}

var (
	calls  int
	events []event
)

// Begin begins a goroutine.
func Begin(goroutine int) *Call {
	calls++
	return &Call{goroutine: goroutine, id: calls, at: -1}
}

// Call begins a call that is made at a place.
func (c *Call) Call(place int) *Call {
	calls++
	return &Call{c, c.goroutine, calls, place}
}

// R notes a read, and returns what was read.
func (c *Call) R(place, object int, v int64) int64 {
	events = append(events, event{c, place, object})
	return v
}

// W notes a write, and returns what is written.
func (c *Call) W(place, object int, v int64) int64 {
	events = append(events, event{c, place, object})
	return v
}

// Print prints the accesses: goroutine, place, object, and then each call, from the outermost one, as its number and
// the place at which it was made.
func Print() {
	for _, e := range events {
		text := ""
		for c := e.call; c != nil; c = c.outer {
			text = fmt.Sprintf(" %d %d", c.id, c.at) + text
		}
		fmt.Printf("note: %d %d %d%s\n", e.call.goroutine, e.place, e.object, text)
	}
}
`
