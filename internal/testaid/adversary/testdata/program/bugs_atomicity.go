package adversary

import (
	"runtime"
	"sync"
	"sync/atomic"
)

// bugLostUpdate reads under a lock and writes under it again.
//
//adversary:bug atomicity
func bugLostUpdate(r *run) {
	var mu sync.Mutex
	n, count := 0, r.n(2, 3)
	var all sync.WaitGroup
	for i := range count {
		all.Go(func() {
			pad(r, i)
			mu.Lock()
			was := n
			mu.Unlock()
			mu.Lock()
			n = was + 1
			mu.Unlock()
		})
	}
	all.Wait()
	if n != count {
		r.Errorf("an update was lost") // want failure "test failed"
	}
}

// bugLoadStore loads and stores an atomic counter.
//
//adversary:bug atomicity
func bugLoadStore(r *run) {
	var n atomic.Int64
	count := r.n(2, 3)
	var all sync.WaitGroup
	for range count {
		all.Go(func() { n.Store(n.Load() + 1) })
	}
	all.Wait()
	if int(n.Load()) != count {
		r.Errorf("an update of an atomic counter was lost") // want failure "test failed"
	}
}

// bugCheckThenAct sells more than there is.
//
//adversary:bug atomicity
func bugCheckThenAct(r *run) {
	var mu sync.RWMutex
	left, sold := 1, 0
	has := func() bool {
		mu.RLock()
		defer mu.RUnlock()
		return left > 0
	}
	var all sync.WaitGroup
	for i := range r.n(2, 3) {
		all.Go(func() {
			pad(r, i)
			if has() {
				mu.Lock()
				left--
				sold++
				mu.Unlock()
			}
		})
	}
	all.Wait()
	if left < 0 {
		r.Errorf("%d sold of one", sold) // want failure "test failed"
	}
}

// bugSyncMap stores in a sync.Map what it has loaded.
//
//adversary:bug atomicity
func bugSyncMap(r *run) {
	var m sync.Map
	m.Store("n", 0)
	var all sync.WaitGroup
	for i := range 2 {
		all.Go(func() {
			pad(r, i)
			v, _ := m.Load("n")
			m.Store("n", v.(int)+1)
		})
	}
	all.Wait()
	if v, _ := m.Load("n"); v != 2 {
		r.Errorf("an update of a map was lost") // want failure "test failed"
	}
}

// bugTwice makes a value twice, because two goroutines find that there is none.
//
//adversary:bug atomicity
func bugTwice(r *run) {
	var mu sync.Mutex
	cache, made := map[string]*node{}, 0
	get := func() *node {
		mu.Lock()
		p := cache["k"]
		mu.Unlock()
		if p != nil {
			return p
		}
		p = &node{}
		mu.Lock()
		made++
		cache["k"] = p
		mu.Unlock()
		return p
	}
	var all sync.WaitGroup
	for i := range 2 {
		all.Go(func() {
			pad(r, 2*i)
			get()
		})
	}
	all.Wait()
	if made != 1 {
		r.Errorf("a value was made twice") // want failure "test failed"
	}
}

// bugChannelLength looks at the length of a channel and then receives without waiting for others.
//
//adversary:bug atomicity
func bugChannelLength(r *run) {
	c := make(chan int, 1)
	c <- 1
	var lost atomic.Int32
	var all sync.WaitGroup
	for range 2 {
		all.Go(func() {
			if len(c) > 0 {
				select {
				case <-c:
				default:
					lost.Add(1)
				}
			}
		})
	}
	all.Wait()
	if lost.Load() > 0 {
		r.Errorf("an element was gone") // want failure "test failed"
	}
}

// bugTornPair reads two atomic variables of which a writer changes one after the other.
//
//adversary:bug atomicity
func bugTornPair(r *run) {
	var a, b atomic.Int32
	times := r.n(1, 3)
	var all sync.WaitGroup
	all.Go(func() {
		for range times {
			a.Add(1)
			b.Add(-1)
		}
	})
	torn := false
	all.Go(func() {
		torn = a.Load()+b.Load() != 0
	})
	all.Wait()
	runtime.KeepAlive(&torn)
	if torn {
		r.Errorf("a pair was torn") // want failure "test failed"
	}
}
