package cli

import (
	"context"
	"fmt"
	"io"
	"os"
	"sync"

	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/internal/plural"
	"github.com/heisen-go/heisen/mcm"
	"github.com/heisen-go/heisen/section"
)

const mcmName = "mcm"

// mcmFlags has the flags of the predictive detector, and the detectors built.
type mcmFlags struct {
	window, budget, parallel int

	mu    sync.Mutex
	built []*mcm.Detector
}

// mcmFlags defines -window, -budget and -j.
func (inv *invocation) mcmFlags() *mcmFlags {
	m := &mcmFlags{}
	inv.flags.IntVar(&m.window, "window", 2000, "number of `events` in a window of mcm; half of them are in the next window, too")
	inv.flags.IntVar(&m.budget, "budget", 200, "number of `conflicts` after which mcm's solver leaves a query open")
	inv.flags.IntVar(&m.parallel, "j", 1, "number of `windows` that mcm solves at a time")
	return m
}

// build returns a detector, which also predicts violations of the sections. A nil mcmFlags stands
// for the default values.
func (m *mcmFlags) build(ctx context.Context, symbols *heisen.Symbols, sections []section.Section, sink heisen.Sink) (heisen.Detector, error) {
	options := []mcm.DetectorOption{mcm.WithContext(ctx), mcm.WithSymbols(symbols), mcm.WithSink(sink)}
	if len(sections) > 0 {
		here, err := os.Getwd()
		if err != nil {
			return nil, err
		}
		options = append(options, mcm.WithSections(sections, section.LocateIn(symbols, here)))
	}
	if m == nil {
		return mcm.NewDetector(options...)
	}
	options = append(options, mcm.WithWindows(m.window, m.window/2), mcm.WithBudget(m.budget, 1000*m.budget), mcm.WithParallel(m.parallel))
	d, err := mcm.NewDetector(options...)
	if err != nil {
		return nil, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.built = append(m.built, d)
	return d, nil
}

// summary prints how many queries were left open in all streams.
func (m *mcmFlags) summary(to io.Writer, tool string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	var sum mcm.Stats
	for _, d := range m.built {
		sum.Add(d.Stats().Stats)
	}
	if sum.Unknown > 0 {
		fmt.Fprintf(to, "%s: mcm left %s open because of -budget\n", tool, plural.Part(sum.Unknown, sum.Queries, "query"))
	}
}
