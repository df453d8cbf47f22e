// Package confined has objects that one goroutine knows, although they are stored, passed on and handed over.
package confined

import (
	"sort"
	"sync"
)

// buffer is stored in a reader that stays with its goroutine.
type buffer struct {
	data  []byte // want local; elements local
	used  int    // want local
	spare *reader
}

type reader struct {
	buf   *buffer // want local
	lines int     // want local
}

func newReader() *reader {
	r := &reader{}
	r.buf = &buffer{data: make([]byte, 8)}
	return r
}

func (r *reader) next() byte {
	r.buf.data[r.buf.used]++
	r.buf.used++
	r.lines++
	return r.buf.data[0]
}

func read() (n int) {
	r := newReader()
	for range 3 {
		n += int(r.next())
	}
	visit := func() { r.lines++ }
	visit()
	return n
}

// leaked is the same, but one function stores it where all goroutines see it.
type leaked struct {
	n int // want unsafe: written without a lock
	m int // want unsafe: written without a lock
}

type registry struct {
	mu  sync.Mutex
	all map[int]*leaked // want read-only; elements unsafe
}

var known = registry{all: map[int]*leaked{}}

func (r *registry) add(l *leaked) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.all[len(r.all)] = l
}

func (r *registry) read() {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, l := range r.all {
		println(l.m)
	}
}

func leak() {
	l := &leaked{}
	l.n++
	known.add(l)
	l.n++
	l.m++
}

// boxed objects get known through an interface.
type boxed struct {
	n int // want unsafe: written without a lock
}

type adder interface{ add() }

func (b *boxed) add() { b.n++; last = b }

var last *boxed // want unsafe: written without a lock

func box() {
	b := &boxed{}
	var a adder = b
	a.add()
	b.n++
}

// sent objects get known through a channel.
type sent struct {
	n int // want unsafe: written without a lock
}

func send(c chan *sent) {
	s := &sent{}
	c <- s
	s.n++
}

// numbers are elements that nobody else can have.
func numbers() int {
	list := make([]int64, 9)
	for i := range list {
		list[i] = int64(i)
	}
	sort.Slice(list, func(i, j int) bool { return list[i] > list[j] })
	return int(list[0])
}

// worker objects are handed over when their goroutine starts, and read when it has ended.
type worker struct {
	in    []int  // want local; elements local
	count int    // want local
	state *state // want local
}

type state struct {
	n int // want local
}

func (w *worker) run() {
	for i := range w.in {
		w.in[i]++
		w.count++
	}
	w.state = &state{}
	w.state.n = w.count
}

func work() (sum int) {
	var done sync.WaitGroup
	all := make([]*worker, 3)
	for i := range all {
		all[i] = &worker{}
		done.Go(all[i].run)
	}
	done.Wait()
	for _, w := range all {
		sum += w.count + w.state.n
	}
	return sum
}

// early objects are read before their goroutines have ended.
type early struct {
	n int // want unsafe: written without a lock
}

func (e *early) run() { e.n++ }

func hurry() (sum int) {
	var done sync.WaitGroup
	all := make([]*early, 3)
	for i := range all {
		all[i] = &early{}
		done.Go(all[i].run)
	}
	for _, e := range all {
		sum += e.n
	}
	done.Wait()
	return sum
}

// twice objects are handed to two goroutines.
type twice struct {
	n int // want unsafe: written without a lock
}

func (t *twice) run() { t.n++ }

func double() {
	for range 2 {
		t := &twice{}
		go t.run()
		go t.run()
	}
}

// outside objects are made outside of the loop that starts the goroutines.
type outside struct {
	n int // want unsafe: written without a lock
}

func (o *outside) run() { o.n++ }

func share() {
	o := &outside{}
	for range 2 {
		go o.run()
	}
}

// common objects are what all objects that are handed over lead to.
type common struct {
	n int // want unsafe: written without a lock
}

type part struct {
	of   *common // want local
	mine *own    // want local
}

type own struct {
	n int // want local
}

func (p *part) run() {
	p.of.n++
	p.mine.n++
}

func divide() {
	c := &common{}
	for range 2 {
		p := &part{of: c}
		p.mine = &own{}
		go p.run()
	}
}

// called objects are handed over, but the function is also called by who starts the goroutine.
type called struct {
	n int // want unsafe: written without a lock
}

func (c *called) run() { c.n++ }

func callToo() {
	c := &called{}
	go c.run()
	c.run()
}

// lost objects are awaited by a WaitGroup that somebody else counts down.
type lost struct {
	n int // want unsafe: written without a lock
}

func lose(other func(*sync.WaitGroup)) int {
	var done sync.WaitGroup
	l := &lost{}
	done.Add(1)
	go func() {
		defer done.Done()
		l.n++
	}()
	other(&done)
	done.Wait()
	return l.n
}

// counted objects are awaited by a WaitGroup with Add and Done.
type counted struct {
	n int // want local
	m int // want unsafe: written without a lock
}

func count() int {
	var done sync.WaitGroup
	c := &counted{}
	done.Add(1)
	go func(c *counted) {
		defer done.Done()
		c.n++
	}(c)
	done.Wait()
	return c.n
}

// Done comes before the last access.
func countEarly() int {
	var done sync.WaitGroup
	c := &counted{}
	done.Add(1)
	go func(c *counted) {
		done.Done()
		c.m++
	}(c)
	done.Wait()
	return c.m
}

func run() {
	c := make(chan *sent, 9)
	for range 2 {
		go func() {
			println(read(), numbers(), work(), hurry(), count(), countEarly(), lose(func(w *sync.WaitGroup) { w.Done() }))
			leak()
			box()
			send(c)
			(<-c).n++
			double()
			share()
			divide()
			callToo()
			known.read()
		}()
	}
}

var start = run // want local
