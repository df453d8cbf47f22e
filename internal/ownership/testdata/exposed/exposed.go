// Package exposed has variables that code accesses which the analysis does not see.
package exposed

import (
	"encoding/json"
	"flag"
	"fmt"
	"slices"
	"unsafe"
)

type options struct {
	verbose bool // want unsafe: its address is taken
	size    int  // want read-only
}

type record struct {
	n     int    // want unsafe: may access it by reflection
	inner *inner // want unsafe: may access it by reflection
}

type inner struct {
	n int // want unsafe: may access it by reflection
}

type raw struct {
	n int // want unsafe: converted to an unsafe.Pointer
}

type made struct {
	n int // want unsafe: converted from an unsafe.Pointer
}

type element struct {
	n int // want unsafe: generic code accesses it
}

type stack[T any] struct {
	top T // want unsafe: written without a lock
}

func (s *stack[T]) push(v T) { s.top = v }

type shape interface{ area() int }

type square struct {
	side int // want unsafe: a method whose receiver is a copy
}

func (s square) area() int { return s.side }

type outer struct {
	*part     // want unsafe: promoted through it
	other int // want read-only
}

type part struct {
	n int // want unsafe: stored in exposed.outer.part
}

func (p *part) area() int { return p.n }

type twin struct {
	n int // want unsafe: converted to one to another type
}

type brother struct {
	n int // want unsafe: converted to one to another type
}

func use(s shape) int { return s.area() }

func run(buffer []byte) {
	var o options
	flag.BoolVar(&o.verbose, "v", false, "")
	r := &record{n: 1, inner: &inner{2}}
	text, _ := json.Marshal(r)
	w := &raw{n: 3}
	m := (*made)(unsafe.Pointer(&buffer[0]))
	p := unsafe.Pointer(w)
	elements := []element{{1}, {2}}
	slices.Reverse(elements)
	var s stack[int]
	q := &square{side: 2}
	u := &outer{part: &part{n: 1}}
	t := &twin{n: 1}
	b := (*brother)(t)
	for range 2 {
		go func() {
			fmt.Println(o.verbose, o.size, string(text), m.n, p, elements[0].n)
			s.push(1)
			println(use(q), use(u), u.other, t.n, b.n)
		}()
	}
}

var start = run // want local
