package main

// noteSource is the package by which programs note what they do. It is not instrumented, and what it does belongs to the
// step of the access: nothing comes between an access and its note.
const noteSource = `// Package note has the accesses of a program in their order.
package note

import (
	"os"
	"strconv"
)

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

// End prints the accesses and values, at once. Each line has numbers: for an access the goroutine, the place, the object,
// and then each call, from the outermost one, as its number and the place at which it was made.
func End(values ...int64) {
	var text []byte
	add := func(n int) { text = strconv.AppendInt(append(text, ' '), int64(n), 10) }
	for _, e := range events {
		text = append(text, "note:"...)
		add(e.call.goroutine)
		add(e.place)
		add(e.object)
		e.call.each(func(c *Call) {
			add(c.id)
			add(c.at)
		})
		text = append(text, '\n')
	}
	text = append(text, "end:"...)
	for _, v := range values {
		add(int(v))
	}
	os.Stdout.Write(append(text, '\n'))
}

func (c *Call) each(do func(*Call)) {
	if c.outer != nil {
		c.outer.each(do)
	}
	do(c)
}
`
