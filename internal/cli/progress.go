package cli

import (
	"fmt"
	"sync"
	"time"
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
