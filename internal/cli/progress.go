package cli

import (
	"fmt"
	"sync"
	"time"

	"github.com/heisen-go/heisen/internal/build"
)

// progress shows on a terminal what is being done and for how long, after each delay, until done is
// called. It shows nothing if standard error is no terminal.
func (inv *invocation) progress(what string, delay time.Duration) (done func()) {
	return inv.progressOf(what, func() string { return what }, delay)
}

// progressOf is progress with a text that changes.
func (inv *invocation) progressOf(what string, now func() string, delay time.Duration) (done func()) {
	f := inv.raw.Err
	if !isTerminal(f) {
		return func() {}
	}
	stop := make(chan struct{})
	var stopped sync.WaitGroup
	stopped.Add(1)
	go func() {
		defer stopped.Done()
		start := time.Now()
		ticker := time.NewTicker(delay)
		defer ticker.Stop()
		shown := false
		for {
			select {
			case <-ticker.C:
				fmt.Fprintf(f, "\r\x1b[K%s: %s, %d s ", inv.tool.Name, now(), int(time.Since(start).Seconds()))
				shown = true
			case <-stop:
				if shown {
					fmt.Fprintf(f, "\r\x1b[K%s: %s took %d s\n", inv.tool.Name, what, int(time.Since(start).Seconds()))
				}
				return
			}
		}
	}()
	return func() {
		close(stop)
		stopped.Wait()
	}
}

// building shows on a terminal that programs are built by the builder of the invocation, which need not be known yet, and for the
// first time with a version of Go and heisen, how long that took the last time. done is called when a program runs, or
// cannot be built; only its first call matters.
func (inv *invocation) building() (done func(built bool)) {
	start := time.Now()
	shown := inv.progressOf("building", func() string { return buildingText(inv.builder.Load()) }, time.Second)
	var once sync.Once
	return func(built bool) {
		once.Do(func() {
			shown()
			if b := inv.builder.Load(); built && b != nil {
				b.NoteBuilt(time.Since(start))
			}
		})
	}
}

// buildingText says what a builder does; nil if it is being prepared.
func buildingText(b *build.Builder) string {
	if b == nil {
		return "preparing to build"
	}
	before, first := b.BuiltBefore()
	switch {
	case before:
		return "building"
	case first > 0:
		return fmt.Sprintf("building, for the first time with the standard library, which took %v the last time", first)
	}
	return "building, for the first time with the standard library, which may take a minute"
}
