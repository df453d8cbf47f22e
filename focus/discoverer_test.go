package focus_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/focus"
	"github.com/heisen-go/heisen/internal/testaid/must"
)

// plainAccess is an access with all that may matter, for the plain computation of owners.
type plainAccess struct {
	thread        heisen.Thread
	write, atomic bool
	held          map[heisen.Object]int
	clock         map[heisen.Thread]int // how many accesses of each goroutine happen before it, its own included
}

// plainObjects returns all accesses of a run by variable and address.
func plainObjects(w *world, records []heisen.Record) map[focus.Variable]map[heisen.Object][]plainAccess {
	objects := map[focus.Variable]map[heisen.Object][]plainAccess{}
	held := map[heisen.Thread]map[heisen.Object]int{}
	clocks := map[heisen.Thread]map[heisen.Thread]int{}
	messages := map[heisen.Object]map[heisen.Thread]int{}
	join := func(a, b map[heisen.Thread]int) {
		for t, n := range b {
			a[t] = max(a[t], n)
		}
	}
	for _, r := range records {
		for _, t := range []heisen.Thread{r.Thread, heisen.Thread(r.Object)} {
			if held[t] == nil {
				held[t], clocks[t] = map[heisen.Object]int{}, map[heisen.Thread]int{}
			}
		}
		if messages[r.Object] == nil {
			messages[r.Object] = map[heisen.Thread]int{}
		}
		switch r.Op {
		case heisen.Acquire:
			held[r.Thread][r.Object] = writing
		case heisen.AcquireShared:
			held[r.Thread][r.Object] = reading
		case heisen.Release, heisen.ReleaseShared:
			delete(held[r.Thread], r.Object)
		case heisen.Fork:
			join(clocks[r.Object.Thread()], clocks[r.Thread])
		case heisen.Send:
			join(messages[r.Object], clocks[r.Thread])
		case heisen.Receive:
			join(clocks[r.Thread], messages[r.Object])
		}
		if !r.Op.IsAccess() {
			continue
		}
		v, _ := w.variable(&r)
		if objects[v] == nil {
			objects[v] = map[heisen.Object][]plainAccess{}
		}
		clocks[r.Thread][r.Thread]++
		a := plainAccess{r.Thread, r.Op.IsWrite(), r.Op.IsAtomic(), map[heisen.Object]int{}, map[heisen.Thread]int{}}
		join(a.clock, clocks[r.Thread])
		for l, mode := range held[r.Thread] {
			a.held[l] = mode
		}
		objects[v][r.Object] = append(objects[v][r.Object], a)
	}
	return objects
}

// plainOwner is the owner of a variable by the list in the documentation of Discoveries.
func plainOwner(v focus.Variable, objects map[heisen.Object][]plainAccess) (owner focus.Owner, shared int) {
	deciding := map[heisen.Object][]plainAccess{} // the accesses that must follow the owner
	atomic, written, concurrent := true, false, false
	for o, accesses := range objects {
		second := slices.IndexFunc(accesses, func(a plainAccess) bool { return a.thread != accesses[0].thread })
		for i, a := range accesses {
			atomic = atomic && a.atomic
			written = written || second >= 0 && i >= second && a.write
			if i > 0 {
				before := accesses[i-1]
				concurrent = concurrent || a.clock[before.thread] < before.clock[before.thread]
			}
		}
		if second >= 0 {
			deciding[o] = accesses[second:]
		}
	}
	if shared = len(deciding); shared == 0 {
		deciding = objects
	}
	same, sameShared := focus.Guard{SameObject: true, Path: "mu"}, true
	global, globalShared := focus.Guard{Variable: focus.Variable{Package: "main", Name: "mu"}}, true
	other, otherShared := focus.Guard{Variable: focus.Variable{Package: "main", Type: "T", Name: "mu"}}, true
	distances := map[heisen.Object]bool{}
	for o, accesses := range deciding {
		mu := o - o%objectSpacing + muOffset
		distances[mu-o] = true
		holds := func(l heisen.Object, shared *bool) bool {
			for _, a := range accesses {
				if a.held[l] < reading || a.write && a.held[l] < writing {
					return false
				}
				*shared = *shared || a.held[l] == reading
			}
			return true
		}
		sameShared = holds(mu, &same.Shared) && sameShared
		otherShared = holds(mu, &other.Shared) && otherShared
		globalShared = holds(packageLock, &global.Shared) && globalShared
	}
	switch {
	case atomic:
		return focus.Owner{Kind: focus.Self}, shared
	case sameShared && len(distances) == 1:
		return focus.Owner{Kind: focus.Guarded, Guard: same}, shared
	case shared == 0:
		return focus.Owner{Kind: focus.Local}, shared
	case !written:
		return focus.Owner{Kind: focus.ReadOnly}, shared
	case globalShared:
		return focus.Owner{Kind: focus.Guarded, Guard: global}, shared
	case otherShared:
		return focus.Owner{Kind: focus.Guarded, Guard: other}, shared
	case !concurrent:
		return focus.Owner{Kind: focus.Unique}, shared
	}
	return focus.Owner{}, shared
}

// TestDiscoveriesAgree compares with a plain computation, on random runs, alone and merged.
func TestDiscoveriesAgree(t *testing.T) {
	kinds := map[string]int{}
	for seed := range trials(1500) {
		merged := must.Make(focus.NewDiscoverer(func(*heisen.Record) (focus.Variable, bool) { return focus.Variable{}, false }))
		feed(t, merged, nil)
		all := map[focus.Variable]map[heisen.Object][]plainAccess{}
		for part := range uint64(2) {
			w := newWorld(3*seed+part, 1+int(seed%4))
			records := w.run([]int{30, 100, 300}[seed%3])
			d := must.Make(focus.NewDiscoverer(w.variable, focus.WithSamples(1<<20)))
			feed(t, d, records)
			objects := plainObjects(w, records)
			compareDiscoveries(t, seed, d, objects, kinds)
			merged.Merge(d)
			for v := range objects {
				for o, accesses := range objects[v] {
					if all[v] == nil {
						all[v] = map[heisen.Object][]plainAccess{}
					}
					all[v][o+heisen.Object(part)<<32] = accesses
					for i := range accesses { // the locks of another run are other locks
						held := map[heisen.Object]int{}
						for l, mode := range accesses[i].held {
							if l != packageLock {
								l += heisen.Object(part) << 32
							}
							held[l] = mode
						}
						accesses[i].held = held
					}
				}
			}
		}
		compareDiscoveries(t, seed, merged, all, kinds)
	}
	t.Log(kinds)
	for _, owner := range []string{"unknown", "local", "read-only", "handed over", "synchronization", "guarded by mu", "guarded by main.mu",
		"guarded by main.mu, which readers share", "guarded by main.T.mu of another object"} {
		if kinds[owner] == 0 {
			t.Errorf("nothing was %s", owner)
		}
	}
}

func compareDiscoveries(t *testing.T, seed uint64, d *focus.Discoverer, objects map[focus.Variable]map[heisen.Object][]plainAccess, kinds map[string]int) {
	t.Helper()
	var want []focus.Discovery
	for v, ofVariable := range objects {
		f := focus.Discovery{Variable: v, Objects: len(ofVariable)}
		f.Owner, f.Shared = plainOwner(v, ofVariable)
		for _, accesses := range ofVariable {
			f.Accesses += uint64(len(accesses))
		}
		want = append(want, f)
	}
	slices.SortFunc(want, func(a, b focus.Discovery) int { return strings.Compare(a.Variable.String(), b.Variable.String()) })
	got := d.Discoveries()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Fatalf("seed %d (-want +got)\n%s", seed, diff)
	}
	for _, f := range got {
		kinds[f.Owner.String()]++
	}
}

// TestSampling: a Discoverer observes the first objects of each variable, and memory that is allocated
// again is another object.
func TestSampling(t *testing.T) {
	v := focus.Variable{Package: "main", Type: "T", Name: "x"}
	name := func(*heisen.Record) (focus.Variable, bool) { return v, true }
	var records []heisen.Record
	for i := range heisen.Object(10) {
		records = append(records,
			heisen.Record{Op: heisen.Alloc, Object: 64, Value: 64},
			heisen.Record{Op: heisen.Write, Object: 64, Thread: heisen.Thread(i)},
			heisen.Record{Op: heisen.Write, Object: 64, Thread: heisen.Thread(i)},
			heisen.Record{Op: heisen.Free, Object: 64, Value: 64})
	}
	for _, test := range []struct{ samples, objects int }{{1, 1}, {3, 3}, {10, 10}, {11, 10}} {
		d := must.Make(focus.NewDiscoverer(name, focus.WithSamples(test.samples)))
		if found := d.Discoveries(); found != nil {
			t.Errorf("before the run: %+v", found)
		}
		feed(t, d, records)
		want := []focus.Discovery{{Variable: v, Owner: focus.Owner{Kind: focus.Local}, Objects: test.objects, Accesses: 2 * uint64(test.objects)}}
		if diff := cmp.Diff(want, d.Discoveries()); diff != "" {
			t.Errorf("(-want +got)\n%s", diff)
		}
	}
}

func TestDiscovererOptions(t *testing.T) {
	name := func(*heisen.Record) (focus.Variable, bool) { return focus.Variable{}, false }
	if _, err := focus.NewDiscoverer(nil); !errors.Is(err, heisen.ErrOption) {
		t.Error(err)
	}
	for _, opt := range []focus.DiscovererOption{focus.WithSamples(0), nil} {
		if _, err := focus.NewDiscoverer(name, opt); !errors.Is(err, heisen.ErrOption) {
			t.Error(err)
		}
	}
}
