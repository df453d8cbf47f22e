package adversary

import (
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"unique"
	"unsafe"
	"weak"
)

// weakPointers keep their objects as long as these are used.
//
//adversary:fragment bubble
func weakPointers(r *run) {
	kept := &node{n: r.n(1, 99)}
	want := kept.n
	w, inner := weak.Make(kept), weak.Make(&kept.n)
	var all sync.WaitGroup
	for range r.n(1, 3) {
		all.Go(func() {
			runtime.GC()
			p := w.Value()
			if p == nil {
				r.Errorf("a weak pointer lost an object that is in use")
				return
			}
			check(r, p.n, want, "an object behind a weak pointer")
			check(r, *inner.Value(), want, "a field behind a weak pointer")
			check(r, weak.Make(p) == w, true, "weak pointers of one object are equal")
		})
	}
	all.Wait()
	runtime.KeepAlive(kept)
}

// weakCache loads values again that the collector has taken.
//
//adversary:fragment bubble
func weakCache(r *run) {
	var cache sync.Map
	load := func(key int) *node {
		for {
			if w, ok := cache.Load(key); ok {
				if p := w.(weak.Pointer[node]).Value(); p != nil {
					return p
				}
				cache.CompareAndDelete(key, w)
			}
			made := &node{n: key * key}
			w, loaded := cache.LoadOrStore(key, weak.Make(made))
			if !loaded {
				return made
			}
			if p := w.(weak.Pointer[node]).Value(); p != nil {
				return p
			}
		}
	}
	var all sync.WaitGroup
	for i := range r.n(2, 3) {
		all.Go(func() {
			for k := range 3 {
				check(r, load(k).n, k*k, "a value of a weak cache")
				if i == 1 {
					runtime.GC()
				}
			}
		})
	}
	all.Wait()
}

// cleanups and finalizers do not run while their objects are in use.
//
//adversary:fragment
func cleanups(r *run) {
	var early atomic.Bool
	var inUse atomic.Bool
	inUse.Store(true)
	kept, final := &node{n: 3}, &node{n: 4}
	cleanup := runtime.AddCleanup(kept, func(inUse *atomic.Bool) {
		if inUse.Load() {
			early.Store(true)
		}
	}, &inUse)
	runtime.SetFinalizer(final, func(n *node) {
		if inUse.Load() || n.n != 4 {
			early.Store(true)
		}
	})
	stopped := runtime.AddCleanup(kept, func(int) { early.Store(true) }, 1)
	stopped.Stop()
	for range r.n(1, 2) {
		runtime.GC()
	}
	check(r, kept.n+final.n, 7, "objects with cleanups")
	check(r, early.Load(), false, "a cleanup ran early")
	inUse.Store(false)
	runtime.KeepAlive(kept)
	runtime.KeepAlive(final)
	_ = cleanup
}

// finalizers publish what they write, if they run at all.
//
//adversary:fragment
func finalizers(r *run) {
	type result struct{ n int }
	done := make(chan *result, 8)
	func() {
		for i := range 4 {
			object := &node{n: i, next: &node{n: -i}}
			runtime.SetFinalizer(object, func(n *node) {
				select {
				case done <- &result{n.n + n.next.n}:
				default:
				}
			})
		}
	}()
	for range 3 {
		runtime.GC()
		select {
		case got := <-done:
			check(r, got.n, 0, "what a finalizer sees of its object")
		default:
		}
	}
}

// growingStack keeps pointers into a stack that moves.
//
//adversary:fragment bubble
func growingStack(r *run) {
	var deep func(n int, p *int) int
	deep = func(n int, p *int) int {
		var frame [32]int
		frame[n%32] = n
		if n == 0 {
			*p++
			return *p
		}
		x := *p
		got := deep(n-1, &x)
		return got + frame[n%32] - n
	}
	var all sync.WaitGroup
	depth := r.n(20, 120)
	for range r.n(1, 2) {
		all.Go(func() {
			x := 1
			check(r, deep(depth, &x), 2, "a stack that has moved")
		})
	}
	all.Wait()
}

// garbage makes objects of all kinds while the collector runs.
//
//adversary:fragment bubble
func garbage(r *run) {
	type tree struct {
		left, right *tree
		names       map[string][]byte
	}
	var build func(n int) *tree
	build = func(n int) *tree {
		if n == 0 {
			return nil
		}
		return &tree{build(n - 1), build(n - 1), map[string][]byte{strings.Repeat("x", n): make([]byte, n*100)}}
	}
	var count func(t *tree) int
	count = func(t *tree) int {
		if t == nil {
			return 0
		}
		n := 1 + count(t.left) + count(t.right)
		for name, b := range t.names {
			if len(b) != 100*len(name) {
				return -1000
			}
		}
		return n
	}
	var all sync.WaitGroup
	depth := r.n(2, 4)
	for range 2 {
		all.Go(func() {
			t := build(depth)
			runtime.GC()
			check(r, count(t), 1<<depth-1, "nodes of a tree")
		})
	}
	large := make([]*int, 40000)
	large[39999] = &depth
	all.Wait()
	check(r, *large[39999], depth, "a pointer in a large object")
}

// uniques are equal handles of equal values.
//
//adversary:fragment bubble
func uniques(r *run) {
	handles := make([]unique.Handle[string], r.n(2, 4))
	var all sync.WaitGroup
	for i := range handles {
		all.Go(func() {
			handles[i] = unique.Make(strings.Repeat("ab", 5))
			if i == 0 {
				runtime.GC()
			}
		})
	}
	all.Wait()
	for _, h := range handles {
		check(r, h, handles[0], "handles of equal strings")
		check(r, h.Value(), "ababababab", "the value of a handle")
	}
}

// unsafeViews looks at memory by other types.
//
//adversary:fragment bubble
func unsafeViews(r *run) {
	type header struct {
		a uint16
		b [6]byte
		c *int
	}
	n := 5
	h := &header{a: 0x0102, b: [6]byte{1, 2, 3, 4, 5, 6}, c: &n}
	var all sync.WaitGroup
	for i := range 6 {
		all.Go(func() { // each has a byte of its own
			p := (*byte)(unsafe.Add(unsafe.Pointer(h), unsafe.Offsetof(h.b)+uintptr(i)))
			*p += 10
		})
	}
	all.Wait()
	view := unsafe.Slice((*byte)(unsafe.Pointer(&h.b)), 6)
	check(r, int(view[0])+int(view[5]), 27, "bytes by unsafe pointers")
	text := unsafe.String(&view[0], r.n(1, 6))
	check(r, text[0], 11, "a string of bytes")
	check(r, **(**int)(unsafe.Add(unsafe.Pointer(h), unsafe.Offsetof(h.c))), 5, "a pointer by unsafe pointers")
	check(r, unsafe.StringData(text), &view[0], "the data of a string")
	var pin runtime.Pinner
	pin.Pin(h)
	runtime.GC()
	check(r, h.a, 0x0102, "a pinned object")
	pin.Unpin()
}

// sliceHeaders appends within one array from several goroutines, each in a part of its own.
//
//adversary:fragment bubble
func sliceHeaders(r *run) {
	array := make([]string, 12)
	var all sync.WaitGroup
	parts := make([][]string, 3)
	for i := range 3 {
		all.Go(func() {
			part := array[4*i : 4*i : 4*i+4]
			for k := range i + 1 {
				part = append(part, strings.Repeat("p", k+1))
			}
			parts[i] = append(part, "end", "moved", "away", "from", "the", "array")
		})
	}
	all.Wait()
	for _, p := range parts {
		check(r, p[len(p)-1], "array", "the last element of a part")
		check(r, p[0], "p", "the first element of a part")
	}
}
