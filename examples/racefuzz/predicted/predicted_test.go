package predicted

import (
	"flag"
	"runtime"
	"sync"
	"testing"
)

var fixed = flag.Bool("fixed", false, "test the fixed versions")

func TestRelay(t *testing.T) {
	const runners = 6
	r := &relay{ready: make(chan struct{})}
	arrive := r.arrive
	if *fixed {
		arrive = r.arriveFixed
	}
	start := make(chan struct{})
	var all sync.WaitGroup
	all.Go(r.judge)
	for i := range runners {
		all.Go(func() {
			<-start
			if !r.run(i) || i < runners-1 {
				return
			}
			if medal := arrive(); medal != "gold" {
				t.Errorf("the last runner got the medal %q", medal)
			}
		})
	}
	close(start)
	all.Wait()
}

func TestFarm(t *testing.T) {
	f := &farm{planned: make(chan struct{})}
	work := f.work
	if *fixed {
		work = f.workFixed
	}
	done := make(chan string)
	go f.first(func() { done <- "rest" })
	go f.second(func() { done <- work() })
	if a, b := <-done, <-done; a != "sow" && b != "sow" {
		t.Errorf("the plans of the hands are %q and %q", a, b)
	}
}

func TestFar(t *testing.T) {
	d := &depot{come: make(chan struct{})}
	wait := d.wait
	if *fixed {
		wait = d.waitFixed
	}
	var porters sync.WaitGroup
	for i := range d.sacks {
		porters.Go(func() { d.carry(i, 5000) })
	}
	porters.Wait()
	letter := make(chan string)
	go func() {
		ponder()
		letter <- wait()
	}()
	d.post()
	if says := <-letter; says != "come" {
		t.Errorf("the letter says %q", says)
	}
}

func TestGuest(t *testing.T) {
	h := &house{}
	most := runtime.NumGoroutine() + 1 // the guest
	left, done := make(chan bool, 1), make(chan bool)
	go func() {
		h.host()
		left <- true
	}()
	go func() {
		if says, ok := h.guest(most); ok && says != "welcome" {
			t.Errorf("the book says %q", says)
		}
		done <- true
	}()
	<-done
	<-left
}
