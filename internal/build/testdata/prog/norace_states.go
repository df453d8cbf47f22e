package main

import (
	"os"
	"runtime"
	"sync"
)

// stateNoRaces are about what a goroutine learns from the state of an object, and about locks that are overwritten or copied.
func stateNoRaces() map[string]func() {
	return map[string]func(){
		"lock-overwritten-by-its-last-user": func() {
			mu, c := new(sync.Mutex), make(chan bool, 1)
			both(func() { mu.Lock(); mu.Unlock(); c <- true }, func() { <-c; *mu = sync.Mutex{}; mu.Lock(); mu.Unlock() })
		},
		"shift-beside": func() {
			rounds(func() (f, g func()) {
				a := make([]uint16, 100)
				f = func() {
					copy(a[2:50], a[1:49])
					copy(a[52:60], a[53:61])
					copy(a[70:75], a[64:69])
					copy(a[80:85], a[86:91])
				}
				return f, func() { a[0], a[50], a[51], a[61], a[69], a[85] = 1, 1, 1, 1, 1, 1 }
			})
		},
		// In another order of the critical sections the goroutines would not have done what they
		// did next.
		"state-of-a-group": func() {
			rounds(func() (f, g func()) {
				x, mu, group := new(int), new(sync.Mutex), new(sync.WaitGroup)
				return func() { mu.Lock(); group.Wait(); *x++; mu.Unlock() },
					func() { mu.Lock(); group.Add(1); mu.Unlock(); *x++; group.Done() }
			})
		},
		"state-of-a-condition": func() {
			rounds(func() (f, g func()) {
				x, waits := new(int), false
				mu := new(sync.Mutex)
				c := sync.NewCond(mu)
				return func() { mu.Lock(); waits = true; c.Wait(); mu.Unlock(); *x++ }, func() {
					*x++
					for on := true; on; {
						mu.Lock()
						if on = !waits; !on {
							c.Signal()
						}
						mu.Unlock()
						runtime.Gosched()
					}
				}
			})
		},
		"state-of-a-buffer": func() {
			rounds(func() (f, g func()) {
				x, mu, c := new(int), new(sync.Mutex), make(chan int, 2)
				return func() { mu.Lock(); c <- 1; mu.Unlock(); *x++ }, func() {
					mu.Lock()
					select {
					case <-c:
					default:
						*x++
					}
					mu.Unlock()
				}
			})
		},
		"state-of-buffers": func() {
			rounds(func() (f, g func()) {
				x, mu, c, d := new(int), new(sync.Mutex), make(chan int, 1), make(chan bool)
				return func() { mu.Lock(); c <- 1; mu.Unlock(); *x++ }, func() {
					mu.Lock()
					select {
					case <-c:
					case <-d:
					default:
						*x++
					}
					mu.Unlock()
				}
			})
		},
		"state-of-a-full-buffer": func() {
			rounds(func() (f, g func()) {
				x, mu, c := new(int), new(sync.Mutex), make(chan int, 1)
				c <- 1
				return func() { mu.Lock(); <-c; mu.Unlock(); *x++ }, func() {
					mu.Lock()
					select {
					case c <- 2:
					default:
						*x++
					}
					mu.Unlock()
				}
			})
		},
		"length-of-a-buffer": func() {
			rounds(func() (f, g func()) {
				x, mu, c := new(int), new(sync.Mutex), make(chan int, 2)
				return func() { mu.Lock(); c <- 1; mu.Unlock(); *x++ }, func() {
					mu.Lock()
					if len(c) == 0 {
						*x++
					}
					mu.Unlock()
				}
			})
		},
		"state-of-a-channel": func() {
			rounds(func() (f, g func()) {
				x, mu, c := new(int), new(sync.Mutex), make(chan int)
				return func() { mu.Lock(); close(c); mu.Unlock(); *x++ }, func() {
					mu.Lock()
					select {
					case <-c:
					default:
						*x++
					}
					mu.Unlock()
				}
			})
		},
		"elements-left": func() {
			rounds(func() (f, g func()) {
				x, mu, c := new(int), new(sync.Mutex), make(chan int, 1)
				c <- 1
				close(c)
				return func() {
						mu.Lock()
						if _, ok := <-c; ok {
							*x++
						}
						mu.Unlock()
					}, func() {
						mu.Lock()
						_, ok := <-c
						mu.Unlock()
						if !ok {
							*x++
						}
					}
			})
		},
		"closed-already": func() {
			rounds(func() (f, g func()) {
				x, mu, c := new(int), new(sync.Mutex), make(chan int, 1)
				first := func() (ok bool) {
					defer func() { ok = recover() == nil }()
					close(c)
					return
				}
				return func() {
						mu.Lock()
						if first() {
							*x++
						}
						mu.Unlock()
					}, func() {
						mu.Lock()
						ok := first()
						mu.Unlock()
						if !ok {
							*x++
						}
					}
			})
		},
		"rest-of-a-file": func() {
			rounds(func() (f, g func()) {
				x, mu := new(int), new(sync.Mutex)
				in, out, err := os.Pipe()
				if err != nil {
					panic(err)
				}
				out.WriteString("ab")
				out.Close()
				next := func() byte {
					var b [1]byte
					in.Read(b[:])
					return b[0]
				}
				return func() {
						mu.Lock()
						if next() == 'a' {
							*x++
						}
						mu.Unlock()
					}, func() {
						mu.Lock()
						got := next()
						mu.Unlock()
						if got == 'b' {
							*x++
						}
					}
			})
		},
		"nil-locks": func() {
			// A panic in a lock operation must not keep later events from being recorded.
			x, mu := new(int), new(sync.Mutex)
			for _, f := range []func(*sync.RWMutex){
				(*sync.RWMutex).RLock, (*sync.RWMutex).RUnlock, (*sync.RWMutex).Lock, (*sync.RWMutex).Unlock,
				func(rw *sync.RWMutex) { rw.TryLock() }, func(rw *sync.RWMutex) { rw.TryRLock() },
				func(rw *sync.RWMutex) { (*sync.Mutex)(nil).Lock() }, func(rw *sync.RWMutex) { (*sync.Mutex)(nil).Unlock() },
			} {
				func() {
					defer func() {
						if recover() == nil {
							panic("no panic")
						}
					}()
					f(nil)
				}()
			}
			both(func() { mu.Lock(); *x++; mu.Unlock() }, func() { mu.Lock(); *x++; mu.Unlock() })
		},
		"lock-copied-while-held": func() {
			x := new(guarded)
			both(func() { x.mu.Lock(); copied = *x; x.mu.Unlock() }, func() { x.mu.Lock(); x.x++; x.mu.Unlock() })
		},
	}
}
