package heal

import (
	"runtime"
	"slices"
	"sync"
	"time"

	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/internal/option"
)

// Visit is a stretch in which a thread must not be disturbed: an atomic section on a variable, or a single access to
// it.
type Visit struct {
	Thread heisen.Thread
	Object heisen.Object // the variable's address
	Mode   Mode          // Shared if others may read the variable meanwhile, otherwise Exclusive
}

// Healer suppresses races and atomicity violations while a program runs: it makes threads wait around their visits
// (section 5 of Letko, Vojnar, Křena: AtomRace, PADTAD 2008). A thread calls Enter before a visit and Leave after it,
// with the same Visit. All threads do so at the same time. A Healer waits for a bounded time only.
//
// The paper also raises the priority of a thread during its visits. Goroutines have no priorities, and the
// scheduler of Go does not heed those of operating system threads. What comes nearest is NewStandBack: the others
// stand back while a thread is inside, which is what its priority would be for.
type Healer interface {
	Enter(Visit)
	Leave(Visit)
}

// HealerOption is an option of NewYield, NewStandBack and NewHealingLocks.
type HealerOption func(*healerConfig) error

type healerConfig struct {
	yields   int
	patience time.Duration
}

// WithYields sets how often NewYield yields before a visit, 1 or more. The default is 1.
func WithYields(n int) HealerOption {
	return func(c *healerConfig) error {
		if n < 1 {
			return option.Errorf("WithYields: %d, want at least 1", n)
		}
		c.yields = n
		return nil
	}
}

// WithPatience sets how long a thread waits before a visit at most, more than 0. The default is 10 milliseconds for
// NewStandBack, and 10 seconds for NewHealingLocks, which know when waiting threatens to close a cycle.
func WithPatience(d time.Duration) HealerOption {
	return func(c *healerConfig) error {
		if d <= 0 {
			return option.Errorf("WithPatience: %v, want more than 0", d)
		}
		c.patience = d
		return nil
	}
}

func healerOptions(name string, patience time.Duration, opts []HealerOption) (healerConfig, error) {
	c := healerConfig{yields: 1, patience: patience}
	err := option.Apply(name, &c, opts)
	return c, err
}

// NewYield returns a Healer that yields the processor before each visit. The goroutine then goes on with a whole time
// slice before it, and is unlikely to lose the processor during a short visit. That helps where goroutines share a
// processor. Goroutines on other processors interfere as before, so it guarantees nothing.
func NewYield(opts ...HealerOption) (Healer, error) {
	c, err := healerOptions("heal.NewYield", 0, opts)
	if err != nil {
		return nil, err
	}
	return yield{c.yields}, nil
}

type yield struct{ times int }

func (y yield) Enter(Visit) {
	for range y.times {
		runtime.Gosched()
	}
}

func (yield) Leave(Visit) {}

// NewStandBack returns a Healer with which threads yield and then sleep while another thread is in a visit that
// excludes theirs. After WithPatience they go on. Two threads may also see at the same time that nobody is there, and
// go on together. So it makes failures rarer and guarantees nothing; it adds no lock, and no deadlock.
func NewStandBack(opts ...HealerOption) (Healer, error) {
	c, err := healerOptions("heal.NewStandBack", 10*time.Millisecond, opts)
	if err != nil {
		return nil, err
	}
	return &standBack{patience: c.patience, inside: map[heisen.Object][]Visit{}}, nil
}

type standBack struct {
	patience time.Duration

	mu     sync.Mutex
	inside map[heisen.Object][]Visit
}

// busy reports whether another thread is in a visit that excludes v.
func (s *standBack) busy(v Visit) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.ContainsFunc(s.inside[v.Object], func(other Visit) bool {
		return other.Thread != v.Thread && v.Mode.Excludes(other.Mode)
	})
}

func (s *standBack) Enter(v Visit) {
	const yields, longest = 10, time.Millisecond
	start, pause := time.Time{}, 10*time.Microsecond
	for n := 0; s.busy(v); n++ {
		switch {
		case n < yields:
			runtime.Gosched()
			continue
		case n == yields:
			start = time.Now()
		case time.Since(start) >= s.patience:
			s.enter(v)
			return
		}
		time.Sleep(pause)
		pause = min(2*pause, longest)
	}
	s.enter(v)
}

func (s *standBack) enter(v Visit) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.inside[v.Object] = append(s.inside[v.Object], v)
}

func (s *standBack) Leave(v Visit) {
	s.mu.Lock()
	defer s.mu.Unlock()
	visits := s.inside[v.Object]
	if i := slices.Index(visits, v); i >= 0 {
		visits = slices.Delete(visits, i, i+1)
	}
	if len(visits) == 0 {
		delete(s.inside, v.Object)
	} else {
		s.inside[v.Object] = visits
	}
}
