package cli

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/atomicity"
	"github.com/heisen-go/heisen/atomrace"
	"github.com/heisen-go/heisen/focus"
	"github.com/heisen-go/heisen/internal/contain"
	"github.com/heisen-go/heisen/internal/observed"
	"github.com/heisen-go/heisen/internal/recorder"
	"github.com/heisen-go/heisen/lockset"
	"github.com/heisen-go/heisen/section"
	"github.com/heisen-go/heisen/tree"
	"github.com/heisen-go/heisen/vclock"
)

// detectors are the detectors that -detect can name in every tool.
var detectors = []struct {
	name    string
	promise string
	filter  Filter
	front   newTraceFilter
	make    func(heisen.Sink) (heisen.Detector, error)
	hidden  func(heisen.Sink, vclock.DetectorOption) (heisen.Detector, error) // for streams with hidden calls; nil if they make no difference
	atomic  func(heisen.Sink, ...atomicity.Option) (heisen.Detector, error)   // for detectors of transactions, instead of make
}{
	{
		name:    fasttrackName,
		promise: "at least the first race of every variable that races in the observed order; no false alarm if all synchronization is seen",
		filter:  RecorderFiltered, // for a trace, the filter takes as long as the detector
		make:    func(sink heisen.Sink) (heisen.Detector, error) { return vclock.NewFastTrack(vclock.WithSink(sink)) },
		hidden: func(sink heisen.Sink, o vclock.DetectorOption) (heisen.Detector, error) {
			return vclock.NewFastTrack(vclock.WithSink(sink), o)
		},
	},
	{
		name:    "hb",
		promise: "all racy pairs of the observed order; slow",
		filter:  RecorderFiltered,
		front:   treeFilter(),
		make:    func(sink heisen.Sink) (heisen.Detector, error) { return vclock.NewHappensBefore(vclock.WithSink(sink)) },
		hidden: func(sink heisen.Sink, o vclock.DetectorOption) (heisen.Detector, error) {
			return vclock.NewHappensBefore(vclock.WithSink(sink), o)
		},
	},
	{
		name:    "eraser",
		promise: "every violation of the locking discipline; not every one is a race",
		filter:  Unfiltered, // who owns a variable depends on all accesses
		make: func(sink heisen.Sink) (heisen.Detector, error) {
			return lockset.NewEraser(lockset.WithSink(sink), lockset.WithHandOver())
		},
	},
	{
		name:    "hybrid",
		promise: "the places of all races that locks and messages allow, in any schedule; not every one can happen",
		filter:  RecorderFiltered,
		front:   treeFilter(tree.WithMessageOrder()),
		make:    func(sink heisen.Sink) (heisen.Detector, error) { return lockset.NewHybrid(lockset.WithSink(sink)) },
	},
	{
		name:    lockorderName,
		promise: "potential deadlocks: cycles of the lock-order graph that no gate lock, fork, join or message excludes, except within calls of the standard library; claims no deadlock",
		filter:  WithoutAccesses,
		make:    func(sink heisen.Sink) (heisen.Detector, error) { return lockset.NewLockOrder(lockset.WithSink(sink)) },
	},
	{
		name:    serialName,
		promise: "transactions that were not serializable in the observed order; no false alarm if all synchronization is seen; see -transactions",
		filter:  Unfiltered, // which thread came between depends on all accesses
		atomic: func(sink heisen.Sink, opts ...atomicity.Option) (heisen.Detector, error) {
			return atomicity.NewSerial(append(opts, atomicity.WithSink(sink))...)
		},
	},
	{
		name:    blocksName,
		promise: "transactions that locks and messages allow others to interrupt, in any schedule; not every one can happen; see -transactions",
		filter:  Unfiltered, // blocks are made of all accesses
		atomic: func(sink heisen.Sink, opts ...atomicity.Option) (heisen.Detector, error) {
			return atomicity.NewBlocks(append(opts, atomicity.WithSink(sink))...)
		},
	},
	{
		name:    reductionName,
		promise: "transactions that the pattern of movers does not prove to be atomic, in any schedule; not every one can be interrupted; see -transactions",
		filter:  Unfiltered, // it passes all accesses to hybrid
		atomic: func(sink heisen.Sink, opts ...atomicity.Option) (heisen.Detector, error) {
			return atomicity.NewReduction(append(opts, atomicity.WithSink(sink))...)
		},
	},
	// The others are not made here.
	{
		name:    mcmName,
		promise: "races, deadlocks, interrupted transactions and violations of atomic sections that another order of the same events shows, each with a schedule; within a window of events",
		filter:  Unfiltered, // a witness needs all events; see maximal
	},
	{
		name:    syncpName,
		promise: "races and deadlocks that another order of the same events shows in which critical sections of a lock keep their order, each with a schedule; however far apart they are",
		filter:  Unfiltered, // a witness needs all events
		make:    newSyncP,
	},
	{
		name:    atomraceName,
		promise: "only true races, as overlapping accesses, and violations of atomic sections; finds more with noise",
		filter:  Unfiltered, // a filter would remove accesses of sections; see newAtomRace
	},
	{
		name:    leakName,
		promise: "goroutines that wait for ever, for what nothing can reach that may still run, or in a circle for locks; only of running programs",
		filter:  Unfiltered, // see leaks.go
	},
	{
		name:    unstoppableName,
		promise: "goroutines that timers wake again and again, where nothing can reach what would stop them; only of running programs",
		filter:  Unfiltered, // see leaks.go
	},
}

// fasttrackName is the detector that can work inside running programs.
const fasttrackName = "fasttrack"

// usual is the list of detectors for which usualName stands: races, leaks and the order of locks, which together cost
// hardly more than races alone.
const (
	usualName = "usual"
	usual     = fasttrackName + "," + leakName + "," + lockorderName
)

// lockorderName is the detector of potential deadlocks.
const lockorderName = "lockorder"

// Detector is a detector that -detect can name.
type Detector struct {
	Name    string
	Promise string
	Filter  Filter
	Flags   func(*flag.FlagSet) // defines its own flags; nil if it has none
	New     func(*heisen.Symbols, heisen.Sink) (heisen.Detector, error)
	front   newTraceFilter // nil if no filter pays
	hidden  func(heisen.Sink, vclock.DetectorOption) (heisen.Detector, error)
	atomic  func(heisen.Sink, ...atomicity.Option) (heisen.Detector, error)
	live    bool // it works inside running programs; for traces see newAtomRace; the others are refused
}

// DetectorNames returns the names of the detectors that every tool has.
func DetectorNames() (names []string) {
	for _, d := range detectors {
		names = append(names, d.name)
	}
	return names
}

// detectors returns the detectors of the tool, heisen's own first.
func (t Tool) detectors() (all []Detector) {
	for _, d := range detectors {
		known := Detector{Name: d.name, Promise: d.promise, Filter: d.filter, front: d.front, hidden: d.hidden, atomic: d.atomic, live: d.name == atomraceName || searchesGoroutines(d.name)}
		if d.make != nil {
			known.New = func(_ *heisen.Symbols, sink heisen.Sink) (heisen.Detector, error) { return d.make(sink) }
		}
		all = append(all, known)
	}
	for _, known := range t.Detectors {
		if known.Filter == RecorderFiltered {
			known.front = treeFilter()
		}
		all = append(all, known)
	}
	return all
}

// detection is the value of a -detect flag.
type detection struct {
	known    []Detector
	chosen   []string
	fronts   *traceFilters // filters in front of the detectors of traces; nil if there are none
	live     bool          // the streams come from programs that look for overlaps themselves
	races    bool          // the programs also do the work of fasttrack
	hidden   bool          // the streams have hidden calls
	marked   bool          // the streams mark transactions
	standard string        // folder of the standard library's source, if programs run
	module   string        // path of the main module, if it is known
	proved   *focus.Plan   // of -focus, if it is about the source that runs; otherwise nil

	transactions *transactionsFlag
	sections     []section.Section // for traces and for mcm, with absolute names of files
	sectionsFile string            // of which they were read
	mcm          *mcmFlags
}

func (d *detection) String() string { return strings.Join(d.chosen, ",") }

func (d *detection) Set(list string) error {
	d.chosen = nil
	for _, name := range expand(strings.Split(list, ",")) {
		if !slices.ContainsFunc(d.known, func(k Detector) bool { return k.Name == name }) {
			var names []string
			for _, k := range d.known {
				names = append(names, k.Name)
			}
			return misuse("unknown detector %q; there are %s, and %s for %s", name, strings.Join(names, ", "), usualName, usual)
		}
		if !slices.Contains(d.chosen, name) {
			d.chosen = append(d.chosen, name)
		}
	}
	return nil
}

// expand puts the detectors for which usualName stands in its place.
func expand(names []string) (expanded []string) {
	for _, name := range names {
		if name == usualName {
			expanded = append(expanded, strings.Split(usual, ",")...)
		} else {
			expanded = append(expanded, name)
		}
	}
	return expanded
}

// add adds a detector to those chosen.
func (d *detection) add(name string) {
	if !slices.Contains(d.chosen, name) {
		d.chosen = append(slices.Clone(d.chosen), name)
	}
}

// followed reports whether programs need not send accesses: the chosen detectors work inside of them, or follow the
// order of locks.
func (d *detection) followed() bool {
	for _, known := range d.known {
		if slices.Contains(d.chosen, known.Name) && !known.live && known.Name != fasttrackName && known.Name != lockorderName {
			return false
		}
	}
	return slices.Contains(d.chosen, fasttrackName) || slices.Contains(d.chosen, lockorderName)
}

// followedMode returns the mode of programs that need not send accesses.
func (d *detection) followedMode() recorder.Mode {
	switch locks := slices.Contains(d.chosen, lockorderName); {
	case !slices.Contains(d.chosen, fasttrackName):
		return recorder.LockOrder
	case locks:
		return recorder.RacesAndLockOrder
	}
	return recorder.Races
}

// needsPairs reports whether a chosen detector depends on where hidden code is called: one that predicts
// other executions, or one that is not heisen's own.
func (d *detection) needsPairs() bool {
	own := DetectorNames()
	return slices.ContainsFunc(d.chosen, func(name string) bool { return predicts(name) || !slices.Contains(own, name) })
}

// needsHides reports whether a chosen detector depends on whether a stream has hidden calls.
func (d *detection) needsHides() bool {
	return d.fronts != nil || slices.ContainsFunc(d.known, func(k Detector) bool {
		return (k.hidden != nil || k.Name == serialName) && slices.Contains(d.chosen, k.Name)
	})
}

// onTrial reports whether the analysis of a trace may be broken off and begun again: its findings can wait for the end, and nobody sees
// that there was another one.
func (d *detection) onTrial() bool {
	own := DetectorNames()
	return d.needsHides() && d.fronts == nil && !d.needsMarks() &&
		!slices.ContainsFunc(d.chosen, func(name string) bool { return predicts(name) || !slices.Contains(own, name) })
}

// needsMarks reports whether a chosen detector depends on whether a stream marks transactions.
func (d *detection) needsMarks() bool {
	return d.transactions.boundaries == 0 && slices.ContainsFunc(d.known, func(k Detector) bool {
		return k.atomic != nil && slices.Contains(d.chosen, k.Name)
	})
}

// inOrder returns the known detectors in the order in which they get each event: predictors before lockorder.
func (d *detection) inOrder() []Detector {
	all := slices.Clone(d.known)
	slices.SortStableFunc(all, func(a, b Detector) int {
		rank := func(d Detector) int {
			if predicts(d.Name) {
				return 0
			}
			return 1
		}
		return rank(a) - rank(b)
	})
	return all
}

// build returns new detectors for a stream. They report to sink. One that panics does not end the
// others, and one that works for long in one call ends that when ctx ends.
func (d *detection) build(ctx context.Context, from origin, sink heisen.Sink) (built []heisen.Detector, err error) {
	symbols := from.symbols
	var atoms *operations // of programs; sites of text traces say less
	confirmed := &cycles{symbols: symbols, known: map[string]heisen.Finding{}}
	for _, known := range d.inOrder() {
		if !slices.Contains(d.chosen, known.Name) || known.live && d.live || known.Name == fasttrackName && d.races {
			continue
		}
		named := heisen.Sink(func(f heisen.Finding) {
			if f.Detector == "" {
				f.Detector = known.Name
			}
			sink(f)
		})
		if known.Name == lockorderName || known.atomic != nil {
			named = d.withoutOwn(from, named)
		}
		switch {
		case predicts(known.Name):
			named = confirmed.predicted(named)
		case known.Name == lockorderName:
			named = confirmed.confirm(named)
		}
		var detector heisen.Detector
		var wrong error
		switch {
		case known.live:
			detector, wrong = newAtomRace(symbols, d.sections, named)
			if wrong != nil && d.sectionsFile != "" {
				wrong = fmt.Errorf("%s: %w", d.sectionsFile, wrong)
			}
		case known.Name == mcmName:
			detector, wrong = d.mcm.build(ctx, symbols, d.sections, named)
		case known.atomic != nil:
			opts := append(d.transactions.of(d.marked), d.selected(symbols), d.verified(from))
			opts = append(opts, atomicity.WithUnrelated(newUnrelated(from, d.standard).is),
				atomicity.WithCallbacks(func(t heisen.Thread) bool { return recorder.RunsTimers(symbols, t) }))
			if d.standard != "" {
				if atoms == nil {
					atoms = newOperations(symbols, newStandardLibrary(d.standard))
					built = append(built, atoms)
				}
				opts = append(opts, atomicity.WithOperations(atoms.of))
			}
			detector, wrong = known.atomic(named, opts...)
		case d.hidden && known.hidden != nil:
			detector, wrong = known.hidden(named, vclock.WithBarrierPairs(symbols))
		default:
			detector, wrong = known.New(symbols, named)
		}
		switch {
		case wrong != nil:
			err = errors.Join(err, fmt.Errorf("detector %s: %w", known.Name, wrong))
		case detector == nil:
			err = errors.Join(err, fmt.Errorf("detector %s: its New has returned none", known.Name))
		default:
			if d.fronts != nil && !d.hidden { // it is not known which accesses are redundant for these
				detector, wrong = d.fronts.wrap(known, detector)
				err = errors.Join(err, wrong)
			}
			built = append(built, contain.New(known.Name, detector))
		}
	}
	return built, err
}

// newAtomRace returns the detector for a trace. Relative names of files in the trace are relative
// to the working folder.
func newAtomRace(symbols *heisen.Symbols, sections []section.Section, sink heisen.Sink) (heisen.Detector, error) {
	if len(sections) == 0 {
		return atomrace.NewDetector(atomrace.WithSink(sink))
	}
	here, err := os.Getwd()
	if err != nil {
		return nil, err
	}
	return atomrace.NewDetector(atomrace.WithSink(sink), atomrace.WithSections(sections, section.LocateIn(symbols, here)))
}

// Chosen is a list of detectors in the form of -detect. "all" stands for every detector but the
// slow hb and for leak and unstoppable, which need more than events, and "" for none.
type Chosen struct{ d detection }

// Choose returns the detectors of a list, which must name neither leak nor unstoppable.
func Choose(list string) (Chosen, error) {
	d := detection{known: Tool{}.detectors(), live: true}
	switch list {
	case "":
	case "all":
		d.chosen = slices.DeleteFunc(DetectorNames(), func(name string) bool { return name == "hb" || searchesGoroutines(name) })
	default:
		if err := d.Set(list); err != nil {
			return Chosen{}, err
		}
	}
	d.races = filtering(true).mode(&d).FindsRaces()
	return Chosen{d}, nil
}

// Mode returns what programs record for the detectors under heisen test.
func (c Chosen) Mode() recorder.Mode { return filtering(true).mode(&c.d) }

// Live returns what programs look for themselves, or nil.
func (c Chosen) Live() *recorder.Live {
	if !slices.Contains(c.d.chosen, atomraceName) {
		return nil
	}
	return &recorder.Live{}
}

// New returns new detectors for a stream. They report to sink, and so do the detectors that work
// inside the program.
func (c Chosen) New(stream *recorder.Stream, sink heisen.Sink) ([]heisen.Detector, error) {
	stream.OnOverlap(func(o recorder.Overlap) { sink(observed.Attributed(overlapFinding(o), stream.Symbols())) })
	return c.d.build(context.Background(), origin{symbols: stream.Symbols()}, sink)
}

// detectFlag defines -detect, and -name.flag for each flag of a detector.
func (inv *invocation) detectFlag() *detection {
	d := inv.newDetection()
	d.mcm, d.transactions = inv.mcmFlags(), inv.transactionsFlag()
	inv.flags.Var(d, "detect", "comma-separated `list` of detectors, or "+usualName+" for "+usual)
	for _, known := range d.known {
		if known.Flags == nil {
			continue
		}
		own := flag.NewFlagSet(known.Name, flag.ContinueOnError)
		known.Flags(own)
		own.VisitAll(func(f *flag.Flag) { inv.flags.Var(f.Value, known.Name+"."+f.Name, f.Usage) })
	}
	return d
}

// newDetection returns the detectors that run without -detect.
func (inv *invocation) newDetection() *detection {
	d := &detection{known: inv.tool.detectors(), chosen: inv.tool.Detect, mcm: &mcmFlags{}, transactions: &transactionsFlag{}}
	if len(d.chosen) == 0 {
		d.chosen = []string{fasttrackName}
	}
	return d
}
