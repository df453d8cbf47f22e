package cli

import (
	"context"
	"os"
	"os/signal"
	"syscall"
)

// interruptible returns a context that the first interrupt or request to
// terminate ends, so that what was found until then is printed and what was
// made is removed. The second one ends heisen at once. stop gives the signals
// back.
func (inv *invocation) interruptible() (ctx context.Context, stop func()) {
	ctx, stop = signal.NotifyContext(inv.ctx, os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop)
	return ctx, stop
}
