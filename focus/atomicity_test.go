package focus_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/heisen-go/heisen/focus"
)

var locks = []focus.Lock{"a.mu", "b.mu", "c.mu", "d.mu"}

// table is an atomicity as its values under all sets of locks: the plain form that the decision trees are
// compared with. Bit i of the index says that locks[i] is held.
type table [16]focus.Basic

func tableOf(a focus.Atomicity) (values table) {
	for set := range values {
		values[set] = a.Under(func(l focus.Lock) bool { return set>>slices.Index(locks, l)&1 != 0 })
	}
	return values
}

// randomPair returns a random atomicity in both forms, made by independent constructions.
func randomPair(rng *rand.Rand, depth int) (focus.Atomicity, table) {
	if depth == 0 || rng.IntN(4) == 0 {
		b := focus.Basic(rng.IntN(5))
		var values table
		for set := range values {
			values[set] = b
		}
		return focus.Always(b), values
	}
	i := rng.IntN(len(locks))
	held, heldValues := randomPair(rng, depth-1)
	free, values := randomPair(rng, depth-1)
	for set := range values {
		if set>>i&1 != 0 {
			values[set] = heldValues[set]
		}
	}
	return focus.If(locks[i], held, free), values
}

// thenTable is sequential composition as the paper has it.
func thenTable(a, b focus.Basic) focus.Basic {
	if a == focus.Atomic && b == focus.Atomic {
		return focus.Compound
	}
	return max(a, b)
}

// TestOperationsArePointwise compares all operations with what they mean under every set of locks.
func TestOperationsArePointwise(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for range 3000 {
		a, aValues := randomPair(rng, 5)
		b, bValues := randomPair(rng, 5)
		i := rng.IntN(len(locks))
		check := func(what string, got focus.Atomicity, want func(set int) focus.Basic) {
			t.Helper()
			for set, value := range tableOf(got) {
				if value != want(set) {
					t.Fatalf("%s of %v and %v is %v, which is %v under %04b, want %v", what, a, b, got, value, set, want(set))
				}
			}
		}
		check("a", a, func(set int) focus.Basic { return aValues[set] })
		check("join", a.Join(b), func(set int) focus.Basic { return max(aValues[set], bValues[set]) })
		check("then", a.Then(b), func(set int) focus.Basic { return thenTable(aValues[set], bValues[set]) })
		check("repeat", a.Repeat(), func(set int) focus.Basic { return thenTable(aValues[set], aValues[set]) })
		check("if", focus.If(locks[i], a, b), func(set int) focus.Basic {
			if set>>i&1 != 0 {
				return aValues[set]
			}
			return bValues[set]
		})
		check("needs", focus.Needs(locks[i], a), func(set int) focus.Basic {
			if set>>i&1 != 0 {
				return aValues[set]
			}
			return focus.Violating
		})
		check("within", a.Within(locks[i]), func(set int) focus.Basic {
			if set>>i&1 != 0 {
				return aValues[set]
			}
			return max(aValues[set|1<<i], focus.Atomic)
		})
		check("assume", a.Assume(locks[i], locks[0]), func(set int) focus.Basic { return aValues[set|1<<i|1] })
		atMost, equal, most := true, true, focus.Const
		for set := range aValues {
			atMost = atMost && aValues[set] <= bValues[set]
			equal = equal && aValues[set] == bValues[set]
			most = max(most, aValues[set])
		}
		if a.AtMost(b) != atMost || a.Equal(b) != equal || a.Most() != most || (a.String() == b.String()) != equal {
			t.Fatalf("%v and %v: at most %v, equal %v, most %v", a, b, a.AtMost(b), a.Equal(b), a.Most())
		}
		for i, lock := range locks {
			depends := false
			for set, value := range aValues {
				depends = depends || value != aValues[set^1<<i]
			}
			if slices.Contains(a.Locks(), lock) != depends {
				t.Fatalf("%v depends on %v", a, a.Locks())
			}
		}
		if basic, ok := a.Basic(); ok != (len(a.Locks()) == 0) || ok && basic != aValues[0] {
			t.Fatalf("%v is the basic atomicity %v: %v", a, basic, ok)
		}
	}
}

// TestRename: under the new names an atomicity has the value that it has under the old ones, and a lock
// without a name may be held or not.
func TestRename(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	for range 2000 {
		a, values := randomPair(rng, 4)
		names := make([]int, len(locks)) // -1 has no name; several locks may get the same one
		for i := range names {
			names[i] = rng.IntN(len(locks)+1) - 1
		}
		renamed := a.Rename(func(l focus.Lock) (focus.Lock, bool) {
			i := names[slices.Index(locks, l)]
			if i < 0 {
				return "", false
			}
			return locks[i], true
		})
		for set, got := range tableOf(renamed) {
			want := focus.Const
			for old, value := range values {
				possible := true
				for i, name := range names {
					possible = possible && (name < 0 || old>>i&1 == set>>name&1)
				}
				if possible {
					want = max(want, value)
				}
			}
			if got != want {
				t.Fatalf("%v renamed by %v is %v, which is %v under %04b, want %v", a, names, renamed, got, set, want)
			}
		}
	}
}

// TestOperationsAreMonotone: larger arguments give larger results.
func TestOperationsAreMonotone(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	for range 2000 {
		a, _ := randomPair(rng, 4)
		more, _ := randomPair(rng, 4)
		other, _ := randomPair(rng, 4)
		larger := a.Join(more)
		lock := locks[rng.IntN(len(locks))]
		for name, op := range map[string]func(focus.Atomicity) focus.Atomicity{
			"join":   func(x focus.Atomicity) focus.Atomicity { return x.Join(other) },
			"first":  func(x focus.Atomicity) focus.Atomicity { return x.Then(other) },
			"second": func(x focus.Atomicity) focus.Atomicity { return other.Then(x) },
			"repeat": focus.Atomicity.Repeat,
			"within": func(x focus.Atomicity) focus.Atomicity { return x.Within(lock) },
			"held":   func(x focus.Atomicity) focus.Atomicity { return focus.If(lock, x, other) },
			"free":   func(x focus.Atomicity) focus.Atomicity { return focus.If(lock, other, x) },
			"rename": func(x focus.Atomicity) focus.Atomicity {
				return x.Rename(func(l focus.Lock) (focus.Lock, bool) { return lock, l != "b.mu" })
			},
		} {
			if !a.AtMost(larger) || !op(a).AtMost(op(larger)) {
				t.Fatalf("%s of %v is %v, and of %v it is %v", name, a, op(a), larger, op(larger))
			}
		}
	}
}

// TestPaperLaws are the equations and the table of basic atomicities of section 3.2.
func TestPaperLaws(t *testing.T) {
	const l, m focus.Lock = "l", "m"
	all := []focus.Basic{focus.Const, focus.Mover, focus.Atomic, focus.Compound, focus.Violating}
	for _, x := range all {
		for _, y := range all {
			a, b := focus.Always(x), focus.Always(y)
			if a.AtMost(b) != (x <= y) {
				t.Errorf("%v is at most %v: %v", a, b, a.AtMost(b))
			}
			for _, test := range []struct{ left, right focus.Atomicity }{
				{focus.If(l, a, b).Repeat(), focus.If(l, a.Repeat(), b.Repeat())},
				{focus.If(l, a, b).Then(a), focus.If(l, a.Then(a), b.Then(a))},
				{a.Then(focus.If(l, b, a)), focus.If(l, a.Then(b), a.Then(a))},
				{focus.If(l, a, b).Within(l), a.Within(l)},
				{focus.If(m, a, b).Within(l), focus.If(m, a.Within(l), b.Within(l))},
				{focus.If(l, a, a), a},
				{focus.If(l, focus.If(l, a, b), focus.If(l, b, a)), focus.If(l, a, a)},
			} {
				if !test.left.Equal(test.right) {
					t.Errorf("%v and %v: %v is not %v", a, b, test.left, test.right)
				}
			}
		}
	}
	for _, test := range []struct {
		got  focus.Atomicity
		want string
	}{
		{focus.Atomicity{}, "const"},
		{focus.Always(99), "error"},
		{focus.Always(focus.Atomic).Then(focus.Always(focus.Atomic)), "compound"},
		{focus.Always(focus.Mover).Then(focus.Always(focus.Atomic)), "atomic"},
		{focus.Always(focus.Mover).Within(l), "l ? mover : atomic"},
		{focus.Always(focus.Const).Within(l), "l ? const : atomic"},
		{focus.Always(focus.Compound).Within(l), "compound"},
		{focus.Needs(l, focus.Always(focus.Mover)), "l ? mover"},
		{focus.Needs(l, focus.Always(focus.Mover)).Within(l), "l ? mover : atomic"},
		{focus.Needs(m, focus.Needs(l, focus.Always(focus.Mover))), "l ? (m ? mover)"},
	} {
		if test.got.String() != test.want {
			t.Errorf("got %v, want %s", test.got, test.want)
		}
	}
	if s := focus.Basic(99).String(); s != "atomicity?" {
		t.Error(s)
	}
}

// step is an operation of a random function body: a call or an atomicity, and what is made of it.
type step struct {
	callee focus.Function // or empty
	value  focus.Atomicity
	lock   focus.Lock
	shape  int
}

func bodyOf(steps []step) focus.Body {
	return func(call func(focus.Function) focus.Atomicity) focus.Atomicity {
		var a focus.Atomicity
		for _, s := range steps {
			x := s.value
			if s.callee != "" {
				x = call(s.callee)
			}
			switch s.shape {
			case 0:
				a = a.Then(x)
			case 1:
				a = a.Then(x.Within(s.lock))
			case 2:
				a = a.Join(x)
			case 3:
				a = a.Then(x.Repeat())
			}
		}
		return a
	}
}

// TestInferenceIsLeast compares with a plain computation that evaluates all bodies again and again, and checks
// that the result is a fixed point.
func TestInferenceIsLeast(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 8))
	for range 300 {
		bodies := map[focus.Function]focus.Body{}
		n := 1 + rng.IntN(6)
		for f := range n {
			var steps []step
			for range 1 + rng.IntN(4) {
				s := step{lock: locks[rng.IntN(len(locks))], shape: rng.IntN(4)}
				if s.value, _ = randomPair(rng, 1); rng.IntN(2) == 0 {
					s.callee = focus.Function(fmt.Sprint("f", rng.IntN(n+1))) // the last has no body
				}
				steps = append(steps, s)
			}
			bodies[focus.Function(fmt.Sprint("f", f))] = bodyOf(steps)
		}
		want := map[focus.Function]focus.Atomicity{}
		call := func(f focus.Function) focus.Atomicity {
			if bodies[f] == nil {
				return focus.Always(focus.Compound)
			}
			return want[f]
		}
		for changed := true; changed; {
			changed = false
			next := maps.Clone(want)
			for f, body := range bodies {
				next[f] = body(call)
				changed = changed || !next[f].Equal(want[f])
			}
			want = next
		}
		got := focus.InferAtomicity(bodies)
		for f := range bodies {
			if !got[f].Equal(want[f]) || len(got) != n {
				t.Fatalf("%s is %v, want %v", f, got[f], want[f])
			}
		}
	}
}

// TestBankAtomicities: a method that locks, one that needs the lock, one that locks twice, and their
// callers.
func TestBankAtomicities(t *testing.T) {
	const mu focus.Lock = "a.mu"
	access := focus.Needs(mu, focus.Always(focus.Mover))
	calls := func(callees ...focus.Function) focus.Body {
		return func(call func(focus.Function) focus.Atomicity) (a focus.Atomicity) {
			for _, f := range callees {
				a = a.Then(call(f))
			}
			return a
		}
	}
	bodies := map[focus.Function]focus.Body{
		"add": func(func(focus.Function) focus.Atomicity) focus.Atomicity { return access.Then(access) },
		"Deposit": func(call func(focus.Function) focus.Atomicity) focus.Atomicity {
			return call("add").Within(mu)
		},
		"Twice":    calls("Deposit", "Deposit"),
		"Careless": calls("add"),
		"Unknown":  calls("log"),
		"external": nil,
	}
	got := focus.InferAtomicity(bodies)
	for f, want := range map[focus.Function]string{
		"add": "a.mu ? mover", "Deposit": "a.mu ? mover : atomic", "Twice": "a.mu ? mover : compound",
		"Careless": "a.mu ? mover", "Unknown": "compound", "external": "compound",
	} {
		if got[f].String() != want {
			t.Errorf("%s is %v, want %v", f, got[f], want)
		}
	}
	inDeposit := focus.CallSite{Callee: "add", Held: []focus.Lock{mu}}
	inCareless := focus.CallSite{Callee: "add"}
	for _, test := range []struct {
		sites []focus.CallSite
		typed func(focus.Function) bool
		want  []focus.Function
	}{
		{nil, nil, []focus.Function{"Deposit"}},
		{[]focus.CallSite{inDeposit}, nil, []focus.Function{"Deposit", "add"}},
		{[]focus.CallSite{inDeposit, inCareless}, nil, []focus.Function{"Deposit"}},
		{[]focus.CallSite{inDeposit, {Callee: "Twice", Held: []focus.Lock{mu}}}, nil, []focus.Function{"Deposit", "Twice", "add"}},
		{[]focus.CallSite{inDeposit, {Callee: "elsewhere"}}, func(f focus.Function) bool { return f == "add" }, []focus.Function{"add"}},
	} {
		if verified := focus.VerifiedAtomic(got, test.sites, test.typed); !slices.Equal(verified, test.want) {
			t.Errorf("with %v: %v are atomic, want %v", test.sites, verified, test.want)
		}
	}
}

// TestInferenceEnds: a recursive function that needs another lock at each step, and one that needs many.
func TestInferenceEnds(t *testing.T) {
	next := func(l focus.Lock) (focus.Lock, bool) { return "next." + l, true }
	got := focus.InferAtomicity(map[focus.Function]focus.Body{
		"walk": func(call func(focus.Function) focus.Atomicity) focus.Atomicity {
			return focus.Needs("mu", focus.Always(focus.Mover)).Then(call("walk").Rename(next))
		},
		"wander": func(call func(focus.Function) focus.Atomicity) focus.Atomicity {
			return focus.If("mu", focus.Always(focus.Mover), focus.Always(focus.Atomic)).Join(call("wander").Rename(next))
		},
	})
	if got["walk"].String() != "error" || got["wander"].String() != "atomic" {
		t.Errorf("got %v", got)
	}
}
