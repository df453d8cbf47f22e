package report

import (
	"slices"
	"sync"

	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/internal/fold"
	"github.com/heisen-go/heisen/internal/option"
)

// Collector collects the findings of one stream. Its method Add is a heisen.Sink for any number of
// detectors. It counts repeated findings, and it combines a race that is seen in both orders into one
// Finding with a Reverse, and the races on one variable into one with Pairs. Findings of different detectors stay separate. Those that the baseline
// contains or that a suppression matches are counted as hidden and otherwise ignored.
//
// Several goroutines may call the methods of a Collector. NewCollector makes one. The methods of a
// zero or nil Collector do nothing.
type Collector struct {
	mu       sync.Mutex
	set      *fold.Set
	config   collectorConfig
	resolver *Resolver // closed with the Collector; nil if it belongs to somebody else

	order  []*collected              // in the order of first sight, hidden ones too
	byName map[findingKey]*collected // by their own fingerprints and those of their pairs
}

type findingKey struct{ detector, fingerprint string }

// collected is what a Collector knows about a finding.
type collected struct {
	Finding
	reverse bool // fold.Item.Reverse of the order that was seen first
	hidden  bool
}

// CollectorOption is an option of NewCollector.
type CollectorOption func(*collectorConfig) error

type collectorConfig struct {
	symbols      *heisen.Symbols
	resolver     *Resolver
	given        bool // the resolver is the caller's
	baseline     *Baseline
	suppressions []Suppression
	onFinding    func(*Finding)
}

// WithSymbols sets the Symbols of the stream. Without them, numbers stay numbers.
func WithSymbols(symbols *heisen.Symbols) CollectorOption {
	return func(c *collectorConfig) error {
		c.symbols = symbols
		return nil
	}
}

// WithResolver sets the Resolver. Several Collectors may share one. The Collector does not close it.
// The default is a Resolver of the Collector's own, with default options. A nil Resolver reads no
// source files.
func WithResolver(r *Resolver) CollectorOption {
	return func(c *collectorConfig) error {
		c.resolver, c.given = r, true
		return nil
	}
}

// WithBaseline hides the findings of a baseline. A nil baseline is empty. The baseline must not
// change while the Collector is used.
func WithBaseline(b *Baseline) CollectorOption {
	return func(c *collectorConfig) error {
		c.baseline = b
		return nil
	}
}

// WithSuppressions hides findings that one of the suppressions matches.
func WithSuppressions(list []Suppression) CollectorOption {
	return func(c *collectorConfig) error {
		c.suppressions = list
		return nil
	}
}

// WithOnFinding sets a function that Add calls with each finding that is seen for the first time and
// is not hidden. The function must neither keep nor change the Finding, nor call the Collector.
func WithOnFinding(f func(*Finding)) CollectorOption {
	return func(c *collectorConfig) error {
		c.onFinding = f
		return nil
	}
}

// NewCollector returns an empty Collector. Close it when it is no longer used. Errors wrap
// heisen.ErrOption.
func NewCollector(opts ...CollectorOption) (*Collector, error) {
	c := &Collector{byName: map[findingKey]*collected{}}
	if err := option.Apply("report.NewCollector", &c.config, opts); err != nil {
		return nil, err
	}
	if !c.config.given {
		r, err := NewResolver()
		if err != nil {
			return nil, err
		}
		c.config.resolver, c.resolver = r, r
	}
	c.set = fold.NewSet(c.config.symbols, c.see)
	return c, nil
}

// Close releases the Collector's own Resolver, unless WithResolver gave it one. Findings stay
// available.
func (c *Collector) Close() {
	c.resolver.Close()
}

// Add takes a finding of the stream. It copies what it keeps.
func (c *Collector) Add(f heisen.Finding) {
	if c.set == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.set.Add(f)
}

// see takes a finding that is new, or new in this order of the accesses.
func (c *Collector) see(item fold.Item) {
	key := findingKey{item.Finding.Detector, item.Fingerprint}
	resolved := c.config.resolver.Resolve(item.Finding, c.config.symbols)
	if known := c.byName[key]; known != nil {
		if known.reverse != item.Reverse && known.Reverse == nil && known.PairFingerprint() == item.Fingerprint {
			known.Reverse = resolved.Order()
		}
		return
	}
	known := &collected{Finding: resolved, reverse: item.Reverse, hidden: c.hides(&resolved)}
	if same := c.byName[findingKey{resolved.Detector, resolved.Fingerprint}]; same != nil && same.hidden == known.hidden {
		same.AddPairs(&resolved)
		c.byName[key] = same
		return
	}
	c.byName[key] = known
	if other := (findingKey{resolved.Detector, resolved.Fingerprint}); !known.hidden || c.byName[other] == nil { // what is not hidden comes first
		c.byName[other] = known
	}
	c.order = append(c.order, known)
	if !known.hidden && c.config.onFinding != nil {
		c.config.onFinding(&resolved)
	}
}

func (c *Collector) hides(f *Finding) bool {
	for i := range c.config.suppressions {
		if c.config.suppressions[i].Matches(f) {
			return true
		}
	}
	return c.config.baseline.Contains(f)
}

// Findings returns the findings that are not hidden, in the order in which they were first seen,
// with their counts so far.
func (c *Collector) Findings() []Finding { return c.findings(false) }

// Hidden returns the findings that the baseline contains or that a suppression matches.
func (c *Collector) Hidden() []Finding { return c.findings(true) }

func (c *Collector) findings(hidden bool) (all []Finding) {
	if c.set == nil {
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	counts := map[findingKey]uint64{} // of pairs
	reverse := map[*collected]uint64{}
	for _, item := range c.set.All() {
		key := findingKey{item.Finding.Detector, item.Fingerprint}
		counts[key] += item.Count
		if known := c.byName[key]; item.Reverse != known.reverse && known.PairFingerprint() == item.Fingerprint {
			reverse[known] += item.Count
		}
	}
	for _, known := range c.order {
		if known.hidden != hidden {
			continue
		}
		f := known.Finding
		f.Count, f.Pairs = counts[findingKey{f.Detector, f.PairFingerprint()}], slices.Clone(f.Pairs)
		for i := range f.Pairs {
			n := counts[findingKey{f.Detector, f.Pairs[i].Fingerprint}]
			f.Pairs[i].Count = n
			f.Count += n
		}
		if f.Reverse != nil {
			other := *f.Reverse
			other.Count = reverse[known]
			f.Reverse = &other
		}
		all = append(all, f)
	}
	return all
}
