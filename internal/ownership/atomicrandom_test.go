package ownership

import (
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/atomicity"
	"github.com/heisen-go/heisen/focus"
	"github.com/heisen-go/heisen/internal/ssaload"
	"github.com/heisen-go/heisen/internal/testaid/must"
	"github.com/heisen-go/heisen/internal/testaid/tier"
)

// randomFunction is a function of a random program: its source, and the events of an execution.
type randomFunction struct {
	body   []string
	events []heisen.Record
}

const (
	randomLock = 1024 // of the first lock; the others are behind it
	randomData = 64   // of the first variable
	randomAtom = 2048 // of the atomic variable
)

// do adds a statement with its event.
func (f *randomFunction) do(text string, op heisen.Op, object heisen.Object) {
	f.body = append(f.body, text)
	f.events = append(f.events, heisen.Record{Op: op, Object: object, Len: 8})
}

func (f *randomFunction) lock(i int) {
	f.do(fmt.Sprintf("s.mu%d.Lock()", i), heisen.Acquire, heisen.Object(randomLock+8*i))
}

func (f *randomFunction) unlock(i int) {
	f.do(fmt.Sprintf("s.mu%d.Unlock()", i), heisen.Release, heisen.Object(randomLock+8*i))
}

// randomFunctions returns functions that use two locks, three variables and an atomic one. Those called later may call
// earlier ones. Locks are acquired in one order. Mostly, the first lock guards the first two variables, and the second one the third.
func randomFunctions(rnd *rand.Rand) (all []*randomFunction) {
	for n := range 4 {
		f := &randomFunction{}
		held := map[int]bool{}
		access := func() {
			i := rnd.IntN(3)
			if guard := i / 2; !held[guard] && rnd.IntN(12) > 0 {
				return
			}
			if object := heisen.Object(randomData + 8*i); rnd.IntN(2) == 0 {
				f.do(fmt.Sprintf("_ = s.v%d", i), heisen.Read, object)
			} else {
				f.do(fmt.Sprintf("s.v%d = %d", i, rnd.IntN(9)), heisen.Write, object)
			}
		}
		for len(f.events) < 3+rnd.IntN(3) {
			switch k := rnd.IntN(12); {
			case k < 3 && !held[0] && !held[1]:
				held[0] = true
				f.lock(0)
			case k < 5 && !held[1]:
				held[1] = true
				f.lock(1)
			case k < 6 && (held[0] || held[1]):
				i := 0
				if !held[0] || held[1] && rnd.IntN(3) > 0 {
					i = 1
				}
				held[i] = false
				f.unlock(i)
			case k < 7 && rnd.IntN(2) == 0:
				f.do("s.n.Add(1)", heisen.AtomicUpdate, randomAtom)
			case k < 8 && n > 0 && !held[0] && !held[1]:
				callee := rnd.IntN(n)
				if len(all[callee].events) > 4 {
					break
				}
				f.body = append(f.body, fmt.Sprintf("f%d()", callee))
				f.events = append(f.events, all[callee].events...)
			default:
				access()
			}
		}
		for i := 1; i >= 0; i-- {
			if held[i] {
				f.unlock(i)
			}
		}
		all = append(all, f)
	}
	return all
}

// source returns a program in which two goroutines call each function.
func randomSource(all []*randomFunction) string {
	var b strings.Builder
	b.WriteString("package main\n\nimport (\n\t\"sync\"\n\t\"sync/atomic\"\n)\n\nvar s struct {\n\tmu0, mu1 sync.Mutex\n\tv0, v1, v2 int\n\tn atomic.Int64\n}\n\n")
	for i, f := range all {
		fmt.Fprintf(&b, "func f%d() {\n\t%s\n}\n\n", i, strings.Join(f.body, "\n\t"))
	}
	b.WriteString("var _ sync.Mutex\nvar _ atomic.Int64\n\nfunc main() {\n")
	for i := range all {
		fmt.Fprintf(&b, "\tgo f%d()\n\tgo f%[1]d()\n", i)
	}
	b.WriteString("\tselect {}\n}\n")
	return b.String()
}

// interrupted reports whether, in some interleaving of an execution of a function with one of another, the first is not
// serializable. Serial decides, which other tests compare with the definition.
func interrupted(f, other *randomFunction) bool {
	first := []heisen.Record{{Op: heisen.Enter}}
	first = append(append(first, f.events...), heisen.Record{Op: heisen.Exit})
	parts := [2][]heisen.Record{first, other.events}
	var trace []heisen.Record
	var try func(at [2]int, owner map[heisen.Object]int) bool
	try = func(at [2]int, owner map[heisen.Object]int) bool {
		moved := false
		for t := range parts {
			if at[t] == len(parts[t]) {
				continue
			}
			r := parts[t][at[t]]
			r.Thread, r.Site = heisen.Thread(t), heisen.Site(100*t+at[t]+1)
			if r.Op == heisen.Acquire {
				if owner[r.Object] != 0 {
					continue
				}
				owner[r.Object] = t + 1
			} else if r.Op == heisen.Release {
				owner[r.Object] = 0
			}
			moved = true
			trace = append(trace, r)
			next := at
			next[t]++
			found := try(next, owner)
			trace = trace[:len(trace)-1]
			if r.Op == heisen.Acquire {
				owner[r.Object] = 0
			} else if r.Op == heisen.Release {
				owner[r.Object] = t + 1
			}
			if found {
				return true
			}
		}
		if moved {
			return false
		}
		serial := must.Make(atomicity.NewSerial())
		for i := range trace {
			serial.Handle(trace[i].Event())
		}
		return serial.Violations() > 0
	}
	return try([2]int{}, map[heisen.Object]int{})
}

// TestAtomicOfRandomPrograms: no interleaving interrupts a function that is called atomic.
func TestAtomicOfRandomPrograms(t *testing.T) {
	programs := tier.Pick(20, 20, 150)
	files := map[string]string{}
	functions := map[focus.Function]*randomFunction{}
	others := map[focus.Function][]*randomFunction{}
	for i := range programs {
		all := randomFunctions(rand.New(rand.NewPCG(uint64(i), 31)))
		files[fmt.Sprintf("p%d/main.go", i)] = randomSource(all)
		for k, f := range all {
			name := focus.Function(fmt.Sprintf("example.com/racy/p%d.f%d", i, k))
			functions[name], others[name] = f, all
		}
	}
	r, err := Analyze(t.Context(), ssaload.Source{Dir: module(t, files), Packages: []string{"./..."}})
	if err != nil {
		t.Fatal(err)
	}
	atomic, withLocks, rightly, needlessly := 0, 0, 0, 0
	for _, is := range r.Functions {
		f := functions[is.Name]
		if f == nil {
			continue // main
		}
		can := slices.ContainsFunc(others[is.Name], func(other *randomFunction) bool { return interrupted(f, other) })
		switch {
		case is.Atomicity == focus.Compound && can:
			rightly++
		case is.Atomicity == focus.Compound:
			needlessly++
		case can:
			t.Errorf("%s is called %s, and can be interrupted:\n%s", is.Name, is.Atomicity, files[filepath.Base(strings.TrimSuffix(string(is.Name), filepath.Ext(string(is.Name))))+"/main.go"])
		default:
			atomic++
			if is.Sync {
				withLocks++
			}
		}
	}
	t.Logf("%d atomic functions, %d of them with locks; %d are not and can be interrupted, %d cannot", atomic, withLocks, rightly, needlessly)
	if min(withLocks, rightly) < programs/2 {
		t.Error("too few functions of one sort")
	}
}
