package main

import (
	"errors"
	"fmt"
	"io"
	"testing"

	"github.com/heisen-go/heisen/atomicity"
	"github.com/heisen-go/heisen/lockset"
)

// TestOnlyLimits: an error beside those of limits is not lost.
func TestOnlyLimits(t *testing.T) {
	dropped, evicted := fmt.Errorf("%w: 3 transactions", atomicity.ErrDropped), fmt.Errorf("analyze: %w", lockset.ErrEvicted)
	for _, test := range []struct {
		err  error
		want bool
	}{
		{nil, false},
		{dropped, true},
		{errors.Join(dropped, evicted), true},
		{fmt.Errorf("all: %w", errors.Join(dropped, errors.Join(evicted))), true},
		{io.ErrUnexpectedEOF, false},
		{errors.Join(io.ErrUnexpectedEOF, dropped), false},
		{fmt.Errorf("all: %w", errors.Join(dropped, fmt.Errorf("read: %w", io.ErrUnexpectedEOF))), false},
	} {
		if got := onlyLimits(test.err); got != test.want {
			t.Errorf("onlyLimits(%v) = %t", test.err, got)
		}
	}
}
