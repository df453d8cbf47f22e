// A program whose heap grows in many ways, for tests of what it may have under a limit of address space, and of what
// it needs where it is sparse.
package main

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
)

const (
	mib  = 1 << 20
	step = 1 << 16 // a sparse object is touched once in so many bytes
)

type node struct {
	next *node
	data [120]int
}

type record struct {
	name  [4]string
	block [step - 64]byte
}

// Roots of what is kept.
var (
	head   *node
	slices [][]byte
	ints   []int
	table  map[int][16]int
	racy   int
)

// shapes are ways to have a heap of n MiB.
var shapes = map[string]func(n int){
	"one": func(n int) { slices = append(slices, make([]byte, n*mib)) },
	"slices": func(n int) {
		for range n {
			slices = append(slices, make([]byte, mib))
		}
	},
	"nodes": func(n int) {
		for range n * (mib / 1024) { // of the size class of 1,024 bytes
			head = &node{next: head}
		}
	},
	"append": func(n int) {
		for range n * (mib / 8) / 4 { // while it grows there are two
			ints = append(ints, 1)
		}
	},
	"map": func(n int) {
		table = map[int][16]int{}
		for i := range n * (mib / 136) / 4 {
			table[i] = [16]int{}
		}
	},
	"blocks": func(n int) {
		for range n / 100 {
			slices = append(slices, make([]byte, 100*mib))
		}
	},
	"goroutines": func(n int) {
		blocked := make(chan []byte)
		for range n {
			go func() { b := make([]byte, mib); <-blocked; blocked <- b }()
		}
	},
}

// sparse are ways to touch little of 256 MiB or more.
var sparse = map[string]func(){
	"make": func() { touch(make([]byte, 1024*mib)) },
	"slices": func() {
		for range 1024 {
			slices = append(slices, make([]byte, mib))
			touch(slices[len(slices)-1])
		}
	},
	"small": func() {
		for range 16384 {
			slices = append(slices, make([]byte, step))
			slices[len(slices)-1][1] = 1
		}
	},
	"records": func() {
		for i, r := 0, make([]record, 16384); i < len(r); i++ {
			r[i].name[1] = "a name"
		}
	},
	"hint": func() {
		table = make(map[int][16]int, 4<<20)
		for i := range 1000 {
			table[i] = [16]int{i}
		}
	},
	"reused": func() {
		for range 8 {
			touch(make([]byte, 256*mib))
		}
	},
	"capacity": func() {
		ints = make([]int, 0, 128*mib)
		for i := range 100_000 {
			ints = append(ints, i)
		}
	},
	"lines": func() { // a page of eight, so that all cells of an eighth are used
		b := make([]byte, 256*mib)
		for i := 0; i < len(b); i += 8 * 4096 {
			for k := range 4096 {
				b[i+k] = 1
			}
		}
	},
	"stacks": func() {
		done := make(chan bool)
		for range 1000 {
			go func() { deep(50); done <- true }()
		}
		for range 1000 {
			<-done
		}
	},
}

func touch(b []byte) {
	for i := 0; i < len(b); i += step {
		b[i]++
	}
}

//go:noinline
func deep(n int) int {
	var frame [256]int
	frame[n] = n
	if n > 0 {
		frame[0] = deep(n - 1)
	}
	return frame[n&1]
}

// pair has everything that orders a write before a read, each with a variable of its own.
type pair struct {
	_       [mib]byte // so that others are far away
	mu      sync.Mutex
	rw      sync.RWMutex
	once    sync.Once
	group   sync.WaitGroup
	cond    *sync.Cond
	flag    atomic.Int32
	number  int64
	pointer atomic.Pointer[int]
	value   atomic.Value
	closed  chan bool
	sent    chan int
	table   sync.Map
	data    [12]int
}

// outside has the same data in data segments.
var outside [64][12]int

func newPair() *pair {
	p := &pair{closed: make(chan bool), sent: make(chan int, 1)}
	p.cond = sync.NewCond(&sync.Mutex{})
	return p
}

func (p *pair) write(i int) {
	set := func(k int) { p.data[k], outside[i][k] = i, i }
	p.mu.Lock()
	set(0)
	p.mu.Unlock()
	p.rw.Lock()
	set(1)
	p.rw.Unlock()
	p.once.Do(func() { set(2) })
	set(3)
	p.flag.Store(1)
	set(4)
	atomic.AddInt64(&p.number, 1)
	set(5)
	p.pointer.Store(&p.data[5])
	set(6)
	p.value.Store(i)
	set(7)
	p.sent <- 1
	set(8)
	p.table.Store("key", i)
	p.cond.L.Lock()
	set(9)
	p.cond.L.Unlock()
	p.cond.Broadcast()
	set(10)
	close(p.closed)
	set(11)
	p.group.Done()
}

func (p *pair) read(i int) {
	get := func(k int) {
		if p.data[k] != i || outside[i][k] != i {
			panic("not what was written")
		}
		p.data[k], outside[i][k] = -1, -1
	}
	p.mu.Lock()
	for p.data[0] == 0 && i != 0 {
		p.mu.Unlock()
		p.mu.Lock()
	}
	get(0)
	p.mu.Unlock()
	for locked := false; !locked; {
		p.rw.RLock()
		locked = p.data[1] == i
		p.rw.RUnlock()
	}
	get(1)
	p.once.Do(func() { p.data[2], outside[i][2] = i, i }) // the writer may not be there yet
	get(2)
	for p.flag.Load() == 0 {
	}
	get(3)
	for !atomic.CompareAndSwapInt64(&p.number, 1, 2) {
	}
	get(4)
	for p.pointer.Load() == nil {
	}
	get(5)
	for p.value.Load() == nil {
	}
	get(6)
	<-p.sent
	get(7)
	for ok := false; !ok; _, ok = p.table.Load("key") {
	}
	get(8)
	p.cond.L.Lock()
	for p.data[9] != i {
		p.cond.Wait()
	}
	p.cond.L.Unlock()
	get(9)
	<-p.closed
	get(10)
	p.group.Wait()
	get(11)
}

// ordered has no race: pairs are written, the heap grows to n MiB, and other goroutines read them and write and read
// new ones.
func ordered(n int) {
	var pairs []*pair
	for i := 1; i <= 40; i++ {
		if i == 30 {
			shapes["slices"](n)
		}
		p := newPair()
		p.group.Add(1)
		pairs = append(pairs, p)
		if done := make(chan bool); i < 30 { // without an order between this write and its read but that of the pair
			go func() { p.write(i); done <- true }()
			<-done
		} else {
			go p.write(i)
		}
	}
	var readers sync.WaitGroup
	for i, p := range pairs {
		readers.Go(func() { p.read(i + 1) })
	}
	readers.Wait()
}

func race() {
	done := make(chan bool)
	go func() { racy++; done <- true }()
	racy++
	<-done
}

// peak returns the most memory that the program has had, in MiB.
func peak() int {
	text, _ := os.ReadFile("/proc/self/status")
	_, rest, _ := strings.Cut(string(text), "VmHWM:")
	n, _ := strconv.Atoi(strings.Fields(rest)[0])
	return n / 1024
}

func main() {
	switch os.Args[1] {
	case "race":
		race()
	case "grow":
		n, _ := strconv.Atoi(os.Args[3])
		shapes[os.Args[2]](n)
	case "grow-race":
		n, _ := strconv.Atoi(os.Args[3])
		shapes[os.Args[2]](n)
		race()
	case "ordered":
		n, _ := strconv.Atoi(os.Args[2])
		ordered(n)
	case "sparse":
		sparse[os.Args[2]]()
		fmt.Println(peak())
		return
	}
	fmt.Println("done")
}
