package cli

import (
	"fmt"
	"io"
	"slices"

	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/internal/plural"
	"github.com/heisen-go/heisen/tree"
)

// newTraceFilter makes the filter that may precede a detector of a trace without changing its
// findings, where that is faster; nil is no filter.
type newTraceFilter func(heisen.Detector) (*tree.Filter, error)

// treeFilter returns a front that makes filters with the given options.
func treeFilter(options ...tree.FilterOption) newTraceFilter {
	return func(d heisen.Detector) (*tree.Filter, error) { return tree.NewFilter(d, options...) }
}

// traceFilters are the filters that stand before detectors, those of all traces.
type traceFilters struct {
	names   []string // of the detectors
	filters []*tree.Filter
}

// wrap puts a filter before a detector, if there is one for it. A TREE filter may leave out the
// accesses that the recorder may leave out for the detector.
func (f *traceFilters) wrap(known Detector, d heisen.Detector) (heisen.Detector, error) {
	if known.front == nil {
		return d, nil
	}
	filter, err := known.front(d)
	if err != nil {
		return d, fmt.Errorf("detector %s: %w", known.Name, err)
	}
	f.names = append(f.names, known.Name)
	f.filters = append(f.filters, filter)
	return filter, nil
}

// summary prints how many accesses were redundant for each detector, in all traces.
func (f *traceFilters) summary(to io.Writer, tool string) {
	if f == nil {
		return
	}
	var sums []tree.Stats
	var names []string
	for i, filter := range f.filters {
		at := slices.Index(names, f.names[i])
		if at < 0 {
			at = len(names)
			names, sums = append(names, f.names[i]), append(sums, tree.Stats{})
		}
		s := filter.Stats()
		sums[at].DroppedAccesses += s.DroppedAccesses
		sums[at].Accesses += s.Accesses
		sums[at].Bypassed += s.Bypassed
	}
	for i, s := range sums {
		fmt.Fprintf(to, "%s: %s did not need %s", tool, names[i], plural.Part(int(s.DroppedAccesses), int(s.Accesses), "access"))
		if s.Bypassed > 0 {
			fmt.Fprintf(to, "; the filter let %s pass unchecked, because checking them did not pay", plural.Of(int(s.Bypassed), "other event"))
		}
		fmt.Fprintln(to)
	}
}
