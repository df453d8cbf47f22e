// Command group runs groups of goroutines, some of which fail, and logs the first; see package
// replay.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/heisen-go/heisen/examples/racefuzz/replay/journal"
)

// errBad is the error of a job.
var errBad = errors.New("bad job")

// job works for some time, or until another job fails.
func job(ctx context.Context, j *journal.Journal, id, steps int, bad bool) error {
	for i := range steps {
		select {
		case <-ctx.Done():
			j.Notef("job %d is canceled at step %d: %v", id, i, context.Cause(ctx))
			return context.Cause(ctx)
		case <-time.After(time.Millisecond):
			j.Notef("job %d has done step %d", id, i)
		}
	}
	if bad {
		return fmt.Errorf("job %d: %w", id, errBad)
	}
	return nil
}

func main() {
	var j journal.Journal
	for round, bad := range []int{3, 8} { // every third job, and the last
		g, ctx := newGroup(context.Background(), 3)
		for id := range 8 {
			work := func() error { return job(ctx, &j, id, 1+id%3, id%bad == bad-1) }
			if !g.tryStart(work) {
				j.Notef("no place for job %d", id)
				g.start(work)
			}
		}
		err := g.wait()
		j.Notef("round %d: %v", round, err)
		if !errors.Is(err, errBad) {
			panic(fmt.Sprintf("round %d: %v, want %v", round, err, errBad))
		}
	}
	if err := j.Print(os.Stdout, "group"); err != nil {
		panic(err)
	}
}
