package cli

import (
	"fmt"
	"io"
	"os"
	"sync"

	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/mcm"
	"github.com/heisen-go/heisen/section"
)

const mcmName = "mcm"

// maximal is the flags of the predictive detector, and what it left open.
type maximal struct {
	window, budget, parallel int

	mu    sync.Mutex
	built []*mcm.Detector
}

// maximalFlags defines -window, -budget and -j.
func (inv *invocation) maximalFlags() *maximal {
	m := &maximal{}
	inv.flags.IntVar(&m.window, "window", 2000, "`events` that mcm looks at together; half of them are in the next window, too")
	inv.flags.IntVar(&m.budget, "budget", 200, "`conflicts` that mcm's solver may run into before it leaves a question open")
	inv.flags.IntVar(&m.parallel, "j", 1, "`windows` that mcm solves at a time")
	return m
}

// build returns a detector, which predicts how others come into sections, too. Without
// flags it is the default one.
func (m *maximal) build(symbols *heisen.Symbols, sections []section.Section, sink heisen.Sink) (heisen.Detector, error) {
	options := []mcm.Option{mcm.WithSymbols(symbols), mcm.WithSink(sink)}
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

// summary says how many questions were left open, when all streams have ended.
func (m *maximal) summary(to io.Writer, tool string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	var sum mcm.Stats
	for _, d := range m.built {
		sum.Add(d.Stats().Stats)
	}
	if sum.Unknown > 0 {
		fmt.Fprintf(to, "%s: mcm left %d of %d questions open, whose budget was spent; see -budget\n", tool, sum.Unknown, sum.Questions)
	}
}
