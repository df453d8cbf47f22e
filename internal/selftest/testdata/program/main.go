// Command program does what its argument names. Names that begin with race have a race, and the others have none.
package main

import (
	"context"
	"fmt"
	"math/rand"
	"os"
	"runtime"
	"sync"
	"sync/atomic"
	"time"
)

var programs = map[string]func(){
	"race-variable": raceVariable,
	"race-map":      raceMap,
	"race-slice":    raceSlice,
	"locks":         locks,
	"channels":      channels,
	"atomics":       atomics,
	"groups":        groups,
	"pools":         pools,
	"timers":        timers,
	"reuse":         reuse,
	"choices":       choices,
	"leak":          func() { leak(false) },
	"noleak":        func() { leak(true) },
	"pointers":      pointers,
}

func main() {
	run := programs[os.Args[1]]
	if run == nil {
		fmt.Fprintf(os.Stderr, "no program %q\n", os.Args[1])
		os.Exit(3)
	}
	run()
}

// must ends the program if it has computed something wrong.
func must(right bool) {
	if !right {
		panic("wrong result")
	}
}

// both runs two functions at the same time.
func both(f, g func()) {
	var wg sync.WaitGroup
	wg.Go(f)
	wg.Go(g)
	wg.Wait()
}

func raceVariable() {
	n := 0
	both(func() { n++ }, func() { n++ })
	fmt.Println(n > 0)
}

func raceMap() {
	m := map[int]int{}
	started := make(chan bool, 1)
	both(func() { started <- true; m[1] = 1 }, func() { <-started; time.Sleep(time.Millisecond); _ = m[2] })
}

func raceSlice() {
	s := make([]byte, 64)
	both(func() { copy(s, "text") }, func() { _ = string(s) })
}

func locks() {
	var mu sync.Mutex
	var rw sync.RWMutex
	n, m := 0, map[int]int{}
	both(func() {
		for i := range 100 {
			mu.Lock()
			n++
			mu.Unlock()
			rw.Lock()
			m[i]++
			rw.Unlock()
		}
	}, func() {
		for i := range 100 {
			if mu.TryLock() {
				n--
				mu.Unlock()
			}
			rw.RLock()
			_ = m[i]
			rw.RUnlock()
		}
	})
	must(n <= 100 && len(m) == 100)
}

func channels() {
	for capacity := range 3 {
		values, done := make(chan *int, capacity), make(chan int)
		go func() {
			sum := 0
			for v := range values {
				sum += *v
			}
			done <- sum
		}()
		for i := range 100 {
			v := i
			select {
			case values <- &v:
			case <-done:
			}
		}
		close(values)
		must(<-done == 4950)
	}
}

func atomics() {
	var ready atomic.Bool
	var shared atomic.Pointer[[]int]
	var box atomic.Value
	n := 0
	both(func() {
		n = 7
		shared.Store(&[]int{1, 2, 3})
		box.Store([]int{4})
		ready.Store(true)
	}, func() {
		for !ready.Load() {
			runtime.Gosched()
		}
		must(n == 7 && len(*shared.Load()) == 3 && len(box.Load().([]int)) == 1)
	})
}

func groups() {
	var once sync.Once
	var mu sync.Mutex
	cond := sync.NewCond(&mu)
	value, go1 := 0, false
	both(func() {
		once.Do(func() { value = 1 })
		mu.Lock()
		go1 = true
		cond.Broadcast()
		mu.Unlock()
	}, func() {
		mu.Lock()
		for !go1 {
			cond.Wait()
		}
		mu.Unlock()
		once.Do(func() { value = 2 })
		must(value == 1)
	})
}

func pools() {
	pool := sync.Pool{New: func() any { return new(int) }}
	var m sync.Map
	use := func() {
		for i := range 100 {
			p := pool.Get().(*int)
			*p = i
			m.Store(i, i)
			pool.Put(p)
		}
	}
	both(use, use)
	v, ok := m.Load(50)
	must(ok && v == 50)
}

func timers() {
	n := 0
	fired := make(chan bool)
	n++
	time.AfterFunc(time.Millisecond, func() { n++; close(fired) })
	<-fired
	ctx, cancel := context.WithTimeout(context.Background(), time.Millisecond)
	defer cancel()
	<-ctx.Done()
	tick := time.NewTicker(time.Millisecond)
	<-tick.C
	tick.Stop()
	must(n == 2 && ctx.Err() != nil)
}

// reuse has goroutines one after the other that use memory, which the collector frees in between.
func reuse() {
	for i := range 20 {
		done := make(chan bool)
		go func() {
			nodes := make([]*[64]int, 100)
			for j := range nodes {
				nodes[j] = &[64]int{i, j}
			}
			must(nodes[9][1] == 9)
			close(done)
		}()
		<-done
		if i%5 == 0 {
			runtime.GC()
		}
	}
}

// choices prints what the order of goroutines, select statements, maps and random numbers decide.
func choices() {
	out := make(chan string, 64)
	m := map[string]int{"a": 1, "b": 2, "c": 3, "d": 4}
	var wg sync.WaitGroup
	for i := range 4 {
		wg.Go(func() {
			for name := range m {
				out <- fmt.Sprint(i, name, rand.Intn(10))
			}
		})
	}
	left, right := make(chan int, 8), make(chan int, 8)
	for i := range 8 {
		left <- i
		right <- i
	}
	for range 8 {
		select {
		case v := <-left:
			fmt.Print("l", v, " ")
		case v := <-right:
			fmt.Print("r", v, " ")
		case <-time.After(time.Minute):
		}
	}
	time.Sleep(time.Hour)
	wg.Wait()
	close(out)
	for s := range out {
		fmt.Print(s, " ")
	}
	fmt.Println()
}

func leak(received bool) {
	c := make(chan int)
	go func() { c <- 1 }()
	if received {
		<-c
	}
}

// pointers publishes objects by atomic operations, and uses them again.
func pointers() {
	var head atomic.Pointer[node]
	push := func() {
		for i := range 50 {
			n := &node{value: i}
			for {
				n.next = head.Load()
				if head.CompareAndSwap(n.next, n) {
					break
				}
			}
			old := head.Swap(&node{value: -1, next: n})
			must(old.value >= -1 && old.value < 50)
		}
	}
	both(push, push)
	count := 0
	for n := head.Load(); n != nil; n = n.next {
		must(n.value >= -1 && n.value < 50)
		count++
	}
	must(count >= 50)
}

type node struct {
	value int
	next  *node
}
