package observed

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/heisen-go/heisen"
)

// uses reports whether a record is a use of its object, or a vain attempt: one at the place of a use is part of that.
func uses(all []heisen.Record, i int, waits heisen.Site) bool {
	r := &all[i]
	switch r.Op {
	case heisen.Send, heisen.Receive, heisen.Change:
		return r.Site != waits
	case heisen.Observe:
	default:
		return false
	}
	for k := i - 1; k >= 0 && r.Site != waits; k-- {
		before := &all[k]
		if before.Op == heisen.Alloc && before.Object <= r.Object && r.Object < before.Object+heisen.Object(before.Value) {
			break
		}
		if before.Thread == r.Thread && before.Object == r.Object && uses(all, k, waits) {
			return before.Op == heisen.Observe || before.Site != r.Site
		}
	}
	return r.Site != waits
}

// usersOf returns the latest use of each thread, but one, of the objects in memory of some size at each of several starts.
func usersOf(u *usedObjects, of heisen.Thread, size uint64, starts ...heisen.Object) []use {
	var all []use
	for _, start := range starts {
		uses, _ := u.usesOf(start, size, of)
		all = append(all, uses...)
	}
	return latestOfEach(all)
}

// TestUsedObjects compares the uses of objects with those that a list of all events gives.
func TestUsedObjects(t *testing.T) {
	const threads, objects, size = 5, 40, 8
	symbols := heisen.NewSymbols()
	waits := symbols.AddSite(heisen.SiteInfo{Frames: []heisen.Frame{{Func: "sync.(*WaitGroup).Wait"}, {Func: "main.main"}}})
	sites := []heisen.Site{waits,
		symbols.AddSite(heisen.SiteInfo{Frames: []heisen.Frame{{Func: "sync.(*WaitGroup).Done"}, {Func: "main.(*T).Wait"}}}),
		symbols.AddSite(heisen.SiteInfo{Frames: []heisen.Frame{{Func: "main.(*T).Wait"}}}),
	}
	ops := []heisen.Op{heisen.Send, heisen.Receive, heisen.Change, heisen.Observe, heisen.AtomicUpdate, heisen.Write}
	rng := rand.New(rand.NewPCG(1, 2))
	for range 300 {
		u := newUsedObjects(symbols)
		var all []heisen.Record
		ended := map[heisen.Thread]bool{}
		for range rng.IntN(60) {
			r := heisen.Record{
				Op: ops[rng.IntN(len(ops))], Thread: heisen.Thread(rng.IntN(threads)), Site: sites[rng.IntN(len(sites))],
				Object: heisen.Object(0x1000 + size*rng.IntN(objects)),
			}
			switch rng.IntN(12) {
			case 0:
				r.Op, r.Value = heisen.Alloc, uint64(size*rng.IntN(objects))
			case 1:
				r.Op = heisen.End
				ended[r.Thread] = true
			}
			all = append(all, r)
			u.handle(&r)
		}
		of, start, n := heisen.Thread(rng.IntN(threads)), heisen.Object(0x1000+size*rng.IntN(objects)), uint64(size*(1+rng.IntN(objects/2)))
		other := start + 0x80 // of a second range
		var want []string
		seen := map[heisen.Thread]bool{of: true}
		later := map[heisen.Object]bool{} // that were allocated anew since
		for i := len(all) - 1; i >= 0; i-- {
			r := &all[i]
			if r.Op == heisen.Alloc {
				for o := r.Object; o < r.Object+heisen.Object(r.Value); o++ {
					later[o] = true
				}
			}
			if uses(all, i, waits) && !seen[r.Thread] && !later[r.Object] && (r.Object >= start && r.Object < start+heisen.Object(n) || r.Object >= other && r.Object < other+heisen.Object(n)) {
				seen[r.Thread] = true
				want = append(want, fmt.Sprint(r.Thread, r.Site))
			}
		}
		var got []string
		for _, one := range usersOf(u, of, n, start, other) {
			got = append(got, fmt.Sprint(one.thread, one.site))
		}
		if !slices.Equal(got, want) {
			t.Fatalf("%v\nusers of %#x, %d bytes, besides %d: %v, want %v", all, start, n, of, got, want)
		}
		for thread := range heisen.Thread(threads) {
			if u.ended[thread] != ended[thread] {
				t.Fatalf("%d has ended: %v", thread, u.ended[thread])
			}
		}
	}
}

// TestPlacesOfUses: a goroutine that another one has woken in an operation on a channel has used it where it began that.
func TestPlacesOfUses(t *testing.T) {
	const channel, other heisen.Object = 0xc000010000, 0xc000020000
	symbols := heisen.NewSymbols()
	began := symbols.AddSite(heisen.SiteInfo{Frames: []heisen.Frame{{Func: "main.f", File: "a.go", Line: 3}}})
	later := symbols.AddSite(heisen.SiteInfo{Frames: []heisen.Frame{{Func: "main.f", File: "a.go", Line: 5}}})
	for _, test := range []struct {
		read heisen.Object
		at   heisen.Site
		want heisen.Site
	}{
		{channel + 16, 0, began},
		{channel, 0, began},
		{channel + 16, later, later},
		{other, 0, 0},
	} {
		u := newUsedObjects(symbols)
		u.handle(&heisen.Record{Op: heisen.Read, Thread: 1, Object: test.read, Site: began})
		u.handle(&heisen.Record{Op: heisen.Read, Thread: 2, Object: channel, Site: later})
		u.handle(&heisen.Record{Op: heisen.Send, Thread: 1, Object: channel + 8, Site: test.at})
		all := usersOf(u, 3, channelSize, channel)
		if len(all) != 1 || all[0].site != test.want {
			t.Errorf("after a read of %#x: %+v, want site %d", test.read, all, test.want)
		}
	}
}

// TestUsesAreKept: of each thread, the latest use at each place is kept, up to a bound, and it is known if one is not.
func TestUsesAreKept(t *testing.T) {
	const channel heisen.Object = 0xc000010000
	symbols := heisen.NewSymbols()
	var sites []heisen.Site
	for line := range maxPlacesKept + 1 {
		sites = append(sites, symbols.AddSite(heisen.SiteInfo{Frames: []heisen.Frame{{Func: "main.f", File: "a.go", Line: line + 1}}}))
	}
	for _, test := range []struct {
		name             string
		threads, places  int
		repeat           int
		kept             int
		complete, forget bool
	}{
		{"none", 0, 0, 1, 0, true, false},
		{"one place, often", 1, 1, 100, 1, true, false},
		{"all places of a thread", 1, maxPlacesKept, 3, maxPlacesKept, true, false},
		{"one place too many", 1, maxPlacesKept + 1, 1, maxPlacesKept, false, false},
		{"all threads", maxUsersKept, 2, 2, 2 * maxUsersKept, true, false},
		{"one thread too many", maxUsersKept + 1, 1, 1, maxUsersKept, false, false},
		{"memory used again", maxUsersKept + 1, 1, 1, 0, true, true},
	} {
		u := newUsedObjects(symbols)
		for range test.repeat {
			for thread := range test.threads {
				for _, site := range sites[:test.places] {
					u.handle(&heisen.Record{Op: heisen.Send, Thread: heisen.Thread(thread + 1), Object: channel + 16, Site: site})
				}
			}
		}
		if test.forget {
			u.handle(&heisen.Record{Op: heisen.Alloc, Object: channel, Value: channelSize})
		}
		all, complete := u.usesOf(channel, channelSize, 0)
		if len(all) != test.kept || complete != test.complete {
			t.Errorf("%s: %d uses, complete %v; want %d, %v", test.name, len(all), complete, test.kept, test.complete)
		}
		if all, _ := u.usesOf(channel, channelSize, 1); len(all) != test.kept-min(test.kept, test.places, maxPlacesKept) {
			t.Errorf("%s: %d uses besides those of thread 1", test.name, len(all))
		}
	}
}
