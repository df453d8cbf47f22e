package main

import (
	"fmt"
	"math/rand/v2"
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
	test, file string
	text       string
	places     []place
}

// generate returns the program with a seed.
func generate(seed uint64, plain bool) *program {
	g := &generator{Rand: rand.New(rand.NewPCG(seed, 32)), number: int(seed), plain: plain}
	g.write("package random")
	g.write("")
	g.write("import (")
	for _, path := range []string{"fmt", "sync", "sync/atomic", "testing", "", pkg + "/note"} {
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
	for _, name := range []string{"k", "l"}[:g.IntN(3)] {
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
	g.test()
	return &program{fmt.Sprintf("TestP%d", g.number), fmt.Sprintf("p%d_test.go", g.number), g.out.String(), g.places}
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
	g.own, g.budget = true, 1+g.IntN(2)
	g.block(fmt.Sprintf("func f%d_%d(c *note.Call, s *s%[1]d, o int, x int64) int64 {", g.number, g.functions), "}", func() {
		g.statements(1 + g.IntN(2))
		g.write("return x")
	})
	g.functions++
}

// test writes the test.
func (g *generator) test() {
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
		if message {
			g.write("ch := make(chan int64, 1)")
		}
		for i := range goroutines {
			g.block("all.Go(func() {", "})", func() {
				g.write("c, x := note.Begin(%d), int64(%d)", i, i+1)
				g.write("_ = c")
				g.budget = 6/goroutines - g.IntN(2)
				g.statements(1 + g.IntN(2))
				switch {
				case message && i == sender:
					g.write("ch <- x")
					g.statements(g.IntN(2))
				case message && i == 1-sender:
					g.write("x += <-ch")
					g.statements(1 + g.IntN(2))
				default:
					g.statements(1 + g.IntN(2))
				}
				g.write("out[%d] = x", i)
			})
		}
		g.write("all.Wait()")
		g.write("note.Print()")
		for i := range g.objects {
			g.write(`fmt.Println("end:", %s, %s)`, g.load(fmt.Sprintf("s%d.a", i+1)), g.load(fmt.Sprintf("s%d.b", i+1)))
		}
		g.write(`fmt.Println("end:", %s, out)`, g.load(fmt.Sprintf("g%d", g.number)))
	})
}

func (g *generator) statements(n int) {
	for range n {
		g.statement()
	}
}

// variable chooses a variable: how the source names it, the number of its object, and its name in a profile.
func (g *generator) variable() (expr, object, name string) {
	if g.IntN(4) == 0 {
		name = fmt.Sprintf("g%d", g.number)
		return name, "0", pkg + "." + name
	}
	field := []string{"a", "a", "b"}[g.IntN(3)]
	expr, object = g.object()
	return expr + "." + field, object, fmt.Sprintf("%s.s%d.%s", pkg, g.number, field)
}

// object chooses an object, and returns an expression for it and one for its number.
func (g *generator) object() (expr, number string) {
	if g.own {
		return "s", "o"
	}
	n := 1 + g.IntN(g.objects)
	return fmt.Sprintf("s%d", n), fmt.Sprint(n)
}

func (g *generator) load(expr string) string {
	if g.plain {
		return expr
	}
	return "atomic.LoadInt64(&" + expr + ")"
}

// read returns an expression that reads a variable, on the next line.
func (g *generator) read(expr, object, name string) string {
	return fmt.Sprintf("c.R(%d, %s, %s)", g.place("read", name), object, g.load(expr))
}

// store writes a statement that writes a variable.
func (g *generator) store(expr, object, name, value string) {
	n := g.place("write", name)
	if g.plain {
		g.write("%s = c.W(%d, %s, %s)", expr, n, object, value)
	} else {
		g.write("c.W(%d, %s, atomic.SwapInt64(&%s, %s))", n, object, expr, value)
	}
}

// statement writes a random statement. x is a local variable with what has been seen.
func (g *generator) statement() {
	if g.budget <= 0 {
		return
	}
	expr, object, name := g.variable()
	switch g.IntN(13) {
	case 0, 1:
		g.budget--
		g.write("x = 3*x + %s", g.read(expr, object, name))
	case 2, 3:
		g.budget--
		g.store(expr, object, name, fmt.Sprintf("x + %d", g.IntN(4)))
	case 4, 5:
		g.budget -= 2
		g.store(expr, object, name, g.read(expr, object, name)+fmt.Sprintf(" + %d", 1+g.IntN(3)))
	case 6, 7, 8:
		g.budget--
		test := fmt.Sprintf("if %s %s {", g.read(expr, object, name), []string{"== 0", "> 1", "> 3"}[g.IntN(3)])
		if g.IntN(2) == 0 {
			g.block(test, "}", func() { g.statements(1 + g.IntN(2)) })
			break
		}
		g.block(test, "} else {", func() { g.statements(1) })
		g.depth++
		g.statements(1)
		g.depth--
		g.write("}")
	case 9:
		if g.looping {
			g.statement()
			break
		}
		g.looping = true
		g.budget--
		g.block("for range 2 {", "}", func() { g.statements(1 + g.IntN(2)) })
		g.looping = false
	case 10, 11:
		lock := ""
		switch {
		case g.mutexes && len(g.held) == 0 && g.IntN(2) == 0:
			s, _ := g.object()
			lock = s + ".mu"
		case len(g.locks) > 0:
			lock = g.locks[g.IntN(len(g.locks))]
		}
		if lock == "" || len(g.held) > 1 || len(g.held) == 1 && (g.own || g.held[0] >= lock && g.IntN(3) > 0 || g.held[0] == lock) {
			g.statement()
			break
		}
		g.held = append(g.held, lock)
		g.write("%s.Lock()", lock)
		g.statements(1 + g.IntN(2))
		g.write("%s.Unlock()", lock)
		g.held = g.held[:len(g.held)-1]
	case 12:
		if g.functions == 0 || len(g.held) > 0 {
			g.statement() // a function may acquire what is held
			break
		}
		g.budget -= 2
		s, o := g.object()
		g.write("x = f%d_%d(c.Call(%d), %s, %s, x)", g.number, g.IntN(g.functions), g.place("call", ""), s, o)
	}
}
