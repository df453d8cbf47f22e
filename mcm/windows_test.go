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

// TestSMTWindows compares verdicts on windows of 100 to 1000 events with answers of z3, and, for every
// eighth window, the verdicts of all modes with each other. The environment variable
// HEISEN_MCM_WINDOWS sets the number of windows. The answers for the first storedWindows are stored.
// With -update, the test asks z3 for at most five seconds for each answer that is not stored.
func TestSMTWindows(t *testing.T) {
	var z3 string
	if *update {
		var err error
		if z3, err = exec.LookPath("z3"); err != nil {
			t.Fatal(err)
		}
	}
	stored := readAnswers(t)
	n := windowtest.Amount(t, "HEISEN_MCM_WINDOWS", 100)
	var (
		next    atomic.Int64
		mu      sync.Mutex // guards what follows, and stored
		answers = map[string]int{}
		windows int    // with an answer
		sizes   [9]int // of these, by hundreds of events
		profile = map[string]int{}
		unknown = map[string]int{} // by mode
		stats   Stats
		all     sync.WaitGroup
	)
	one := func(k int) error {
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
			for _, mode := range modes[1:] {
				if z3 != "" || k%8 != 0 {
					break // the other modes take long
				}
				if name == "hot" && params.Events > 300 && strings.Contains(mode.name, "eager") {
					continue // a million clauses
				}
				options := append([]Option{WithBudget(500, 5_000_000)}, mode.options...)
				other, err := testModel(w, options...)
				if err != nil {
					return err
				}
				limit(other, 50_000, allStatesName)
				v, _, err := race(other, p[0], p[1])
				if err != nil {
					return err
				}
				if v == Unknown {
					mu.Lock()
					unknown[mode.name]++
					mu.Unlock()
				} else if got != Unknown && v != got {
					return fmt.Errorf("%s %+v, pair %v: %v with %s, %v with %s", name, params, p, got, modes[0].name, v, mode.name)
				}
			}
			key := fmt.Sprintf("%d %s %dx%d %d-%d", k, name, params.Events, params.Threads, p[0], p[1])
			mu.Lock()
			answer := stored[key]
			mu.Unlock()
			if answer == "" && z3 != "" {
				if answer, err = askZ3(z3, 5, m, p[0], p[1]); err != nil {
					return err
				}
			}
			mu.Lock()
			if answer != "" {
				stored[key] = answer
				answered = true
			}
			if answers[answer]++; got == Unknown {
				unknown[modes[0].name]++
			} else if answer != "" && got != verdictOf[answer] {
				t.Errorf("%s: %v, z3 says %s", key, got, answer)
			}
			mu.Unlock()
		}
		mu.Lock()
		defer mu.Unlock()
		stats.Add(m.Stats())
		if answered {
			windows++
			profile[name]++
			sizes[min((len(w.Records)-100)/100, 8)]++
		}
		return nil
	}
	start := time.Now()
	for range runtime.GOMAXPROCS(0) {
		all.Go(func() {
			for {
				k := int(next.Add(1) - 1)
				if k >= n {
					return
				}
				if err := one(k); err != nil {
					t.Errorf("window %d: %v", k, err)
				}
				if z3 != "" && k%50 == 49 {
					mu.Lock()
					fmt.Printf("%d windows in %v, %d answered: %v\n", k+1, time.Since(start).Round(time.Second), windows, answers)
					stored.write(t)
					mu.Unlock()
				}
			}
		})
	}
	all.Wait()
	if *update {
		stored.write(t)
	} else if n <= storedWindows && windows < n*6/10 {
		t.Errorf("answers are stored for only %d of %d windows", windows, n)
	}
	t.Logf("%d of %d windows with an answer of z3: %v, by hundreds of events %v", windows, n, profile, sizes)
	t.Logf("answers of z3: %d sat, %d unsat, %d missing; unknown verdicts: %v", answers["sat"], answers["unsat"], answers[""], unknown)
	t.Logf("%+v", stats)
}

func pairsOf(m *Model) (pairs [][2]int) {
	for i, j := range m.Pairs() {
		pairs = append(pairs, [2]int{i, j})
	}
	return pairs
}
