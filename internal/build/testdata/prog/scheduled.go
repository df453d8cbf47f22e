package main

import (
	"context"
	crand "crypto/rand"
	"errors"
	"fmt"
	"hash/maphash"
	"io"
	"math/rand"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"reflect"
	"runtime"
	"runtime/debug"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// calls has a method for reflection.
type calls struct{}

// Twice is exported, so that reflection finds it.
func (*calls) Twice(n int) int { return 2 * n }

// scheduled returns the programs for the tests of deterministic runs.
func scheduled() map[string]func() {
	return map[string]func(){
		// Programs whose output depends on the schedule, on random numbers, on the order of maps
		// and on the time.
		"det-channels": func() {
			jobs, results := make(chan int), make(chan string, 2)
			var wg sync.WaitGroup
			for w := range 4 {
				wg.Go(func() {
					for j := range jobs {
						results <- fmt.Sprint(w, ":", j)
					}
				})
			}
			go func() {
				for j := range 20 {
					jobs <- j
				}
				close(jobs)
				wg.Wait()
				close(results)
			}()
			for r := range results {
				fmt.Print(r, " ")
			}
		},
		"det-select": func() {
			a, b, stop := make(chan int, 3), make(chan int), make(chan bool)
			go func() {
				for i := range 10 {
					select {
					case a <- i:
					case b <- i:
					}
				}
				close(stop)
			}()
			spun := 0
			for open := true; open; {
				select {
				case i := <-a:
					fmt.Print("a", i, " ")
				case i := <-b:
					fmt.Print("b", i, " ")
				case <-stop:
					open = false
				default:
					spun++
				}
			}
			fmt.Print(spun)
		},
		"det-maps": func() {
			m := map[string]int{}
			byPointer := map[*int]int{}
			var mu sync.Mutex
			parallel(4, func(w int) {
				for i := range 10 {
					mu.Lock()
					m[fmt.Sprint(w, i)] = rand.Intn(1000)
					byPointer[new(int)] = i
					mu.Unlock()
				}
			})
			for k, v := range m {
				fmt.Print(k, "=", v, " ")
			}
			for _, v := range byPointer {
				fmt.Print(v, " ")
			}
			var secret [4]byte
			crand.Read(secret[:])
			fmt.Print(maphash.String(maphash.MakeSeed(), "x"), secret)
		},
		"det-timers": func() {
			start := time.Now()
			since := func() time.Duration { return time.Since(start) }
			log := make(chan string, 100)
			for i := range 3 {
				time.AfterFunc(time.Duration(rand.Intn(3000))*time.Millisecond, func() { log <- fmt.Sprint("after", i, " ", since()) })
			}
			tick := time.NewTicker(time.Second)
			ctx, cancel := context.WithTimeout(context.Background(), 3500*time.Millisecond)
			defer cancel()
			for n := 0; ctx.Err() == nil; {
				select {
				case <-tick.C:
					n++
					log <- fmt.Sprint("tick", n, " ", since())
				case <-ctx.Done():
				}
			}
			time.Sleep(time.Hour)
			close(log)
			for s := range log {
				fmt.Println(s)
			}
			fmt.Println(ctx.Err(), time.Now())
		},
		"det-pool": func() {
			type buffer struct{ uses []int }
			pool := sync.Pool{New: func() any { return new(buffer) }}
			var once sync.Once
			parallel(5, func(w int) {
				for i := range 6 {
					once.Do(func() { fmt.Print("once by ", w, " ") })
					b := pool.Get().(*buffer)
					b.uses = append(b.uses, w*10+i)
					runtime.Gosched()
					if len(b.uses) > 2 {
						fmt.Print(b.uses)
						b.uses = nil
					}
					pool.Put(b)
				}
			})
		},
		"det-addresses": func() { // of keys of sync.Map, some in the program, some in package reflect
			var m sync.Map
			parallel(4, func(w int) {
				for i := range 8 {
					key := &[2]int{w, i}
					m.Store(key, i)
					method, _ := reflect.TypeFor[*calls]().MethodByName("Twice")
					fmt.Print(w, method.Type.NumIn(), " ")
					if _, ok := m.LoadAndDelete(key); !ok || i%4 == 0 {
						m.LoadOrStore(key, i)
					}
				}
			})
			sum := 0
			m.Range(func(_, i any) bool { sum += i.(int); return true })
			fmt.Print(sum)
		},
		"det-tries": func() { // how often a lock is not free
			var mu sync.Mutex
			var rw sync.RWMutex
			n := 0
			failed := [3]int{}
			parallel(3, func(w int) {
				for range 4 {
					mu.Lock()
					n++
					mu.Unlock()
					rw.RLock()
					_ = n
					rw.RUnlock()
					if mu.TryLock() {
						n++
						mu.Unlock()
					} else {
						failed[0]++
					}
					if rw.TryLock() {
						rw.Unlock()
					} else {
						failed[1]++
					}
					if rw.TryRLock() {
						rw.RUnlock()
					} else {
						failed[2]++
					}
				}
			})
			fmt.Print(failed)
		},
		"det-emptied": func() { // pools, by a collector that runs when it likes
			debug.SetGCPercent(20)
			made := atomic.Int32{}
			pool := sync.Pool{New: func() any { made.Add(1); return make([]byte, 1000) }}
			parallel(4, func(w int) {
				for i := range 40 {
					b := pool.Get().([]byte)
					garbage := make([]byte, 1+rand.Intn(600_000))
					garbage[0] = b[0]
					runtime.Gosched()
					pool.Put(b)
					if w == 0 && i == 30 {
						runtime.GC()
						fmt.Print(made.Load(), " ")
					}
				}
			})
			fmt.Print(made.Load())
		},
		"det-group": func() { // as of golang.org/x/sync/errgroup
			ctx, cancel := context.WithCancelCause(context.Background())
			var wg sync.WaitGroup
			var done atomic.Int32
			for i := range 6 {
				wg.Go(func() {
					select {
					case <-time.After(time.Duration(rand.Intn(10)) * time.Millisecond):
						if rand.Intn(3) == 0 {
							cancel(fmt.Errorf("%d failed", i))
						}
						done.Add(1)
					case <-ctx.Done():
					}
				})
			}
			wg.Wait()
			fmt.Print(done.Load(), context.Cause(ctx))
		},
		"det-collections": func() { // of garbage
			debug.SetGCPercent(20)
			var mu sync.Mutex
			kept := map[int][]byte{}
			collected := 0
			parallel(6, func(w int) {
				for i := range 200 {
					b := make([]byte, 100+rand.Intn(20_000))
					x := new([10]int)
					runtime.SetFinalizer(x, func(*[10]int) { collected++ })
					mu.Lock()
					kept[i%50] = b
					mu.Unlock()
				}
			})
			time.Sleep(time.Second)
			var stats runtime.MemStats
			runtime.ReadMemStats(&stats)
			fmt.Print(stats.NumGC > 2, stats.Mallocs > 0, collected, fmt.Sprintf(" %p", kept[3]))
		},

		// Programs that end in different ways.
		"det-ab-ba": func() {
			var a, b sync.Mutex
			both(func() { a.Lock(); b.Lock(); b.Unlock(); a.Unlock() }, func() { b.Lock(); a.Lock(); a.Unlock(); b.Unlock() })
			fmt.Print("done")
		},
		"det-dead-channel": func() { <-make(chan int) },
		"det-dead-group":   func() { var wg sync.WaitGroup; wg.Add(1); wg.Wait() },
		"det-dead-select":  func() { go func() { select {} }(); select {} },
		"det-dead-rwmutex": func() { var mu sync.RWMutex; mu.RLock(); mu.Lock() },
		"det-dead-cond":    func() { c := sync.NewCond(new(sync.Mutex)); c.L.Lock(); c.Wait() },
		"det-goexit":       func() { runtime.Goexit() },
		"det-ticker": func() {
			go func() {
				for range time.Tick(time.Minute) {
				}
			}()
			select {}
		},
		"det-leak":  func() { go func() { <-make(chan int) }(); go func() { select {} }(); fmt.Print("left") },
		"det-panic": func() { go func() { panic("for the test") }(); select {} },
		"det-exit":  func() { go os.Exit(3); select {} },

		// Programs that spin.
		"det-spin": func() {
			flag := new(bool)
			go func() { *flag = true }()
			for !*flag {
			}
			fmt.Print("seen")
		},
		"det-spin-atomic": func() {
			var flag atomic.Bool
			go flag.Store(true)
			for !flag.Load() {
			}
			fmt.Print("seen")
		},
		"det-busy": func() {
			start := time.Now()
			for time.Since(start) < time.Second {
			}
			fmt.Print("waited")
		},

		// Programs that depend on something outside.
		"out-http": func() {
			s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { fmt.Fprint(w, "hello ", r.URL.Path) }))
			defer s.Close()
			parallel(3, func(i int) {
				resp, err := http.Get(fmt.Sprint(s.URL, "/", i))
				if err != nil {
					panic(err)
				}
				defer resp.Body.Close()
				text, err := io.ReadAll(resp.Body)
				fmt.Println(string(text), err)
			})
		},
		"out-timeout": func() {
			l, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				panic(err)
			}
			go l.Accept()
			c, err := net.Dial("tcp", l.Addr().String())
			if err != nil {
				panic(err)
			}
			c.SetReadDeadline(time.Now().Add(time.Hour))
			_, err = c.Read(make([]byte, 1))
			fmt.Print(errors.Is(err, os.ErrDeadlineExceeded))
		},
		"out-exec": func() {
			parallel(2, func(int) {
				out, err := exec.Command("sh", "-c", "sleep 0.2; echo out").CombinedOutput()
				fmt.Print(strings.TrimSpace(string(out)), err, " ")
			})
			ctx, cancel := context.WithTimeout(context.Background(), 300*time.Millisecond)
			defer cancel()
			fmt.Print(exec.CommandContext(ctx, "sleep", "100").Run())
		},
		"out-file": func() {
			text, err := os.ReadFile(os.Args[0])
			fmt.Print(len(text) > 0, err)
		},
		"out-thread": func() {
			runtime.LockOSThread()
			done := make(chan int)
			go func() { done <- 1 }()
			fmt.Print(<-done)
		},

		// Programs with targets.
		"at-race": func() {
			x, done := new(int), make(chan bool)
			go func() {
				*x = 1 // at: race-write
				done <- true
			}()
			if *x == 1 { // at: race-read
				fmt.Print("late ")
			}
			<-done
		},
		"at-map": func() {
			m, done := map[int]int{}, make(chan bool)
			go func() {
				m[1] = 1 // at: map-write
				done <- true
			}()
			_ = m[1] // at: map-read
			<-done
		},
		"at-points": func() { // each goroutine says how far the other one was, all the time
			var shared [64]byte
			var progress, seen [2]int
			kept := [2]map[int]int{{}, {}}
			parallel(2, func(w int) {
				for i := range 300 {
					shared[i%len(shared)] = byte(i)
					progress[w]++                      // at: point-write
					at := progress[1-w]                // at: point-read
					seen[w] = (seen[w]*31 + at) % 9973 // its own, and in a word of its own
					kept[w][i%16] += at                // at: point-map
				}
			})
			fmt.Print(seen, kept, shared)
		},
		"at-keys": func() { // the length has no key
			m, done := map[int]int{1: 1}, make(chan bool)
			go func() {
				for i := range 50 {
					m[2] = i // at: key-write
				}
				done <- true
			}()
			n := 0
			for range 50 {
				n += m[1]
				n += len(m) // at: key-none
			}
			<-done
			fmt.Print(n)
		},
		"at-locks": func() {
			var a, b sync.Mutex
			both(
				func() {
					a.Lock()
					b.Lock() // at: lock-b
					b.Unlock()
					a.Unlock()
				},
				func() {
					b.Lock()
					a.Lock() // at: lock-a
					a.Unlock()
					b.Unlock()
				})
		},
		"at-structs": structs,
	}
}

// parts is a struct with many pointers.
type parts struct {
	p, q *int
	s    string
	m    map[string]int
	next *parts
}

var common parts // shared, with races

func newParts(i int) parts {
	return parts{p: new(int), q: &i, s: fmt.Sprint(i), m: map[string]int{"a": i}}
}

//go:noinline
func (p parts) sum() int { return *p.p + *p.q + len(p.s) + len(p.m) }

// structs has targets on all of its lines. They stop goroutines while these copy structs and the
// collector is running.
func structs() {
	stop := make(chan bool)
	go func() {
		for {
			select {
			case <-stop:
				return
			default:
				runtime.GC()
			}
		}
	}()
	var last [8]*parts
	common = newParts(0)
	parallel(4, func(w int) {
		for i := range 20 {
			common = newParts(i) // at: first-struct
			c := common
			c.sum()
			last[i%8] = &c
			list := [3]parts{newParts(i), common, c}
			for _, p := range list {
				p.sum()
			}
			common, c = c, common
			common = func(p parts) parts { p.next = &c; return p }(common)
			all := append([]parts{common}, common)
			all[0].sum()
			boxed := any(common)
			boxed.(parts).sum()
			ch := make(chan parts, 1)
			ch <- common
			common = <-ch
			*last[0] = common // at: last-struct
		}
	})
	close(stop)
	fmt.Print("done")
}
