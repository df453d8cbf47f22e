// Program recentreads has goroutines that read a word again in the same epoch, after something has
// happened that makes the second read race. The argument says what. They tell each other how far
// they are without synchronization, in functions that are not recorded.
package main

import (
	"fmt"
	"os"
	"runtime"
	"unsafe"
)

type object struct {
	word    int
	padding [1000]int // so that few objects share a span
}

var (
	step   int
	shared *object
	old    uintptr
)

//go:norace
func await(n int) {
	for step < n {
		runtime.Gosched()
	}
}

//go:norace
func reach(n int) { step = n }

//go:norace
func get() *object { return shared }

//go:norace
func set(o *object) { shared = o }

//go:noinline
func read(o *object) int { return o.word }

//go:noinline
func readAgain(o *object) int { return o.word }

func main() {
	runtime.GOMAXPROCS(1)
	switch os.Args[1] {
	case "reallocated":
		reallocated()
	case "written":
		written()
	}
}

// twice reads o, and, after step 2, the shared object. The main goroutine has read o before: its read
// is the first entry, and that of this goroutine is beside it.
func twice(o *object) {
	read(o)
	read(o)
	o = nil
	reach(1)
	await(2)
	readAgain(get())
	reach(3)
}

// reallocated: the object is freed, another is allocated in its place, and written.
func reallocated() {
	start()
	await(1)
	runtime.GC()
	runtime.GC()
	var kept []*object
	for range 100_000 {
		o := new(object)
		if uintptr(unsafe.Pointer(o)) == old {
			o.word = 1 // the write
			set(o)
			reach(2)
			await(3)
			fmt.Println("reallocated", len(kept) >= 0)
			return
		}
		kept = append(kept, o)
	}
	fmt.Println("not reallocated", len(kept))
}

//go:noinline
func start() {
	o := new(object)
	o.word = 0
	read(o)
	hide(o)
	go twice(o)
}

//go:norace
func hide(o *object) { old = uintptr(unsafe.Pointer(o)) }

// written: another goroutine writes the word between two reads.
func written() {
	o := new(object)
	read(o)
	go twice(o)
	await(1)
	o.word = 1 // the write
	set(o)
	reach(2)
	await(3)
	fmt.Println("written")
}
