package atomrace

import (
	"fmt"
	"runtime"
	"slices"
	"sync/atomic"
	"time"

	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/internal/option"
)

// Point is an access at which noise can be made. The access has been announced to the detector, and
// the program has not made it yet. A delay there prolongs the primitive atomic section of the access,
// and any atomic section around it.
type Point struct {
	Thread heisen.Thread
	Op     heisen.Op     // how the variable is accessed
	Object heisen.Object // the variable's address
	Site   heisen.Site
}

// Delay is what a thread does at a Point before it goes on: it sleeps, then it yields the processor.
// The zero Delay does nothing.
type Delay struct {
	Sleep  time.Duration
	Yields int // calls of runtime.Gosched
}

// Wait sleeps and yields as d says and returns how long that took. Most systems sleep longer than
// asked, by 50 to 100 microseconds at least.
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

// Noise disturbs the schedule of a program, so that accesses that can overlap do overlap (section 3.3
// of the paper). It only decides. The detector waits, on the thread of the access and while the access
// is pending.
//
// A detector calls Delay at each access, from all threads at the same time. Delay must be safe for
// that, and quick where it wants no delay. If a Noise also has a method Spent(time.Duration), the
// detector calls it with the actual duration of each delay.
type Noise interface {
	Delay(Point) Delay
}

// disturb makes the delay that noise decides on at a point.
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

// Heuristic is one of the three noise heuristics of section 3.3. NewRandomNoise, NewVariableNoise and
// NewLocationNoise make them. The zero Heuristic makes no noise.
//
// Decisions are pseudo-random, by a seed and for each thread apart. The n-th point of a thread that
// the heuristic applies to is decided the same way in every run with the same seed, whatever other
// threads do, until the budget is spent. This holds for up to 64 threads. Among more, those whose
// numbers are equal modulo 64 count their points together.
//
// A decision takes some nanoseconds and no lock. It writes a cache line that only the threads with
// equal numbers modulo 64 share. Only an actual delay writes memory that all threads share.
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

// NewRandomNoise returns a noise for all accesses. It serves when nothing is suspected.
func NewRandomNoise(opts ...NoiseOption) (*Heuristic, error) {
	return newHeuristic("atomrace.NewRandomNoise", nil, nil, opts)
}

// NewVariableNoise returns a noise for the accesses to suspected variables only. The function reports
// whether an address belongs to one of them; OneOf makes such functions. It is called at each access,
// from all threads, and must not be nil.
func NewVariableNoise(suspected func(heisen.Object) bool, opts ...NoiseOption) (*Heuristic, error) {
	const name = "atomrace.NewVariableNoise"
	if suspected == nil {
		return nil, wrongOption(name, "the function that selects variables is nil")
	}
	return newHeuristic(name, suspected, nil, opts)
}

// NewLocationNoise returns a noise for the accesses at suspected places only. The function reports
// whether a site is one of them; OneOf makes such functions. It is called at each access, from all
// threads, and must not be nil.
func NewLocationNoise(suspected func(heisen.Site) bool, opts ...NoiseOption) (*Heuristic, error) {
	const name = "atomrace.NewLocationNoise"
	if suspected == nil {
		return nil, wrongOption(name, "the function that selects sites is nil")
	}
	return newHeuristic(name, nil, suspected, opts)
}

func wrongOption(constructor, what string) error {
	return fmt.Errorf("%s: %w", constructor, option.Errorf("%s", what))
}

func newHeuristic(name string, variable func(heisen.Object) bool, location func(heisen.Site) bool, opts []NoiseOption) (*Heuristic, error) {
	c := noiseConfig{strength: 50, budget: time.Minute, delay: Delay{Sleep: 50 * time.Microsecond, Yields: 1}}
	if err := option.Apply(name, &c, opts); err != nil {
		return nil, err
	}
	return &Heuristic{
		variable: variable, location: location,
		strength: uint64(c.strength), delay: c.delay, seed: c.seed, budget: int64(c.budget),
	}, nil
}

// OneOf returns a predicate that is true for the given values, for NewVariableNoise and
// NewLocationNoise.
func OneOf[T comparable](values ...T) func(T) bool {
	if len(values) <= 8 {
		values := slices.Clone(values)
		return func(x T) bool { return slices.Contains(values, x) }
	}
	set := make(map[T]bool, len(values))
	for _, x := range values {
		set[x] = true
	}
	return func(x T) bool { return set[x] }
}

// NoiseOption is an option of NewRandomNoise, NewVariableNoise and NewLocationNoise.
type NoiseOption func(*noiseConfig) error

type noiseConfig struct {
	strength int
	delay    Delay
	seed     uint64
	budget   time.Duration
}

// MaxStrength is the strength of a noise that delays a thread at every point that it applies to.
const MaxStrength = 1000

// WithStrength sets how many of a thousand points get a delay, from 0 to MaxStrength. The default is
// 50: with the default sleep, most programs stay usable.
func WithStrength(perMille int) NoiseOption {
	return func(c *noiseConfig) error {
		if perMille < 0 || perMille > MaxStrength {
			return option.Errorf("WithStrength: %d, want 0 to %d", perMille, MaxStrength)
		}
		c.strength = perMille
		return nil
	}
}

// WithSleep sets how long a delayed thread sleeps, 0 or more. The default is 50 microseconds.
func WithSleep(d time.Duration) NoiseOption {
	return func(c *noiseConfig) error {
		if d < 0 {
			return option.Errorf("WithSleep: %v, want at least 0", d)
		}
		c.delay.Sleep = d
		return nil
	}
}

// WithYields sets how often a delayed thread yields the processor after it has slept, 0 or more. The
// default is once.
func WithYields(n int) NoiseOption {
	return func(c *noiseConfig) error {
		if n < 0 {
			return option.Errorf("WithYields: %d, want at least 0", n)
		}
		c.delay.Yields = n
		return nil
	}
}

// WithSeed sets the seed of the decisions. The default is 0.
func WithSeed(seed uint64) NoiseOption {
	return func(c *noiseConfig) error {
		c.seed = seed
		return nil
	}
}

// WithBudget bounds the time that all threads together lose to the noise. When it is spent there is no
// more noise, so that a test of many accesses does not run into its timeout. Each thread may be in one
// more delay when that happens. The budget must be more than 0. The default is a minute.
func WithBudget(total time.Duration) NoiseOption {
	return func(c *noiseConfig) error {
		if total <= 0 {
			return option.Errorf("WithBudget: %v, want more than 0", total)
		}
		c.budget = total
		return nil
	}
}

// Delay decides what happens at a point. A Delay that is not zero takes its sleep from the budget.
func (h *Heuristic) Delay(at Point) Delay {
	if h.strength == 0 ||
		h.variable != nil && !h.variable(at.Object) ||
		h.location != nil && !h.location(at.Site) {
		return Delay{}
	}
	n := h.points[at.Thread%noiseSlots].n.Add(1)
	// The high half of a pseudo-random number, scaled to 0..999.
	if drawn := mix(mix(h.seed+uint64(at.Thread))+n) >> 32 * MaxStrength >> 32; drawn >= h.strength {
		return Delay{}
	}
	if h.spent.Load() >= h.budget {
		return Delay{}
	}
	h.spent.Add(int64(h.delay.Sleep))
	return h.delay
}

// Spent takes the time from the budget that a delay took beyond its sleep.
func (h *Heuristic) Spent(took time.Duration) {
	h.spent.Add(int64(took - h.delay.Sleep))
}

// Remaining returns the part of the budget that is left, never less than 0.
func (h *Heuristic) Remaining() time.Duration {
	return max(0, time.Duration(h.budget-h.spent.Load()))
}

// mix is the step of the splitmix64 generator, a permutation of the 64-bit numbers.
func mix(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}
