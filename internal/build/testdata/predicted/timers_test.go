package predicted

import (
	"runtime"
	"testing"
	"time"
)

// Each test has two variables. Two accesses to meet can be next to each other in an execution that
// any observed one predicts. Two accesses to apart cannot.

// TestStopTooLate: Stop does not wait for a function that a timer has started.
func TestStopTooLate(t *testing.T) {
	var meet, apart int
	done := make(chan bool)
	apart = 1
	timer := time.AfterFunc(time.Millisecond, func() {
		apart++
		meet++
		close(done)
	})
	time.Sleep(2 * time.Millisecond)
	if timer.Stop() {
		t.Fatal("too early")
	}
	meet++
	<-done
	apart++
}

// TestStopInTime: Reset starts a timer that was stopped in time.
func TestStopInTime(t *testing.T) {
	var meet, apart int
	done := make(chan bool)
	timer := time.AfterFunc(time.Hour, func() {
		apart++
		meet++
		close(done)
	})
	apart = 1
	if !timer.Stop() {
		t.Fatal("too late")
	}
	apart++
	timer.Reset(time.Millisecond)
	meet++
	<-done
	apart++
}

// TestResetAgain: a function that a timer has started is not ordered after the Reset that starts it
// again.
func TestResetAgain(t *testing.T) {
	var meet, apart int
	round := 0
	done := make(chan int, 2)
	timer := time.AfterFunc(time.Millisecond, func() {
		if round++; round == 1 { // ordered by done
			done <- 1
			meet++
			return
		}
		apart++
		done <- 2
	})
	<-done
	meet++
	apart = 1
	timer.Reset(time.Millisecond)
	<-done
	apart++
}

// TestResetChannel: Reset removes what was sent before it. A receiver gets what was sent after it.
func TestResetChannel(t *testing.T) {
	var meet, apart int
	done := make(chan bool)
	timer := time.NewTimer(time.Millisecond)
	time.Sleep(2 * time.Millisecond)
	apart = 1
	timer.Reset(time.Millisecond)
	go func() {
		<-timer.C
		apart++
		meet++
		done <- true
	}()
	runtime.Gosched()
	meet++
	<-done
}

// TestStopChannel: a stopped timer sends nothing, so the default case is taken.
func TestStopChannel(t *testing.T) {
	var meet, apart int
	done := make(chan bool)
	timer := time.NewTimer(time.Hour)
	go func() {
		meet++
		apart++
		timer.Stop()
		done <- true
	}()
	runtime.Gosched()
	meet++
	<-done
	select {
	case <-timer.C:
		t.Error("it has fired")
	default:
		apart++
	}
}

// TestTicker: the ticks of a ticker are received one after the other.
func TestTicker(t *testing.T) {
	var meet, apart int
	done := make(chan bool)
	ticks := time.NewTicker(time.Millisecond)
	defer ticks.Stop()
	go func() {
		<-ticks.C
		apart++
		meet++
		done <- true
	}()
	meet++
	<-done
	<-ticks.C
	apart++
}
