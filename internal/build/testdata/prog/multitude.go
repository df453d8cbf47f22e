package main

import (
	"log"
	"os"
	"runtime"
	"strconv"
	"sync"
	"time"
)

// A multitude is many goroutines that nobody waits for. Each takes some locks, gets something from a pool,
// and leaves accesses behind that may still race.
type multitude struct {
	mu     [16]sync.Mutex
	counts [16]map[string]int // by the locks that guard them
	rw     sync.RWMutex
	title  string // guarded by rw
	pool   sync.Pool
	last   int64
}

var multitudeSize int64

// startAll starts as many goroutines as the second argument says, a few of them at a time. The last
// but one races with the last.
func startAll() {
	var err error
	if multitudeSize, err = strconv.ParseInt(os.Args[2], 10, 64); err != nil {
		log.Fatal(err)
	}
	c := &multitude{pool: sync.Pool{New: func() any { return new([64]byte) }}}
	for i := range c.counts {
		c.counts[i] = map[string]int{}
	}
	before := runtime.NumGoroutine() // which orders nothing
	for i := int64(1); i <= multitudeSize; i++ {
		go c.member(i) // at: go-member
		for runtime.NumGoroutine() > 100 && i < multitudeSize-1 {
			time.Sleep(10 * time.Microsecond)
		}
	}
	for runtime.NumGoroutine() > before {
		time.Sleep(time.Millisecond)
	}
}

func (c *multitude) member(i int64) {
	k := i % int64(len(c.mu))
	c.mu[k].Lock()
	c.counts[k][strconv.FormatInt(i%1000, 10)]++
	c.mu[k].Unlock()
	b := c.pool.Get().(*[64]byte)
	b[i%64]++
	c.pool.Put(b)
	if i%100 == 0 {
		c.rw.Lock()
		c.title = strconv.FormatInt(i, 10)
		c.rw.Unlock()
	} else {
		c.rw.RLock()
		_ = c.title
		c.rw.RUnlock()
	}
	message := make(chan int64, 1)
	message <- i
	switch i {
	case multitudeSize:
		c.last = i // at: last-member
	case multitudeSize - 1:
		c.last = i // at: last-but-one
	}
}
