// Command pool shares buffers through a sync.Pool, and logs which goroutine got which; see package
// replay.
package main

import (
	"bytes"
	"fmt"
	"os"
	"runtime"
	"sync"
	"sync/atomic"

	"github.com/heisen-go/heisen/examples/racefuzz/replay/journal"
)

// buffer is a buffer with a number.
type buffer struct {
	bytes.Buffer
	number int64
}

const (
	workers = 4
	rounds  = 6
)

func main() {
	var j journal.Journal
	var made, written atomic.Int64
	pool := sync.Pool{New: func() any { return &buffer{number: made.Add(1)} }}
	var first sync.Once

	var working sync.WaitGroup
	for id := range workers {
		working.Go(func() {
			first.Do(func() { j.Notef("%d is the first", id) })
			for i := range rounds {
				b := pool.Get().(*buffer)
				b.Reset()
				n, err := fmt.Fprintf(b, "round %d of %d", i, id)
				if err != nil {
					panic(err)
				}
				j.Notef("%d has buffer %d", id, b.number)
				written.Add(int64(n))
				if runtime.Gosched(); b.Len() != n {
					panic(fmt.Sprintf("buffer %d has two owners", b.number))
				}
				pool.Put(b)
			}
		})
	}
	working.Wait()
	if want := int64(workers * rounds * len("round 0 of 0")); written.Load() != want || made.Load() == 0 {
		panic(fmt.Sprintf("%d bytes in %d buffers, want %d", written.Load(), made.Load(), want))
	}
	if err := j.Print(os.Stdout, "pool"); err != nil {
		panic(err)
	}
}
