package main

import (
	"math/rand/v2"
	"runtime"
)

var calm bool // set before goroutines begin

// pause stands where the programs work on. It yields to other goroutines, mostly.
func pause() {
	if !calm {
		for range rand.IntN(4) {
			runtime.Gosched()
		}
	}
}
