package vclock_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"testing"

	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/bench/workload"
	"github.com/heisen-go/heisen/internal/testaid/must"
	"github.com/heisen-go/heisen/vclock"
)

// with returns the detectors that accept BarrierPairs.
func with(symbols *heisen.Symbols) (fastTrack, reference func(heisen.Sink) heisen.Detector) {
	pairs := vclock.WithBarrierPairs(symbols)
	return func(s heisen.Sink) heisen.Detector { return must.Make(vclock.NewFastTrack(vclock.WithSink(s), pairs)) },
		func(s heisen.Sink) heisen.Detector {
			return must.Make(vclock.NewHappensBefore(vclock.WithSink(s), pairs))
		}
}

// forHidden calls check with n random traces of each kind that have hidden calls:
// all kinds if their sets may overlap, otherwise those in which objects live and die
// as a whole.
func forHidden(t *testing.T, n int, overlap bool, check func([]heisen.Record, *heisen.Symbols) error) {
	for _, kind := range kinds {
		if kind.Lives && !overlap {
			continue
		}
		t.Run(kind.name, func(t *testing.T) {
			forSeeds(t, n, func(rng *rand.Rand) ([]heisen.Record, error) {
				kind := kind.Small
				kind.Hidden = workload.Sets(rng, kind, 1+rng.IntN(5), overlap)
				trace := workload.Random(rng, kind)
				return trace, check(trace, kind.Hidden)
			})
		})
	}
}

// TestBarrierPairsAreReachability compares the reference with the definition of
// what BarrierPairs order, pair by pair.
func TestBarrierPairsAreReachability(t *testing.T) {
	forHidden(t, 100, false, func(trace []heisen.Record, symbols *heisen.Symbols) error {
		_, reference := with(symbols)
		return reachable(trace, judge(trace, symbols), reference)
	})
}

// TestFastTrackPromiseWithBarrierPairs checks FastTrack against the reference.
func TestFastTrackPromiseWithBarrierPairs(t *testing.T) {
	forHidden(t, 200, false, func(trace []heisen.Record, symbols *heisen.Symbols) error {
		fastTrack, reference := with(symbols)
		return promise(trace, fastTrack, reference)
	})
}

// TestOverlappingSets: where sets of objects overlap in part, or lose a part, there
// is no false alarm.
func TestOverlappingSets(t *testing.T) {
	forHidden(t, 50, true, func(trace []heisen.Record, symbols *heisen.Symbols) error {
		want := judge(trace, symbols)
		fastTrack, reference := with(symbols)
		found, err := findingsOf(trace, reference)
		if err != nil {
			return err
		}
		for _, f := range found {
			if err := consistent(trace, f, want); err != nil {
				return err
			}
		}
		return promise(trace, fastTrack, reference)
	})
}

// TestWithoutHiddenCalls: on traces without BarrierPairs, to accept them changes
// nothing.
func TestWithoutHiddenCalls(t *testing.T) {
	forRandomTraces(t, 60, func(trace []heisen.Record) error {
		_, reference := with(nil)
		if err := reachable(trace, judge(trace, nil), reference); err != nil {
			return fmt.Errorf("accepting BarrierPairs: %w", err)
		}
		return nil
	})
}

// TestSynchronizedPairs: pairs whose synchronization is in the trace order nothing.
func TestSynchronizedPairs(t *testing.T) {
	forRandomTraces(t, 60, func(trace []heisen.Record) error {
		var paired []heisen.Record
		open := map[heisen.Thread]bool{}
		for i, r := range trace {
			paired = append(paired, r)
			if call := (heisen.Record{Op: heisen.Hide, Thread: r.Thread, Object: 8, Value: uint64(heisen.Synchronized)}); i%3 == 0 && r.Op != heisen.End {
				if open[r.Thread] {
					call.Op, call.Value = heisen.Reveal, 0
				}
				open[r.Thread] = !open[r.Thread]
				paired = append(paired, call)
			}
		}
		_, reference := with(heisen.NewSymbols())
		plain, err := findingsOf(trace, func(s heisen.Sink) heisen.Detector { return must.Make(vclock.NewHappensBefore(vclock.WithSink(s))) })
		if err != nil {
			return err
		}
		found, err := findingsOf(paired, reference)
		if got, want := racingPlaces(found), racingPlaces(plain); err == nil && !maps.Equal(got, want) {
			err = fmt.Errorf("races at %v, and without pairs at %v", got, want)
		}
		return err
	})
}

// racingPlaces returns what races: an object, and the thread and site of both accesses.
func racingPlaces(findings []heisen.Finding) map[string]bool {
	places := map[string]bool{}
	for _, f := range findings {
		a, b := f.Accesses[0], f.Accesses[1]
		places[fmt.Sprint(f.Object, a.Thread, a.Site, b.Thread, b.Site)] = true
	}
	return places
}
