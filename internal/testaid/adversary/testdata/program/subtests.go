package adversary

import (
	"context"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// sub returns the test of a run that may have subtests.
func sub(r *run) *testing.T { return r.TB.(*testing.T) }

// parallelSubtests run at once, and are all over after their group.
//
//adversary:fragment subtests
func parallelSubtests(r *run) {
	var ran atomic.Int32
	n := r.n(1, 3)
	results := make([]int, n)
	sub(r).Run("group", func(t *testing.T) {
		for i := range n {
			t.Run("parallel", func(t *testing.T) {
				t.Parallel()
				results[i] = i
				ran.Add(1)
			})
		}
		if ran.Load() != 0 {
			t.Error("a parallel subtest ran before the end of its group")
		}
	})
	check(r, int(ran.Load()), n, "parallel subtests")
	check(r, results[n-1], n-1, "what a parallel subtest writes")
}

// testCleanups run in reverse order after the goroutines of a subtest.
//
//adversary:fragment subtests
func testCleanups(r *run) {
	var order []int
	var ctx context.Context
	n := r.n(1, 4)
	sub(r).Run("cleanup", func(t *testing.T) {
		ctx = t.Context()
		done := make(chan bool)
		go func() {
			<-t.Context().Done()
			order = append(order, -1)
			close(done)
		}()
		for i := range n {
			t.Cleanup(func() { order = append(order, i) })
		}
		t.Cleanup(func() { <-done })
	})
	check(r, ctx.Err(), context.Canceled, "the context of a test that has ended")
	check(r, len(order), n+1, "cleanups")
	check(r, order[0], -1, "what runs before the cleanups")
	check(r, order[n], 0, "the last cleanup")
}

// testFolders gives each subtest a folder of its own.
//
//adversary:fragment subtests outside
func testFolders(r *run) {
	var folders [2]string
	for i := range folders {
		sub(r).Run("folder", func(t *testing.T) {
			folders[i] = t.TempDir()
			no(r, os.WriteFile(filepath.Join(folders[i], "f"), nil, 0o600), "write")
		})
	}
	check(r, folders[0] != folders[1], true, "folders of subtests differ")
	_, err := os.Stat(folders[0])
	check(r, os.IsNotExist(err), true, "the folder of a test that has ended")
}

// skipped subtests end their goroutine and no other one.
//
//adversary:fragment subtests
func skipped(r *run) {
	ends := 0
	sub(r).Run("skip", func(t *testing.T) {
		defer func() { ends++ }()
		var all sync.WaitGroup
		all.Go(func() { t.Log("a log of a goroutine") })
		all.Wait()
		t.Skip("skipped on purpose")
	})
	check(r, ends, 1, "deferred functions of a skipped test")
}

// bubbleSleeps sleeps for days in a bubble.
//
//adversary:fragment subtests
func bubbleSleeps(r *run) {
	days := time.Duration(r.n(1, 9)) * 24 * time.Hour
	synctest.Test(sub(r), func(t *testing.T) {
		begin, x := time.Now(), 0
		var awake atomic.Bool
		go func() {
			time.Sleep(days)
			awake.Store(true)
			x = 1
		}()
		time.Sleep(days - 1)
		synctest.Wait()
		check(r, awake.Load(), false, "whether a goroutine is awake before the end of its sleep")
		time.Sleep(1)
		synctest.Wait()
		check(r, x, 1, "what a goroutine has done after its sleep")
		check(r, time.Since(begin), days, "time in a bubble")
	})
}

// bubbleWaits waits until all goroutines of a bubble are blocked.
//
//adversary:fragment subtests
func bubbleWaits(r *run) {
	n := r.n(1, 4)
	synctest.Test(sub(r), func(t *testing.T) {
		var mu sync.Mutex
		changed := sync.NewCond(&mu)
		waiting, ready := 0, false
		c := make(chan int)
		for i := range n {
			go func() {
				mu.Lock()
				waiting++
				for !ready {
					changed.Wait()
				}
				mu.Unlock()
				c <- i
			}()
		}
		synctest.Wait()
		check(r, waiting, n, "goroutines that wait")
		mu.Lock()
		ready = true
		mu.Unlock()
		changed.Broadcast()
		sum := 0
		for range n {
			sum += <-c
		}
		check(r, sum, n*(n-1)/2, "sum of what goroutines of a bubble send")
	})
}

// bubbleTimeouts lets a context of a bubble run into its deadline.
//
//adversary:fragment subtests
func bubbleTimeouts(r *run) {
	limit := time.Duration(r.n(1, 100)) * time.Hour
	synctest.Test(sub(r), func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), limit)
		defer cancel()
		var after atomic.Bool
		stop := context.AfterFunc(ctx, func() { after.Store(true) })
		defer stop()
		time.Sleep(limit - time.Nanosecond)
		synctest.Wait()
		check(r, ctx.Err(), nil, "error before the deadline")
		check(r, after.Load(), false, "a function before the deadline")
		time.Sleep(time.Nanosecond)
		synctest.Wait()
		check(r, ctx.Err(), context.DeadlineExceeded, "error after the deadline")
		check(r, after.Load(), true, "a function after the deadline")
	})
}

// bubbleTickers count ticks of a bubble's clock.
//
//adversary:fragment subtests
func bubbleTickers(r *run) {
	n := r.n(1, 5)
	synctest.Test(sub(r), func(t *testing.T) {
		tick := time.NewTicker(time.Minute)
		defer tick.Stop()
		end := time.After(time.Duration(n)*time.Minute + time.Second)
		seen := 0
		for {
			select {
			case <-tick.C:
				seen++
				continue
			case <-end:
			}
			break
		}
		check(r, seen, n, "ticks of a bubble")
	})
}
