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

var zero int

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
		"reused-by-timers": func() {
			// The heap of the timers grows on a system stack when goroutines sleep, and reads the
			// memory that it got there when it grows for a goroutine that starts a timer.
			defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
			for size := 4; size <= 256; size *= 8 {
				for range 2 { // nothing orders these before what follows
					go func() {
						for range 100_000 / size {
							p := make([]*int, 4*size) // as large as a heap of 2*size timers
							p[0] = &zero
						}
					}()
				}
				time.Sleep(50 * time.Millisecond)
				gc()
				var all sync.WaitGroup
				for range size {
					all.Go(func() { time.Sleep(10 * time.Millisecond) })
				}
				time.Sleep(time.Millisecond) // one more
				for range size + 2 {
					time.AfterFunc(time.Millisecond, func() {})
				}
				all.Wait()
			}
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
