package mcm

import (
	"bytes"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/heisen-go/heisen/bench/workload"
	"github.com/heisen-go/heisen/mcm/internal/window"
	"github.com/heisen-go/heisen/mcm/internal/windowtest"
)

var update = flag.Bool("update", false, "write the answers of z3 to testdata")

// mustAskZ3 is askZ3 with three seconds, in a test.
func mustAskZ3(t *testing.T, z3 string, m *Model, i, j int) string {
	t.Helper()
	answer, err := askZ3(z3, 3, m, i, j)
	if err != nil {
		t.Fatal(err)
	}
	return answer
}

// askZ3 returns the answer of z3 to a query, or "" if there is none in the given number of seconds.
func askZ3(z3 string, seconds int, m *Model, i, j int) (string, error) {
	var text bytes.Buffer
	if err := m.WriteSMTLIB(&text, i, j); err != nil {
		return "", err
	}
	cmd := exec.Command(z3, "-in", fmt.Sprintf("-T:%d", seconds))
	cmd.Stdin = &text
	out, err := cmd.Output()
	answer, _, _ := strings.Cut(string(out), "\n")
	switch {
	case answer == "sat" || answer == "unsat":
		return answer, nil
	case answer == "timeout" || answer == "unknown":
		return "", nil
	default:
		return "", fmt.Errorf("z3: %v: %s", err, out)
	}
}

var verdictOf = map[string]Verdict{"sat": Possible, "unsat": Impossible}

// TestSMTSmall compares the answers of z3 to the script of WriteSMTLIB with the enumeration, for small
// windows with all kinds of events.
func TestSMTSmall(t *testing.T) {
	z3, err := exec.LookPath("z3")
	if err != nil {
		t.Skip("z3 is not installed")
	}
	for seed := range windowtest.Count(t, 60) {
		rng := rand.New(rand.NewPCG(uint64(seed), 2))
		s := windowtest.RandomShape(rng, 14)
		s.Foreign = seed%4 == 3
		s.Decides = seed%3 == 1
		s.Branches = s.Branches || s.Decides
		w, symbols := windowtest.RandomWindow(rng, s)
		options := []DetectorOption{WithSymbols(symbols)}
		if s.Branches {
			options = append(options, WithControlFlow())
		}
		pairs := windowtest.RacyPairs(w)
		if len(pairs) == 0 {
			continue
		}
		p := pairs[rng.IntN(len(pairs))]
		m, err := testModel(*w, options...)
		if err != nil {
			t.Fatal(err)
		}
		got, want := Impossible, verdictOf[mustAskZ3(t, z3, m, p[0], p[1])]
		if enumerate(w, options...).Together(nil, p[0], p[1]) {
			got = Possible
		}
		if got != want {
			t.Fatalf("seed %d, %v: z3 says %v, enumeration %v\n%s", seed, p, want, got, show(w))
		}
	}
}

// TestSMT compares verdicts on larger windows with the answers of z3, or with its stored answers.
func TestSMT(t *testing.T) {
	z3, missing := exec.LookPath("z3")
	file := filepath.Join("testdata", "z3.tsv")
	known := map[string]string{}
	text, err := os.ReadFile(file)
	if err != nil && !*update {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		if key, answer, ok := strings.Cut(strings.TrimSpace(line), "\t"); ok {
			known[key] = answer
		}
	}
	if missing != nil {
		t.Logf("z3 is not installed, the test uses %d stored answers", len(known))
	}
	var lines strings.Builder
	n := windowtest.Count(t, 24)
	if *update {
		n = max(n, 90)
	}
	compared, unknown := 0, 0
	for k := range n {
		rng := rand.New(rand.NewPCG(uint64(k), 3))
		name := []string{"mixed", "hot", "locky"}[k%3]
		events := 100 + rng.IntN(k*10+1)
		if name == "hot" {
			events = 40 + rng.IntN(50) // z3 needs minutes for more
		} else if k < 24 {
			events = 100 + rng.IntN(100)
		}
		w := window.Window{Records: windowtest.Profiles[name](workload.Params{Threads: 2 + rng.IntN(6), Events: events, Seed: uint64(k)})}
		pairs := windowtest.RacyPairs(&w)
		m, err := testModel(w, WithBudget(1<<20, 1<<30))
		if err != nil {
			t.Fatal(err)
		}
		rng.Shuffle(len(pairs), func(i, j int) { pairs[i], pairs[j] = pairs[j], pairs[i] })
		for at, p := range pairs {
			if at == 3 {
				break
			}
			key := fmt.Sprintf("%d %s %d %d-%d", k, name, events, p[0], p[1])
			answer := known[key]
			if missing == nil && (answer == "" || *update) {
				answer = mustAskZ3(t, z3, m, p[0], p[1])
			}
			if answer == "" {
				unknown++
				continue
			}
			compared++
			fmt.Fprintf(&lines, "%s\t%s\n", key, answer)
			got, _, err := race(m, p[0], p[1])
			if err != nil {
				t.Fatal(err)
			}
			if got == Unknown {
				unknown++
			} else if got != verdictOf[answer] {
				t.Errorf("%s: %v, z3 says %s", key, got, answer)
			}
		}
	}
	t.Logf("%d queries about %d windows have an answer of z3, %d are unknown to z3 or mcm", compared, n, unknown)
	if *update {
		if err := os.WriteFile(file, []byte(lines.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}
