package main

import "sync"

// syncNoRaces are about the other types of package sync.
func syncNoRaces() map[string]func() {
	return map[string]func(){
		"wait-group": func() {
			xs, wg := make([]int, 10), new(sync.WaitGroup)
			for i := range xs {
				wg.Go(func() { xs[i]++ })
			}
			wg.Wait()
			for i := range xs {
				xs[i]++
			}
		},
		"once": func() {
			x, once := new(int), new(sync.Once)
			parallel(10, func(int) {
				once.Do(func() { *x = 1 })
				_ = *x
			})
		},
		"once-value": func() {
			f := sync.OnceValue(func() *pair { return &pair{1, 2} })
			parallel(10, func(int) { _ = f().a })
		},
		"cond": func() {
			x, mu := new(int), new(sync.Mutex)
			cond := sync.NewCond(mu)
			both(func() {
				mu.Lock()
				*x = 1
				mu.Unlock()
				cond.Broadcast()
			}, func() {
				mu.Lock()
				for *x == 0 {
					cond.Wait()
				}
				mu.Unlock()
				*x = 2
			})
		},
		"sync-map": func() {
			var m sync.Map
			parallel(8, func(i int) {
				p := &pair{i, i}
				if other, loaded := m.LoadOrStore(i/2, p); loaded {
					_ = other.(*pair).a
				}
				m.Range(func(k, v any) bool { _ = v.(*pair).b; return true })
			})
		},
		"pool": func() {
			pool := sync.Pool{New: func() any { return new(pair) }}
			parallel(20, func(int) {
				for range 20 {
					p := pool.Get().(*pair)
					p.a++
					pool.Put(p)
				}
			})
		},
	}
}
