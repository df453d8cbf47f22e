// Command context cancels trees of contexts from several goroutines, and logs which cause each
// waiter got; see package replay.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"time"

	"github.com/heisen-go/heisen/examples/racefuzz/replay/journal"
)

// nameKey is the key of a context's name.
type nameKey struct{}

func name(ctx context.Context) string { return ctx.Value(nameKey{}).(string) }

// tree is a context with the contexts below it.
type tree struct {
	j       *journal.Journal
	waiting sync.WaitGroup
	cancels []context.CancelCauseFunc
}

// grow makes a tree of contexts of the given depth, with two below each, and a goroutine that waits
// at each.
func (t *tree) grow(parent context.Context, depth int) {
	if depth == 0 {
		return
	}
	for i := range 2 {
		ctx := context.WithValue(parent, nameKey{}, fmt.Sprintf("%s.%d", name(parent), i))
		ctx, cancel := context.WithCancelCause(ctx)
		t.cancels = append(t.cancels, cancel)
		t.waiting.Add(2)
		context.AfterFunc(ctx, func() {
			defer t.waiting.Done()
			t.j.Notef("after %s: %v", name(ctx), context.Cause(ctx))
		})
		go func() {
			defer t.waiting.Done()
			<-ctx.Done()
			t.j.Notef("%s: %v", name(ctx), context.Cause(ctx))
		}()
		t.grow(ctx, depth-1)
	}
}

func main() {
	var j journal.Journal
	root := context.WithValue(context.Background(), nameKey{}, "root")
	root, cancel := context.WithTimeoutCause(root, 2*time.Millisecond, errors.New("it is late"))
	defer cancel()
	t := &tree{j: &j}
	t.grow(root, 3)
	for i := range 3 {
		t.waiting.Go(func() {
			if i == 2 {
				time.Sleep(2 * time.Millisecond) // at the same time as the deadline
			}
			at := len(t.cancels) / 3 * i
			j.Notef("canceller %d begins", i)
			t.cancels[at](fmt.Errorf("canceller %d", i))
		})
	}
	t.waiting.Wait()
	if n := j.Len(); n != 2*len(t.cancels)+3 || root.Err() == nil {
		panic(fmt.Sprintf("%d notes of %d contexts, %v", n, len(t.cancels), root.Err()))
	}
	for _, cancel := range t.cancels {
		cancel(nil)
	}
	if err := j.Print(os.Stdout, "context"); err != nil {
		panic(err)
	}
}
