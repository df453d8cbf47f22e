package adversary

import (
	"context"
	"errors"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// pad does something harmless that takes part in no bug.
func pad(r *run, n int) {
	c := make(chan int, n+1)
	for i := range n {
		switch i % 3 {
		case 0:
			runtime.Gosched()
		case 1:
			c <- i
		default:
			<-c
		}
	}
}

// bugCounter increments a variable without a lock in one of several goroutines.
//
//adversary:bug race
func bugCounter(r *run) {
	var mu sync.Mutex
	n, before := 0, r.n(0, 4)
	var all sync.WaitGroup
	all.Go(func() {
		pad(r, before)
		n++ // want race
	})
	for range r.n(1, 3) {
		all.Go(func() {
			mu.Lock()
			n++ // want race
			mu.Unlock()
		})
	}
	all.Wait()
}

// bugMap fills a map from goroutines that have no lock in common.
//
//adversary:bug race
func bugMap(r *run) {
	m := map[int]string{}
	var mine, yours sync.Mutex
	before := r.n(0, 3)
	var all sync.WaitGroup
	all.Go(func() {
		mine.Lock()
		defer mine.Unlock()
		m[1] = "a" // want race, failure "concurrent map"
	})
	all.Go(func() {
		pad(r, before)
		yours.Lock()
		defer yours.Unlock()
		m[2] = "b" // want race, failure "concurrent map"
	})
	all.Wait()
}

type settingsOf struct {
	mu    sync.RWMutex
	names []string
	limit int
}

func (s *settingsOf) set(limit int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.limit = limit
	s.names = append(s.names, "x") // want race
}

func (s *settingsOf) name() string {
	if len(s.names) > 0 { // want race
		s.mu.RLock()
		defer s.mu.RUnlock()
		return s.names[0]
	}
	return ""
}

// bugUnlockedRead looks at a slice before it takes the lock.
//
//adversary:bug race
func bugUnlockedRead(r *run) {
	s := &settingsOf{}
	before := r.n(0, 3)
	var all sync.WaitGroup
	all.Go(func() { s.set(before) })
	all.Go(func() {
		pad(r, before)
		s.name()
	})
	all.Wait()
}

// bugReadLock writes under a read lock.
//
//adversary:bug race
func bugReadLock(r *run) {
	var mu sync.RWMutex
	hits := map[string]*int{"a": new(int)}
	var all sync.WaitGroup
	for range r.n(2, 3) {
		all.Go(func() {
			mu.RLock()
			defer mu.RUnlock()
			*hits["a"]++ // want race
		})
	}
	all.Wait()
}

// bugPublished publishes a pointer by a plain variable.
//
//adversary:bug race
func bugPublished(r *run) {
	var current *record
	done := make(chan bool)
	before := r.n(0, 4)
	go func() {
		pad(r, before)
		current = &record{s: strings.Repeat("x", 3)} // want race
		close(done)
	}()
	if p := current; p != nil { // want race
		sink(len(p.s))
	}
	<-done
}

// bugSharedError assigns to a captured variable in two goroutines.
//
//adversary:bug race
func bugSharedError(r *run) {
	var err error
	var all sync.WaitGroup
	for i := range r.n(2, 3) {
		all.Go(func() {
			pad(r, i)
			err = errors.New("e") // want race
		})
	}
	all.Wait()
	check(r, err != nil, true, "an error")
}

// bugLateWait reads results after their goroutines have said that they are done, which is too early.
//
//adversary:bug race
func bugLateWait(r *run) {
	results := make([]int, 2)
	done := make(chan bool, 2)
	for i := range results {
		go func() {
			pad(r, i)
			done <- true
			results[i] = i + 1 // want race
		}()
	}
	<-done
	<-done
	sink(results[0] + results[1]) // want race
}

// bugMixed mixes atomic operations with a plain read.
//
//adversary:bug race
func bugMixed(r *run) {
	var n int64
	var all sync.WaitGroup
	before := r.n(0, 3)
	all.Go(func() {
		pad(r, before)
		atomic.AddInt64(&n, 1) // want race
	})
	if n > 5 { // want race
		r.Log("many")
	}
	all.Wait()
}

// bugTimer resets what the function of a timer reads.
//
//adversary:bug race
func bugTimer(r *run) {
	text := "a"
	done := make(chan bool)
	time.AfterFunc(time.Duration(r.n(1, 9))*time.Microsecond, func() {
		sink(len(text)) // want race
		close(done)
	})
	text = "bc" // want race
	<-done
}

// bugCanceled reads what a goroutine writes that may go on after its context has ended.
//
//adversary:bug race
func bugCanceled(r *run) {
	ctx, cancel := context.WithCancel(context.Background())
	progress := 0
	var all sync.WaitGroup
	all.Go(func() {
		for range 3 {
			progress++ // want race
			if ctx.Err() != nil {
				return
			}
		}
	})
	cancel()
	<-ctx.Done()
	sink(progress) // want race
	all.Wait()
}

// bugNeighbors appends to two slices of one array.
//
//adversary:bug race
func bugNeighbors(r *run) {
	base := make([]int, 1, 4)
	var all sync.WaitGroup
	for i := range 2 {
		all.Go(func() {
			pad(r, i)
			mine := append(base, i) // want race
			sink(len(mine))
		})
	}
	all.Wait()
}
