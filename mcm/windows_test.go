package mcm

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os/exec"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/heisen-go/heisen/bench/workload"
)

// windowCase is a window of 100 to 1,000 events about which z3 is asked. How hard
// a question is for it grows steeply with the events and threads, and with how many
// writes a read may see: most windows are small, and those of the profile hot have
// at most 160 events.
func windowCase(k int) (name string, p workload.Params, rng *rand.Rand) {
	rng = rand.New(rand.NewPCG(uint64(k), 4))
	p = workload.Params{Threads: 2 + rng.IntN(5), Seed: uint64(k)}
	switch u := rng.Float64(); {
	case k%10 == 9:
		name = "hot"
		p.Threads = 2 + rng.IntN(2)
		p.Events = 100 + int(60*u)
	default:
		name = []string{"mixed", "locky"}[k%2]
		p.Events = 100 + int(900*math.Pow(u, 4))
	}
	return name, p, rng
}

// TestSMTWindows compares verdicts on windows of 100 to 1,000 events with those of
// z3, and those of all ways to an answer with each other. The environment variable
// HEISEN_MCM_WINDOWS says how many windows. Questions that z3 does not answer in its
// time are counted and compare nothing with it. Shortly before the test's deadline
// (go test -timeout) no more windows are begun.
func TestSMTWindows(t *testing.T) {
	z3, err := exec.LookPath("z3")
	if err != nil {
		t.Skip("z3 is not installed")
	}
	n := amount(t, "HEISEN_MCM_WINDOWS", 4)
	var (
		next, asked, sat, unsat, open, unknown atomic.Int64
		spent, ours                            atomic.Int64 // nanoseconds
		windows                                int          // with an answer
		mu                                     sync.Mutex
		slowest                                string
		longest                                time.Duration
		sizes                                  [3]int // below 200, below 500, larger
		profile                                = map[string]int{}
		stats                                  Stats
		all                                    sync.WaitGroup
	)
	deadline, limited := t.Deadline()
	one := func(k int) error {
		name, params, rng := windowCase(k)
		w := Window{Records: profiles[name](params)}
		models := make([]*Model, len(modes))
		for i, mode := range modes {
			m, err := NewModel(w, append([]Option{Budget(1<<20, 1<<30)}, mode.options...)...)
			if err != nil {
				return err
			}
			models[i] = m
		}
		m := models[0]
		pairs := racyPairs(&w)
		if k%4 >= 2 { // those that no quick look excludes
			if likely := pairsOf(m); len(likely) > 0 {
				pairs = likely
			}
		}
		rng.Shuffle(len(pairs), func(i, j int) { pairs[i], pairs[j] = pairs[j], pairs[i] })
		questions := 1
		if params.Events < 200 {
			questions = 2
		}
		answered := false
		for _, p := range pairs[:min(questions, len(pairs))] {
			start := time.Now()
			got, _, err := m.Race(p[0], p[1])
			if err != nil {
				return err
			}
			ours.Add(int64(time.Since(start)))
			for i, other := range models[1:] {
				if v, _, err := other.Race(p[0], p[1]); err != nil || v != got {
					return fmt.Errorf("%s %+v, pair %v: %v with %s, %v (%w) with %s", name, params, p, got, modes[0].name, v, err, modes[1+i].name)
				}
			}
			start = time.Now()
			answer, err := z3Says(z3, m, p[0], p[1])
			if err != nil {
				return err
			}
			took := time.Since(start)
			spent.Add(int64(took))
			asked.Add(1)
			switch {
			case answer == "":
				open.Add(1)
				continue
			case got == Unknown:
				unknown.Add(1)
				continue
			case answer == "sat":
				sat.Add(1)
			default:
				unsat.Add(1)
			}
			answered = true
			if got != verdictOf[answer] {
				t.Errorf("window %d, %s %+v, pair %v: %v, z3 says %s", k, name, params, p, got, answer)
			}
			mu.Lock()
			if took > longest {
				longest, slowest = took, fmt.Sprintf("%s %+v", name, params)
			}
			mu.Unlock()
		}
		mu.Lock()
		defer mu.Unlock()
		stats.Add(m.Stats())
		if answered {
			windows++
			profile[name]++
			switch {
			case len(w.Records) < 200:
				sizes[0]++
			case len(w.Records) < 500:
				sizes[1]++
			default:
				sizes[2]++
			}
		}
		return nil
	}
	begun := time.Now()
	for range runtime.GOMAXPROCS(0) {
		all.Go(func() {
			for {
				k := int(next.Add(1) - 1)
				if k >= n || limited && time.Until(deadline) < 20*time.Second {
					return
				}
				if err := one(k); err != nil {
					t.Errorf("window %d: %v", k, err)
				}
				if k%100 == 99 && n >= 1000 {
					fmt.Printf("%d windows begun in %v: %d questions, %d sat, %d unsat, z3 without answer %d, unknown %d\n", k+1,
						time.Since(begun).Round(time.Second), asked.Load(), sat.Load(), unsat.Load(), open.Load(), unknown.Load())
				}
			}
		})
	}
	all.Wait()
	t.Logf("%d of %d windows with an answer of z3: %v, of them %d below 200 events, %d below 500, %d larger",
		windows, n, profile, sizes[0], sizes[1], sizes[2])
	t.Logf("%d questions: %d sat, %d unsat, z3 without answer %d, ours unknown %d", asked.Load(), sat.Load(), unsat.Load(), open.Load(), unknown.Load())
	t.Logf("z3 took %v (at most %v: %s), ours %v: %+v", time.Duration(spent.Load()).Round(time.Millisecond),
		longest.Round(time.Millisecond), slowest, time.Duration(ours.Load()).Round(time.Millisecond), stats)
}

func pairsOf(m *Model) (pairs [][2]int) {
	for i, j := range m.Pairs() {
		pairs = append(pairs, [2]int{i, j})
	}
	return pairs
}
