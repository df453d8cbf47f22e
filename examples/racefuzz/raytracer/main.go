// Command raytracer draws a scene of spheres, like the kernel raytracer of the Java Grande
// benchmarks. Each goroutine draws some of the lines and adds up their brightness. The additions to
// the checksum are guarded by the lock of the scene. But each goroutine has its own scene.
//
// So the addition races with itself: the read with the write, and the write with the write. If two
// goroutines read before either writes, the part of one of them is missing from the checksum. The
// program then panics, as the benchmark reports that the validation failed.
//
// With -fixed all goroutines use the lock of the picture.
//
//	heisen run -detect hybrid ./examples/racefuzz/raytracer -size 12
//	heisen run -detect hybrid ./examples/racefuzz/raytracer -size 12 -fixed
package main

import (
	"flag"
	"fmt"
	"os"
	"sync"
)

const workers = 3

// picture is drawn by all goroutines together.
type picture struct {
	size int

	mu       sync.Mutex
	checksum int64 // its brightness; should be guarded by mu
}

// draw draws every workers-th line from the first on.
func (p *picture) draw(first int, fixed bool) {
	s := newScene()
	lock := &s.mu // the bug: no other goroutine uses this lock
	if fixed {
		lock = &p.mu
	}
	var sum int64
	for y := first; y < p.size; y += workers {
		for x := range p.size {
			sum += s.light(float64(x)/float64(p.size), float64(y)/float64(p.size))
		}
	}
	lock.Lock()
	defer lock.Unlock()
	p.checksum += sum // race:checksum
}

func main() {
	size := flag.Int("size", 800, "how many `lines` are drawn, and how many points in each")
	fixed := flag.Bool("fixed", false, "use one lock")
	flag.Parse()
	if *size < 0 || flag.NArg() > 0 {
		fmt.Fprintln(os.Stderr, "raytracer: -size is 0 or more, and there are no arguments")
		os.Exit(2)
	}

	p := &picture{size: *size}
	var working sync.WaitGroup
	for id := range workers {
		working.Go(func() { p.draw(id, *fixed) })
	}
	working.Wait()
	check := &picture{size: *size}
	for id := range workers {
		check.draw(id, true)
	}
	if p.checksum != check.checksum {
		panic(fmt.Sprintf("validation failed: the checksum is %d, want %d", p.checksum, check.checksum))
	}
	fmt.Printf("%d lines, checksum %d\n", *size, p.checksum)
}
