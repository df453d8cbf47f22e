package predicted

import (
	"runtime"
	"testing"
	"time"
)

// Each test has two variables. Of meet two accesses can be next to each other in an
// execution that is told the same as any that is observed; of apart they cannot.

// A function that a timer has started is not waited for by Stop.
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

// What Stop has kept from starting is started by Reset.
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

// A function that was started is not what Reset starts.
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

// Reset takes away what was sent before; who receives receives what comes after it.
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

// A stopped timer has nothing to receive: the default case is taken all the same.
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

// A ticker's ticks are received one after the other.
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
