package contexts

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"
)

// A lease is renewed in the background until its context ends.
type lease struct {
	renewals atomic.Int32
	renew    chan struct{}
}

var errTaken = errors.New("taken")

func (l *lease) keep(ctx context.Context) {
	for {
		select { // want leak
		case <-l.renew:
			l.renewals.Add(1)
		case <-ctx.Done():
			return
		}
	}
}

// acquire forgets the context of the background when it fails.
func acquire(name string) (*lease, context.CancelFunc, error) {
	ctx, cancel := context.WithCancel(context.Background())
	l := &lease{renew: make(chan struct{})}
	go l.keep(ctx)
	if name == "taken" {
		return nil, nil, errTaken
	}
	return l, cancel, nil
}

func acquireOrCancel(name string) (*lease, context.CancelFunc, error) {
	ctx, cancel := context.WithCancel(context.Background())
	l := &lease{renew: make(chan struct{})}
	go l.keep(ctx)
	if name == "taken" {
		cancel()
		return nil, nil, errTaken
	}
	return l, cancel, nil
}

func work(t *testing.T, acquire func(string) (*lease, context.CancelFunc, error)) {
	for _, name := range []string{"free", "taken"} {
		l, cancel, err := acquire(name)
		if err != nil {
			continue
		}
		select {
		case l.renew <- struct{}{}:
		case <-time.After(time.Second):
			t.Error("no renewal")
		}
		cancel()
	}
}

// TestLease acquires a lease that is free and one that is taken.
func TestLease(t *testing.T) { work(t, acquire) }

func TestLeaseFixed(t *testing.T) { work(t, acquireOrCancel) }
