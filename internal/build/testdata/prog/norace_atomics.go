package main

import (
	"fmt"
	"io"
	"runtime"
	"sync/atomic"
)

// atomicNoRaces are about atomic operations.
func atomicNoRaces() map[string]func() {
	return map[string]func(){
		"atomic-flag": func() {
			x, flag := new(int), new(atomic.Bool)
			both(func() { *x = 1; flag.Store(true) }, func() {
				for !flag.Load() {
				}
				*x = 2
			})
		},
		"atomic-functions": func() {
			x, flag := new(int), new(uint32)
			both(func() { *x = 1; atomic.StoreUint32(flag, 1) }, func() {
				for atomic.LoadUint32(flag) == 0 {
				}
				*x = 2
			})
		},
		"atomic-lock": func() {
			x, held := new(int), new(int64)
			parallel(6, func(int) {
				for !atomic.CompareAndSwapInt64(held, 0, 1) {
					runtime.Gosched()
				}
				*x++
				atomic.StoreInt64(held, 0)
			})
		},
		"atomic-count": func() {
			x, n := make([]int, 5), new(atomic.Int64)
			parallel(5, func(i int) {
				x[i] = i
				if n.Add(1) == 5 {
					for j := range x {
						x[j]++
					}
				}
			})
		},
		"atomic-bits": func() {
			x, n := make([]int, 5), new(atomic.Uint32)
			parallel(5, func(i int) {
				x[i] = i
				if n.Or(1<<i)|1<<i == 31 {
					for j := range x {
						x[j]++
					}
				}
			})
		},
		"atomic-pointer": func() {
			var at atomic.Pointer[pair]
			parallel(6, func(i int) {
				at.Store(&pair{i, i})
				_ = at.Load().a
				p := at.Swap(&pair{i, i})
				_ = p.b
				at.CompareAndSwap(at.Load(), &pair{})
			})
		},
		"atomic-value": func() {
			var at atomic.Value
			parallel(6, func(i int) {
				at.Store(&pair{i, i})
				_ = at.Load().(*pair).a
				_ = at.Swap(&pair{i, i}).(*pair).b
			})
		},
		"neighbors": func() {
			var x [8]byte
			p := &x
			parallel(8, func(i int) { p[i] = 1 })
			fmt.Fprint(io.Discard, x)
		},
	}
}
