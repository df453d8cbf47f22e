// Package racyprograms generates random Go programs with data races and lost updates in them, for what repairs programs. Each
// program is a package with a test. Its goroutines call methods of one object or two, which point to each other or to themselves.
// The methods count, take what is left, remember the highest value, start once, hand out numbers, and collect, in many shapes:
// with helpers, early returns, loops, closures, deferred calls, panics that are recovered, call-backs through the standard library,
// channels and flags that are polled, for which another goroutine lets them wait, and mutexes that some of them forget.
//
// The test knows what must be true at its end if no update is lost. It fails if that is not so. A program as it is generated loses
// updates; one that is repaired must not, and must end in every schedule.
package racyprograms

import (
	"fmt"
	"go/format"
	"math/rand/v2"
	"strings"
)

// Program is a package with a test.
type Program struct {
	Name   string // of the package and its folder
	Test   string // the name of the test
	Source string // of c.go
	Tests  string // of c_test.go
	Fields []Field
}

// Field is a field that goroutines access without a lock.
type Field struct {
	Name string
	Line int // of c.go, with an access
	Expr string
}

// generator writes a program.
type generator struct {
	*rand.Rand
	body    strings.Builder
	ops     []string // calls of the operations, with the variable that gets the result
	checks  []string
	never   []string // conditions with the fields that are never true
	helpers map[string]bool
	number  int
	locked  bool // the object has a mutex
}

// Generate returns the program with a seed. With equal seeds it is the same.
func Generate(seed uint64) Program {
	g := &generator{Rand: rand.New(rand.NewPCG(seed, 50)), helpers: map[string]bool{}, locked: seed%3 == 0}
	kinds := []func(){g.counter, g.stock, g.highest, g.started, g.numbers, g.collected}
	g.Shuffle(len(kinds), func(i, j int) { kinds[i], kinds[j] = kinds[j], kinds[i] })
	for _, kind := range kinds[:1+g.IntN(2)] {
		kind()
	}
	p := Program{Name: fmt.Sprintf("p%d", seed), Test: fmt.Sprintf("TestP%d", seed)}
	p.Source = formatted(g.source(p.Name))
	p.Tests = formatted(g.test(p.Name, p.Test))
	seen := map[string]bool{}
	for i, line := range strings.Split(p.Source, "\n") {
		for _, name := range []string{"n", "left", "high", "running", "ids", "next", "items"} {
			if expr := "x." + name; !seen[name] && accesses(line, expr) {
				seen[name] = true
				p.Fields = append(p.Fields, Field{name, i + 1, expr})
			}
		}
	}
	return p
}

// accesses reports whether a line has an expression that does not go on.
func accesses(line, expr string) bool {
	for at := strings.Index(line, expr); at >= 0; {
		rest := line[at+len(expr):]
		letter := rest != "" && (rest[0] >= 'a' && rest[0] <= 'z' || rest[0] >= 'A' && rest[0] <= 'Z' || rest[0] == '(')
		if !letter && (at == 0 || line[at-1] != '.') {
			return true
		}
		next := strings.Index(rest, expr)
		if next < 0 {
			return false
		}
		at += len(expr) + next
	}
	return false
}

func formatted(source string) string {
	text, err := format.Source([]byte(source))
	if err != nil {
		panic(fmt.Sprintf("%v in\n%s", err, source)) // the generator is wrong
	}
	return string(text)
}

func (g *generator) source(name string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "package %s\n\nimport (\n", name)
	for _, path := range []string{"encoding/json", "errors", "fmt", "iter", "runtime", "slices", "sort", "strconv", "strings", "sync", "sync/atomic"} {
		if name := path[strings.LastIndexByte(path, '/')+1:]; name == "sync" || name == "atomic" || strings.Contains(g.body.String(), name+".") {
			fmt.Fprintf(&b, "\t%q\n", path)
		}
	}
	fmt.Fprint(&b, `)

type object struct {
	mu      sync.Mutex
	peer    *object
	n       int
	left    int
	high    int
	running bool
	ids     map[string]int
	next    int
	items   []int
	ready   atomic.Bool
	tick    chan int
}

func newObject() *object {
	return &object{ids: map[string]int{}, tick: make(chan int, 100)}
}

// open lets those go on who wait.
func (x *object) open() {
`)
	for _, never := range g.never {
		fmt.Fprintf(&b, "\tif %s {\n\t\treturn\n\t}\n", never)
	}
	fmt.Fprint(&b, `	x.ready.Store(true)
	for range 100 {
		x.tick <- 1
	}
}

`)
	b.WriteString(g.body.String())
	return b.String()
}

// test writes the test.
func (g *generator) test(name, test string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "package %s\n\nimport (\n\t\"sync\"\n\t\"testing\"\n)\n\nfunc %s(t *testing.T) {\n", name, test)
	fmt.Fprint(&b, "\ta, b := newObject(), newObject()\n")
	fmt.Fprint(&b, []string{"\ta.peer, b.peer = b, a\n", "\ta.peer, b.peer = a, b\n", "\ta.peer, b.peer = b, b\n"}[g.IntN(3)])
	fmt.Fprint(&b, "\ta.left, b.left = 1, 1\n\tvar wg sync.WaitGroup\n")
	goroutines := 2 + g.IntN(2)
	fmt.Fprintf(&b, "\tvar out [%d][2]int\n", goroutines*3)
	fmt.Fprint(&b, "\twg.Go(func() {\n\t\ta.open()\n\t\tb.open()\n\t})\n")
	k := 0
	for range goroutines {
		fmt.Fprint(&b, "\twg.Go(func() {\n")
		for range 1 + g.IntN(2) {
			x := g.IntN(2)
			if g.IntN(3) > 0 {
				x = 0
			}
			fmt.Fprintf(&b, "\t\tout[%d][%d] += %s.%s\n", k, x, []string{"a", "b"}[x], g.ops[g.IntN(len(g.ops))])
			k++
		}
		fmt.Fprint(&b, "\t})\n")
	}
	fmt.Fprint(&b, "\twg.Wait()\n\tsum := [2]int{}\n\tfor _, o := range out {\n\t\tsum[0] += o[0]\n\t\tsum[1] += o[1]\n\t}\n")
	fmt.Fprint(&b, "\tfor i, x := range []*object{a, b} {\n\t\t_ = x\n")
	for _, check := range g.checks {
		fmt.Fprintf(&b, "\t\tif %s {\n\t\t\tt.Errorf(\"object %%d: lost\", i)\n\t\t}\n", check)
	}
	fmt.Fprint(&b, "\t}\n}\n")
	return b.String()
}

// weight separates the results of the kinds in the sum of an object: counter, taken, started.
const weight = 1000

// helper writes a function once.
func (g *generator) helper(name, text string) {
	if !g.helpers[name] {
		g.helpers[name] = true
		g.body.WriteString(text + "\n\n")
	}
}

// operation writes a method that returns what it has done.
func (g *generator) operation(body string, args ...any) {
	g.number++
	name := fmt.Sprintf("op%d", g.number)
	before, after := g.noise(), g.noise()
	if strings.Contains(body, "return") {
		after = ""
	}
	body = fmt.Sprintf(body, args...)
	if last := body[strings.LastIndexByte(body, '\n')+1:]; !strings.HasPrefix(last, "return ") {
		body += "\n" + after + "\treturn done"
	}
	fmt.Fprintf(&g.body, "func (x *object) %s() (done int) {\n%s%s\n}\n\n", name, before, body)
	g.ops = append(g.ops, name+"()")
}

// noise returns statements that have nothing to do with the fields.
func (g *generator) noise() string {
	switch g.IntN(8) {
	case 0:
		return "\t<-x.tick\n"
	case 1:
		return "\tfor !x.ready.Load() {\n\t\truntime.Gosched()\n\t}\n"
	case 2:
		return "\tdefer func() { recover() }()\n"
	case 3:
		if g.locked {
			return "\tx.mu.Lock()\n\tx.mu.Unlock()\n"
		}
	}
	return ""
}

// between returns what stands between a check and an act.
func (g *generator) between() string {
	switch g.IntN(6) {
	case 0:
		return "_ = fmt.Sprint(k)"
	case 1:
		return "if k > 99 {\nreturn 0\n}"
	case 2: // to be refused, or the lock is given up
		return "<-x.tick"
	case 3:
		return "for !x.ready.Load() {\nruntime.Gosched()\n}"
	}
	return ""
}

// shape writes some of the shapes of an operation.
func (g *generator) shapes(all ...func()) {
	for range 1 + g.IntN(3) {
		all[g.IntN(len(all))]()
	}
}
