package cli

import (
	"context"
	"os"
	"os/signal"
	"syscall"
)

// interruptible returns a context that ends at the first interrupt or request to terminate. The
// command then prints its findings so far and removes temporary files. The second signal ends
// heisen at once. stop restores the default handling of signals.
func (inv *invocation) interruptible() (ctx context.Context, stop func()) {
	ctx, stop = signal.NotifyContext(inv.ctx, os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop)
	return ctx, stop
}
