package selects

import (
	"testing"
	"time"
)

// A poller sends readings of a sensor until it is stopped.
type poller struct {
	readings chan int
	stop     chan struct{}
}

// run looks at stop while it waits for the ticker, but not while it sends.
func (p *poller) run() {
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for n := 0; ; n++ {
		select {
		case <-tick.C:
			p.readings <- n // want leak
		case <-p.stop:
			return
		}
	}
}

// runUntilStopped looks at stop wherever it waits.
func (p *poller) runUntilStopped() {
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for n := 0; ; n++ {
		select {
		case <-tick.C:
			select {
			case p.readings <- n:
			case <-p.stop:
				return
			}
		case <-p.stop:
			return
		}
	}
}

func poll(run func(*poller)) {
	p := &poller{readings: make(chan int), stop: make(chan struct{})}
	go run(p)
	for range 3 {
		<-p.readings
	}
	time.Sleep(100 * time.Millisecond) // the next reading may be there
	close(p.stop)
}

// TestPoller stops a poller that may be about to send.
func TestPoller(t *testing.T) { poll((*poller).run) }

func TestPollerFixed(t *testing.T) { poll((*poller).runUntilStopped) }
