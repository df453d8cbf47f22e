package locksets_test

import (
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/internal/locksets"
)

// locks is a set of locks as a map.
type locks map[locksets.Lock]bool

func (s locks) sorted() []locksets.Lock { return slices.Sorted(maps.Keys(s)) }

func with(s locks, l locksets.Lock) locks {
	out := maps.Clone(s)
	out[l] = true
	return out
}

func without(s locks, l locksets.Lock) locks {
	out := maps.Clone(s)
	delete(out, l)
	return out
}

func common(a, b locks) locks {
	out := locks{}
	for l := range a {
		if b[l] {
			out[l] = true
		}
	}
	return out
}

// TestTableMatchesMaps compares random operations on sets with maps: over few locks, so that sets
// repeat, and over many, so that they become trees, of locks with neighboring numbers or with numbers up to
// some ten thousands. It drops some sets and compacts the table from time to time.
func TestTableMatchesMaps(t *testing.T) {
	const most = 64
	for seed := range uint64(60) {
		rng := rand.New(rand.NewPCG(seed, 3))
		numbers := []int{6, 40, 3 * most, 3 * most}[seed%4]
		table := locksets.NewTable()
		table.SetMost(most)
		numbered := make([]locksets.Lock, numbers)
		for i := range numbered {
			numbered[i] = table.Lock(heisen.Object(64 * (i + 1)))
			for n := rng.IntN(400); seed%4 == 3 && n > 0; n-- {
				table.NewLock(0)
			}
		}
		ids, model := []locksets.ID{locksets.Empty}, []locks{{}}
		if numbers > most { // big sets to start with
			for _, skip := range []int{2, 3, 5} {
				id, s := locksets.Empty, locks{}
				for i, l := range numbered {
					if i%skip > 0 {
						id, s = table.With(id, l), with(s, l)
					}
				}
				ids, model = append(ids, id), append(model, s)
			}
		}
		for step := range 1500 {
			i, j, l := rng.IntN(len(ids)), rng.IntN(len(ids)), numbered[rng.IntN(numbers)]
			var id locksets.ID
			var s locks
			switch rng.IntN(3) {
			case 0:
				id, s = table.With(ids[i], l), with(model[i], l)
			case 1:
				id, s = table.Without(ids[i], l), without(model[i], l)
			default:
				id, s = table.Intersect(ids[i], ids[j]), common(model[i], model[j])
			}
			if got := table.Append(nil, id); !slices.Equal(got, s.sorted()) {
				t.Fatalf("seed %d, step %d: %v, want %v", seed, step, got, s.sorted())
			}
			if table.Len(id) != len(s) || table.Has(id, l) != s[l] {
				t.Fatalf("seed %d, step %d: Len %d or Has %v is wrong of %v", seed, step, table.Len(id), table.Has(id, l), s)
			}
			for k := range ids {
				if (ids[k] == id) != maps.Equal(model[k], s) {
					t.Fatalf("seed %d, step %d: IDs %d and %d of sets %v and %v", seed, step, ids[k], id, model[k], s)
				}
			}
			if table.Disjoint(ids[i], id) != (len(common(model[i], s)) == 0) {
				t.Fatalf("seed %d, step %d: Disjoint of %v and %v", seed, step, model[i], s)
			}
			if len(ids) < 40 {
				ids, model = append(ids, id), append(model, s)
			} else {
				k := rng.IntN(len(ids))
				ids[k], model[k] = id, s
			}
			if step%97 == 0 {
				table.Compact(func(k *locksets.Compaction) {
					for i := range ids {
						k.Keep(&ids[i])
					}
				})
				distinct := map[locksets.ID]bool{locksets.Empty: true}
				for _, id := range ids {
					distinct[id] = true
				}
				if table.Sets() != len(distinct) {
					t.Fatalf("seed %d, step %d: %d sets after Compact, want %d", seed, step, table.Sets(), len(distinct))
				}
			}
		}
	}
}

// TestLiving compares the locks of small and of large sets that have not ended with maps.
func TestLiving(t *testing.T) {
	for seed := range uint64(40) {
		rng := rand.New(rand.NewPCG(seed, 4))
		table := locksets.NewTable()
		var all []heisen.Object
		id, s := locksets.Empty, locks{}
		for i := range 1 + rng.IntN([]int{20, 3000}[seed%2]) {
			o := heisen.Object(64 * (i + 1))
			all = append(all, o)
			if l := table.Lock(o); rng.IntN(3) > 0 {
				id, s = table.With(id, l), with(s, l)
			}
		}
		for range 10 {
			for range rng.IntN(len(all)) {
				if o := all[rng.IntN(len(all))]; table.Find(o) != 0 && rng.IntN(4) == 0 {
					delete(s, table.Find(o))
					table.End(o, 1)
				}
				table.Lock(all[rng.IntN(len(all))]) // it may get a new one
			}
			id = table.Living(id)
			if got := table.Append(nil, id); !slices.Equal(got, s.sorted()) || table.Len(id) != len(s) {
				t.Fatalf("seed %d: %v, want %v", seed, got, s.sorted())
			}
			table.Compact(func(k *locksets.Compaction) { k.Keep(&id) })
		}
	}
}

// TestEnd checks that an address has another lock after End, and that the old lock's number is not
// reused while a set has it.
func TestEnd(t *testing.T) {
	table := locksets.NewTable()
	a, b := table.Lock(64), table.Lock(128)
	if table.Lock(64) != a || table.Find(64) != a || table.Find(65) != 0 || a == b {
		t.Fatal("numbers are not the address's own")
	}
	both := table.With(table.With(locksets.Empty, a), b)
	table.End(60, 10)
	if table.Alive(a) || !table.Alive(b) || table.Find(64) != 0 {
		t.Fatal("End did not end the lock, or another one")
	}
	again := table.Lock(64)
	if again == a || table.Has(both, again) || !table.Has(both, a) {
		t.Fatal("the lock of a new allocation epoch counts as the old one")
	}
	table.Compact(func(k *locksets.Compaction) { k.Keep(&both) })
	if l := table.Lock(256); l == a || !slices.Equal(table.Locks(both), []heisen.Object{64, 128}) {
		t.Fatal("the number of a lock in a set was given away")
	}
	table.Compact(func(k *locksets.Compaction) { k.KeepLock(a) })
	if l := table.Lock(512); l == a {
		t.Fatal("a number that was to be kept was given away")
	}
	table.Compact(func(*locksets.Compaction) {})
	if l := table.Lock(1024); l != a {
		t.Fatalf("the number %d of an unknown lock was not used again", a)
	}
}

// TestManyHeldStaySmall: the sets of a thread that takes thirty thousand locks, in any order, and releases
// them in another, and all of whose sets are kept, take memory in proportion to their number.
func TestManyHeldStaySmall(t *testing.T) {
	const n = 30_000
	rng := rand.New(rand.NewPCG(1, 2))
	for name, order := range map[string][]int{"run": nil, "random": rng.Perm(n)} {
		table := locksets.NewTable()
		numbered := make([]locksets.Lock, n)
		for i := range numbered {
			numbered[i] = table.Lock(heisen.Object(64 * (i + 1)))
		}
		at := func(i int) locksets.Lock {
			if order != nil {
				i = order[i]
			}
			return numbered[i]
		}
		held := []locksets.ID{locksets.Empty}
		for i := range n {
			held = append(held, table.With(held[i], at(i)))
		}
		for i := range n / 2 {
			held = append(held, table.Without(held[len(held)-1], at(i*7%n)))
		}
		if got, want := table.Len(held[n]), n; got != want {
			t.Fatalf("%s: %d locks, want %d", name, got, want)
		}
		if table.Disjoint(held[n], held[n/2]) || table.Intersect(held[n], held[n/2]) != held[n/2] {
			t.Errorf("%s: a set and its part have other locks in common", name)
		}
		if got := table.Bytes(); got > 400*uint64(len(held)) {
			t.Errorf("%s: %d bytes for %d sets", name, got, len(held))
		}
		table.Compact(func(k *locksets.Compaction) {
			for i := range held {
				k.Keep(&held[i])
			}
		})
		if got := table.Append(nil, held[n]); !slices.Equal(got, slices.Sorted(slices.Values(numbered))) {
			t.Errorf("%s: another set after Compact", name)
		}
		if got := table.Bytes(); got > 400*uint64(len(held)) {
			t.Errorf("%s: %d bytes after Compact", name, got)
		}
	}
}
