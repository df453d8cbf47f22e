package main

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
)

// generator writes one random program: a test, and the types, variables and functions that it needs. With equal seeds it
// writes the same program with atomic and with plain accesses, line by line.
type generator struct {
	*rand.Rand
	number int
	plain  bool // accesses are plain ones rather than atomic operations

	out       strings.Builder
	line      int // number of lines so far
	depth     int
	places    []place
	functions int // how many functions there are
	objects   int // of the struct type
	locks     []string
	mutexes   bool // objects have one
	held      []string
	budget    int  // accesses that may still be written in the goroutine or function
	own       bool // the function has an object in s, with the number o
	looping   bool

	code   *[]node  // of the statements that are written
	bodies [][]node // of the functions
}

// place is an access or a call in a program. The program notes the index of the place.
type place struct {
	line     int
	op       string // read, write or call, as in a profile
	variable string // empty for a call
}

// pkg is the import path of the package with the programs.
const pkg = "example.com/random"

// program is a generated program.
type program struct {
	number     int
	test, file string
	text       string
	places     []place
	model      model
}

// generate returns the program with a seed.
func generate(seed uint64, plain bool) *program {
	g := &generator{Rand: rand.New(rand.NewPCG(seed, 32)), number: int(seed), plain: plain}
	g.write("package random")
	g.write("")
	g.write("import (")
	for _, path := range []string{"sync", "sync/atomic", "testing", "", pkg + "/note"} {
		if path == "" {
			g.write("")
		} else {
			g.write("\t%q", path)
		}
	}
	g.write(")")
	g.write("")
	g.write("var _ = atomic.LoadInt64")
	g.write("")
	g.objects, g.mutexes = 1+g.IntN(2), g.IntN(4) == 0
	for _, name := range []string{"k", "l"}[:min(g.IntN(4), 2)] {
		g.locks = append(g.locks, fmt.Sprintf("%s%d", name, g.number))
	}
	g.write("var g%d int64", g.number)
	g.write("")
	g.write("var k%d, l%[1]d sync.Mutex", g.number)
	g.write("")
	g.write("type s%d struct {", g.number)
	g.write("\ta, b int64")
	g.write("\tmu   sync.Mutex")
	g.write("}")
	for range g.IntN(3) {
		g.function()
	}
	goroutines := g.test()
	return &program{
		g.number, fmt.Sprintf("TestP%d", g.number), fmt.Sprintf("p%d_test.go", g.number), g.out.String(), g.places,
		model{goroutines, g.bodies, g.objects},
	}
}

func (g *generator) write(format string, args ...any) {
	if format != "" {
		g.out.WriteString(strings.Repeat("\t", g.depth))
	}
	fmt.Fprintf(&g.out, format+"\n", args...)
	g.line++
}

// block writes two lines and, between them, what inside writes.
func (g *generator) block(open, end string, inside func()) {
	g.write("%s", open)
	g.depth++
	inside()
	g.depth--
	g.write("%s", end)
}

// place returns the number of a place on the next line.
func (g *generator) place(op, variable string) int {
	g.places = append(g.places, place{g.line + 1, op, variable})
	return len(g.places) - 1
}

// function writes a function. It calls those before it.
func (g *generator) function() {
	g.write("")
	g.own, g.budget = true, 2+g.IntN(2)
	var body []node
	g.code = &body
	g.block(fmt.Sprintf("func f%d_%d(c *note.Call, s *s%[1]d, o int, x int64) int64 {", g.number, g.functions), "}", func() {
		g.statements(1 + g.IntN(3))
		g.write("return x")
	})
	g.functions++
	g.bodies = append(g.bodies, body)
}

// test writes the test, and returns what its goroutines do.
func (g *generator) test() (all [][]node) {
	g.write("")
	g.own = false
	g.block(fmt.Sprintf("func TestP%d(t *testing.T) {", g.number), "}", func() {
		goroutines := 2
		if g.IntN(4) == 0 {
			goroutines = 3
		}
		for i := range g.objects {
			g.write("s%d := &s%d{}", i+1, g.number)
		}
		g.write("var all sync.WaitGroup")
		g.write("var out [%d]int64", goroutines)
		message, sender := g.IntN(4) == 0, g.IntN(2)
		crossed := g.IntN(2) == 0
		calls := g.objects == 2 && g.functions > 0 && g.IntN(2) == 0
		if message {
			g.write("ch := make(chan int64, 1)")
		}
		for i := range goroutines {
			var body []node
			g.code = &body
			g.block("all.Go(func() {", "})", func() {
				g.write("c, x := note.Begin(%d), int64(%d)", i, i+1)
				g.write("_ = c")
				g.budget = 10/goroutines - g.IntN(2)
				switch {
				case crossed && calls:
					g.crossCalls(i)
				case crossed:
					g.cross(i)
				default:
					g.statements(1 + g.IntN(3))
				}
				switch {
				case message && i == sender:
					g.write("ch <- x")
					g.did(node{kind: send})
				case message && i == 1-sender:
					g.write("x += <-ch")
					g.did(node{kind: receive})
				}
				g.statements(1 + g.IntN(3))
				g.write("out[%d] = x", i)
			})
			all = append(all, body)
		}
		g.write("all.Wait()")
		ends := ""
		for i := range g.objects {
			g.write("a%d := %s", i+1, g.load(fmt.Sprintf("s%d.a", i+1)))
			g.write("b%d := %s", i+1, g.load(fmt.Sprintf("s%d.b", i+1)))
			ends += fmt.Sprintf("a%d, b%[1]d, ", i+1)
		}
		g.write("g := %s", g.load(fmt.Sprintf("g%d", g.number)))
		ends += "g"
		for i := range goroutines {
			ends += fmt.Sprintf(", out[%d]", i)
		}
		g.write("note.End(%s)", ends)
	})
	return all
}

// did adds to what the statements do.
func (g *generator) did(n node) { *g.code = append(*g.code, n) }

// inside returns what the statements do that write writes.
func (g *generator) inside(write func()) (body []node) {
	outer := g.code
	g.code = &body
	write()
	g.code = outer
	return body
}

func (g *generator) statements(n int) {
	for range n {
		g.statement()
	}
}

// choice is a variable as the source names it, the number of its object there, its name in a profile, and in the model.
type choice struct {
	expr, object, name string
	at                 cell
}

// variable chooses a variable.
func (g *generator) variable() choice {
	if g.IntN(4) == 0 {
		name := fmt.Sprintf("g%d", g.number)
		return choice{name, "0", pkg + "." + name, cell{}}
	}
	field := []string{"a", "a", "b"}[g.IntN(3)]
	expr, object, n := g.object()
	return choice{expr + "." + field, object, fmt.Sprintf("%s.s%d.%s", pkg, g.number, field), cell{n, field}}
}

// object chooses an object, and returns an expression for it, one for its number, and the number.
func (g *generator) object() (expr, number string, n int) {
	if g.own {
		return "s", "o", parameter
	}
	n = 1 + g.IntN(g.objects)
	return fmt.Sprintf("s%d", n), fmt.Sprint(n), n
}

func (g *generator) load(expr string) string {
	if g.plain {
		return expr
	}
	return "atomic.LoadInt64(&" + expr + ")"
}

// read returns an expression that reads a variable, on the next line.
func (g *generator) read(v choice) string {
	return fmt.Sprintf("c.R(%d, %s, %s)", g.place("read", v.name), v.object, g.load(v.expr))
}

// store writes a statement that writes a variable.
func (g *generator) store(v choice, value string) {
	n := g.place("write", v.name)
	if g.plain {
		g.write("%s = c.W(%d, %s, %s)", v.expr, n, v.object, value)
	} else {
		g.write("c.W(%d, %s, atomic.SwapInt64(&%s, %s))", n, v.object, v.expr, value)
	}
}

// statement writes a random statement. x is a local variable with what has been seen.
func (g *generator) statement() {
	if g.budget <= 0 {
		return
	}
	v := g.variable()
	switch g.IntN(17) {
	case 0, 1:
		g.budget--
		g.write("x = 3*x + %s", g.read(v))
		g.did(node{kind: see, at: v.at})
	case 2, 3:
		g.budget--
		n := g.IntN(4)
		g.store(v, fmt.Sprintf("x + %d", n))
		g.did(node{kind: set, at: v.at, n: n})
	case 4, 5:
		g.budget -= 2
		n := 1 + g.IntN(3)
		g.store(v, g.read(v)+fmt.Sprintf(" + %d", n))
		g.did(node{kind: increase, at: v.at, n: n})
	case 6, 7, 8:
		g.budget--
		n := node{kind: branch, at: v.at, n: g.IntN(3)}
		test := fmt.Sprintf("if %s %s {", g.read(v), []string{"== 0", "> 1", "> 3"}[n.n])
		if g.IntN(2) == 0 {
			g.block(test, "}", func() { n.body = g.inside(func() { g.statements(1 + g.IntN(2)) }) })
			g.did(n)
			break
		}
		g.block(test, "} else {", func() { n.body = g.inside(func() { g.statements(1) }) })
		g.depth++
		n.otherwise = g.inside(func() { g.statements(1) })
		g.depth--
		g.write("}")
		g.did(n)
	case 9:
		if g.looping {
			g.statement()
			break
		}
		g.looping = true
		g.budget--
		n := node{kind: loop}
		g.block("for range 2 {", "}", func() { n.body = g.inside(func() { g.statements(1 + g.IntN(2)) }) })
		g.did(n)
		g.looping = false
	case 10, 11:
		if !g.critical() {
			g.statement()
		}
	case 12:
		if g.functions == 0 || len(g.held) > 0 {
			g.statement() // a function may acquire what is held
			break
		}
		g.budget -= 2
		s, o, n := g.object()
		f := g.IntN(g.functions)
		argument := "x"
		if g.IntN(2) == 0 {
			argument = g.read(v)
			g.did(node{kind: fetch, at: v.at})
		}
		g.write("x = f%d_%d(c.Call(%d), %s, %s, %s)", g.number, f, g.place("call", ""), s, o, argument)
		g.did(node{kind: calling, at: cell{object: n}, n: f})
	default: // something between two accesses
		g.budget -= 2
		g.write("x = 3*x + %s", g.read(v))
		g.did(node{kind: see, at: v.at})
		if g.IntN(2) == 0 || !g.critical() {
			g.statement()
		}
		n := g.IntN(4)
		g.store(v, fmt.Sprintf("x + %d", n))
		g.did(node{kind: set, at: v.at, n: n})
	}
}

// cross writes statements by which two goroutines need two locks in two orders, if a pair of accesses is atomic: accesses
// to a variable around some to another one, or around a critical section, and the other way around.
func (g *generator) cross(goroutine int) {
	fields := []string{"a", "b"}
	if goroutine%2 == 1 {
		slices.Reverse(fields)
	}
	of := func(i int) choice {
		return choice{"s1." + fields[i], "1", fmt.Sprintf("%s.s%d.%s", pkg, g.number, fields[i]), cell{1, fields[i]}}
	}
	add := func(v choice) {
		g.store(v, g.read(v)+" + 1")
		g.did(node{kind: increase, at: v.at, n: 1})
	}
	lock := cell{0, fmt.Sprintf("k%d", g.number)}
	if len(g.locks) > 0 && goroutine%2 == 1 {
		g.write("%s.Lock()", lock.field)
		g.did(node{kind: acquire, at: lock})
		add(of(1))
		g.write("%s.Unlock()", lock.field)
		g.did(node{kind: release, at: lock})
		return
	}
	g.write("x = 3*x + %s", g.read(of(0)))
	g.did(node{kind: see, at: of(0).at})
	if len(g.locks) > 0 {
		g.write("%s.Lock()", lock.field)
		g.did(node{kind: acquire, at: lock})
		g.write("%s.Unlock()", lock.field)
		g.did(node{kind: release, at: lock})
	} else {
		add(of(1))
	}
	add(of(0))
}

// crossCalls writes statements by which two goroutines need the locks of two objects in two orders, if objects have a lock
// each: accesses to one of them around a call with the other one.
func (g *generator) crossCalls(goroutine int) {
	one, other := 1+goroutine%2, 2-goroutine%2
	v := choice{fmt.Sprintf("s%d.a", one), fmt.Sprint(one), fmt.Sprintf("%s.s%d.a", pkg, g.number), cell{one, "a"}}
	g.write("x = 3*x + %s", g.read(v))
	g.did(node{kind: see, at: v.at})
	f := g.IntN(g.functions)
	g.write("x = f%d_%d(c.Call(%d), s%d, %[4]d, x)", g.number, f, g.place("call", ""), other)
	g.did(node{kind: calling, at: cell{object: other}, n: f})
	g.store(v, "x + 1")
	g.did(node{kind: set, at: v.at, n: 1})
}

// critical writes a critical section. It returns false if no lock can be acquired.
func (g *generator) critical() bool {
	lock, at := "", cell{}
	switch {
	case g.mutexes && len(g.held) == 0 && g.IntN(2) == 0:
		s, _, n := g.object()
		lock, at = s+".mu", cell{n, "mu"}
	case len(g.locks) > 0:
		lock = g.locks[g.IntN(len(g.locks))]
		at = cell{0, lock}
	}
	if lock == "" || len(g.held) > 1 || len(g.held) == 1 && (g.own || g.held[0] >= lock && g.IntN(3) > 0 || g.held[0] == lock) {
		return false
	}
	g.held = append(g.held, lock)
	g.write("%s.Lock()", lock)
	g.did(node{kind: acquire, at: at})
	g.budget++ // it is not to be empty
	g.statements(1 + g.IntN(3))
	g.write("%s.Unlock()", lock)
	g.did(node{kind: release, at: at})
	g.held = g.held[:len(g.held)-1]
	return true
}
