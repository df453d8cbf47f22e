package adversary

import (
	"math/bits"
	"runtime"
	"sync"
	"sync/atomic"
	"unsafe"
)

// atomicIntegers adds with all types of integers.
//
//adversary:fragment bubble
func atomicIntegers(r *run) {
	var (
		i32   atomic.Int32
		i64   atomic.Int64
		u32   atomic.Uint32
		u64   atomic.Uint64
		up    atomic.Uintptr
		all   sync.WaitGroup
		count = r.n(1, 3)
		times = r.n(1, 4)
	)
	for range count {
		all.Go(func() {
			for range times {
				i32.Add(1)
				i64.Add(-1)
				u32.Add(3)
				u64.Add(1 << 33)
				up.Add(2)
			}
		})
	}
	all.Wait()
	n := count * times
	check(r, int(i32.Load()), n, "Int32")
	check(r, int(i64.Load()), -n, "Int64")
	check(r, int(u32.Load()), 3*n, "Uint32")
	check(r, u64.Load(), uint64(n)<<33, "Uint64")
	check(r, int(up.Load()), 2*n, "Uintptr")
}

// atomicFunctions uses the functions of sync/atomic on plain variables.
//
//adversary:fragment bubble
func atomicFunctions(r *run) {
	var v struct {
		i32 int32
		u32 uint32
		i64 int64
		u64 uint64
		up  uintptr
	}
	var all sync.WaitGroup
	count := r.n(2, 3)
	for i := range count {
		all.Go(func() {
			atomic.AddInt32(&v.i32, int32(i))
			atomic.OrUint32(&v.u32, 1<<i)
			for {
				old := atomic.LoadInt64(&v.i64)
				if atomic.CompareAndSwapInt64(&v.i64, old, old+2) {
					break
				}
			}
			atomic.AddUint64(&v.u64, 1)
			atomic.AndUintptr(&v.up, 0)
			atomic.AddUintptr(&v.up, 0)
		})
	}
	all.Wait()
	check(r, int(atomic.LoadInt32(&v.i32)), count*(count-1)/2, "AddInt32")
	check(r, bits.OnesCount32(atomic.LoadUint32(&v.u32)), count, "OrUint32")
	check(r, int(atomic.LoadInt64(&v.i64)), 2*count, "CompareAndSwapInt64")
	check(r, int(atomic.SwapUint64(&v.u64, 0)), count, "AddUint64")
	check(r, int(v.up), 0, "AndUintptr")
}

// atomicBits sets and clears bits.
//
//adversary:fragment bubble
func atomicBits(r *run) {
	var set, clear atomic.Uint64
	clear.Store(^uint64(0))
	var all sync.WaitGroup
	n := r.n(2, 4)
	for i := range n {
		all.Go(func() {
			check(r, set.Or(1<<i)>>i&1, 0, "Or returns what was there")
			check(r, clear.And(^(1<<i))>>i&1, 1, "And returns what was there")
		})
	}
	all.Wait()
	check(r, set.Load(), 1<<n-1, "bits that are set")
	check(r, clear.Load(), ^uint64(1<<n-1), "bits that are cleared")
}

type node struct {
	n    int
	next *node
	pad  [3]*int
}

// atomicPointerCounter replaces an immutable node by compare-and-swap while the collector runs.
//
//adversary:fragment bubble
func atomicPointerCounter(r *run) {
	var p atomic.Pointer[node]
	p.Store(&node{})
	var all sync.WaitGroup
	count, times := r.n(2, 3), r.n(2, 6)
	for range count {
		all.Go(func() {
			for range times {
				for {
					old := p.Load()
					if p.CompareAndSwap(old, &node{n: old.n + 1}) {
						break
					}
				}
			}
		})
	}
	all.Go(func() {
		for range times {
			runtime.GC()
		}
	})
	all.Wait()
	check(r, p.Load().n, count*times, "updates by compare-and-swap")
}

// atomicPointerStack is a stack without locks.
//
//adversary:fragment bubble
func atomicPointerStack(r *run) {
	var top atomic.Pointer[node]
	var all sync.WaitGroup
	var sum atomic.Int64
	count, times := r.n(1, 2), r.n(1, 4)
	for range count {
		all.Go(func() {
			for i := range times {
				made := &node{n: i + 1}
				for {
					made.next = top.Load()
					if top.CompareAndSwap(made.next, made) {
						break
					}
				}
			}
		})
		all.Go(func() {
			for taken := 0; taken < times; {
				old := top.Load()
				if old == nil {
					runtime.Gosched()
					continue
				}
				if top.CompareAndSwap(old, old.next) {
					sum.Add(int64(old.n))
					taken++
				}
			}
		})
	}
	all.Wait()
	check(r, int(sum.Load()), count*times*(times+1)/2, "sum of what was popped")
	check(r, top.Load(), nil, "the top of an empty stack")
}

// atomicPointerSwap hands fresh objects over by swaps.
//
//adversary:fragment bubble
func atomicPointerSwap(r *run) {
	var slot atomic.Pointer[node]
	slot.Store(&node{n: 1})
	var all sync.WaitGroup
	var sum atomic.Int64
	count, times := r.n(2, 3), r.n(1, 4)
	for range count {
		all.Go(func() {
			for range times {
				sum.Add(int64(slot.Swap(&node{n: 1}).n))
				runtime.GC()
			}
		})
	}
	all.Wait()
	check(r, int(sum.Load())+slot.Load().n, count*times+1, "objects that were swapped")
}

// atomicUnsafePointer uses the functions for unsafe.Pointer.
//
//adversary:fragment bubble
func atomicUnsafePointer(r *run) {
	var slot unsafe.Pointer
	atomic.StorePointer(&slot, unsafe.Pointer(&node{n: 7}))
	var all sync.WaitGroup
	for range r.n(2, 3) {
		all.Go(func() {
			for range 3 {
				check(r, (*node)(atomic.LoadPointer(&slot)).n, 7, "LoadPointer")
				check(r, (*node)(atomic.SwapPointer(&slot, unsafe.Pointer(&node{n: 7}))).n, 7, "SwapPointer")
				old := atomic.LoadPointer(&slot)
				atomic.CompareAndSwapPointer(&slot, old, unsafe.Pointer(&node{n: 7}))
				atomic.StorePointer(&slot, unsafe.Pointer(&node{n: 7}))
			}
		})
	}
	all.Go(runtime.GC)
	all.Wait()
	check(r, (*node)(slot).n, 7, "the last pointer")
}

// atomicValue keeps maps, structs and pointers in an atomic.Value.
//
//adversary:fragment bubble
func atomicValue(r *run) {
	type pair struct {
		a, b int
		text string
	}
	var v, p atomic.Value
	v.Store(pair{1, 2, "12"})
	p.Store(map[string]int{"one": 1})
	var all sync.WaitGroup
	for i := range r.n(2, 3) {
		all.Go(func() {
			for range 2 {
				v.Store(pair{i, i + 1, "x"})
				got := v.Load().(pair)
				check(r, got.b-got.a, 1, "a pair of an atomic.Value")
				got = v.Swap(pair{3, 4, "34"}).(pair)
				check(r, got.b-got.a, 1, "a pair that was swapped")
				v.CompareAndSwap(pair{3, 4, "34"}, pair{5, 6, "56"})
				p.Store(map[string]int{"one": 1})
				check(r, p.Load().(map[string]int)["one"], 1, "a map of an atomic.Value")
			}
		})
	}
	all.Go(runtime.GC)
	all.Wait()
}

// atomicValueFirst stores the first value from several goroutines.
//
//adversary:fragment bubble
func atomicValueFirst(r *run) {
	var v atomic.Value
	var won atomic.Int32
	var all sync.WaitGroup
	n := r.n(2, 4)
	for i := range n {
		all.Go(func() {
			if v.CompareAndSwap(nil, &node{n: i}) {
				won.Add(1)
			}
			if got := v.Load().(*node).n; got < 0 || got >= n {
				r.Errorf("a node that nobody has stored: %d", got)
			}
		})
	}
	all.Wait()
	check(r, won.Load(), 1, "first values")
}

// atomicFlags is Peterson's lock of two flags and a turn.
//
//adversary:fragment bubble
func atomicFlags(r *run) {
	var flags [2]atomic.Bool
	var turn atomic.Int32
	shared := 0
	times := r.n(1, 4)
	var all sync.WaitGroup
	for me := range int32(2) {
		all.Go(func() {
			for range times {
				flags[me].Store(true)
				turn.Store(1 - me)
				for flags[1-me].Load() && turn.Load() == 1-me {
					runtime.Gosched()
				}
				shared++
				flags[me].Store(false)
			}
		})
	}
	all.Wait()
	check(r, shared, 2*times, "Peterson's lock")
}

// atomicSequence reads a pair under a sequence lock whose fields are atomic.
//
//adversary:fragment bubble
func atomicSequence(r *run) {
	var version atomic.Uint32
	var a, b atomic.Int64
	times := r.n(1, 5)
	var all sync.WaitGroup
	all.Go(func() {
		for i := range times {
			version.Add(1)
			a.Store(int64(i + 1))
			b.Store(int64(-i - 1))
			version.Add(1)
		}
	})
	all.Go(func() {
		for {
			before := version.Load()
			x, y := a.Load(), b.Load()
			if before%2 == 0 && version.Load() == before {
				check(r, x+y, 0, "a pair under a sequence lock")
				return
			}
			runtime.Gosched()
		}
	})
	all.Wait()
	check(r, int(a.Load()), times, "what was written last")
}

// atomicPublish hands plain memory over through a flag, a counter and a pointer.
//
//adversary:fragment bubble
func atomicPublish(r *run) {
	var ready atomic.Bool
	var stage atomic.Int32
	var box atomic.Pointer[[]string]
	var plain, second int
	done := make(chan bool)
	go func() {
		defer close(done)
		for !ready.Load() {
			runtime.Gosched()
		}
		check(r, plain, 41, "what a flag publishes")
		second = plain + 1
		stage.Add(1)
		for box.Load() == nil {
			runtime.Gosched()
		}
		check(r, (*box.Load())[1], "b", "what a pointer publishes")
	}()
	plain = 41
	ready.Store(true)
	for stage.Load() == 0 {
		runtime.Gosched()
	}
	check(r, second, 42, "what a counter publishes")
	box.Store(&[]string{"a", "b"})
	<-done
}
