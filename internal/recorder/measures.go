package recorder

import "github.com/heisen-go/heisen"

// Measured is what a program has measured of the runtime. Instrumentation, the Schedule and the recorder
// change these values.
type Measured struct {
	Kinds MeasuredKinds
	Site  heisen.Site // the first place in the program that measured; 0 if it is not known
	// Failed is set if a test has failed. Before is what was measured before the first one did.
	Failed bool
	Before MeasuredKinds
	// Values are the first ones, in the order in which they were measured. Schedule.Measures takes them.
	Values []uint64
}

// MeasuredKinds is a set of what programs measure.
type MeasuredKinds uint8

const (
	// MeasuredGoroutines is the number of goroutines.
	MeasuredGoroutines MeasuredKinds = 1 << iota
	// MeasuredMemory is what runtime.ReadMemStats reads, also for testing.AllocsPerRun and benchmarks.
	MeasuredMemory
	// MeasuredMetrics is what package runtime/metrics reads.
	MeasuredMetrics
	// MeasuredPauses is the number and the time of collections.
	MeasuredPauses
	// MeasuredCollection means that the program itself has called runtime.GC.
	MeasuredCollection
	// MeasuredFreed means that it has set a finalizer or cleanup, or made a weak pointer.
	MeasuredFreed

	allMeasured = 1<<iota - 1
)

// setMeasures takes what a program has measured.
func (s *Stream) setMeasures(words []uint64) error {
	const failed = 1 << 16
	if len(words) == 0 || uint32(words[0])&^(allMeasured|allMeasured<<8|failed) != 0 || words[0]>>32 > s.hello.size {
		return s.corrupt("measures in %d words", len(words))
	}
	m := &s.execution.Measured
	if m.Kinds != 0 {
		return s.corrupt("measures again")
	}
	m.Kinds, m.Values = MeasuredKinds(words[0]), append([]uint64(nil), words[1:]...)
	m.Failed, m.Before = words[0]&failed != 0, MeasuredKinds(words[0]>>8)
	if place := uint32(words[0] >> 32); place != 0 {
		m.Site = s.site(place)
	}
	return nil
}
