package predicted

import (
	"context"
	"testing"
	"testing/synctest"
	"time"
)

// TestWait: Wait comes after everything that the other goroutines of the bubble did until they
// blocked.
func TestWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var meet, apart int
		c := make(chan bool)
		go func() {
			meet++
			apart++
			<-c
			apart++
		}()
		meet++
		synctest.Wait()
		apart++
		c <- true
		synctest.Wait()
		apart++
	})
}

// TestWaitForEnd: Wait comes after the ends of goroutines.
func TestWaitForEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var meet, apart int
		go func() {
			meet++
			apart++
		}()
		meet++
		synctest.Wait()
		apart++
	})
}

// TestWaitOnly: the goroutines that Wait waits for do not come after what its caller does then.
func TestWaitOnly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var meet, apart int
		c, d := make(chan bool), make(chan bool)
		go func() {
			apart++
			<-c
			meet++
			d <- true
		}()
		synctest.Wait()
		apart++
		c <- true
		meet++
		<-d
	})
}

// TestTime: time passes when all goroutines are blocked, and not before.
func TestTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var meet, apart int
		for i := range 2 {
			go func() {
				meet++
				time.Sleep(time.Duration(1+i) * time.Second)
				apart++
				time.Sleep(time.Duration(3-2*i) * time.Second)
				apart++
			}()
		}
		apart++
		synctest.Wait()
		apart++
		time.Sleep(time.Minute)
		apart++
	})
}

// TestTimers: timers of a bubble fire when all goroutines are blocked.
func TestTimers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var meet, apart int
		time.AfterFunc(time.Second, func() {
			apart++
			meet++
		})
		after := time.After(2 * time.Second)
		go func() {
			<-after
			apart++
		}()
		apart++
		time.Sleep(time.Second)
		meet++
		time.Sleep(2 * time.Second)
		apart++
	})
}

func TestContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var meet, apart int
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		context.AfterFunc(ctx, func() {
			apart++
			meet++
		})
		go func() {
			<-ctx.Done()
			meet++
		}()
		apart++
		time.Sleep(time.Second)
		synctest.Wait()
		apart++
	})
}

// TestSameTime: goroutines that wake up at the same time run concurrently.
func TestSameTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var meet, apart int
		for i := range 2 {
			go func() {
				time.Sleep(time.Second)
				meet++
				time.Sleep(time.Duration(1+i) * time.Second)
				apart++
			}()
		}
		time.Sleep(time.Minute)
		apart++
	})
}

// TestPassedOn: one goroutine is woken by another one, which was woken by time.
func TestPassedOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var meet, apart int
		c := make(chan bool, 1)
		go func() {
			<-c
			meet++
			apart++
		}()
		go func() {
			time.Sleep(time.Second)
			c <- true
			meet++
		}()
		synctest.Wait()
		apart++
		time.Sleep(time.Minute)
		apart++
	})
}
