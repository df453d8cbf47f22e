package mcm

import (
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/heisen-go/heisen/bench/workload"
	"github.com/heisen-go/heisen/mcm/internal/window"
	"github.com/heisen-go/heisen/mcm/internal/windowtest"
)

// windowCase returns the k-th random window of 100 to 1000 events. The time of z3 grows steeply with the
// number of writes that a read may see, so windows of the profile hot, one in five, are mostly smaller.
func windowCase(k int) (name string, p workload.Params, rng *rand.Rand) {
	rng = rand.New(rand.NewPCG(uint64(k), 5))
	p = workload.Params{Threads: 2 + rng.IntN(7), Seed: uint64(k)}
	u := rng.Float64()
	switch k % 5 {
	case 4:
		name, u = "hot", math.Pow(u, 3)
	default:
		name, u = []string{"mixed", "locky"}[k%2], math.Pow(u, 1.8)
	}
	p.Events = 100 + int(900*u)
	return name, p, rng
}

// windowQueries returns the pairs of a window that are queried: one of all conflicting pairs and one of
// the candidates; for larger windows only one of them.
func windowQueries(m *Model, k int, rng *rand.Rand) (pairs [][2]int) {
	large := 600
	if k >= 850 {
		large = 250
	}
	for i, list := range [][][2]int{windowtest.RacyPairs(m.causal.Window), pairsOf(m)} {
		if len(list) > 0 && (len(m.causal.Records) < large || k%2 == i) {
			if p := list[rng.IntN(len(list))]; !slices.Contains(pairs, p) {
				pairs = append(pairs, p)
			}
		}
	}
	return pairs
}

// storedAnswers are answers of z3, by window and query.
type storedAnswers map[string]string

const (
	answersFile   = "windows.tsv"
	storedWindows = 2960
)

func readAnswers(t *testing.T) storedAnswers {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", answersFile))
	if err != nil && !(*update && os.IsNotExist(err)) {
		t.Fatal(err)
	}
	list := storedAnswers{}
	for line := range strings.Lines(string(text)) {
		if key, answer, ok := strings.Cut(strings.TrimSpace(line), "\t"); ok {
			list[key] = answer
		}
	}
	return list
}

func (a storedAnswers) write(t *testing.T) {
	t.Helper()
	keys := slices.SortedFunc(maps.Keys(a), func(x, y string) int {
		var i, j int
		fmt.Sscan(x, &i)
		fmt.Sscan(y, &j)
		if i != j {
			return i - j
		}
		return strings.Compare(x, y)
	})
	var text strings.Builder
	for _, key := range keys {
		fmt.Fprintf(&text, "%s\t%s\n", key, a[key])
	}
	if err := os.WriteFile(filepath.Join("testdata", answersFile), []byte(text.String()), 0o644); err != nil {
		t.Error(err)
	}
}

// comparison compares verdicts on windows with answers of z3. Several goroutines share it.
type comparison struct {
	*testing.T
	z3 string // the command; "" to use stored answers only

	mu      sync.Mutex // guards the rest
	stored  storedAnswers
	answers map[string]int // how often z3 gave each answer
	windows int            // windows with an answer of z3
	sizes   [9]int         // these windows, by hundreds of events
	profile map[string]int // these windows, by profile
	unknown map[string]int // unknown verdicts, by mode
	stats   Stats
}

// compare compares the verdicts on the k-th window.
func (c *comparison) compare(k int) error {
	name, params, rng := windowCase(k)
	w := window.Window{Records: windowtest.Profiles[name](params)}
	m, err := testModel(w, WithBudget(1<<20, 1<<30))
	if err != nil {
		return err
	}
	answered := false
	for _, p := range windowQueries(m, k, rng) {
		got, _, err := race(m, p[0], p[1])
		if err != nil {
			return err
		}
		if c.z3 == "" && k%8 == 0 { // the other modes take long
			large := name == "hot" && params.Events > 300
			if err := c.compareModes(w, large, p, got); err != nil {
				return fmt.Errorf("%s %+v: %w", name, params, err)
			}
		}
		key := fmt.Sprintf("%d %s %dx%d %d-%d", k, name, params.Events, params.Threads, p[0], p[1])
		answer, err := c.answer(key, m, p)
		if err != nil {
			return err
		}
		answered = answered || answer != ""
		c.count(modes[0].name, got)
		if got != Unknown && answer != "" && got != verdictOf[answer] {
			c.Errorf("%s: %v, z3 says %s", key, got, answer)
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.stats.Add(m.Stats())
	if answered {
		c.windows++
		c.profile[name]++
		c.sizes[min((len(w.Records)-100)/100, 8)]++
	}
	return nil
}

// compareModes compares the verdicts of all other modes on a pair with that of the default mode. Eager
// modes are left out for large windows, where they make a million clauses.
func (c *comparison) compareModes(w window.Window, large bool, p [2]int, want Verdict) error {
	for _, mode := range modes[1:] {
		if large && strings.Contains(mode.name, "eager") {
			continue
		}
		m, err := testModel(w, append([]DetectorOption{WithBudget(500, 5_000_000)}, mode.options...)...)
		if err != nil {
			return err
		}
		limit(m, 50_000, allStatesName)
		got, _, err := race(m, p[0], p[1])
		if err != nil {
			return err
		}
		c.count(mode.name, got)
		if got != Unknown && want != Unknown && got != want {
			return fmt.Errorf("pair %v: %v with %s, %v with %s", p, want, modes[0].name, got, mode.name)
		}
	}
	return nil
}

// count counts unknown verdicts.
func (c *comparison) count(mode string, v Verdict) {
	if v != Unknown {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.unknown[mode]++
}

// answer returns the stored answer of z3 to a query, or asks z3.
func (c *comparison) answer(key string, m *Model, p [2]int) (answer string, err error) {
	c.mu.Lock()
	answer = c.stored[key]
	c.mu.Unlock()
	if answer == "" && c.z3 != "" {
		if answer, err = askZ3(c.z3, 5, m, p[0], p[1]); err != nil {
			return "", err
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if answer != "" {
		c.stored[key] = answer
	}
	c.answers[answer]++
	return answer, nil
}

// TestSMTWindows compares verdicts on windows of 100 to 1000 events with answers of z3, and, for every
// eighth window, the verdicts of all modes with each other. The environment variable
// HEISEN_MCM_WINDOWS sets the number of windows. The answers for the first storedWindows are stored.
// With -update, the test asks z3 for at most five seconds for each answer that is not stored.
func TestSMTWindows(t *testing.T) {
	c := &comparison{T: t, stored: readAnswers(t), answers: map[string]int{}, profile: map[string]int{}, unknown: map[string]int{}}
	if *update {
		var err error
		if c.z3, err = exec.LookPath("z3"); err != nil {
			t.Fatal(err)
		}
	}
	n := windowtest.Amount(t, "HEISEN_MCM_WINDOWS", 100)
	var next atomic.Int64
	var workers sync.WaitGroup
	start := time.Now()
	for range runtime.GOMAXPROCS(0) {
		workers.Go(func() {
			for {
				k := int(next.Add(1) - 1)
				if k >= n {
					return
				}
				if err := c.compare(k); err != nil {
					t.Errorf("window %d: %v", k, err)
				}
				if c.z3 != "" && k%50 == 49 {
					c.mu.Lock()
					fmt.Printf("%d windows in %v, %d answered: %v\n", k+1, time.Since(start).Round(time.Second), c.windows, c.answers)
					c.stored.write(t)
					c.mu.Unlock()
				}
			}
		})
	}
	workers.Wait()
	if *update {
		c.stored.write(t)
	} else if n <= storedWindows && c.windows < n*6/10 {
		t.Errorf("answers are stored for only %d of %d windows", c.windows, n)
	}
	t.Logf("%d of %d windows with an answer of z3: %v, by hundreds of events %v", c.windows, n, c.profile, c.sizes)
	t.Logf("answers of z3: %d sat, %d unsat, %d missing; unknown verdicts: %v", c.answers["sat"], c.answers["unsat"], c.answers[""], c.unknown)
	t.Logf("%+v", c.stats)
}

func pairsOf(m *Model) (pairs [][2]int) {
	for i, j := range m.Pairs() {
		pairs = append(pairs, [2]int{i, j})
	}
	return pairs
}
