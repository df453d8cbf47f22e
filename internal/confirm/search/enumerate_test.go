package search_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/heisen-go/heisen/internal/confirm/controlled"
	"github.com/heisen-go/heisen/internal/confirm/repro"
	"github.com/heisen-go/heisen/internal/confirm/search"
	"github.com/heisen-go/heisen/internal/confirm/suspects"
	"github.com/heisen-go/heisen/internal/confirm/trials"
	"github.com/heisen-go/heisen/internal/core/strategies"
	"github.com/heisen-go/heisen/internal/observed"
	"github.com/heisen-go/heisen/internal/recorder"
	"github.com/heisen-go/heisen/report"
)

// openTests builds the tests of a package with the given file.
func openTests(t *testing.T, file string) (*controlled.Program, *trials.Confirmer) {
	t.Helper()
	if testing.Short() {
		t.Skip("builds instrumented programs")
	}
	t.Chdir(t.TempDir())
	for name, text := range map[string]string{"go.mod": "module example.com/small\n\ngo 1.25\n", "small_test.go": file} {
		if err := os.WriteFile(filepath.Join(".", name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	var origin controlled.Origin
	origin.Verb, origin.Packages = "test", []string{"."}
	programs, with, err := origin.Build(t.Context(), t.TempDir())
	if err != nil || len(programs) != 1 {
		t.Fatalf("%d programs, error %v", len(programs), err)
	}
	t.Cleanup(programs[0].Close)
	words, err := report.NewResolver()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(words.Close)
	return programs[0], &trials.Confirmer{From: 1, To: 1, Parallel: 2, Limit: time.Minute, Virtual: time.Minute,
		Resolver: observed.NewResolver(words, with)}
}

// searched is what a search has shown of a test.
type searched struct {
	unit     *controlled.Unit
	outcomes map[string]int // how often, by outcome and result line
	failures []*trials.Result
}

// searchTests searches the tests that are among the given ones or, without given ones, all tests.
func searchTests(t *testing.T, p *controlled.Program, c *trials.Confirmer, limit time.Duration, tests ...string) map[string]*searched {
	t.Helper()
	units := slices.DeleteFunc(controlled.Units(t.Context(), []*controlled.Program{p}, nil), func(u *controlled.Unit) bool {
		return len(tests) > 0 && !slices.Contains(tests, u.Test)
	})
	all := map[string]*searched{}
	for _, u := range units {
		all[u.Test] = &searched{unit: u, outcomes: map[string]int{}}
	}
	c.Budget = suspects.NewBudget(limit, c.Parallel, units, true)
	s := search.Search{Confirmer: c, OnTrial: func(u *controlled.Unit, _ *suspects.Suspect, trial *trials.Trial) {
		all[u.Test].outcomes[resultOf(trial.Execution)]++
	}}
	found, err := s.Run(t.Context(), units)
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range found.Failures {
		of := all[strings.Trim(v.Suspect.Tests, "^$")]
		of.failures = append(of.failures, v)
	}
	return all
}

// resultOf returns the class of the outcome and the line with the result that the test has printed.
func resultOf(e *controlled.Execution) string {
	for line := range strings.Lines(string(e.Output)) {
		if _, result, ok := strings.Cut(line, "result: "); ok {
			return string(e.Outcome.Class) + " " + strings.TrimSpace(result)
		}
	}
	return string(e.Outcome.Class)
}

const countedTests = `package small

import (
	"fmt"
	"os"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

func TestNothing(t *testing.T) {}

// Nobody waits for the goroutines, and nothing orders them: there is one class of executions.
func TestApart(t *testing.T) {
	for range 3 {
		go func() {
			var own atomic.Int32
			for range 5 {
				own.Add(1)
			}
		}()
	}
}

// Three goroutines lock a mutex once: 6 orders.
func TestLocks(t *testing.T) {
	var mu sync.Mutex
	for range 3 {
		go func() {
			mu.Lock()
			mu.Unlock()
		}()
	}
}

// The same with read locks: one class.
func TestReadLocks(t *testing.T) {
	var mu sync.RWMutex
	for range 3 {
		go func() {
			mu.RLock()
			mu.RUnlock()
		}()
	}
}

// A store among three loads of two goroutines: 3 positions among the two of one times 2 at the other.
func TestStore(t *testing.T) {
	var n atomic.Int32
	go func() { n.Store(1) }()
	go func() { n.Load(); n.Load() }()
	go func() { n.Load() }()
}

// The seed of a map and the contents of the pools of package fmt are no choices.
func TestMakesMap(t *testing.T) {
	m := map[int]string{}
	m[len(os.Args)] = fmt.Sprint(t.Name(), 1)
	t.Log(len(m))
}

// The two locks are acquired in both orders.
func TestDeadlock(t *testing.T) {
	var a, b sync.Mutex
	var wg sync.WaitGroup
	wg.Add(2)
	go func() { defer wg.Done(); a.Lock(); b.Lock(); b.Unlock(); a.Unlock() }()
	go func() { defer wg.Done(); b.Lock(); a.Lock(); a.Unlock(); b.Unlock() }()
	wg.Wait()
}

// The store comes first in one of two orders.
func TestOrder(t *testing.T) {
	var n atomic.Int32
	go n.Store(1)
	if n.Load() == 1 {
		t.Error("it is too late")
	}
}

// Each of the ready cases is taken, in any order: 3 times 2.
func TestSelects(t *testing.T) {
	a, b, c := make(chan int, 1), make(chan int, 1), make(chan int)
	var none chan int
	a <- 1
	b <- 1
	close(c)
	all := ""
	for range 2 {
		select {
		case <-none:
		case <-a:
			all, a = all+"a", nil
		case b <- 2:
			all += "full"
		case <-b:
			all, b = all+"b", nil
		case <-c:
			all, c = all+"c", nil
		}
	}
	os.Stdout.WriteString("result: " + all + "\n")
}

// Both senders are ready, or only the one or the other, or the receiver waits first and then one sender
// takes it from the other: 2 and 2 and 2.
func TestSelectsSenders(t *testing.T) {
	a, b := make(chan int), make(chan int)
	go func() { a <- 1 }()
	go func() { b <- 1 }()
	select {
	case <-a:
		os.Stdout.WriteString("result: a\n")
	case <-b:
		os.Stdout.WriteString("result: b\n")
	}
}

// Only one of eight orders of cases fails.
func TestSelectsRarely(t *testing.T) {
	a, b := make(chan int, 3), make(chan int, 3)
	for i := range 3 {
		a <- i
		b <- i
	}
	n := 0
	for range 3 {
		select {
		case <-a:
			n++
		case <-b:
		}
	}
	if n == 3 {
		t.Error("only one of them")
	}
}

// The second select statement cannot send to a goroutine that has been woken by the first.
func TestSelectsOnce(t *testing.T) {
	a, b, c := make(chan int), make(chan int), make(chan int, 1)
	done := make(chan int, 1)
	go func() {
		select {
		case <-a:
		case <-b:
		}
		done <- 1
	}()
	a <- 1
	select {
	case b <- 1:
		t.Error("nobody receives")
	case c <- 1:
	}
	<-done
}

// The length is read before the element is sent, in between, or after it was received, and then the one or the
// other comes first to done: 3 times 2.
func TestLength(t *testing.T) {
	c, done := make(chan int, 1), make(chan bool)
	go func() { c <- 1; <-c; done <- true }()
	os.Stdout.WriteString("result: " + fmt.Sprint(len(c)) + "\n")
	<-done
}

// These are not enumerated.

// The goroutine waits twice for a channel: which case is served depends on a random number.
func TestSelectsTwice(t *testing.T) {
	a := make(chan int)
	go func() {
		select {
		case <-a:
		case <-a:
		}
	}()
	a <- 1
}

func TestReadsTime(t *testing.T) { _ = time.Now() }

func TestSleeps(t *testing.T) { time.Sleep(1) }

func TestRanges(t *testing.T) {
	for range map[int]int{1: 1, 2: 2} {
	}
}

func TestCounts(t *testing.T) {
	go func() {}()
	if runtime.NumGoroutine() > 100 {
		t.Error("many")
	}
}

func TestReadsFile(t *testing.T) { os.ReadFile("go.mod") }

func TestRaces(t *testing.T) {
	x := 0
	go func() { x = 1 }()
	x = 2
	_ = x
}

func TestPanics(t *testing.T) {
	go func() { panic("no") }()
}
`

// TestEnumeration enumerates tests with a known number of executions, and refuses those whose executions
// differ in more than the order of synchronization.
func TestEnumeration(t *testing.T) {
	p, c := openTests(t, countedTests)
	all := searchTests(t, p, c, 10*time.Minute, "TestNothing", "TestApart", "TestLocks", "TestReadLocks", "TestStore", "TestOrder", "TestDeadlock", "TestMakesMap",
		"TestSelects", "TestSelectsSenders", "TestSelectsRarely", "TestSelectsOnce", "TestLength")
	for test, want := range map[string]int{"TestNothing": 1, "TestApart": 1, "TestLocks": 6, "TestReadLocks": 1, "TestStore": 6, "TestOrder": 2, "TestMakesMap": 1,
		"TestSelects": 6, "TestSelectsSenders": 6, "TestSelectsRarely": 8, "TestSelectsOnce": 4, "TestLength": 6} {
		s := all[test]
		if s.unit.All != want || s.unit.Executions < want || !s.unit.Exhausted {
			t.Errorf("%s: all %d executions, made %d, want %d", test, s.unit.All, s.unit.Executions, want)
		}
	}
	deadlock := all["TestDeadlock"]
	if deadlock.unit.All == 0 || deadlock.outcomes["deadlock"] == 0 {
		t.Errorf("two locks in both orders: %d executions, %v", deadlock.unit.All, deadlock.outcomes)
	}
	if order := all["TestOrder"]; order.outcomes["passed"] != 1 || order.outcomes["test failed"] != 1 {
		t.Errorf("an order: %v", order.outcomes)
	}
	for test, s := range searchTests(t, p, c, 20*time.Second, "TestSelectsTwice", "TestReadsTime", "TestSleeps", "TestRanges",
		"TestCounts", "TestReadsFile", "TestRaces", "TestPanics") {
		if s.unit.All != 0 || s.unit.Executions < 10 {
			t.Errorf("%s, with %d executions, is claimed to have %d", test, s.unit.Executions, s.unit.All)
		}
	}
	for test, result := range map[string]string{"TestSelects": "passed ab ac ba bc ca cb", "TestSelectsSenders": "passed a b"} {
		class, results, _ := strings.Cut(result, " ")
		for _, r := range strings.Fields(results) {
			if s := all[test]; s.outcomes[class+" "+r] != s.unit.All/len(strings.Fields(results)) {
				t.Errorf("%s: %v", test, s.outcomes)
			}
		}
	}
	for _, test := range []string{"TestOrder", "TestSelectsRarely"} {
		failures := all[test].failures
		if len(failures) != 1 {
			t.Fatalf("%s: %d failures", test, len(failures))
		}
		proof, err := repro.Repeater{Confirmer: c}.Reproduce(t.Context(), failures[0], 20)
		if err != nil || !proof.Replayed || proof.Execution.Outcome.Class != controlled.TestFailed {
			t.Errorf("%s: the failure is not reproduced: %+v, %v", test, proof, err)
		}
	}
}

// triesTests are tests in a program that tries to lock. There the releases of locks are steps of their own, and waiting
// for a lock before its release and locking it afterwards are two executions.
const triesTests = `package small

import (
	"os"
	"sync"
	"testing"
)

// The lock is tried before the other goroutine has it, meanwhile, or afterwards.
func TestTries(t *testing.T) {
	var mu sync.Mutex
	done := make(chan bool)
	go func() { mu.Lock(); mu.Unlock(); done <- true }()
	if mu.TryLock() {
		os.Stdout.WriteString("result: free\n")
		mu.Unlock()
	} else {
		os.Stdout.WriteString("result: held\n")
	}
	<-done
}

func TestTwoLock(t *testing.T) {
	var mu sync.Mutex
	var done sync.WaitGroup
	for range 2 {
		done.Add(1)
		go func() {
			defer done.Done()
			mu.Lock()
			mu.Unlock()
		}()
	}
	done.Wait()
}
`

// TestEnumerationTries enumerates a test that tries to lock, and one beside it.
func TestEnumerationTries(t *testing.T) {
	p, c := openTests(t, triesTests)
	all := searchTests(t, p, c, 10*time.Minute)
	for test, s := range all {
		if s.unit.All < 2 || !s.unit.Exhausted {
			t.Errorf("%s: all %d executions", test, s.unit.All)
		}
	}
	if s := all["TestTries"]; s.outcomes["passed free"] == 0 || s.outcomes["passed held"] == 0 || len(s.outcomes) != 2 {
		t.Errorf("TestTries: %v", s.outcomes)
	}
}

// randomTest returns a test with goroutines that synchronize at random. It prints what they have seen.
func randomTest(rng *rand.Rand, name string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "func %s(t *testing.T) {\n", name)
	goroutines := 2 + rng.IntN(4)/3
	fmt.Fprintf(&b, "\tvar mu sync.Mutex\n\tvar rw sync.RWMutex\n\tvar n, m atomic.Int32\n\tc := make(chan int32, 1)\n\tu := make(chan int32)\n\td, closed := make(chan int32, 1), make(chan int)\n\tclose(closed)\n")
	fmt.Fprintf(&b, "\tseen := make([][]int32, %d)\n\ttotal := int32(0)\n\tvar done sync.WaitGroup\n", goroutines)
	b.WriteString("\t_, _, _, _, _, _, _, _, _ = &mu, &rw, &n, &m, c, u, d, closed, &total\n")
	for i := range goroutines {
		fmt.Fprintf(&b, "\tdone.Add(1)\n\tgo func() {\n\t\tdefer done.Done()\n\t\tsee := func(v int32) { seen[%d] = append(seen[%d], v) }\n\t\t_ = see\n", i, i)
		for range 1 + rng.IntN(2) + (3 - goroutines) {
			b.WriteString("\t\t" + []string{
				"mu.Lock(); total = 2*total + 1; see(total); mu.Unlock()",
				"mu.Lock(); see(n.Add(1)); mu.Unlock()",
				"rw.RLock(); see(n.Load()); rw.RUnlock()",
				"rw.Lock(); see(n.Add(10)); rw.Unlock()",
				"see(n.Add(3))",
				"see(m.Swap(" + fmt.Sprint(i+5) + "))",
				"select { case c <- 4: see(1); default: see(2) }",
				"select { case v := <-c: see(v); default: see(0) }",
				"select { case v := <-u: see(v); default: see(0) }",
				"select { case u <- 7: see(1); default: see(0) }",
				"if m.CompareAndSwap(0, 9) { see(9) }",
				"select { case c <- 4: see(1); case v := <-c: see(v); case v := <-d: see(v); default: see(0) }",
				"select { case d <- 5: see(2); case v := <-c: see(v); case u <- 6: see(3); default: see(0) }",
				"select { case d <- 8: see(4); case v := <-u: see(v); case <-closed: see(9) }",
			}[rng.IntN(14)] + "\n")
		}
		b.WriteString("\t}()\n")
	}
	b.WriteString("\tdone.Wait()\n\tos.Stdout.WriteString(\"result: \")\n\tfor _, s := range seen {\n\t\tfor _, v := range s {\n\t\t\tos.Stdout.WriteString(strconv.Itoa(int(v)) + \" \")\n\t\t}\n\t\tos.Stdout.WriteString(\"; \")\n\t}\n\tos.Stdout.WriteString(\"\\n\")\n}\n\n")
	return b.String()
}

// TestEnumerationAgainstRandom compares the enumeration of random tests with random executions: these
// show nothing that the enumeration has not shown.
func TestEnumerationAgainstRandom(t *testing.T) {
	rng := rand.New(rand.NewPCG(11, 12))
	file := "package small\n\nimport (\n\t\"os\"\n\t\"strconv\"\n\t\"sync\"\n\t\"sync/atomic\"\n\t\"testing\"\n)\n\n"
	for i := range 12 {
		file += randomTest(rng, fmt.Sprint("TestRandom", i))
	}
	p, c := openTests(t, file)
	all := searchTests(t, p, c, 20*time.Second)
	enumerated, results := 0, 0
	for test, s := range all {
		t.Logf("%s: all %d, made %d, %d results", test, s.unit.All, s.unit.Executions, len(s.outcomes))
		if s.unit.All == 0 {
			continue
		}
		enumerated++
		results += len(s.outcomes)
		for seed := range uint64(40) {
			e, err := p.Execute(t.Context(), controlled.Plan{
				Schedule: &recorder.Schedule{Strategy: strategies.Config{Strategy: []strategies.Strategy{strategies.POS, strategies.RandomWalk}[seed%2], Seed: seed}},
				Mode:     recorder.FindingsOnly, Tests: "^" + test + "$", Limit: time.Minute,
			}, c.Resolver)
			if err != nil {
				t.Fatal(err)
			}
			if r := resultOf(e); s.outcomes[r] == 0 {
				t.Errorf("%s: %q was not among all %d executions: %v\n%s", test, r, s.unit.All, s.outcomes, file[strings.Index(file, "func "+test+"("):])
				break
			}
		}
	}
	t.Logf("%d tests enumerated, with %d results", enumerated, results)
	if enumerated < 6 || results <= enumerated {
		t.Errorf("%d tests were enumerated, with %d results", enumerated, results)
	}
}
