package atomrace

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/heisen-go/heisen"
)

func random(t testing.TB, strength int, sleep time.Duration, options ...NoiseOption) *Heuristic {
	t.Helper()
	h, err := NewRandomNoise(append([]NoiseOption{WithStrength(strength), WithSleep(sleep)}, options...)...)
	if err != nil {
		t.Fatal(err)
	}
	return h
}

// chosen returns which of n points of a thread get a delay.
func chosen(h Noise, thread heisen.Thread, n int) string {
	var b strings.Builder
	for range n {
		if h.Delay(Point{Thread: thread}) != (Delay{}) {
			b.WriteByte('x')
		} else {
			b.WriteByte('.')
		}
	}
	return b.String()
}

func TestNoiseStrength(t *testing.T) {
	const points = 100_000
	for _, strength := range []int{0, 1, 50, 500, 999, 1000} {
		for _, seed := range []uint64{0, 1, math.MaxUint64} {
			h := random(t, strength, 0, WithSeed(seed))
			got := float64(strings.Count(chosen(h, 3, points), "x"))
			p := float64(strength) / MaxStrength
			// Five standard deviations; the draws are the same in every run.
			if want, dev := p*points, 5*math.Sqrt(points*p*(1-p)); math.Abs(got-want) > dev {
				t.Errorf("strength %d, seed %d: %v of %d points, want %v ± %v", strength, seed, got, points, want, dev)
			}
		}
	}
}

// TestNoiseSeed: what a thread gets depends on the seed and the thread, not on
// what other threads do.
func TestNoiseSeed(t *testing.T) {
	const points = 200
	alone := chosen(random(t, 300, 0, WithSeed(7)), 5, points)
	if chosen(random(t, 300, 0, WithSeed(8)), 5, points) == alone {
		t.Error("another seed makes no difference")
	}
	if chosen(random(t, 300, 0, WithSeed(7)), 6, points) == alone {
		t.Error("another thread makes no difference")
	}
	h := random(t, 300, 0, WithSeed(7))
	threads := make([]string, noiseSlots)
	var all sync.WaitGroup
	for i := range threads {
		all.Go(func() { threads[i] = chosen(h, heisen.Thread(i), points) })
	}
	all.Wait()
	for i, got := range threads {
		if want := chosen(random(t, 300, 0, WithSeed(7)), heisen.Thread(i), points); got != want {
			t.Errorf("thread %d among others gets\n%s, alone\n%s", i, got, want)
		}
	}
}

func TestNoiseTargets(t *testing.T) {
	var many []heisen.Object
	for i := range heisen.Object(20) {
		many = append(many, 0x1000+8*i)
	}
	variable, err := NewVariableNoise(OneOf(many...), WithStrength(MaxStrength), WithSleep(time.Millisecond))
	if err != nil {
		t.Fatal(err)
	}
	location, err := NewLocationNoise(OneOf[heisen.Site](4, 9), WithStrength(MaxStrength), WithSleep(time.Millisecond), WithYields(3))
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		at                 Point
		variable, location bool
	}{
		{Point{Object: 0x1000, Site: 4}, true, true},
		{Point{Object: 0x1098, Site: 5}, true, false},
		{Point{Object: 0x10a0, Site: 9}, false, true},
		{Point{Object: 4, Site: 0x1000}, false, false},
	} {
		if got := variable.Delay(test.at) == (Delay{time.Millisecond, 1}); got != test.variable {
			t.Errorf("variable noise at %+v: %v", test.at, got)
		}
		if got := location.Delay(test.at) == (Delay{time.Millisecond, 3}); got != test.location {
			t.Errorf("location noise at %+v: %v", test.at, got)
		}
	}
}

func TestNoiseBudget(t *testing.T) {
	h := random(t, MaxStrength, 30*time.Millisecond, WithBudget(100*time.Millisecond))
	for i, step := range []struct {
		delayed bool
		spent   time.Duration // more than the sleep
		left    time.Duration
	}{
		{true, 0, 70 * time.Millisecond},
		{true, 25 * time.Millisecond, 15 * time.Millisecond},
		{true, time.Second, 0},
		{false, 0, 0},
	} {
		got := h.Delay(Point{}) != (Delay{})
		if got {
			h.Spent(30*time.Millisecond + step.spent)
		}
		if got != step.delayed || h.Remaining() != step.left {
			t.Errorf("step %d: delayed %v, %v left", i, got, h.Remaining())
		}
	}
}

// TestNoiseBudgetOfMany: threads at the same time lose at most one delay each more
// than the budget.
func TestNoiseBudgetOfMany(t *testing.T) {
	const threads, sleep, budget = 8, time.Millisecond, 50 * time.Millisecond
	h := random(t, MaxStrength, sleep, WithBudget(budget))
	var lost [threads]time.Duration
	var all sync.WaitGroup
	for i := range threads {
		all.Go(func() {
			for range 1000 {
				d := h.Delay(Point{Thread: heisen.Thread(i)})
				lost[i] += d.Sleep
			}
		})
	}
	all.Wait()
	var sum time.Duration
	for _, l := range lost {
		sum += l
	}
	if sum < budget || sum > budget+threads*sleep {
		t.Errorf("%v lost of a budget of %v", sum, budget)
	}
}

// TestDisturb waits in the time of a bubble, which is exact.
func TestDisturb(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := random(t, MaxStrength, 40*time.Second, WithBudget(time.Minute), WithYields(2))
		start := time.Now()
		for range 3 {
			disturb(h, Point{})
		}
		if took := time.Since(start); took != 80*time.Second || h.Remaining() != 0 {
			t.Errorf("it took %v, %v left", took, h.Remaining())
		}
		start = time.Now()
		disturb(napper(time.Hour), Point{Thread: 1})
		disturb(napper(time.Hour), Point{})
		if took := time.Since(start); took != time.Hour {
			t.Errorf("a noise of one's own took %v", took)
		}
	})
}

// napper is a noise for one thread that does not ask what it costs.
type napper time.Duration

func (n napper) Delay(at Point) Delay {
	return Delay{Sleep: time.Duration(n) * time.Duration(at.Thread)}
}

func TestNoiseErrors(t *testing.T) {
	anything := func(heisen.Site) bool { return true }
	const wrong = ": wrong option: "
	for want, err := range map[string]error{
		"atomrace.NewRandomNoise" + wrong + "WithStrength: -1, want 0 to 1000":             second(NewRandomNoise(WithStrength(-1))),
		"atomrace.NewLocationNoise" + wrong + "WithStrength: 1001, want 0 to 1000":         second(NewLocationNoise(anything, WithStrength(1001))),
		"atomrace.NewRandomNoise" + wrong + "WithSleep: -1ns, want at least 0":             second(NewRandomNoise(WithSleep(-1))),
		"atomrace.NewRandomNoise" + wrong + "WithYields: -1, want at least 0":              second(NewRandomNoise(WithYields(-1))),
		"atomrace.NewRandomNoise" + wrong + "WithBudget: 0s, want more than 0":             second(NewRandomNoise(WithBudget(0))),
		"atomrace.NewRandomNoise" + wrong + "option 1 is nil":                              second(NewRandomNoise(nil)),
		"atomrace.NewVariableNoise" + wrong + "the function that selects variables is nil": second(NewVariableNoise(nil)),
		"atomrace.NewLocationNoise" + wrong + "the function that selects sites is nil":     second(NewLocationNoise(nil)),
		"atomrace.NewVariableNoise" + wrong + "WithStrength: 2000, want 0 to 1000":         second(NewVariableNoise(OneOf[heisen.Object](), WithStrength(2000))),
	} {
		if err == nil || err.Error() != want || !errors.Is(err, heisen.ErrOption) {
			t.Errorf("error %v, want %s", err, want)
		}
	}
}

func second(h *Heuristic, err error) error {
	if (h == nil) != (err != nil) {
		return fmt.Errorf("%v with %w", h, err)
	}
	return err
}

func TestNoiseAllocs(t *testing.T) {
	h := random(t, 500, time.Nanosecond)
	if n := testing.AllocsPerRun(100, func() { h.Delay(Point{Thread: 1}) }); n != 0 {
		t.Errorf("a decision allocates %v times", n)
	}
}

func ExampleNewVariableNoise() {
	// A race on the variable at 0xc000012040 has been seen once. Now half of the
	// accesses to it take a fifth of a millisecond, for ten seconds at most.
	suspect := OneOf[heisen.Object](0xc000012040)
	noise, err := NewVariableNoise(suspect, WithStrength(500), WithSleep(200*time.Microsecond), WithSeed(5), WithBudget(10*time.Second))
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, object := range []heisen.Object{0xc000012038, 0xc000012040, 0xc000012040, 0xc000012040} {
		fmt.Println(noise.Delay(Point{Thread: 1, Op: heisen.Write, Object: object}).Sleep)
	}
	// Output:
	// 0s
	// 200µs
	// 200µs
	// 0s
}
