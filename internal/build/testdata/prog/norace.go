package main

import (
	"maps"
	"runtime"
	"sync"
)

// noRaces has programs without a race, by name.
func noRaces() map[string]func() {
	all := map[string]func(){}
	for _, some := range []map[string]func(){
		stateNoRaces(),
		lockNoRaces(),
		channelNoRaces(),
		syncNoRaces(),
		atomicNoRaces(),
		pointerNoRaces(),
		timeNoRaces(),
		runtimeNoRaces(),
		libraryNoRaces(),
		signalNoRaces(),
	} {
		maps.Copy(all, some)
	}
	return all
}

func gc() { runtime.GC() }

// parallel runs f in n goroutines at the same time and returns when all have ended.
func parallel(n int, f func(i int)) {
	var wg sync.WaitGroup
	for i := range n {
		wg.Add(1)
		go func() {
			defer wg.Done()
			f(i)
		}()
	}
	wg.Wait()
}
