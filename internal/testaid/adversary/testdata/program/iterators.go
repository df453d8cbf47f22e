package adversary

import (
	"iter"
	"maps"
	"runtime"
	"slices"
	"sync"
)

// count is a sequence of the numbers below n, which counts in done how often it has ended.
func count(n int, done *int) iter.Seq[int] {
	return func(yield func(int) bool) {
		defer func() { *done++ }()
		for i := range n {
			if !yield(i) {
				return
			}
		}
	}
}

// pulled takes values from iterators by iter.Pull, some of them to the end.
//
//adversary:fragment bubble
func pulled(r *run) {
	done, n := 0, r.n(1, 6)
	next, stop := iter.Pull(count(n, &done))
	sum := 0
	for {
		v, ok := next()
		if !ok {
			break
		}
		sum += v
	}
	stop()
	check(r, sum, n*(n-1)/2, "sum of pulled values")
	check(r, done, 1, "ends of an iterator")
	next, stop = iter.Pull(count(n, &done))
	v, ok := next()
	check(r, v, 0, "first value")
	check(r, ok, true, "whether there is a first value")
	stop()
	check(r, done, 2, "an iterator that was stopped")
	_, ok = next()
	check(r, ok, false, "a value after stop")
}

// pulledElsewhere pulls from several goroutines, one after another. None of them is locked to its thread.
//
//adversary:fragment bubble
func pulledElsewhere(r *run) {
	done := 0
	var next func() (int, bool)
	var stop func()
	var mu sync.Mutex
	var seen []int
	var all sync.WaitGroup
	all.Go(func() { next, stop = iter.Pull(count(100, &done)) })
	all.Wait()
	workers, times := r.n(2, 3), r.n(1, 3)
	for range workers {
		all.Go(func() {
			for range times {
				mu.Lock()
				v, _ := next()
				seen = append(seen, v)
				mu.Unlock()
			}
		})
	}
	all.Wait()
	all.Go(func() { stop() })
	all.Wait()
	for i, v := range seen {
		check(r, v, i, "a value that was pulled under a lock")
	}
	check(r, done, 1, "ends of an iterator")
}

// pulledBlocking blocks in the body of an iterator that is pulled.
//
//adversary:fragment bubble
func pulledBlocking(r *run) {
	c := make(chan int)
	n := r.n(1, 4)
	go func() {
		defer close(c)
		for i := range n {
			c <- i
		}
	}()
	next, stop := iter.Pull2(func(yield func(int, string) bool) {
		for v := range c {
			if !yield(v, "x") {
				return
			}
		}
	})
	defer stop()
	for i := range n {
		v, s, ok := next()
		check(r, v, i, "a value that an iterator received")
		check(r, s, "x", "the second value")
		check(r, ok, true, "whether there is a value")
	}
	_, _, ok := next()
	check(r, ok, false, "a value after the last one")
}

// pulledPanics lets a panic come through next.
//
//adversary:fragment bubble
func pulledPanics(r *run) {
	next, stop := iter.Pull(func(yield func(int) bool) {
		yield(1)
		panic("iterator")
	})
	defer stop()
	v, _ := next()
	check(r, v, 1, "the value before a panic")
	func() {
		defer func() { check(r, recover(), any("iterator"), "the panic of an iterator") }()
		next()
	}()
}

// zipped pulls from two iterators of which one pulls itself.
//
//adversary:fragment bubble
func zipped(r *run) {
	done, n := 0, r.n(1, 5)
	doubled := func(yield func(int) bool) {
		next, stop := iter.Pull(count(n, &done))
		defer stop()
		for v, ok := next(); ok; v, ok = next() {
			if !yield(2 * v) {
				return
			}
		}
	}
	next, stop := iter.Pull(doubled)
	defer stop()
	for v := range count(n, &done) {
		w, ok := next()
		if !ok || w != 2*v {
			r.Errorf("zipped %d with %d, %v", v, w, ok)
		}
		runtime.Gosched()
	}
}

type leaf[K comparable, V any] struct {
	key         K
	value       V
	left, right *leaf[K, V]
}

func (l *leaf[K, V]) all(yield func(K, V) bool) bool {
	return l == nil || l.left.all(yield) && yield(l.key, l.value) && l.right.all(yield)
}

// treeIterators walk a generic tree from several goroutines.
//
//adversary:fragment bubble
func treeIterators(r *run) {
	t := &leaf[string, int]{"b", 2, &leaf[string, int]{key: "a", value: 1}, &leaf[string, int]{key: "c", value: 3}}
	var all sync.WaitGroup
	for range r.n(1, 3) {
		all.Go(func() {
			text, sum := "", 0
			for k, v := range func(yield func(string, int) bool) { t.all(yield) } {
				if k == "c" {
					break
				}
				text += k
				sum += v
			}
			check(r, text, "ab", "keys of a tree")
			check(r, sum, 3, "values of a tree")
		})
	}
	all.Wait()
}

// goroutinesInIterator yields from the goroutine that ranges, while others work.
//
//adversary:fragment bubble
func goroutinesInIterator(r *run) {
	n := r.n(1, 4)
	parallel := func(yield func(int, int) bool) {
		results := make(chan [2]int)
		for i := range n {
			go func() { results <- [2]int{i, i * i} }()
		}
		on := true
		for range n {
			v := <-results
			on = on && yield(v[0], v[1])
		}
	}
	squares := maps.Collect(parallel)
	keys := slices.Sorted(maps.Keys(squares))
	check(r, len(keys), n, "results of an iterator")
	for i, k := range keys {
		check(r, squares[k], i*i, "a result of an iterator")
	}
	for i := range parallel {
		if i == 0 {
			break
		}
	}
}

// rangeFunctions leaves loops over functions by all ways.
//
//adversary:fragment bubble
func rangeFunctions(r *run) {
	done := 0
	find := func(want int) (got int) {
		defer func() { got++ }()
		for v := range count(10, &done) {
			defer func() { got *= 2 }()
			if v == want {
				return v
			}
		}
		return -1
	}
	want := r.n(0, 4)
	check(r, find(want), want<<(want+1)+1, "a return from a loop with defer")
outer:
	for i := range count(4, &done) {
		for k := range count(4, &done) {
			if k > i {
				continue outer
			}
			if i == 2 {
				break outer
			}
		}
	}
	check(r, done, 5, "ends of iterators")
}
