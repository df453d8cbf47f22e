// Program harm has races that fail, or not, in one order of the two accesses. The argument selects one. The default
// schedule shows the failures of those that are called usual.
package main

import (
	"errors"
	"fmt"
	"os"
	"sync"
)

var races = map[string]func(){
	"usual flag":    flag,
	"usual pointer": pointer,
	"usual last":    last,
	"usual status":  status,
	"usual stuck":   stuck,
	"usual map":     entry,
	"rare":          rare,
	"fails anyway":  failsAnyway,
	"none":          none,
}

func main() { races[os.Args[1]]() }

// flag is figure 2 of the paper: the check comes too early.
func flag() {
	var (
		mu   sync.Mutex
		set  bool
		seen bool
		done sync.WaitGroup
	)
	done.Go(func() {
		mu.Lock()
		mu.Unlock()
		seen = set
	})
	done.Go(func() {
		set = true
		mu.Lock()
		defer mu.Unlock()
	})
	done.Wait()
	if !seen {
		panic("too early")
	}
}

type config struct{ name string }

// pointer reads through a pointer that another goroutine sets.
func pointer() {
	var c *config
	done := make(chan bool)
	go func() {
		c = &config{"a"}
		done <- true
	}()
	if c.name == "" {
		panic("no name")
	}
	<-done
}

// last wants a certain one of two writes to be the last one.
func last() {
	var owner string
	done := make(chan bool)
	go func() {
		owner = "goroutine"
		done <- true
	}()
	owner = "main"
	<-done
	if owner != "main" {
		panic("owned by " + owner)
	}
}

// status exits.
func status() {
	var err error
	done := make(chan bool)
	go func() {
		defer close(done)
		err = nil
	}()
	err = errors.New("lost")
	<-done
	if err == nil {
		os.Exit(3)
	}
}

// stuck waits for ever for what nobody sends.
func stuck() {
	var waits bool
	c, done := make(chan int, 1), make(chan bool)
	go func() {
		if waits {
			c <- 1
		}
		done <- true
	}()
	go func() {
		waits = true
		done <- true
	}()
	<-done
	<-done
	<-c
}

// entry reads an element that another goroutine writes.
func entry() {
	all := []int{0, 0}
	done := make(chan bool)
	go func() {
		all[1] = 1
		close(done)
	}()
	fmt.Println(10 / all[1])
	<-done
}

// rare fails in the order that the default schedule does not have.
func rare() {
	n := 1
	done := make(chan bool)
	go func() {
		n = 0
		close(done)
	}()
	fmt.Println(10 / n)
	<-done
}

// failsAnyway fails in both orders.
func failsAnyway() {
	n := 1
	done := make(chan bool)
	go func() {
		n++
		close(done)
	}()
	n++
	<-done
	panic("anyway")
}

// none never fails.
func none() {
	n := 1
	done := make(chan bool)
	go func() {
		n = 2
		close(done)
	}()
	n = 3
	<-done
	fmt.Println(n)
}
