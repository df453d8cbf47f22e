package main

import (
	"runtime"
	"sync"
	"sync/atomic"
	"time"
)

// both runs f and g concurrently and returns when both have ended. Its synchronization comes before
// the first and after the last step of both.
func both(f, g func()) {
	done := make(chan bool, 1)
	go func() {
		f()
		done <- true
	}()
	g()
	<-done
}

// rounds runs pairs of functions concurrently, one after the other.
func rounds(pair func() (f, g func())) {
	for i := range 8 {
		f, g := pair()
		if i%2 == 0 {
			f, g = g, f
		}
		both(f, g)
	}
}

// shift moves the elements of a slice forward or back while another goroutine accesses one of them.
func shift[T any](back bool, touch func(a []T)) {
	rounds(func() (f, g func()) {
		a := make([]T, 100)
		to, from := a[1:], a
		if back {
			to, from = from, to
		}
		return func() { copy(to, from) }, func() { touch(a) }
	})
}

type pair struct{ a, b int }

type guarded struct {
	mu sync.Mutex
	x  int
}

var copied guarded

// later returns when only one goroutine is left. That orders nothing.
func later() {
	for runtime.NumGoroutine() > 1 {
		runtime.Gosched()
	}
}

func races() map[string]func() {
	return map[string]func(){
		"write-write": func() {
			x := new(int)
			both(func() { *x = 1 }, func() { *x = 2 })
		},
		"read-write": func() {
			x := new(int)
			both(func() { println(*x) }, func() { *x = 2 })
		},
		"global": func() { both(func() { global++ }, func() { global++ }) },
		"one-locks": func() {
			x, mu := new(int), new(sync.Mutex)
			both(func() { mu.Lock(); *x++; mu.Unlock() }, func() { *x++ })
		},
		"two-locks": func() {
			x, mu1, mu2 := new(int), new(sync.Mutex), new(sync.Mutex)
			both(func() { mu1.Lock(); *x++; mu1.Unlock() }, func() { mu2.Lock(); *x++; mu2.Unlock() })
		},
		"write-under-rlock": func() {
			x, mu := new(int), new(sync.RWMutex)
			both(func() { mu.RLock(); *x++; mu.RUnlock() }, func() { mu.RLock(); *x++; mu.RUnlock() })
		},
		"lock-overwritten": func() {
			mu := new(sync.Mutex)
			both(func() { *mu = sync.Mutex{} }, func() { later(); mu.Lock(); mu.Unlock() })
		},
		"lock-overwritten-after-unlock": func() {
			mu := new(sync.Mutex)
			both(func() { mu.Lock(); mu.Unlock() }, func() { later(); *mu = sync.Mutex{} })
		},
		"lock-copied": func() {
			x := new(guarded)
			both(func() { copied = *x }, func() { later(); x.mu.Lock(); x.mu.Unlock() })
		},
		"rlock-overwritten": func() {
			mu := new(sync.RWMutex)
			both(func() { mu.RLock(); mu.RUnlock() }, func() { later(); *mu = sync.RWMutex{} })
		},
		"after-unlock": func() {
			x, mu := new(int), new(sync.Mutex)
			both(func() { mu.Lock(); mu.Unlock(); *x++ }, func() { later(); *x++; mu.Lock(); mu.Unlock() })
		},
		"after-send": func() {
			x, c := new(int), make(chan bool, 1)
			both(func() { c <- true; *x = 1 }, func() { <-c; *x = 2 })
		},
		"semaphore-of-two": func() {
			x, c := new(int), make(chan bool, 2)
			f := func() { c <- true; *x++; <-c }
			both(f, f)
		},
		"after-close": func() {
			x, c := new(int), make(chan bool)
			both(func() { close(c); *x = 1 }, func() { <-c; *x = 2 })
		},
		"after-done": func() {
			x, wg := new(int), new(sync.WaitGroup)
			wg.Add(1)
			both(func() { wg.Done(); *x = 1 }, func() { wg.Wait(); *x = 2 })
		},
		"outside-of-once": func() {
			x, once := new(int), new(sync.Once)
			both(func() { once.Do(func() {}); *x = 1 }, func() { once.Do(func() {}); *x = 2 })
		},
		"atomic-and-plain": func() {
			x := new(int32)
			both(func() { atomic.AddInt32(x, 1) }, func() { *x++ })
		},
		"atomic-reads-only": func() {
			x, flag := new(int), new(atomic.Bool)
			both(func() { *x = 1; flag.Load() }, func() { flag.Load(); *x = 2 })
		},
		"atomic-too-early": func() {
			x, flag := new(int), new(atomic.Bool)
			both(func() { flag.Store(true); *x = 1 }, func() {
				for !flag.Load() {
				}
				*x = 2
			})
		},
		"map": func() {
			m := map[int]int{}
			both(func() { m[1] = 1 }, func() { later(); m[2] = 2 })
		},
		"map-read": func() {
			m := map[string]int{"a": 1}
			both(func() { m["b"] = 1 }, func() { later(); println(m["a"]) })
		},
		"copy": func() {
			a, b := make([]byte, 100), make([]byte, 100)
			both(func() { copy(a, b) }, func() { a[99] = 1 })
		},
		"shift-first":        func() { shift(false, func(a []uint16) { a[0] = 1 }) }, // which is only read
		"shift-last":         func() { shift(false, func(a []uint16) { println(a[99]) }) },
		"shift-within":       func() { shift(false, func(a []uint16) { println(a[50]) }) },
		"shift-back-first":   func() { shift(true, func(a []uint16) { println(a[0]) }) },
		"shift-back-last":    func() { shift(true, func(a []uint16) { a[99] = 1 }) },
		"shift-back-within":  func() { shift(true, func(a []uint16) { println(a[50]) }) },
		"shift-pointers":     func() { shift(false, func(a []*int) { a[0] = nil }) },
		"shift-pointers-end": func() { shift(false, func(a []*int) { println(a[99]) }) },
		"shift-back-pointer": func() { shift(true, func(a []*int) { a[99] = nil }) },
		"struct": func() {
			x := new(pair)
			both(func() { *x = pair{1, 2} }, func() { println(x.b) })
		},
		"interface": func() {
			x := new(any)
			both(func() { *x = 1 }, func() { *x = "a" })
		},
		"append": func() {
			s := make([]int, 1, 2)
			both(func() { _ = append(s, 1) }, func() { _ = append(s, 2) })
		},
		"channel-carries-pointer": func() {
			c := make(chan *pair, 1)
			both(func() { p := new(pair); c <- p; p.a = 1 }, func() { p := <-c; p.a = 2 })
		},
		"deferred": func() {
			x := new(int)
			f := func() {
				defer func() { recover(); *x++ }()
				panic("!")
			}
			both(f, f)
		},
		"timer": func() {
			x, done := new(int), make(chan bool)
			time.AfterFunc(time.Millisecond, func() { *x = 1; close(done) })
			*x = 2
			<-done
		},
		"after-select": func() {
			x, c, d := new(int), make(chan bool, 1), make(chan bool, 1)
			both(func() { c <- true; *x = 1 }, func() {
				select {
				case <-c:
				case <-d:
				}
				*x = 2
			})
		},
		"sub-slice": func() {
			a := make([]byte, 16)
			f := func(s []byte) {
				for i := range s {
					s[i] = 1
				}
			}
			both(func() { f(a[3:9]) }, func() { f(a[8:]) })
		},
		"across-gc": func() {
			x := new(int)
			both(func() { *x = 1 }, func() { gc(); gc(); *x = 2 })
		},
		"dead-parent": func() {
			x, done := new(int), make(chan bool, 2)
			go func() {
				go func() { *x = 1; done <- true }()
			}()
			*x = 2
			<-done
		},
	}
}

var global int
