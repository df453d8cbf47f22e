package atomrace

import (
	"errors"
	"fmt"
	"runtime"
	"slices"
	"sync/atomic"
	"time"

	"github.com/heisen-go/heisen"
)

// Point is where noise can be made: an access that has been announced to the
// detector and that the program has not made yet. A delay there makes the atomic
// section longer that the access is, or stands in.
type Point struct {
	Thread heisen.Thread
	Op     heisen.Op     // how the variable is accessed
	Object heisen.Object // the variable's address
	Site   heisen.Site
}

// Delay is what a thread does at a Point before it goes on: it sleeps, then it
// yields the processor. The zero Delay is none.
type Delay struct {
	Sleep  time.Duration
	Yields int // calls of runtime.Gosched
}

// Wait sleeps and yields as d says and returns how long that took. Sleeping takes
// longer than was asked for, on most systems by 50 to 100 microseconds at least.
func (d Delay) Wait() time.Duration {
	start := time.Now()
	if d.Sleep > 0 {
		time.Sleep(d.Sleep)
	}
	for range d.Yields {
		runtime.Gosched()
	}
	return time.Since(start)
}

// Noise disturbs the schedule of a program, so that accesses that can meet do meet
// (section 3.3 of the paper). It only decides; the detector does the waiting, on
// the thread of the access and while that is pending.
//
// A detector calls it at each access, from all threads at the same time; it is to
// be safe for that, and to be quick where it wants no delay. One that also has a
// method Spent(time.Duration) is told how long each of its delays took in the end.
type Noise interface {
	Delay(Point) Delay
}

// disturb lets noise have its way at a point.
func disturb(noise Noise, at Point) {
	d := noise.Delay(at)
	if d == (Delay{}) {
		return
	}
	took := d.Wait()
	if n, ok := noise.(interface{ Spent(time.Duration) }); ok {
		n.Spent(took)
	}
}

// Heuristic is one of the three noises of section 3.3: NewRandomNoise,
// NewVariableNoise and NewLocationNoise make them.
//
// Its decisions are drawn by a seed, for each thread apart: the n-th point of a
// thread that the noise is for is decided the same way in every run with the same
// seed, whatever other threads do, until the time is spent that Budget allows. That
// holds for up to 64 threads; of more, those whose numbers are equal modulo 64
// count their points together. A decision takes some nanoseconds, no lock, and
// memory that no more than these threads share; only an actual delay writes what
// all threads share.
type Heuristic struct {
	variable func(heisen.Object) bool // nil for all
	location func(heisen.Site) bool   // nil for all
	strength uint64
	delay    Delay
	seed     uint64
	budget   int64
	spent    atomic.Int64 // of budget, in nanoseconds
	points   [noiseSlots]noiseSlot
}

const noiseSlots = 64

// noiseSlot counts the points of a thread on a cache line of its own.
type noiseSlot struct {
	n atomic.Uint64
	_ [56]byte
}

// MaxStrength is the strength of noise that is made wherever it can be.
const MaxStrength = 1000

// NewRandomNoise returns a noise for accesses of all kinds, for when nothing is
// suspected. strength says how many points of a thousand it chooses, from 0 to
// MaxStrength, sleep for how long the thread sleeps there. With a strength of a
// few tens and a sleep of some tens of microseconds a program stays usable.
func NewRandomNoise(strength int, sleep time.Duration, options ...NoiseOption) (*Heuristic, error) {
	h := &Heuristic{budget: int64(time.Minute), delay: Delay{Sleep: sleep, Yields: 1}}
	switch {
	case strength < 0 || strength > MaxStrength:
		return nil, fmt.Errorf("atomrace: noise of strength %d: from 0 to %d", strength, MaxStrength)
	case sleep < 0:
		return nil, fmt.Errorf("atomrace: noise sleeps %v: not less than 0", sleep)
	}
	h.strength = uint64(strength)
	for _, option := range options {
		if option == nil {
			return nil, errors.New("atomrace: noise option is nil")
		}
		if err := option(h); err != nil {
			return nil, fmt.Errorf("atomrace: noise: %w", err)
		}
	}
	return h, nil
}

// NewVariableNoise returns a noise for the accesses to suspected variables only. is
// says of an address whether it is one of theirs; it is called at each access, from
// all threads.
func NewVariableNoise(is func(heisen.Object) bool, strength int, sleep time.Duration, options ...NoiseOption) (*Heuristic, error) {
	if is == nil {
		return nil, errors.New("atomrace: noise for no variables: the function is nil")
	}
	h, err := NewRandomNoise(strength, sleep, options...)
	if err != nil {
		return nil, err
	}
	h.variable = is
	return h, nil
}

// NewLocationNoise returns a noise for the accesses at suspected places only. is
// says whether a site is one; it is called at each access, from all threads.
func NewLocationNoise(is func(heisen.Site) bool, strength int, sleep time.Duration, options ...NoiseOption) (*Heuristic, error) {
	if is == nil {
		return nil, errors.New("atomrace: noise for no places: the function is nil")
	}
	h, err := NewRandomNoise(strength, sleep, options...)
	if err != nil {
		return nil, err
	}
	h.location = is
	return h, nil
}

// Among returns a function that reports whether its argument is one of all, for
// NewVariableNoise and NewLocationNoise.
func Among[T comparable](all ...T) func(T) bool {
	if len(all) <= 8 {
		all := slices.Clone(all)
		return func(x T) bool { return slices.Contains(all, x) }
	}
	set := make(map[T]bool, len(all))
	for _, x := range all {
		set[x] = true
	}
	return func(x T) bool { return set[x] }
}

// NoiseOption sets something about a Heuristic.
type NoiseOption func(*Heuristic) error

// Seed makes a Heuristic draw other decisions than those of seed 0.
func Seed(seed uint64) NoiseOption {
	return func(h *Heuristic) error {
		h.seed = seed
		return nil
	}
}

// Yields is how often a thread yields the processor after it has slept: 0 or more,
// once if nothing is said.
func Yields(n int) NoiseOption {
	return func(h *Heuristic) error {
		if n < 0 {
			return fmt.Errorf("%d yields: not less than 0", n)
		}
		h.delay.Yields = n
		return nil
	}
}

// Budget is the time that all threads together may lose to the noise: a minute if
// nothing is said. When it is spent there is no noise any more, so that a test of
// many accesses does not run into its timeout. Each thread may be in one delay more
// when that happens.
func Budget(total time.Duration) NoiseOption {
	return func(h *Heuristic) error {
		if total <= 0 {
			return fmt.Errorf("a budget of %v: more than 0", total)
		}
		h.budget = int64(total)
		return nil
	}
}

// Delay decides what happens at a point. If it is not the zero Delay, the time that
// the delay asks for is taken from the budget.
func (h *Heuristic) Delay(at Point) Delay {
	if h.strength == 0 ||
		h.variable != nil && !h.variable(at.Object) ||
		h.location != nil && !h.location(at.Site) {
		return Delay{}
	}
	n := h.points[at.Thread%noiseSlots].n.Add(1)
	// The high half of a number drawn, scaled to 0..999.
	if drawn := mix(mix(h.seed+uint64(at.Thread))+n) >> 32 * MaxStrength >> 32; drawn >= h.strength {
		return Delay{}
	}
	if h.spent.Load() >= h.budget {
		return Delay{}
	}
	h.spent.Add(int64(h.delay.Sleep))
	return h.delay
}

// Spent takes what a delay took beyond what it asked for from the budget too.
func (h *Heuristic) Spent(took time.Duration) {
	h.spent.Add(int64(took - h.delay.Sleep))
}

// Left returns how much of the budget is left, never less than 0.
func (h *Heuristic) Left() time.Duration {
	return max(0, time.Duration(h.budget-h.spent.Load()))
}

// mix is the step of the splitmix64 generator: a permutation of the 64-bit
// numbers that leaves nothing of their pattern.
func mix(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}
