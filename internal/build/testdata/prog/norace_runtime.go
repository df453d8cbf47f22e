package main

import (
	"fmt"
	"iter"
	"runtime"
	"sync"
	"sync/atomic"
	"time"
	"unique"
)

// runtimeNoRaces are about memory, stacks and coroutines of the runtime.
func runtimeNoRaces() map[string]func() {
	return map[string]func(){
		"finalizer": func() {
			x := new(int)
			done := make(chan bool)
			func() {
				p := &pair{1, 2}
				runtime.SetFinalizer(p, func(p *pair) { *x = p.a; close(done) })
				parallel(4, func(int) { _ = p.b })
				p.a = 7
				*x = 1
			}()
			collect(done)
			*x++
		},
		"cleanup": func() {
			x := new(int)
			done := make(chan bool)
			func() {
				p := &pair{1, 2}
				*x = 1
				runtime.AddCleanup(p, func(int) { *x = 2; close(done) }, 0)
				p.a = 7
			}()
			collect(done)
			*x++
		},
		"reused-memory": func() {
			// The collector makes goroutines reuse addresses of other goroutines.
			var stop atomic.Bool
			both(func() {
				for !stop.Load() {
					gc()
				}
			}, func() {
				parallel(4, func(i int) {
					for range 20_000 {
						p := &pair{i, i}
						keep[i] = p
						p.a++
					}
				})
				stop.Store(true)
			})
		},
		"reused-big-memory": func() {
			parallel(4, func(i int) {
				for range 20 {
					b := make([]byte, 100_000)
					clear(b)
					big[i] = b
					gc()
				}
			})
		},
		"gomaxprocs": func() {
			x, mu := new(int), new(sync.Mutex)
			n := runtime.GOMAXPROCS(0)
			both(func() {
				for i := range 40 {
					runtime.GOMAXPROCS(1 + i%8)
				}
				runtime.GOMAXPROCS(n)
			}, func() {
				parallel(10, func(int) {
					for range 50 {
						mu.Lock()
						*x++
						mu.Unlock()
						runtime.Gosched()
					}
				})
			})
		},
		"stack-growth": func() {
			parallel(4, func(int) {
				x := new(int)
				if grow(5000, x) != 5000 {
					panic(*x)
				}
			})
		},
		"iter-pull": func() {
			x := new(int)
			next, stop := iter.Pull(func(yield func(int) bool) {
				for i := range 10 {
					*x++
					if !yield(i) {
						return
					}
				}
			})
			for range 5 {
				next()
				*x++
			}
			stop()
			*x++
		},
		"unique": func() {
			parallel(8, func(i int) {
				h := unique.Make(fmt.Sprint("name", i%3))
				_ = h.Value()
			})
		},
	}
}

var (
	keep [4]*pair
	big  [4][]byte
)

// collect runs the collector until done is closed.
func collect(done chan bool) {
	for {
		gc()
		select {
		case <-done:
			return
		case <-time.After(time.Millisecond):
		}
	}
}

func grow(n int, x *int) int {
	if n == 0 {
		return *x
	}
	*x++
	var pad [10]int
	pad[n%10] = n
	return grow(n-1, x) + pad[n%10] - n
}
