package main

import (
	"context"
	"time"
)

// timeNoRaces are about contexts and timers.
func timeNoRaces() map[string]func() {
	return map[string]func(){
		"context": func() {
			x := new(int)
			ctx, cancel := context.WithCancel(context.Background())
			both(func() { *x = 1; cancel() }, func() { <-ctx.Done(); *x = 2 })
		},
		"context-after-func": func() {
			x, done := new(int), make(chan bool)
			ctx, cancel := context.WithCancel(context.Background())
			context.AfterFunc(ctx, func() { *x++; close(done) })
			*x++
			cancel()
			<-done
			*x++
		},
		"context-timeout": func() {
			ctx, cancel := context.WithTimeout(context.Background(), time.Millisecond)
			defer cancel()
			parallel(3, func(int) { <-ctx.Done(); _ = ctx.Err() })
		},
		"after-func": func() {
			x, done := new(int), make(chan bool)
			*x = 1
			time.AfterFunc(time.Millisecond, func() { *x = 2; close(done) })
			<-done
			*x = 3
		},
		"timers": func() {
			x := new(int)
			both(func() { <-time.After(time.Millisecond) }, func() {
				t := time.NewTimer(time.Hour)
				t.Reset(time.Millisecond)
				<-t.C
				tick := time.NewTicker(time.Millisecond)
				<-tick.C
				<-tick.C
				tick.Stop()
				*x++
			})
		},
	}
}
