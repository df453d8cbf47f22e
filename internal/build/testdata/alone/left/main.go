// Command left ends while goroutines are left behind, of the kind that the first argument names.
package main

import (
	"fmt"
	"io"
	"net"
	"os"
	"os/signal"
	"runtime"
	"sync"
	"syscall"
	"testing/iotest"
	"time"
)

var x int

// end ends the program. What it does before races with what others do to x later.
var end = func() { x++ }

var kinds = map[string]func(){
	// Nothing is left that can run.
	"none": func() {},
	"blocked": func() {
		var mu sync.Mutex
		var wg sync.WaitGroup
		mu.Lock()
		wg.Add(1)
		started := make(chan bool)
		for _, wait := range []func(){
			func() { <-make(chan int) },
			func() { make(chan int) <- 1 },
			func() { var c chan int; <-c },
			func() { var c chan int; c <- 1 },
			func() { select {} },
			func() {
				select {
				case <-make(chan int):
				case <-make(chan int):
				}
			},
			func() { mu.Lock() },
			func() { wg.Wait() },
			func() { c := sync.NewCond(new(sync.Mutex)); c.L.Lock(); c.Wait() },
			func() { time.Sleep(10000 * time.Hour) },
			func() { <-time.After(10000 * time.Hour) },
		} {
			go func() { started <- true; wait(); x++ }()
			<-started
		}
	},
	"finished": func() {
		done := make(chan bool)
		go func() { done <- true }()
		<-done
	},
	"signals": func() {
		signal.Notify(make(chan os.Signal, 1), syscall.SIGUSR1)
		runtime.Gosched()
	},
	"stopped-timer": func() {
		time.AfterFunc(time.Hour, func() { x++ }).Stop()
		t := time.NewTimer(time.Hour)
		go func() { <-t.C }()
		t.Stop()
	},
	"finalizer": func() {
		runtime.SetFinalizer(new([100]int), func(*[100]int) {})
		runtime.GC()
	},

	// Something is left that runs, and ends or blocks.
	"runnable": func() { go func() { x++ }() },
	"many": func() {
		for range 1000 {
			go func() { x++ }()
		}
	},
	"chain": func() {
		first := make(chan int)
		last := first
		for range 100 {
			next := make(chan int)
			go func(from, to chan int) { to <- <-from }(last, next)
			last = next
		}
		go func() { <-last; x++ }()
		go func() { first <- 1 }()
	},
	"sleeping": func() { go func() { time.Sleep(100 * time.Millisecond); x++ }() },
	"repeated": func() {
		go func() {
			for range 20 {
				time.Sleep(10 * time.Millisecond)
			}
			x++
		}()
	},
	"napping": func() {
		go func() {
			for range 500 {
				time.Sleep(50 * time.Microsecond)
			}
			x++
		}()
	},
	"afterfunc": func() { time.AfterFunc(100*time.Millisecond, func() { x++ }) },
	"firing": func() {
		const soon = 100 * time.Microsecond
		time.AfterFunc(soon, func() { x++ })
		for begin := time.Now(); time.Since(begin) < soon-20*time.Microsecond; {
		}
	},
	"timer": func() {
		c := time.After(100 * time.Millisecond)
		go func() { <-c; x++ }()
	},
	"computing": func() {
		go func() {
			n := 0
			for i := range 10_000_000 {
				n += i % 7
			}
			x += n
		}()
	},
	"pipe": func() {
		var fds [2]int
		if err := syscall.Pipe(fds[:]); err != nil {
			panic(err)
		}
		go func() {
			var b [1]byte
			syscall.Read(fds[0], b[:])
			x++
		}()
		go func() {
			time.Sleep(100 * time.Millisecond)
			syscall.Write(fds[1], []byte("x"))
		}()
	},
	"connection": func() {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			panic(err)
		}
		go func() {
			if c, err := l.Accept(); err == nil {
				io.ReadAll(iotest.OneByteReader(c))
				x++
			}
		}()
		go func() {
			time.Sleep(100 * time.Millisecond)
			if c, err := net.Dial("tcp", l.Addr().String()); err == nil {
				c.Write([]byte("text"))
				c.Close()
			}
		}()
	},
	"panics":  func() { go func() { time.Sleep(100 * time.Millisecond); panic("left behind") }() },
	"exits-4": func() { go func() { time.Sleep(100 * time.Millisecond); os.Exit(4) }() },
	"exits-0": func() { go func() { time.Sleep(100 * time.Millisecond); os.Exit(0) }() },
	"exit-0": func() {
		go func() { x++ }()
		end = func() { x++; os.Exit(0) }
	},
	"exit-3": func() {
		go func() { time.Sleep(time.Hour) }()
		end = func() { x++; os.Exit(3) }
	},

	// Something is left that goes on until the limit.
	"spinning": func() {
		go func() {
			for {
			}
		}()
	},
	"yielding": func() {
		go func() {
			for {
				runtime.Gosched()
			}
		}()
	},
	"ticker": func() {
		go func() {
			for range time.NewTicker(time.Millisecond).C {
			}
		}()
	},
	"reading": func() {
		var fds [2]int
		if err := syscall.Pipe(fds[:]); err != nil {
			panic(err)
		}
		go func() { syscall.Read(fds[0], make([]byte, 1)) }()
		time.Sleep(10 * time.Millisecond)
	},
	"accept": func() {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			panic(err)
		}
		go l.Accept()
		time.Sleep(10 * time.Millisecond)
	},
}

func main() {
	begin, known := kinds[os.Args[1]]
	if !known {
		fmt.Fprintln(os.Stderr, "no kind", os.Args[1])
		os.Exit(9)
	}
	begin()
	end()
}
