package main

import (
	"fmt"
	"log"
	"os"
	"os/exec"
	"runtime"
	"sync"
	"sync/atomic"
	"time"
)

// The comments "// at: name" give names to lines. The tests look for events at these lines.

var v [16]int // shared

func closer() map[string]func() {
	return map[string]func(){
		"goroutines": func() {
			done := make(chan bool)
			go child(done) // at: go
			<-done
			for runtime.NumGoroutine() > 1 {
				runtime.Gosched() // let it end
			}
		},
		"generations": func() {
			go grandparent() // at: go-grandparent
			later()
			parallel(100, func(int) {})
			go uncle() // at: go-uncle
			later()
		},
		"multitude": startAll,
		"lineages": func() {
			for range lines {
				go descendants(300) // at: go-descendants
			}
			later()
		},
		"locks": func() {
			var mu sync.Mutex
			var rw sync.RWMutex
			p, q := &mu, &rw
			p.Lock()   // at: lock
			q.RLock()  // at: rlock
			v[0]++     // at: both-held
			p.Unlock() // at: unlock
			v[1]++     // at: one-held
			q.RUnlock()
			v[2]++     // at: none-held
			q.Lock()   // at: wlock
			v[3]++     // at: w-held
			q.Unlock() // at: wunlock
			func() {
				p.Lock() // at: deferred-lock
				defer p.Unlock()
				v[4]++ // at: deferred-held
			}()
			v[5]++           // at: after-deferred
			if p.TryLock() { // at: try
				v[6]++ // at: try-held
			}
			p.Unlock()
			if q.TryRLock() { // at: try-rlock
				q.RUnlock()
			}
			if q.TryLock() { // at: try-wlock
				q.Unlock()
			}
		},
		"chance": func() {
			pool := new(sync.Pool)
			for range 100 { // Put throws some away under a race detector
				pool.Put(new(int))
				pool.Get() // at: pool-get
			}
			for range 8 {
				new(sync.Pool).Get() // at: new-pool
			}
			r, w, err := os.Pipe()
			if err != nil {
				panic(err)
			}
			fmt.Fprint(w, "a")
			r.Read(make([]byte, 1)) // at: pipe-read
			done := make(chan bool, 1)
			done <- true
			<-done // at: channel-receive
		},
		"distinct": func() { // many accesses of which none is repeated, and then a race
			words := make([]int, 100_000)
			done := make(chan bool)
			last := 0
			runtime.GOMAXPROCS(1) // the filter has a state for each
			for range 2 {
				go func() {
					sum := 0
					for _, w := range words {
						sum += w
					}
					last = sum // at: late
					last = sum // at: later
					done <- true
				}()
				<-done
			}
			for range 100_000 {
				v[0]++ // at: repeated
			}
			v[1] = last
		},
		"spans": func() {
			var mu1, mu2 sync.Mutex
			var mu3 sync.RWMutex
			p, q, r := &mu1, &mu2, &mu3
			for range 10 {
				v[0]++ // at: again
			}
			for range 10 {
				v[1]++ // at: before-publication
				counter.Add(1)
			}
			for range 10 {
				v[2]++ // at: before-load
				counter.Load()
			}
			for range 10 {
				p.Lock()
				v[3]++ // at: relocked
				p.Unlock()
			}
			for range 10 {
				p.Lock()
				q.Lock()
				v[4]++ // at: relocked-both
				p.Unlock()
				q.Unlock()
			}
			for range 10 {
				r.RLock()
				v[5]++ // at: relocked-shared
				r.RUnlock()
			}
			for range 10 {
				p.Lock()
				p.Unlock()
				v[6]++ // at: after-unlock
			}
			for range 10 {
				p.Lock()
				v[7]++ // at: between-locks
				p.Unlock()
				q.Lock()
				q.Unlock()
			}
			touch := func() {
				v[8]++ // at: downgraded
			}
			r.Lock()
			touch()
			r.Unlock()
			r.RLock()
			touch()
			r.RUnlock()
			for range 2 {
				v[9]++ // at: collected
				runtime.GC()
			}
		},
		"owned": func() {
			for range 10 {
				v[0]++ // at: owned
				counter.Add(1)
			}
			sum := 0
			for range 3 {
				sum += v[1] // at: read-by-one
				counter.Add(1)
			}
			next := make(chan bool)
			go func() {
				<-next
				for range 10 {
					v[0]++ // at: taken-over
					counter.Add(1)
				}
				sum := 0
				for range 3 {
					sum += v[1] // at: read-by-two
				}
				runtime.KeepAlive(sum)
				next <- true
			}()
			next <- true
			<-next
			for range 3 {
				sum += v[0] // at: taken-back
				counter.Add(1)
			}
			runtime.KeepAlive(sum)
		},
		"turns": func() {
			var mu sync.Mutex
			turn := 0
			player := func(me int) {
				for n := 0; n < 10; runtime.Gosched() {
					mu.Lock()
					if turn%2 == me {
						v[0]++ // at: in-turn
						turn++
						n++
					}
					mu.Unlock()
				}
			}
			done := make(chan bool)
			go func() {
				player(1)
				done <- true
			}()
			player(0)
			<-done // the other one has the last turn
		},
		"unlocked-by-other": func() {
			var mu sync.Mutex
			var held, done atomic.Bool
			p := &mu
			go func() {
				for !held.Load() {
				}
				time.Sleep(10 * time.Millisecond)
				p.Unlock()
				done.Store(true)
			}()
			p.Lock()
			held.Store(true)
			for range 2 {
				v[0]++ // at: held-no-more
				for !done.Load() {
				}
			}
		},
		"atomics": func() {
			p := &counter
			p.Load()                 // at: load
			p.Store(1)               // at: store
			p.Add(1)                 // at: add
			p.CompareAndSwap(2, 3)   // at: cas
			p.CompareAndSwap(2, 4)   // at: failed-cas
			p.Swap(5)                // at: swap
			atomic.LoadInt64(number) // at: function
		},
		"stacks": func() {
			outer(0) // at: call-outer
			v[0]++   // at: after-outer
			func() {
				defer func() {
					recover()
					v[1]++ // at: in-recover
				}()
				outer(3) // at: call-panicking
			}()
			v[2]++ // at: after-panic
			for range 3 {
				func() {
					defer func() { recover() }()
					outer(2) // at: call-repeated
				}()
			}
			inner(0) // at: call-inner
		},
		"deep": func() {
			deep(100_000)
			v[0]++ // at: after-deep
		},
		"long-copy": func() {
			a, b := make([]byte, 300_000), make([]byte, 300_000)
			n := copy(a[1:], b) // at: long-copy
			fmt.Println(n)
		},
		"many": func() {
			var wg sync.WaitGroup
			hold := make(chan bool)
			for i := range 10_000 {
				wg.Add(1)
				go func() {
					defer wg.Done()
					if i%2 == 0 {
						<-hold
					}
					v[i%16] = v[(i+1)%16] // at: many
				}()
			}
			close(hold)
			wg.Wait()
		},
		"exit-amid-events": func() {
			var started sync.WaitGroup
			started.Add(8)
			for range 8 {
				go func() {
					started.Done()
					for mu := new(sync.Mutex); ; {
						mu.Lock()
						mu.Unlock()
					}
				}()
			}
			started.Wait()
			v[0] = 1 // at: exit-amid-events
		},
		"exit-0": func() {
			v[0]++ // at: exit-0
			os.Exit(0)
		},
		"exit-3": func() {
			v[0]++ // at: exit-3
			os.Exit(3)
		},
		"return": func() {
			v[0]++ // at: return
		},
		"panic": func() {
			v[0]++ // at: panic
			panic("for the test")
		},
		"fatal-log": func() {
			v[0]++ // at: fatal-log
			log.Fatal("for the test")
		},
		"deadlock": func() {
			v[0]++ // at: deadlock
			select {}
		},
		"throw": func() {
			v[0]++ // at: throw
			var mu sync.Mutex
			p := &mu
			p.Unlock()
		},
		"nil-dereference": func() {
			v[0]++ // at: nil-dereference
			var p *pair
			fmt.Println(p.b)
		},
		"abort": func() {
			v[0]++ // at: abort
			p, err := os.FindProcess(os.Getpid())
			if err == nil {
				p.Signal(os.Interrupt)
			}
			time.Sleep(time.Minute)
		},
		"forever": func() {
			for i := 0; ; i++ {
				v[i%16]++ // at: forever
				if i == 100_000 {
					fmt.Println("ready") // buffers have been sent by now
				}
			}
		},
		"parent": func() {
			v[0]++ // at: parent
			cmd := exec.Command(os.Args[0], "return")
			cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
			if err := cmd.Run(); err != nil {
				fmt.Println(err)
			}
		},
		"idle": func() {
			v[0]++ // at: idle
			fmt.Println("ready")
			time.Sleep(time.Hour)
		},
	}
}

//go:noinline
func child(done chan bool) {
	v[0]++ // at: child
	done <- true
}

var (
	number  = new(int64)
	counter atomic.Int64
)

//go:noinline
func outer(n int) {
	inner(n) // at: call-from-outer
}

//go:noinline
func inner(n int) {
	v[10]++ // at: inner
	if n == 1 {
		panic("!")
	}
	if n > 0 {
		inner(n - 1)
	}
}

// grandparent begins three generations, the last of which races with a child of uncle.
func grandparent() {
	go parent() // at: go-parent
}

func parent() {
	beget()
}

//go:noinline
func beget() {
	go grandchild() // at: go-grandchild
}

func grandchild() {
	v[0] = 1 // at: grandchild
}

const lines = 8 // of descendants

// descendants starts n generations of goroutines. The last one waits for those of other lines of
// descent and races with them.
func descendants(n int) {
	if n > 0 {
		go descendants(n - 1) // at: go-descendant
		return
	}
	for runtime.NumGoroutine() > 1+lines {
		runtime.Gosched() // which orders nothing
	}
	for i := range v {
		v[i]++ // at: last-descendant
	}
}

func uncle() {
	go cousin() // at: go-cousin
}

func cousin() {
	v[0] = 2 // at: cousin
}

//go:noinline
func deep(n int) int {
	if n == 0 {
		v[1]++ // at: deepest
		return 0
	}
	return deep(n-1) + 1
}
