// Command spidermonkey runs scripts in contexts of an engine, which the first context brings up without a lock.
//
// The script solve looks for triples of numbers with a*a+b*b == c*c; each goroutine runs it in one context. The script
// null does nothing, so that opening and closing contexts takes the time.
package main

import (
	"flag"
	"fmt"
	"log"
	"sync"
)

// The states of an engine.
const (
	down = iota
	up
)

// engine is what all contexts share.
type engine struct {
	mu       sync.Mutex
	state    int
	starts   int
	contexts int
	atoms    map[string]int
	global   object
}

// object has the properties that scripts share.
type object struct {
	mu         sync.Mutex
	properties map[string]int
}

func (o *object) get(name string) int {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.properties[name]
}

// context runs one script.
type context struct {
	engine *engine
	names  map[string]int
	stack  [512]int
}

var standard = []string{"Array", "Boolean", "Date", "Error", "Function", "JSON", "Math", "Number", "Object", "RegExp", "String"}

// open makes a context.
func (e *engine) open() *context {
	if e.state == down {
		atoms := map[string]int{}
		for i, name := range standard {
			atoms[name] = i
		}
		e.atoms = atoms
		e.starts++
		e.state = up
	}
	e.mu.Lock()
	e.contexts++
	e.mu.Unlock()
	c := &context{engine: e, names: map[string]int{}}
	for name, number := range e.atoms {
		c.names[name] = number
	}
	return c
}

func (c *context) close() {
	e := c.engine
	e.mu.Lock()
	e.contexts--
	e.mu.Unlock()
}

// instruction works on the numbers of a context.
type instruction struct{ code, a, b, c int }

const (
	set      = iota // a = b
	add             // a = b + c
	multiply        // a = b * c
	less            // continues at a if b < c
	same            // skips the next instruction unless a == b
	limit           // a = the property limit
	end
)

// triples counts a <= b <= c < limit.
var triples = []instruction{
	{set, 9, 1, 0}, {limit, 0, 0, 0}, {set, 1, 1, 0},
	{add, 2, 1, 8}, {multiply, 4, 1, 1},
	{add, 3, 2, 8}, {multiply, 5, 2, 2}, {add, 5, 5, 4},
	{multiply, 6, 3, 3}, {same, 5, 6, 0}, {add, 7, 7, 9}, {add, 3, 3, 9}, {less, 8, 3, 0},
	{add, 2, 2, 9}, {limit, 0, 0, 0}, {less, 5, 2, 0},
	{add, 1, 1, 9}, {less, 3, 1, 0},
	{end, 0, 0, 0},
}

// run runs a script and returns its register 7.
func (c *context) run(script []instruction) int {
	s := &c.stack
	for at := 0; ; at++ {
		switch i := script[at]; i.code {
		case set:
			s[i.a] = i.b
		case add:
			s[i.a] = s[i.b] + s[i.c]
		case multiply:
			s[i.a] = s[i.b] * s[i.c]
		case less:
			if s[i.b] < s[i.c] {
				at = i.a - 1
			}
		case same:
			if s[i.a] != s[i.b] {
				at++
			}
		case limit:
			s[i.a] = c.engine.global.get("limit")
		case end:
			return s[7]
		}
	}
}

// together opens a context of a new engine in each goroutine, and runs the script in it.
func together(script []instruction, limit, want, workers int) error {
	e := &engine{global: object{properties: map[string]int{"limit": limit}}}
	failed := make(chan error, workers)
	for range workers {
		go func() {
			c := e.open()
			got := c.run(script)
			names := len(c.names)
			c.close()
			if got != want || names != len(standard) {
				failed <- fmt.Errorf("%d, want %d; %d names", got, want, names)
				return
			}
			failed <- nil
		}()
	}
	var wrong error
	for range workers {
		if err := <-failed; err != nil {
			wrong = err
		}
	}
	if wrong == nil && e.starts != 1 {
		wrong = fmt.Errorf("the engine came up %d times", e.starts)
	}
	return wrong
}

func main() {
	n := flag.Int("n", 200, "limit of the numbers of solve, or engines that run null")
	workers := flag.Int("workers", 8, "contexts of an engine")
	script := flag.String("script", "solve", "solve or null")
	flag.Parse()
	if *script == "null" {
		wrong := 0
		for range *n {
			if err := together([]instruction{{end, 0, 0, 0}}, 0, 0, *workers); err != nil {
				wrong++
			}
		}
		if wrong > 0 {
			log.Fatalf("%d engines went wrong", wrong)
		}
		return
	}
	want := 0
	for a := 1; a < *n; a++ {
		for b := a; b < *n; b++ {
			for c := b; c < *n && c*c <= a*a+b*b; c++ {
				if c*c == a*a+b*b {
					want++
				}
			}
		}
	}
	if err := together(triples, *n, want, *workers); err != nil {
		log.Fatal(err)
	}
}
