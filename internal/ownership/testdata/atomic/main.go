// Program atomic has functions whose atomicity a test compares with the comments.
package main

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

var errEmpty = errors.New("empty")

// cache is guarded by mu as a whole.
type cache struct {
	mu    sync.RWMutex
	items map[string]int
	hits  int
	sum   atomic.Int64
	once  sync.Once
	dirty bool // accessed without a lock
	name  string
}

func newCache() *cache { // want mover
	return &cache{items: map[string]int{}, name: "cache"}
}

func (c *cache) get(key string) (int, bool) { // want atomic
	c.mu.RLock()
	defer c.mu.RUnlock()
	n, ok := c.items[key]
	return n, ok
}

func (c *cache) put(key string, n int) { // want atomic
	c.mu.Lock()
	c.items[key] = n
	c.mu.Unlock()
}

func (c *cache) add(key string) { // want compound: calls (*main.cache).put; before that, it calls (*main.cache).get
	n, _ := c.get(key)
	c.put(key, n+1)
}

func (c *cache) increase(key string) { // want atomic
	c.mu.Lock()
	defer c.mu.Unlock()
	c.bump(key)
	c.hits++
}

// bump is called with the lock.
func (c *cache) bump(key string) { // want mover
	c.items[key]++
	for i := 0; i < 3; i++ {
		c.hits += i
	}
}

func (c *cache) early(key string) error { // want atomic
	c.mu.Lock()
	if len(c.items) == 0 {
		c.mu.Unlock()
		return errEmpty
	}
	delete(c.items, key)
	c.mu.Unlock()
	return nil
}

func (c *cache) perhaps(key string, locked bool) int { // want atomic
	if !locked {
		c.mu.RLock()
		defer c.mu.RUnlock()
	}
	return len(key)
}

func (c *cache) each() { // want compound: calls (*main.cache).increase; before that, it calls (*main.cache).increase
	for _, key := range []string{"a", "b"} {
		c.increase(key)
	}
}

func (c *cache) once1() { // want atomic
	c.once.Do(func() { // want atomic
		c.sum.Store(int64(len(strings.ToUpper("x"))))
	})
}

func (c *cache) count() int64 { // want atomic
	return c.sum.Add(1)
}

func (c *cache) twice() int64 { // want compound: calls (*atomic.Int64).Load; before that, it calls (*atomic.Int64).Add
	c.sum.Add(1)
	return c.sum.Load()
}

func (c *cache) counted(key string) { // want atomic
	c.mu.Lock()
	c.items[key] = int(c.sum.Add(1))
	c.mu.Unlock()
}

func (c *cache) mark() { // want atomic
	c.dirty = true
}

func (c *cache) flip() { // want compound: race-unsafe
	c.dirty = !c.dirty
}

func (c *cache) lock() { // want compound: returns with other locks
	c.mu.Lock()
}

func (c *cache) unlock() { // want compound: returns with other locks
	c.mu.Unlock()
}

func (c *cache) relock() { // want compound: acquires a lock; before that, it releases a lock
	c.mu.Lock()
	c.hits++
	c.mu.Unlock()
	c.mu.Lock()
	c.hits++
	c.mu.Unlock()
}

func (c *cache) uneven(b bool) { // want compound: returns with other locks
	if b {
		c.mu.Lock()
	}
	c.name2()
	if b {
		c.mu.Unlock()
	}
}

func (c *cache) name2() string { // want const
	return "x"
}

func (c *cache) report() string { // want atomic
	c.mu.RLock()
	n := len(c.items)
	c.mu.RUnlock()
	return fmt.Sprintf("%d items", n)
}

func (c *cache) print() { // want compound: calls fmt.Println; before that, it releases a lock
	c.mu.RLock()
	n := len(c.items)
	c.mu.RUnlock()
	fmt.Println(n)
}

func (c *cache) printLocked() { // want atomic
	c.mu.RLock()
	defer c.mu.RUnlock()
	fmt.Println(len(c.items))
}

func (c *cache) each2(f func(string)) { // want compound: calls a function value
	c.mu.RLock()
	defer c.mu.RUnlock()
	for key := range c.items {
		f(key)
	}
}

func (c *cache) fails() { // want atomic
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.hits > 3 {
		panic("too many")
	}
	c.hits++
}

func (c *cache) both(d *cache) { // want atomic
	c.mu.Lock()
	d.mu.Lock()
	c.hits += d.hits
	d.mu.Unlock()
	c.mu.Unlock()
}

func (c *cache) handOver(d *cache) { // want atomic
	c.mu.Lock()
	d.mu.Lock()
	n := c.hits
	c.mu.Unlock()
	d.hits += n
	d.mu.Unlock()
}

func (c *cache) nested() { // want compound: acquires a lock; before that, it releases a lock
	c.mu.Lock()
	defer c.mu.Unlock()
	other.mu.Lock()
	other.hits++
	other.mu.Unlock()
	other.mu.Lock()
	other.hits++
	other.mu.Unlock()
}

func (c *cache) try() bool { // want compound: tries to acquire a lock
	if c.mu.TryLock() {
		c.mu.Unlock()
		return true
	}
	return false
}

func (c *cache) late() { // want compound: what is deferred comes after other steps
	c.mu.Lock()
	c.hits++
	c.mu.Unlock()
	defer c.put("late", 1)
}

func (c *cache) stop() { // want compound: acquires a lock; before that, it releases a lock
	for {
		c.mu.Lock()
		c.hits++
		c.mu.Unlock()
	}
}

func (c *cache) start() { // want atomic
	c.mu.Lock()
	c.hits++
	c.mu.Unlock()
	go func() { // want const
	}()
}

func (c *cache) startFirst() { // want compound: acquires a lock; before that, it starts a goroutine
	go c.mark()
	c.mu.Lock()
	c.hits++
	c.mu.Unlock()
}

func send(ch chan int) { // want compound: sends to a channel
	ch <- 1
}

func receive(ch chan int) int { // want compound: receives from a channel
	return <-ch
}

func build(parts []string) string { // want compound
	var b strings.Builder
	for _, p := range parts {
		b.WriteString(p)
	}
	return b.String()
}

func sum(numbers ...int) (n int) { // want mover
	for _, x := range numbers {
		n += x
	}
	return n
}

func even(n int) bool { // want const
	return n == 0 || odd(n-1)
}

func odd(n int) bool { // want const
	return n != 0 && even(n-1)
}

func fib(c *cache, n int) int { // want compound: calls main.fib
	if n < 2 {
		return int(c.count())
	}
	return fib(c, n-1) + fib(c, n-2)
}

type shape interface{ area() int }

type square struct{ side int }

func (s square) area() int { return s.side * s.side } // want const

type room struct {
	mu sync.Mutex
	n  int
}

func (r *room) area() int { // want atomic
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.n
}

func total(s shape) int { // want atomic
	return s.area()
}

func twoAreas(s, t shape) int { // want compound: calls area through an interface; before that, it calls area through an interface
	return s.area() + t.area()
}

func wait() { // want mover
	time.Sleep(time.Since(time.Now()))
}

func waitFor(wg *sync.WaitGroup) { // want compound: calls (*sync.WaitGroup).Wait
	wg.Wait()
}

var other = newCache()

// begin is called before there are goroutines.
func begin(c *cache, f func()) { // want compound: calls a function value
	c.put("a", 1)
	f()
	c.dirty = !c.dirty
}

func beginAlone(c *cache) { // want mover
	c.dirty = !c.dirty
	c.mu.Lock()
	c.mu.Unlock()
	c.mu.Lock()
	c.mu.Unlock()
}

func main() { // want compound
	c := newCache()
	beginAlone(c)
	begin(c, func() { // want atomic
		go func() { // want atomic
			c.mark()
		}()
	})
	ch := make(chan int, 3)
	var wg sync.WaitGroup
	for range 2 {
		wg.Add(1)
		go func() { // want compound
			defer wg.Done()
			c.get("a")
			c.put("a", 1)
			c.add("a")
			c.increase("a")
			c.early("a")
			c.perhaps("a", false)
			c.each()
			c.once1()
			c.count()
			c.twice()
			c.counted("a")
			c.mark()
			c.flip()
			c.lock()
			c.hits++
			c.unlock()
			c.relock()
			c.uneven(true)
			c.report()
			c.print()
			c.printLocked()
			c.each2(func(string) {}) // want const
			c.fails()
			c.both(other)
			c.handOver(other)
			c.nested()
			c.try()
			c.late()
			c.start()
			c.startFirst()
			send(ch)
			receive(ch)
			build([]string{"a"})
			sum(1, 2)
			even(3)
			fib(c, 3)
			total(square{2})
			r := &room{n: 3}
			total(r)
			go func() { // want compound
				total(r)
				twoAreas(r, r)
			}()
			wait()
		}()
	}
	waitFor(&wg)
	c.stop()
}
