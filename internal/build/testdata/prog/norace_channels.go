package main

import "runtime"

// channelNoRaces are about channels and select.
func channelNoRaces() map[string]func() {
	return map[string]func(){
		"unbuffered": func() {
			x, c := new(int), make(chan bool)
			both(func() { *x = 1; c <- true }, func() { <-c; *x = 2 })
		},
		"unbuffered-back": func() {
			x, c := new(int), make(chan bool)
			both(func() { *x = 1; <-c }, func() { c <- true; *x = 2 })
		},
		"buffered": func() {
			x, c := new(int), make(chan int, 3)
			both(func() {
				for i := range 10 {
					*x = i
					c <- i
				}
				c <- -1
			}, func() {
				for <-c >= 0 {
				}
				*x = 2
			})
		},
		"semaphore": func() {
			x, c := new(int), make(chan bool, 1)
			parallel(10, func(int) { c <- true; *x++; <-c })
		},
		"zero-size-elements": func() {
			x, c := new(int), make(chan struct{}, 1)
			both(func() { *x = 1; c <- struct{}{} }, func() { <-c; *x = 2 })
		},
		"close": func() {
			x, c := new(int), make(chan bool)
			both(func() { *x = 1; close(c) }, func() {
				for range c {
				}
				*x = 2
			})
		},
		"select": func() {
			x, c, d := new(int), make(chan bool), make(chan bool)
			both(func() { *x = 1; c <- true; d <- true }, func() {
				for range 2 {
					select {
					case <-c:
					case <-d:
					}
				}
				*x = 2
			})
		},
		"select-default": func() {
			x, c := new(int), make(chan bool, 1)
			both(func() { *x = 1; c <- true }, func() {
				for {
					select {
					case <-c:
						*x = 2
						return
					default:
						runtime.Gosched()
					}
				}
			})
		},
		"pipeline": func() {
			stage := func(in chan *pair) chan *pair {
				out := make(chan *pair, 2)
				go func() {
					defer close(out)
					for p := range in {
						p.a++
						out <- p
					}
				}()
				return out
			}
			first := make(chan *pair)
			last := stage(stage(stage(first)))
			go func() {
				for range 50 {
					first <- new(pair)
				}
				close(first)
			}()
			for p := range last {
				if p.a != 3 {
					panic(p.a)
				}
			}
		},
	}
}
