package cli

import (
	"context"
	"errors"

	"github.com/heisen-go/heisen/internal/confirm/controlled"
	"github.com/heisen-go/heisen/internal/confirm/suspects"
	"github.com/heisen-go/heisen/internal/readuse"
	"github.com/heisen-go/heisen/internal/ssaload"
)

// causalities are the values of -causality.
var causalities = map[string]suspects.Causality{
	"control": suspects.ControlCausality, "values": suspects.ValueCausality, "writes": suspects.OrderCausality,
}

// causalityFlag defines -causality.
func (inv *invocation) causalityFlag() *string {
	return inv.flags.String("causality", "control", "what a predicted order keeps of each read: its write (writes), its value (values), or\nits value if more than plain writes depends on it (control)")
}

// causality returns the value of -causality.
func causality(name string) (suspects.Causality, error) {
	c, ok := causalities[name]
	if !ok {
		return 0, misuse("unknown causality %q; there are control, values and writes", name)
	}
	return c, nil
}

// readUse finds out what the programs of a source do with what they read. What cannot be loaded is no error: all reads there
// count as decisions.
func (inv *invocation) readUse(ctx context.Context, source *controlled.Source) (*readuse.Lines, error) {
	lines, err := readuse.Load(ctx, ssaload.Source{Packages: source.Packages, Tags: source.Tags, Tests: source.Verb == "test"})
	if errors.Is(err, ssaload.ErrPackages) {
		err = nil
	}
	return lines, err
}
