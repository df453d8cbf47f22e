package circles

import (
	"testing"
	"time"
)

const moment = 50 * time.Millisecond

func TestRing(t *testing.T) {
	x, y, z := make(chan int), make(chan int), make(chan int)
	go stage(x, y)
	go stage(y, z)
	go stage(z, x)
	x <- 1
	time.Sleep(moment)
}

// The statements of the stages are the same, so the variables they wait for are.
func TestSelects(t *testing.T) {
	x, y, quit := make(chan int), make(chan int), make(chan bool)
	go chosen(x, y, quit)
	go chosen(y, x, quit)
	x <- 1
	time.Sleep(moment)
}

// Nobody takes what the last goroutine sends. All others wait behind it.
func TestChain(t *testing.T) {
	raw, cooked, done := make(chan int), make(chan int), make(chan int)
	go func() {
		for range 5 {
			raw <- 1
		}
	}()
	go func() {
		for m := range raw {
			cooked <- m
		}
	}()
	go func() {
		for m := range cooked {
			done <- m
		}
	}()
	<-done
	time.Sleep(moment)
}

// Two goroutines of one struct wait for different channels, each of which nobody receives from.
type pair struct{ left, right chan int }

func TestPair(t *testing.T) {
	p := &pair{make(chan int), make(chan int)}
	go func() { p.left <- 1 }()
	go func() { p.right <- 2 }()
	time.Sleep(moment)
}

// Two circles have nothing to do with each other.
func TestTwo(t *testing.T) {
	x, y := make(chan int), make(chan int)
	go stage(x, y)
	go stage(y, x)
	x <- 1
	u, v := make(chan string), make(chan string)
	go func() {
		<-u
		v <- "a"
		v <- "b"
	}()
	go func() {
		<-v
		u <- "c"
		u <- "d"
	}()
	u <- "start"
	time.Sleep(moment)
}
