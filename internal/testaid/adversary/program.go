package main

import (
	"bytes"
	"fmt"
	"go/format"
	"math/rand/v2"
	"strings"
)

// A recipe says which programs a generator writes. The same recipe and seed give the same program.
type recipe struct {
	library   *library
	fragments int                 // bound on the calls of fragments in a program
	broken    bool                // one variable lacks some synchronization
	planted   bool                // the program calls a bug
	without   func(fragment) bool // fragments whose calls are left out; nil for none
	spared    func(bug) bool      // bugs that are not planted; nil for none
	drop      map[int]bool        // pieces that are left out, by number
}

// A program is a test function.
type program struct {
	seed   uint64
	text   string
	pieces int  // how many pieces may be dropped
	bug    *bug // nil if none is planted
}

// name is the name of the test function.
func (p *program) name() string { return testName(p.seed) }

func testName(seed uint64) string { return fmt.Sprintf("TestP%d", seed) }

// A generator writes one program: goroutines that share variables and call fragments. Every variable has a discipline,
// a way of synchronization that orders its accesses. A program has no data race unless a discipline is broken.
type generator struct {
	*rand.Rand
	recipe
	out     bytes.Buffer
	depth   int
	workers int
	pieces  int
	budget  int // calls of fragments that are left
}

// generate writes the program of a seed.
func (r recipe) generate(seed uint64) program {
	g := &generator{Rand: rand.New(rand.NewPCG(seed, 0x68656973656e)), recipe: r}
	g.workers = 1 + g.IntN(3)
	if g.fragments > 0 {
		g.budget = 1 + g.IntN(g.fragments)
	}
	p := program{seed: seed}
	where := -1
	if r.planted {
		for p.bug == nil || r.spared != nil && r.spared(*p.bug) {
			p.bug = &r.library.bugs[g.IntN(len(r.library.bugs))]
		}
		where = g.IntN(g.workers + 1)
	}
	g.block(fmt.Sprintf("func %s(t *testing.T) {", p.name()), "}", func() {
		g.line("t.Parallel()")
		g.line("var calls atomic.Int64")
		g.line("t.Cleanup(func() { fmt.Println(\"result\", %q, calls.Load()) })", p.name())
		shared := g.variables()
		g.line("var all sync.WaitGroup")
		for worker := 1; worker <= g.workers; worker++ {
			open, end := "all.Go(func() {", "})"
			if g.IntN(2) == 0 {
				open, end = "all.Add(1)\ngo func() {\ndefer all.Done()", "}()"
			}
			g.block(open, end, func() { g.body(shared, worker, p.bug, worker == where) })
		}
		for _, v := range shared {
			if v.first != nil {
				v.first()
			}
		}
		g.body(shared, 0, p.bug, where == 0)
		g.line("all.Wait()")
		for _, v := range shared {
			if v.last != nil {
				v.last()
			} else {
				g.access(v)
			}
		}
	})
	p.text, p.pieces = g.out.String(), g.pieces
	if formatted, err := format.Source(g.out.Bytes()); err == nil {
		p.text = string(formatted)
	}
	return p
}

// variables declares what the goroutines share.
func (g *generator) variables() (shared []*variable) {
	most := 4
	if g.fragments > 0 {
		most = 2
	}
	for i := range 1 + g.IntN(most) {
		v := &variable{name: fmt.Sprintf("x%d", i), kind: kinds[g.IntN(len(kinds))]}
		choice := disciplines
		if g.broken && i == 0 {
			choice, v.broken, v.kind = breakable, true, kinds[g.IntN(harmless)]
		}
		choice[g.IntN(len(choice))](g, v)
		shared = append(shared, v)
	}
	return shared
}

// body writes the statements of a goroutine, with a call of the bug if it is planted there.
func (g *generator) body(shared []*variable, goroutine int, b *bug, planted bool) {
	n := 2 + g.IntN(5)
	if g.fragments > 0 {
		n = 1 + g.IntN(4)
	}
	at := g.IntN(n)
	for i := range n {
		if planted && i == at {
			g.nest(g.IntN(3), place{planted: true}, func() { g.call(b.name) })
		}
		if g.budget > 0 && g.IntN(2) == 0 {
			g.nest(g.IntN(4), place{}, nil)
			continue
		}
		v := shared[g.IntN(len(shared))]
		g.piece(func() {
			switch g.IntN(6) {
			case 0:
				g.block("func() {", "}()", func() { v.use(goroutine) })
			case 1:
				g.block("for range 2 {", "}", func() { v.use(goroutine) })
			default:
				v.use(goroutine)
			}
		})
	}
}

// A place is where a fragment may stand.
type place struct {
	bubble  bool // in a bubble of testing/synctest
	noTests bool // where no subtests may start
	planted bool // around the call of a bug
	times   int  // how often more than once it may run
}

// nest writes depth wrappers, one within the other, and in them what inside writes, or else calls of fragments.
func (g *generator) nest(depth int, at place, inside func()) {
	if depth == 0 {
		if inside != nil {
			inside()
			return
		}
		for range 1 + g.IntN(2) {
			g.fragment(at)
		}
		return
	}
	w := g.wrapper(at)
	open, end := w.write(g)
	at.bubble = at.bubble || w.bubble
	at.noTests = at.noTests || w.noTests
	if w.repeats {
		at.times++
	}
	kept := g.keep() && !(w.outside && g.without != nil && g.without(fragment{outside: true}))
	if kept {
		g.line("%s", open)
		g.depth++
	}
	g.nest(depth-1, at, inside)
	if kept {
		g.depth--
		g.line("%s", end)
	}
}

// wrapper draws a wrapper that may stand at a place.
func (g *generator) wrapper(at place) *wrapper {
	for {
		w := &wrappers[g.IntN(len(wrappers))]
		switch {
		case at.planted && !w.plain:
		case at.bubble && (w.tests || w.outside):
		case at.noTests && w.tests:
		case w.repeats && at.times > 0:
		default:
			return w
		}
	}
}

// fragment writes the call of a fragment that may stand at a place.
func (g *generator) fragment(at place) {
	all := g.library.fragments
	f := all[g.IntN(len(all))]
	for drawn := 0; at.bubble && !f.bubble || at.noTests && f.subtests || f.outside && g.IntN(2) == 0; drawn++ { // those outside are slow
		if drawn == 1000 {
			return // none may stand here
		}
		f = all[g.IntN(len(all))]
	}
	g.budget -= 1 + at.times
	g.piece(func() {
		seed := g.Uint64() >> 40
		if g.without == nil || !g.without(f) {
			g.line("%s(start(t, &calls, %d))", f.name, seed)
		}
	})
}

// call writes the call of a bug.
func (g *generator) call(name string) {
	g.line("%s(start(t, &calls, %d))", name, g.Uint64()>>40)
}

// keep numbers the next piece and reports whether it is written.
func (g *generator) keep() bool {
	g.pieces++
	return !g.drop[g.pieces]
}

// piece writes a piece of the program, unless it is dropped. Either way it draws the same numbers.
func (g *generator) piece(write func()) {
	kept, before := g.keep(), g.out.Len()
	write()
	if !kept {
		g.out.Truncate(before)
	}
}

// line writes a line.
func (g *generator) line(format string, args ...any) {
	g.out.WriteString(strings.Repeat("\t", g.depth))
	fmt.Fprintf(&g.out, format+"\n", args...)
}

// block writes two lines and, between them, what inside writes.
func (g *generator) block(open, end string, inside func()) {
	g.line("%s", open)
	g.depth++
	inside()
	g.depth--
	g.line("%s", end)
}
