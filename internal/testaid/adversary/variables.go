package main

import (
	"fmt"
	"strings"
)

// A variable is shared between goroutines and follows a discipline.
type variable struct {
	name string
	kind *kind
	// use writes an access by a goroutine. Goroutine 0 starts the others.
	use func(goroutine int)
	// first writes what goroutine 0 does right after it has started the others, if not nil.
	first func()
	// last writes an access after the others have ended. If it is nil, any access will do.
	last func()
	// broken makes use leave out the synchronization at random.
	broken bool
}

// A kind is a type of variables with statements that access them. In a statement, $ stands for the
// variable and # for a small number.
type kind struct {
	name, init    string
	reads, writes []string
}

// harmless is the number of kinds, at the beginning of the list, whose values may be read and
// written at the same time without crashing the program.
const harmless = 2

var kinds = []*kind{
	{"int", "1",
		[]string{"sink($)", "if $ > # { sink($) }"},
		[]string{"$++", "$ += #", "$ = # + $"}},
	{"[9]byte", "[9]byte{}",
		[]string{"sink(int($[#]))", "{ b := $; sink(int(b[#])) }"},
		[]string{"$[#]++", "$ = [9]byte{}"}},
	{"record", "record{n: 2}",
		[]string{"sink($.n)", "{ r := record{$.n, $.s, $.a, $.in}; use(&r) }", "{ r := $; sink(r.a[#%4] + r.n) }", "sink(len($.s))", "sink($.in.x)"},
		[]string{"$.n++", "$ = record{n: #}", "$.a[#%4]++", "$.s += \"x\"", "$.in.y = #", "{ r := $; r.n++; $ = r }"}},
	{"[]int", "[]int{1, 2, 3, 4, 5, 6, 7, 8, 9}",
		[]string{"sink(len($))", "for _, v := range $ { sink(v) }", "sink($[#])"},
		[]string{"$ = append($, #)", "$[#]++", "copy($, $[1:])"}},
	{"map[int]int", "map[int]int{1: 1}",
		[]string{"sink($[#])", "for k := range $ { sink(k) }", "sink(len($))", "if v, ok := $[#]; ok { sink(v) }"},
		[]string{"$[#]++", "$[#] = #", "delete($, #)"}},
	{"*record", "&record{}",
		[]string{"if $ != nil { sink($.n) }", "sink($.a[#%4])"},
		[]string{"$ = &record{n: $.n + 1}", "$.n++"}},
	{"any", "any(1)",
		[]string{"if v, ok := $.(int); ok { sink(v) }"},
		[]string{"$ = #", "$ = \"s\""}},
	{"string", `"s"`,
		[]string{"sink(len($))"},
		[]string{"$ += \"x\"", "$ = \"\""}},
}

// expand writes one of the statements for the variable of the given name.
func (g *generator) expand(statements []string, name string) {
	s := statements[g.IntN(len(statements))]
	s = strings.ReplaceAll(s, "$", name)
	g.line("%s", strings.ReplaceAll(s, "#", fmt.Sprint(g.IntN(8))))
}

func (g *generator) read(v *variable)  { g.expand(v.kind.reads, v.name) }
func (g *generator) write(v *variable) { g.expand(v.kind.writes, v.name) }

// access writes some reads and writes.
func (g *generator) access(v *variable) {
	for range 1 + g.IntN(2) {
		if g.IntN(2) == 0 {
			g.read(v)
		} else {
			g.write(v)
		}
	}
}

// declare writes the declaration of a variable and, sometimes, a further write to it.
func (g *generator) declare(v *variable) {
	g.line("var %s %s = %s", v.name, v.kind.name, v.kind.init)
	g.line("use(&%s)", v.name)
	if g.IntN(3) == 0 {
		g.write(v)
	}
}

// guarded writes an access between two statements. If v is broken, it leaves out the statements half
// of the time.
func (g *generator) guarded(v *variable, before, after string, access func(*variable)) {
	switch {
	case v.broken && g.IntN(2) == 0:
		access(v)
	case after != "" && g.IntN(3) == 0:
		g.block("func() {", "}()", func() {
			g.line("%s", before)
			g.line("defer %s", after)
			access(v)
		})
	default:
		g.line("%s", before)
		access(v)
		g.line("%s", after)
	}
}

// disciplines has all disciplines. One that occurs twice is chosen twice as often.
var disciplines = []func(*generator, *variable){
	(*generator).mutex, (*generator).mutex, (*generator).readWrite, (*generator).channel,
	(*generator).spin, (*generator).try, (*generator).token, (*generator).published,
	(*generator).once, (*generator).slots, (*generator).bytes, (*generator).condition,
	(*generator).closed, (*generator).syncMap, (*generator).pool, (*generator).timer,
	(*generator).canceled, (*generator).nested, (*generator).handed, (*generator).swapped,
}

// breakable has the disciplines that consider the field broken.
var breakable = []func(*generator, *variable){
	(*generator).mutex, (*generator).readWrite, (*generator).channel, (*generator).spin,
}

func (g *generator) mutex(v *variable) {
	g.declare(v)
	g.line("var %s_mu sync.Mutex", v.name)
	g.line("use(&%s_mu)", v.name)
	v.use = func(int) { g.guarded(v, v.name+"_mu.Lock()", v.name+"_mu.Unlock()", g.access) }
}

func (g *generator) readWrite(v *variable) {
	g.declare(v)
	g.line("var %s_mu sync.RWMutex", v.name)
	g.line("use(&%s_mu)", v.name)
	v.use = func(int) {
		if g.IntN(2) == 0 {
			g.guarded(v, v.name+"_mu.RLock()", v.name+"_mu.RUnlock()", g.read)
		} else {
			g.guarded(v, v.name+"_mu.Lock()", v.name+"_mu.Unlock()", g.access)
		}
	}
}

// channel uses a buffered channel as a lock.
func (g *generator) channel(v *variable) {
	g.declare(v)
	element, value := "struct{}", "struct{}{}"
	if g.IntN(2) == 0 {
		element, value = "int", "0"
	}
	g.line("%s_c := make(chan %s, 1)", v.name, element)
	g.line("use(%s_c)", v.name)
	v.use = func(int) { g.guarded(v, v.name+"_c <- "+value, "func() { <-"+v.name+"_c }()", g.access) }
}

// spin makes a spin lock of atomic operations.
func (g *generator) spin(v *variable) {
	g.declare(v)
	g.line("var %s_l atomic.Int32", v.name)
	g.line("use(&%s_l)", v.name)
	v.use = func(int) {
		g.guarded(v, fmt.Sprintf("for !%s_l.CompareAndSwap(0, 1) { runtime.Gosched() }", v.name), v.name+"_l.Store(0)", g.access)
	}
}

func (g *generator) try(v *variable) {
	g.declare(v)
	g.line("var %s_mu sync.Mutex", v.name)
	g.line("use(&%s_mu)", v.name)
	v.use = func(int) {
		g.block("if "+v.name+"_mu.TryLock() {", "}", func() {
			g.access(v)
			g.line("%s_mu.Unlock()", v.name)
		})
	}
}

// token passes a pointer to the variable from goroutine to goroutine.
func (g *generator) token(v *variable) {
	g.line("%s_c := make(chan *%s, 1)", v.name, v.kind.name)
	g.block("{", "}", func() {
		g.line("var first %s = %s", v.kind.name, v.kind.init)
		g.line("%s_c <- &first", v.name)
	})
	use := func() {
		g.block("{", "}", func() {
			g.line("p := <-%s_c", v.name)
			g.access(&variable{name: "(*p)", kind: v.kind})
			g.line("%s_c <- p", v.name)
		})
	}
	v.use, v.last = func(int) { use() }, use
}

// published writes the variable before an atomic store and reads it after an atomic load that sees
// the store.
func (g *generator) published(v *variable) {
	g.declare(v)
	g.line("var %s_ready atomic.Bool", v.name)
	g.line("use(&%s_ready)", v.name)
	v.first = func() {
		g.write(v)
		g.line("%s_ready.Store(true)", v.name)
	}
	v.use = func(int) { g.block("if "+v.name+"_ready.Load() {", "}", func() { g.read(v) }) }
}

func (g *generator) once(v *variable) {
	g.declare(v)
	g.line("var %s_once sync.Once", v.name)
	g.line("use(&%s_once)", v.name)
	v.use = func(int) {
		g.block(v.name+"_once.Do(func() {", "})", func() { g.write(v) })
		g.read(v)
	}
}

// slots gives every goroutine its own element.
func (g *generator) slots(v *variable) {
	g.line("var %s [4]%s", v.name, v.kind.name)
	g.line("for i := range %s { %[1]s[i] = %s }", v.name, v.kind.init)
	of := func(i int) *variable { return &variable{name: fmt.Sprintf("%s[%d]", v.name, i), kind: v.kind} }
	v.use = func(goroutine int) { g.access(of(goroutine)) }
	v.last = func() { g.access(of(g.IntN(4))) }
}

// bytes gives every goroutine two neighboring bytes.
func (g *generator) bytes(v *variable) {
	g.line("%s := make([]byte, 11)", v.name)
	v.use = func(goroutine int) {
		g.line("%s[%d]++", v.name, 2*goroutine+g.IntN(2))
		g.line("copy(%s[%d:], []byte{1, 2})", v.name, 2*goroutine)
	}
	v.last = func() { g.line("for i := range %s { %[1]s[i]++ }", v.name) }
}

func (g *generator) condition(v *variable) {
	g.declare(v)
	g.line("var %s_mu sync.Mutex", v.name)
	g.line("use(&%s_mu)", v.name)
	g.line("%s_c, %[1]s_done := sync.NewCond(&%[1]s_mu), false", v.name)
	g.line("use(%s_c, &%[1]s_done)", v.name)
	v.first = func() {
		g.write(v)
		g.line("%s_mu.Lock()", v.name)
		g.line("%s_done = true", v.name)
		g.line("%s_mu.Unlock()", v.name)
		g.line("%s_c.Broadcast()", v.name)
	}
	v.use = func(int) {
		g.line("%s_mu.Lock()", v.name)
		g.line("for !%s_done { %[1]s_c.Wait() }", v.name)
		g.line("%s_mu.Unlock()", v.name)
		g.read(v)
	}
}

// closed writes the variable before it closes a channel and reads it after a receive that sees that.
func (g *generator) closed(v *variable) {
	g.declare(v)
	g.line("%s_c := make(chan bool, %d)", v.name, g.IntN(2))
	g.line("use(%s_c)", v.name)
	v.first = func() {
		g.write(v)
		g.line("close(%s_c)", v.name)
	}
	v.use = func(int) {
		switch g.IntN(3) {
		case 0:
			g.line("<-%s_c", v.name)
			g.read(v)
		case 1:
			g.block("for range "+v.name+"_c {", "}", func() {})
			g.read(v)
		default:
			g.block("select {", "}", func() {
				g.line("case <-%s_c:", v.name)
				g.read(v)
				g.line("default:")
			})
		}
	}
}

func (g *generator) syncMap(v *variable) {
	g.line("var %s sync.Map", v.name)
	g.line("use(&%s)", v.name)
	store := func() {
		g.block("{", "}", func() {
			g.line("var made %s = %s", v.kind.name, v.kind.init)
			g.write(&variable{name: "made", kind: v.kind})
			g.line("%s.%s(%d, &made)", v.name, []string{"Store", "LoadOrStore", "Swap"}[g.IntN(3)], g.IntN(3))
		})
	}
	load := func() {
		g.block(fmt.Sprintf("if p, ok := %s.Load(%d); ok {", v.name, g.IntN(3)), "}", func() {
			g.line("p := p.(*%s)", v.kind.name)
			g.read(&variable{name: "(*p)", kind: v.kind})
		})
	}
	v.use = func(int) {
		if g.IntN(2) == 0 {
			store()
		} else {
			load()
		}
	}
	v.last = load
}

func (g *generator) pool(v *variable) {
	g.line("%s := sync.Pool{New: func() any { var made %s = %s; return &made }}", v.name, v.kind.name, v.kind.init)
	g.line("use(&%s)", v.name)
	use := func() {
		g.block("{", "}", func() {
			g.line("p := %s.Get().(*%s)", v.name, v.kind.name)
			g.access(&variable{name: "(*p)", kind: v.kind})
			g.line("%s.Put(p)", v.name)
		})
	}
	v.use, v.last = func(int) { use() }, use
}

// timer makes a fresh variable in every use, which the function of a timer accesses, too.
func (g *generator) timer(v *variable) {
	use := func() {
		g.block("{", "}", func() {
			g.line("var mine %s = %s", v.kind.name, v.kind.init)
			g.line("use(&mine)")
			mine := &variable{name: "mine", kind: v.kind}
			g.line("done := make(chan bool)")
			g.block(fmt.Sprintf("time.AfterFunc(%d, func() {", g.IntN(1000)), "})", func() {
				g.access(mine)
				g.line("close(done)")
			})
			g.line("<-done")
			g.access(mine)
		})
	}
	v.use, v.last = func(int) { use() }, use
}

// canceled writes the variable before it cancels a context and reads it after the context is done.
func (g *generator) canceled(v *variable) {
	g.declare(v)
	g.line("%s_ctx, %[1]s_cancel := context.WithCancel(context.Background())", v.name)
	g.line("use(%s_ctx)", v.name)
	v.first = func() {
		g.write(v)
		g.line("%s_cancel()", v.name)
	}
	v.use = func(int) {
		g.line("<-%s_ctx.Done()", v.name)
		g.read(v)
	}
}

// nested makes a fresh variable in every use. A further goroutine accesses it while the first one
// waits.
func (g *generator) nested(v *variable) {
	use := func() {
		g.block("{", "}", func() {
			g.line("var mine %s = %s", v.kind.name, v.kind.init)
			g.line("use(&mine)")
			mine := &variable{name: "mine", kind: v.kind}
			g.access(mine)
			if g.IntN(2) == 0 {
				g.line("done := make(chan int, %d)", g.IntN(2))
				g.block("go func() {", "}()", func() {
					g.access(mine)
					g.line("done <- 1")
				})
				g.line("<-done")
			} else {
				g.line("var done sync.WaitGroup")
				g.block("done.Go(func() {", "})", func() { g.access(mine) })
				g.line("done.Wait()")
			}
			g.access(mine)
		})
	}
	v.use, v.last = func(int) { use() }, use
}

// handed makes fresh variables in every use and sends them to a further goroutine.
func (g *generator) handed(v *variable) {
	use := func() {
		g.block("{", "}", func() {
			g.line("c := make(chan *%s)", v.kind.name)
			g.line("end := make(chan bool)")
			g.block("go func() {", "}()", func() {
				g.line("defer close(end)")
				g.block("for p := range c {", "}", func() { g.access(&variable{name: "(*p)", kind: v.kind}) })
			})
			g.block("for range 2 {", "}", func() {
				g.line("var made %s = %s", v.kind.name, v.kind.init)
				g.access(&variable{name: "made", kind: v.kind})
				g.line("c <- &made")
			})
			g.line("close(c)")
			g.line("<-end")
		})
	}
	v.use, v.last = func(int) { use() }, use
}

// swapped publishes fresh values, which never change again, through an atomic pointer.
func (g *generator) swapped(v *variable) {
	g.line("var %s atomic.Pointer[%s]", v.name, v.kind.name)
	g.line("use(&%s)", v.name)
	load := func() {
		g.block("if p := "+v.name+".Load(); p != nil {", "}", func() {
			g.read(&variable{name: "(*p)", kind: v.kind})
		})
	}
	v.use = func(int) {
		if g.IntN(2) == 0 {
			load()
			return
		}
		g.block("{", "}", func() {
			g.line("var made %s = %s", v.kind.name, v.kind.init)
			g.write(&variable{name: "made", kind: v.kind})
			g.line("%s.Store(&made)", v.name)
		})
	}
	v.last = load
}
