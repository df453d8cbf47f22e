package main

import (
	"fmt"
	"math/rand/v2"
	"strings"
)

const goMod = "module example.com/hidden\n\ngo 1.26\n"

// generate returns the files of a random module with so many tests.
func generate(seed uint64, tests int) map[string]string {
	g := &generator{rng: rand.New(rand.NewPCG(seed, 3))}
	for range 4 + g.rng.IntN(3) {
		g.container()
	}
	for range 3 {
		g.executor()
	}
	files := map[string]string{"go.mod": goMod, "box/box.go": boxHead + g.box.String()}
	for i := range tests {
		g.test(i)
	}
	files["client/client_test.go"] = clientHead + "var (\n" + g.variables.String() + ")\n" + g.client.String()
	return files
}

type generator struct {
	rng        *rand.Rand
	box        strings.Builder
	containers []container
	executors  int
	variables  strings.Builder
	client     strings.Builder
	numVars    int
}

// container is what the tests must know of a type of containers.
type container struct {
	name   string // as in box.New3()
	typ    string
	global bool // all containers of the type exclude each other
}

func (g *generator) chance(percent int) bool { return g.rng.IntN(100) < percent }

// pick returns one of several texts.
func (g *generator) pick(texts ...string) string { return texts[g.rng.IntN(len(texts))] }

const boxHead = `// Package box has containers and executors.
package box

import (
	"errors"
	"runtime"
	"sync"
	"sync/atomic"
	"time"
)

var (
	ErrFull = errors.New("full")
	sizes   = map[int]int{1: 10, 2: 20}
	stats   atomic.Int64
	names   = []string{"a", "b"}
)

var _, _ = runtime.Gosched, time.Now

type node struct {
	v    any
	next *node
}

type cell struct{ v any }

// spin is a lock.
type spin struct{ v atomic.Int32 }

func (s *spin) Lock() {
	for !s.v.CompareAndSwap(0, 1) {
		runtime.Gosched()
	}
}
func (s *spin) Unlock() { s.v.Store(0) }

// semaphore is a lock.
type semaphore chan struct{}

func (s semaphore) Lock()   { s <- struct{}{} }
func (s semaphore) Unlock() { <-s }

type waiter interface{ Get() any }

// GetFrom takes what is in the container that get returns.
func GetFrom(get func() any) any { return get().(waiter).Get() }
`

// container writes a type of containers.
func (g *generator) container() {
	n := len(g.containers)
	c := container{name: fmt.Sprintf("New%d", n), typ: fmt.Sprintf("C%d", n), global: g.chance(15)}
	lock := g.pick("*sync.Mutex = new(sync.Mutex)", "*sync.RWMutex = new(sync.RWMutex)", "*spin = new(spin)", "semaphore = make(semaphore, 1)")
	lockType, newLock, _ := strings.Cut(lock, " = ")
	store := g.pick("any", "[]any", "map[int]any", "*node", "*cell")
	put, get, isFull := map[string]string{"any": "c.v = v", "[]any": "c.v = append(c.v, v)", "map[int]any": "c.v = map[int]any{1: v}", "*node": "c.v = &node{v, c.v}", "*cell": "c.v = &cell{v}"}[store],
		map[string]string{"any": "c.v", "[]any": "c.v[0]", "map[int]any": "c.v[1]", "*node": "c.v.v", "*cell": "c.v.v"}[store],
		map[string]string{"any": "c.full", "[]any": "len(c.v) > 0", "map[int]any": "len(c.v) > 0", "*node": "c.v != nil", "*cell": "c.v != nil"}[store]
	extra := g.pick("", "", "_ = ErrFull", "_ = sizes[1]", "_ = names[0]", "c.n++")
	statistics := ""
	if g.chance(15) {
		statistics = "stats.Add(1)"
	}
	w := &g.box
	if c.global {
		fmt.Fprintf(w, "\nvar all%d sync.Mutex\n", n)
	}
	fmt.Fprintf(w, "\ntype C%d struct {\n\tmu %s\n\tcond *sync.Cond\n\tready chan struct{}\n\tslot atomic.Pointer[cell]\n\tfull bool\n\tn int\n\tv %s\n}\n", n, lockType, store)
	fmt.Fprintf(w, "\nfunc New%d() *C%[1]d {\n\tc := &C%[1]d{mu: %s, ready: make(chan struct{})}\n\tc.cond = sync.NewCond(c.mu)\n\treturn c\n}\n", n, newLock)
	locked := fmt.Sprintf("c.mu.Lock()\n\t%s\n\t%s\n\tc.full = true\n\tc.mu.Unlock()", extra, put)
	read := fmt.Sprintf("c.mu.Lock()\n\t%s\n\tdefer c.mu.Unlock()\n\treturn %s", extra, get)
	switch g.rng.IntN(4) {
	case 0: // poll
		fmt.Fprintf(w, "\nfunc (c *C%d) Put(v any) {\n\t%s\n\t%s\n}\n", n, statistics, locked)
		fmt.Fprintf(w, "\nfunc (c *C%d) Get() any {\n\tfor {\n\t\tc.mu.Lock()\n\t\tif %s {\n\t\t\tv := %s\n\t\t\tc.mu.Unlock()\n\t\t\treturn v\n\t\t}\n\t\tc.mu.Unlock()\n\t\truntime.Gosched()\n\t}\n}\n", n, isFull, get)
	case 1: // condition
		fmt.Fprintf(w, "\nfunc (c *C%d) Put(v any) {\n\t%s\n\t%s\n\tc.cond.Broadcast()\n}\n", n, statistics, locked)
		fmt.Fprintf(w, "\nfunc (c *C%d) Get() any {\n\tc.mu.Lock()\n\tdefer c.mu.Unlock()\n\tfor !(%s) {\n\t\tc.cond.Wait()\n\t}\n\treturn %s\n}\n", n, isFull, get)
	case 2: // channel
		fmt.Fprintf(w, "\nfunc (c *C%d) Put(v any) {\n\t%s\n\t%s\n\tclose(c.ready)\n}\n", n, statistics, locked)
		fmt.Fprintf(w, "\nfunc (c *C%d) Get() any {\n\t<-c.ready\n\t%s\n}\n", n, read)
	case 3: // atomic variable
		fmt.Fprintf(w, "\nfunc (c *C%d) Put(v any) {\n\t%s\n\tc.slot.Store(&cell{v})\n}\n", n, statistics)
		fmt.Fprintf(w, "\nfunc (c *C%d) Get() any {\n\tfor c.slot.Load() == nil {\n\t\truntime.Gosched()\n\t}\n\treturn c.slot.Load().v\n}\n", n)
	}
	before, after := "", ""
	if c.global {
		before, after = fmt.Sprintf("all%d.Lock()\n\tdefer all%[1]d.Unlock()\n\t", n), ""
	}
	fmt.Fprintf(w, "\nfunc (c *C%d) Do(f func()) {\n\t%sc.mu.Lock()\n\tdefer c.mu.Unlock()\n\t%s\n\tf()%s\n}\n", n, before, extra, after)
	g.containers = append(g.containers, c)
}

// executor writes a function that runs another one, and returns one that waits for its end.
func (g *generator) executor() {
	bodies := []string{
		"var wg sync.WaitGroup\n\twg.Add(1)\n\tgo func() {\n\t\tdefer wg.Done()\n\t\tf()\n\t}()\n\treturn wg.Wait",
		"done := make(chan struct{})\n\tgo func() {\n\t\tf()\n\t\tclose(done)\n\t}()\n\treturn func() { <-done }",
		"done := make(chan struct{})\n\ttime.AfterFunc(time.Millisecond, func() {\n\t\tf()\n\t\tclose(done)\n\t})\n\treturn func() { <-done }",
		"in, out := make(chan func()), make(chan bool, 1)\n\tgo func() {\n\t\tfor f := range in {\n\t\t\tf()\n\t\t\tout <- true\n\t\t}\n\t}()\n\tin <- f\n\treturn func() {\n\t\t<-out\n\t\tclose(in)\n\t}",
		"var ended atomic.Bool\n\tgo func() {\n\t\tf()\n\t\tended.Store(true)\n\t}()\n\treturn func() {\n\t\tfor !ended.Load() {\n\t\t\truntime.Gosched()\n\t\t}\n\t}",
	}
	fmt.Fprintf(&g.box, "\nfunc Go%d(f func()) (wait func()) {\n\t%s\n}\n", g.executors, bodies[g.rng.IntN(len(bodies))])
	g.executors++
}

const clientHead = `package client

import (
	"sync"
	"testing"
	"time"

	"example.com/hidden/box"
)

func both(f, g func()) {
	var wg sync.WaitGroup
	wg.Go(f)
	wg.Go(g)
	wg.Wait()
}

func late() { time.Sleep(time.Millisecond) }

var mu sync.Mutex

`

// test writes a test with some variables.
func (g *generator) test(i int) {
	fmt.Fprintf(&g.client, "\nfunc Test%d(t *testing.T) {\n", i)
	for range 1 + g.rng.IntN(3) {
		if g.chance(30) {
			g.client.WriteString("both(func() {\n")
			g.block()
			g.client.WriteString("}, func() {\n")
			g.block()
			g.client.WriteString("})\n")
			continue
		}
		g.block()
	}
	g.client.WriteString("}\n")
}

// variable returns a new variable of the client.
func (g *generator) variable(clean bool) string {
	kind := "racy"
	if clean {
		kind = "clean"
	}
	name := fmt.Sprintf("%s%d", kind, g.numVars)
	g.numVars++
	fmt.Fprintf(&g.variables, "\t%s int\n", name)
	return name
}

// block writes statements about one variable.
func (g *generator) block() {
	c, d := g.containers[g.rng.IntN(len(g.containers))], g.containers[g.rng.IntN(len(g.containers))]
	clean := g.chance(60)
	first, second := g.pick("late()", "", ""), g.pick("late()", "", "")
	write := func(format string, args ...any) { fmt.Fprintf(&g.client, format+"\n", args...) }
	kind := g.rng.IntN(7)
	if !c.global && g.chance(4) {
		kind = 7
	}
	switch kind {
	case 0: // hand over
		v := g.variable(clean)
		before, after := "", v+" = 1"
		if clean {
			before, after = after, before
		}
		write("{\nc := box.%s()\nboth(func() {\n%s\n%s\nc.Put(1)\n%s\n}, func() {\n%s\nc.Get()\n%s = 2\n})\n}", c.name, first, before, after, second, v)
	case 1: // exclude
		clean = clean || c.global
		v := g.variable(clean)
		other := "c"
		if !clean {
			other = "d"
		}
		write("{\nc, d := box.%s(), box.%[1]s()\n_ = d\nboth(func() {\n%s\nc.Do(func() { %s++ })\n}, func() {\n%s\n%s.Do(func() { %[3]s++ })\n})\n}", c.name, first, v, second, other)
	case 2: // a task
		v := g.variable(clean)
		before, after := v+" = 1", ""
		if clean {
			before, after = after, before
		}
		write("{\n%s = 0\nwait := box.Go%d(func() {\n%s\n%[1]s = 2\n})\n%[4]s\n%[5]s\nwait()\n%[6]s\n}", v, g.rng.IntN(g.executors), first, second, before, after)
	case 3: // a container passed on by another one
		v := g.variable(clean)
		before, after := "", v+" = 1"
		if clean {
			before, after = after, before
		}
		write("{\na, b := box.%s(), box.%s()\nboth(func() {\na.Put(b)\n%s\n%s\nb.Put(1)\n%s\n}, func() {\nb := a.Get().(*box.%s)\n%s\nb.Get()\n%s = 2\n})\n}", c.name, d.name, first, before, after, d.typ, second, v)
	case 4: // a container that comes from a call back
		v := g.variable(clean)
		before, after := "", v+" = 1"
		if clean {
			before, after = after, before
		}
		write("{\nc := box.%s()\nboth(func() {\n%s\n%s\nc.Put(1)\n%s\n}, func() {\n%s\nbox.GetFrom(func() any { return c })\n%s = 2\n})\n}", c.name, first, before, after, second, v)
	case 5: // a task in a call back
		v := g.variable(clean)
		before, after := v+" = 3", ""
		if clean {
			before, after = after, before
		}
		write("{\nc := box.%s()\nvar wait func()\nc.Do(func() {\n%s = 1\nwait = box.Go%d(func() { %[2]s = 2 })\n})\n%[4]s\n%[5]s\nwait()\n%[6]s\n}", c.name, v, g.rng.IntN(g.executors), second, before, after)
	case 7: // ordered only by chance, which a prediction may see if it knows what is hidden
		v := g.variable(false)
		write("{\nc := box.%s()\nboth(func() {\n%s = 1\nc.Do(func() {})\n}, func() {\nlate()\nc.Do(func() {})\n%[2]s = 2\n})\n}", c.name, v)
	case 6: // visible locks around hidden calls
		v := g.variable(clean)
		put, get := "mu.Lock()\nc.Put(1)\nmu.Unlock()", "c.Get()\nmu.Lock()\nmu.Unlock()"
		before, after := "", v+" = 1"
		if clean {
			before, after = after, before
		}
		write("{\nc := box.%s()\nboth(func() {\n%s\n%s\n%s\n%s\n}, func() {\n%s\n%s\n%s = 2\n})\n}", c.name, first, before, put, after, second, get, v)
	}
}
