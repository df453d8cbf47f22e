package tests

import (
	"flag"
	"sync"
	"testing"
	"time"
)

var x, y, z, w int

func count(p *int) {
	var wg sync.WaitGroup
	for range 2 {
		wg.Go(func() { *p = 1 })
	}
	wg.Wait()
}

func TestBefore(t *testing.T) {}

func TestRace(t *testing.T) { count(&x) }

func TestSub(t *testing.T) {
	t.Run("quiet", func(t *testing.T) {})
	t.Run("racy", func(t *testing.T) {
		done := make(chan bool)
		go func() { y = 1; close(done) }()
		y = 1
		<-done
	})
}

// meet changes w in two goroutines, one of which is the caller's.
func meet() {
	done := make(chan bool)
	go func() { w = 1; close(done) }()
	w = 1
	<-done
}

// TestFirst and TestSecond have the same race, but call it in different places.
func TestFirst(t *testing.T) { meet() }

func TestSecond(t *testing.T) { meet() }

func TestAfter(t *testing.T) {}

var left = flag.Bool("left", false, "leave a goroutine behind")

// TestLeft leaves a goroutine behind.
func TestLeft(t *testing.T) {
	if *left {
		go func() { time.Sleep(100 * time.Millisecond); z = 1 }()
		z = 1
	}
}

// TestFails fails.
func TestFails(t *testing.T) {
	if *left {
		t.Fail()
	}
}
