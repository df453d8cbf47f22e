package main

import (
	"runtime"
	"sync"
)

// lockNoRaces are about mutexes.
func lockNoRaces() map[string]func() {
	return map[string]func(){
		"mutex": func() {
			x, mu := new(int), new(sync.Mutex)
			parallel(20, func(int) {
				for range 50 {
					mu.Lock()
					*x++
					mu.Unlock()
				}
			})
			*x++
		},
		"try-lock": func() {
			x, mu := new(int), new(sync.Mutex)
			parallel(8, func(int) {
				for !mu.TryLock() {
					runtime.Gosched()
				}
				defer mu.Unlock()
				*x++
			})
		},
		"rwmutex": func() {
			x, mu := new(int), new(sync.RWMutex)
			parallel(20, func(i int) {
				for range 20 {
					if i%4 == 0 {
						mu.Lock()
						*x++
						mu.Unlock()
					} else {
						mu.RLock()
						_ = *x
						mu.RUnlock()
					}
				}
			})
		},
		"rwmutex-try": func() {
			x, mu := new(int), new(sync.RWMutex)
			parallel(8, func(i int) {
				for {
					if i%2 == 0 && mu.TryLock() {
						*x++
						mu.Unlock()
						return
					}
					if i%2 == 1 && mu.TryRLock() {
						_ = *x
						mu.RUnlock()
						return
					}
					runtime.Gosched()
				}
			})
		},
		"rlocker": func() {
			x, mu := new(int), new(sync.RWMutex)
			both(func() { l := mu.RLocker(); l.Lock(); _ = *x; l.Unlock() }, func() { mu.Lock(); *x++; mu.Unlock() })
		},
		"unlock-elsewhere": func() {
			x, mu := new(int), new(sync.Mutex)
			mu.Lock()
			both(func() { *x = 1; mu.Unlock() }, func() { mu.Lock(); *x = 2; mu.Unlock() })
		},
		"unlock-in-panic": func() {
			x, mu := new(int), new(sync.Mutex)
			parallel(4, func(int) {
				defer func() { recover() }()
				mu.Lock()
				defer mu.Unlock()
				*x++
				panic("!")
			})
		},
		"goexit": func() {
			x, done := new(int), make(chan bool)
			go func() {
				defer close(done)
				*x = 1
				runtime.Goexit()
			}()
			<-done
			*x = 2
		},
	}
}
