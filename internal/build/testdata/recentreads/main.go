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
	other  object
)

//go:norace
func await(n int) {
	for now() < n { // without runtime.Gosched: the other goroutine is to run on another processor
	}
}

//go:norace
//go:noinline
func now() int { return step }

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
	runtime.GOMAXPROCS(2)
	switch os.Args[1] {
	case "reallocated":
		reallocated()
	case "written":
		written()
	}
}

// twice reads the shared object, and again after step 2.
func twice() {
	first()
	reach(1)
	await(2)
	readAgain(get())
	reach(3)
}

// first reads the shared object. The first access of a goroutine takes another way, so there is one
// before. The one behind keeps no pointer to the object in a register, where the collector finds it.
//
//go:noinline
func first() {
	read(&other)
	read(get())
	read(&other)
}

// start starts twice with a new object.
//
//go:noinline
func start() {
	o := new(object)
	read(o)
	set(o)
	go twice()
}

// reallocated: the object is freed, another is allocated in its place, and written.
func reallocated() {
	start()
	await(1)
	old := uintptr(unsafe.Pointer(get()))
	set(nil)
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
			fmt.Println("reallocated")
			return
		}
		kept = append(kept, o)
	}
	fmt.Println("not reallocated", len(kept))
}

// written: another goroutine writes the word between two reads.
func written() {
	start()
	await(1)
	get().word = 1 // the write
	reach(2)
	await(3)
	fmt.Println("written")
}
