package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"iter"
	"log"
	"math/rand"
	"net"
	"os"
	"os/signal"
	"reflect"
	"runtime"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
	"unique"
)

func gc() { runtime.GC() }

// parallel runs f in n goroutines at the same time and returns when all have ended.
func parallel(n int, f func(i int)) {
	var wg sync.WaitGroup
	for i := range n {
		wg.Add(1)
		go func() {
			defer wg.Done()
			f(i)
		}()
	}
	wg.Wait()
}

func noRaces() map[string]func() {
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
		"mutex": func() {
			x, mu := new(int), new(sync.Mutex)
			parallel(20, func(int) {
				for range 50 {
					mu.Lock()
					*x++
					mu.Unlock()
				}
			})
			*x++
		},
		"try-lock": func() {
			x, mu := new(int), new(sync.Mutex)
			parallel(8, func(int) {
				for !mu.TryLock() {
					runtime.Gosched()
				}
				defer mu.Unlock()
				*x++
			})
		},
		"rwmutex": func() {
			x, mu := new(int), new(sync.RWMutex)
			parallel(20, func(i int) {
				for range 20 {
					if i%4 == 0 {
						mu.Lock()
						*x++
						mu.Unlock()
					} else {
						mu.RLock()
						_ = *x
						mu.RUnlock()
					}
				}
			})
		},
		"rwmutex-try": func() {
			x, mu := new(int), new(sync.RWMutex)
			parallel(8, func(i int) {
				for {
					if i%2 == 0 && mu.TryLock() {
						*x++
						mu.Unlock()
						return
					}
					if i%2 == 1 && mu.TryRLock() {
						_ = *x
						mu.RUnlock()
						return
					}
					runtime.Gosched()
				}
			})
		},
		"rlocker": func() {
			x, mu := new(int), new(sync.RWMutex)
			both(func() { l := mu.RLocker(); l.Lock(); _ = *x; l.Unlock() }, func() { mu.Lock(); *x++; mu.Unlock() })
		},
		"unlock-elsewhere": func() {
			x, mu := new(int), new(sync.Mutex)
			mu.Lock()
			both(func() { *x = 1; mu.Unlock() }, func() { mu.Lock(); *x = 2; mu.Unlock() })
		},
		"unlock-in-panic": func() {
			x, mu := new(int), new(sync.Mutex)
			parallel(4, func(int) {
				defer func() { recover() }()
				mu.Lock()
				defer mu.Unlock()
				*x++
				panic("!")
			})
		},
		"goexit": func() {
			x, done := new(int), make(chan bool)
			go func() {
				defer close(done)
				*x = 1
				runtime.Goexit()
			}()
			<-done
			*x = 2
		},
		"unbuffered": func() {
			x, c := new(int), make(chan bool)
			both(func() { *x = 1; c <- true }, func() { <-c; *x = 2 })
		},
		"unbuffered-back": func() {
			x, c := new(int), make(chan bool)
			both(func() { *x = 1; <-c }, func() { c <- true; *x = 2 })
		},
		"buffered": func() {
			x, c := new(int), make(chan int, 3)
			both(func() {
				for i := range 10 {
					*x = i
					c <- i
				}
				c <- -1
			}, func() {
				for <-c >= 0 {
				}
				*x = 2
			})
		},
		"semaphore": func() {
			x, c := new(int), make(chan bool, 1)
			parallel(10, func(int) { c <- true; *x++; <-c })
		},
		"zero-size-elements": func() {
			x, c := new(int), make(chan struct{}, 1)
			both(func() { *x = 1; c <- struct{}{} }, func() { <-c; *x = 2 })
		},
		"close": func() {
			x, c := new(int), make(chan bool)
			both(func() { *x = 1; close(c) }, func() {
				for range c {
				}
				*x = 2
			})
		},
		"select": func() {
			x, c, d := new(int), make(chan bool), make(chan bool)
			both(func() { *x = 1; c <- true; d <- true }, func() {
				for range 2 {
					select {
					case <-c:
					case <-d:
					}
				}
				*x = 2
			})
		},
		"select-default": func() {
			x, c := new(int), make(chan bool, 1)
			both(func() { *x = 1; c <- true }, func() {
				for {
					select {
					case <-c:
						*x = 2
						return
					default:
						runtime.Gosched()
					}
				}
			})
		},
		"pipeline": func() {
			stage := func(in chan *pair) chan *pair {
				out := make(chan *pair, 2)
				go func() {
					defer close(out)
					for p := range in {
						p.a++
						out <- p
					}
				}()
				return out
			}
			first := make(chan *pair)
			last := stage(stage(stage(first)))
			go func() {
				for range 50 {
					first <- new(pair)
				}
				close(first)
			}()
			for p := range last {
				if p.a != 3 {
					panic(p.a)
				}
			}
		},
		"wait-group": func() {
			xs, wg := make([]int, 10), new(sync.WaitGroup)
			for i := range xs {
				wg.Go(func() { xs[i]++ })
			}
			wg.Wait()
			for i := range xs {
				xs[i]++
			}
		},
		"once": func() {
			x, once := new(int), new(sync.Once)
			parallel(10, func(int) {
				once.Do(func() { *x = 1 })
				_ = *x
			})
		},
		"once-value": func() {
			f := sync.OnceValue(func() *pair { return &pair{1, 2} })
			parallel(10, func(int) { _ = f().a })
		},
		"cond": func() {
			x, mu := new(int), new(sync.Mutex)
			cond := sync.NewCond(mu)
			both(func() {
				mu.Lock()
				*x = 1
				mu.Unlock()
				cond.Broadcast()
			}, func() {
				mu.Lock()
				for *x == 0 {
					cond.Wait()
				}
				mu.Unlock()
				*x = 2
			})
		},
		"sync-map": func() {
			var m sync.Map
			parallel(8, func(i int) {
				p := &pair{i, i}
				if other, loaded := m.LoadOrStore(i/2, p); loaded {
					_ = other.(*pair).a
				}
				m.Range(func(k, v any) bool { _ = v.(*pair).b; return true })
			})
		},
		"pool": func() {
			pool := sync.Pool{New: func() any { return new(pair) }}
			parallel(20, func(int) {
				for range 20 {
					p := pool.Get().(*pair)
					p.a++
					pool.Put(p)
				}
			})
		},
		"atomic-flag": func() {
			x, flag := new(int), new(atomic.Bool)
			both(func() { *x = 1; flag.Store(true) }, func() {
				for !flag.Load() {
				}
				*x = 2
			})
		},
		"atomic-functions": func() {
			x, flag := new(int), new(uint32)
			both(func() { *x = 1; atomic.StoreUint32(flag, 1) }, func() {
				for atomic.LoadUint32(flag) == 0 {
				}
				*x = 2
			})
		},
		"atomic-lock": func() {
			x, held := new(int), new(int64)
			parallel(6, func(int) {
				for !atomic.CompareAndSwapInt64(held, 0, 1) {
					runtime.Gosched()
				}
				*x++
				atomic.StoreInt64(held, 0)
			})
		},
		"atomic-count": func() {
			x, n := make([]int, 5), new(atomic.Int64)
			parallel(5, func(i int) {
				x[i] = i
				if n.Add(1) == 5 {
					for j := range x {
						x[j]++
					}
				}
			})
		},
		"atomic-bits": func() {
			x, n := make([]int, 5), new(atomic.Uint32)
			parallel(5, func(i int) {
				x[i] = i
				if n.Or(1<<i)|1<<i == 31 {
					for j := range x {
						x[j]++
					}
				}
			})
		},
		"atomic-pointer": func() {
			var at atomic.Pointer[pair]
			parallel(6, func(i int) {
				at.Store(&pair{i, i})
				_ = at.Load().a
				p := at.Swap(&pair{i, i})
				_ = p.b
				at.CompareAndSwap(at.Load(), &pair{})
			})
		},
		"atomic-value": func() {
			var at atomic.Value
			parallel(6, func(i int) {
				at.Store(&pair{i, i})
				_ = at.Load().(*pair).a
				_ = at.Swap(&pair{i, i}).(*pair).b
			})
		},
		"neighbors": func() {
			var x [8]byte
			p := &x
			parallel(8, func(i int) { p[i] = 1 })
			fmt.Fprint(io.Discard, x)
		},
		"context": func() {
			x := new(int)
			ctx, cancel := context.WithCancel(context.Background())
			both(func() { *x = 1; cancel() }, func() { <-ctx.Done(); *x = 2 })
		},
		"context-after-func": func() {
			x, done := new(int), make(chan bool)
			ctx, cancel := context.WithCancel(context.Background())
			context.AfterFunc(ctx, func() { *x++; close(done) })
			*x++
			cancel()
			<-done
			*x++
		},
		"context-timeout": func() {
			ctx, cancel := context.WithTimeout(context.Background(), time.Millisecond)
			defer cancel()
			parallel(3, func(int) { <-ctx.Done(); _ = ctx.Err() })
		},
		"after-func": func() {
			x, done := new(int), make(chan bool)
			*x = 1
			time.AfterFunc(time.Millisecond, func() { *x = 2; close(done) })
			<-done
			*x = 3
		},
		"timers": func() {
			x := new(int)
			both(func() { <-time.After(time.Millisecond) }, func() {
				t := time.NewTimer(time.Hour)
				t.Reset(time.Millisecond)
				<-t.C
				tick := time.NewTicker(time.Millisecond)
				<-tick.C
				<-tick.C
				tick.Stop()
				*x++
			})
		},
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
		"std": func() {
			l := log.New(io.Discard, "", log.LstdFlags)
			parallel(8, func(i int) {
				l.Println("message", i)
				fmt.Fprintf(io.Discard, "%d %v %s\n", rand.Int(), pair{i, i}, time.Now())
				b, err := json.Marshal(map[string]any{"a": []pair{{1, 2}}, "b": i})
				if err != nil {
					panic(err)
				}
				var v any
				if err := json.Unmarshal(b, &v); err != nil {
					panic(err)
				}
				reflect.DeepEqual(v, pair{})
				os.Getenv("HOME")
				os.Setenv("PROG", "x")
			})
		},
		"io-pipe": func() {
			x := new(int)
			r, w := io.Pipe()
			both(func() { *x = 1; w.Write([]byte("hello")); w.Close() }, func() { io.ReadAll(r); *x = 2 })
		},
		"os-pipe": func() {
			x := new(int)
			r, w, err := os.Pipe()
			if err != nil {
				panic(err)
			}
			both(func() { *x = 1; w.Write([]byte("hello")); w.Close() }, func() { io.ReadAll(r); *x = 2; r.Close() })
		},
		"net": func() {
			l, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				panic(err)
			}
			x := new(int)
			both(func() {
				c, err := l.Accept()
				if err != nil {
					panic(err)
				}
				io.Copy(io.Discard, c)
				*x = 2
				c.Close()
			}, func() {
				c, err := net.Dial("tcp", l.Addr().String())
				if err != nil {
					panic(err)
				}
				*x = 1
				c.Write(bytes.Repeat([]byte("x"), 100_000))
				c.Close()
			})
			l.Close()
		},
		"signal": func() {
			x, c := new(int), make(chan os.Signal, 1)
			signal.Notify(c, syscall.SIGUSR1)
			*x = 1
			syscall.Kill(os.Getpid(), syscall.SIGUSR1)
			<-c
			*x = 2
			signal.Stop(c)
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
