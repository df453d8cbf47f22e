package main

import (
	"fmt"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"
)

// Programs that use what only Linux has.

// signalNoRaces are more programs without a race.
func signalNoRaces() map[string]func() {
	return map[string]func(){
		"signal": func() {
			x, c := new(int), make(chan os.Signal, 1)
			signal.Notify(c, syscall.SIGUSR1)
			*x = 1
			syscall.Kill(os.Getpid(), syscall.SIGUSR1)
			<-c
			*x = 2
			signal.Stop(c)
		},
	}
}

// systemScheduled are more programs for deterministic runs.
func systemScheduled() map[string]func() {
	return map[string]func(){
		"out-blocking": func() { // a system call that other goroutines end
			var p [2]int
			if err := syscall.Pipe(p[:]); err != nil {
				panic(err)
			}
			go func() {
				time.Sleep(10 * time.Millisecond)
				syscall.Write(p[1], []byte("x"))
			}()
			n, err := syscall.Read(p[0], make([]byte, 1))
			fmt.Print(n, err)
		},
		"det-calls": func() { // system calls that sleep for less time than others wait for them
			var mu sync.Mutex
			parallel(2, func(w int) {
				for range 40 {
					syscall.Nanosleep(&syscall.Timespec{Nsec: 10_000_000}, nil)
					mu.Lock()
					fmt.Print(w)
					mu.Unlock()
				}
			})
		},
		"out-signal": func() {
			c := make(chan os.Signal, 1)
			signal.Notify(c, syscall.SIGUSR1)
			syscall.Kill(os.Getpid(), syscall.SIGUSR1)
			fmt.Print(<-c)
		},
	}
}
