// The test data for variables that goroutines can share.
package sharing

import "fmt"

// Never written once it is shared.
var limit = 3

var table = []int{1, 2}

var current = 1

func globals() {
	if limit > 2 {
		fmt.Println(limit)
	}
	if len(table) > 1 {
		fmt.Println(table[0])
	}
	current++ // want `load-and-store of current`
}

// scanner is used by the goroutine that makes it.
type scanner struct{ pos int }

func (s *scanner) next() { s.pos++ }

func scan() int {
	s := &scanner{}
	s.next()
	return s.pos
}

// worker is passed to a goroutine.
type worker struct {
	jobs int
	part *part
	id   int
}

type part struct{ n int }

func (w *worker) run() {
	w.jobs++   // want `load-and-store of w.jobs`
	w.part.n++ // want `load-and-store of w.part.n`
}

func start() {
	w := &worker{}
	w.jobs++ // not shared yet
	w.id = 7
	go w.run()
	w.jobs++ // want `load-and-store of w.jobs`
	if w.id == 7 {
		fmt.Println(w.id)
	}
}

// message goes through a channel.
type message struct{ seen int }

func send(c chan *message) {
	m := new(message)
	m.seen++
	c <- m
	m.seen++ // want `load-and-store of m.seen`
}

func each() {
	for range 3 {
		seen := 0
		seen++                 // each iteration has its own
		go func() { seen++ }() // want `load-and-store of seen`
	}
}

func locals() (func(), int) {
	a, b, c, d := 0, 0, 0, 0
	a++
	p := &b
	*p++
	go func() {
		c++ // want `load-and-store of c`
	}()
	c++ // want `load-and-store of c`
	func() { d++ }()
	defer func() { d++ }()
	keep := 0
	return func() { keep++ }, a + b + d // want `load-and-store of keep`
}

func lists() {
	own := make([]int, 3)
	counts := map[string]int{}
	for i := range own {
		own[i]++
		counts["x"]++
	}
	add(own)
	given := make([]int, 3)
	go fill(given)
	given[0]++ // want `load-and-store of given\[0\]`
}

// The callers decide: they pass a list that is not shared.
func add(list []int) { list[0]++ }

// It runs in a goroutine.
func fill(list []int) {
	list[1]++ // want `load-and-store of list\[1\]`
}

// Exported: the callers are unknown.
func Fill(list []int, p *int) {
	list[1]++ // want `load-and-store of list\[1\]`
	*p++      // want `load-and-store of \*p`
}

// Shared on the way.
func between() {
	n := 1
	v := n // want `load-and-store of n`
	go func() { n = 0 }()
	n = v + 1
}
