package atomrace

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"unsafe"
)

// step is a call of Before, or of After if there is no size.
type step struct {
	thread uint32
	addr   uint64
	size   uint64
	mode   string // r, w, ar or aw
	want   string // the overlaps that are found, as thread:address+size and mode
}

func (s step) access(place uint32) *Access {
	return &Access{
		Addr: s.addr, Size: s.size, ID: uint64(s.thread)<<32 | uint64(place),
		Write: strings.HasSuffix(s.mode, "w"), Atomic: strings.HasPrefix(s.mode, "a"),
	}
}

// announceFuncs are the two ways in which a host can announce an access: Before alone, and, if the
// table keeps accesses pending, the fast path of Pending and Touch.
var announceFuncs = []func(*Table, *Thread, *Access, *Hits){
	(*Table).Before,
	func(table *Table, th *Thread, a *Access, hits *Hits) {
		*hits = Hits{}
		if a.Size > 1 || a.Atomic {
			table.Before(th, a, hits)
			return
		}
		if table.Pending(th, a.Addr, a.Write) {
			return
		}
		switch pending, alone := table.Touch(th, a.Addr, a.ID, a.Write); {
		case alone:
		case pending:
			table.Search(a, hits)
		default:
			table.Before(th, a, hits)
		}
	},
}

func overlaps(h *Hits) string {
	var found []string
	for _, o := range h.Overlaps[:h.NumOverlaps] {
		mode := "r"
		if o.Write {
			mode = "w"
		}
		found = append(found, fmt.Sprintf("%d:%d+%d%s", o.ID>>32, o.Addr, o.Size, mode))
	}
	slices.Sort(found)
	return strings.Join(found, " ")
}

func TestOverlaps(t *testing.T) {
	const after = 0
	differ := map[string]bool{"ended by the next access": true, "a read after a write": true} // results that differ if the table keeps accesses pending
	for name, steps := range map[string][]step{
		"write and read":                 {{1, 8, 1, "w", ""}, {2, 8, 1, "r", "1:8+1w"}},
		"read and write":                 {{1, 8, 1, "r", ""}, {2, 8, 1, "w", "1:8+1r"}},
		"two writes":                     {{1, 8, 1, "w", ""}, {2, 8, 1, "w", "1:8+1w"}},
		"two reads":                      {{1, 8, 1, "r", ""}, {2, 8, 1, "r", ""}},
		"the same thread":                {{1, 8, 1, "w", ""}, {1, 8, 1, "r", ""}},
		"ended":                          {{1, 8, 1, "w", ""}, {1, 0, after, "", ""}, {2, 8, 1, "r", ""}},
		"ended by the next access":       {{1, 8, 1, "w", ""}, {1, 16, 1, "r", ""}, {2, 8, 1, "w", ""}, {3, 16, 1, "w", "1:16+1r"}},
		"ended by the next access, kept": {{1, 8, 1, "w", ""}, {1, 16, 1, "r", ""}, {2, 8, 1, "w", "1:8+1w"}, {3, 16, 1, "w", "1:16+1r"}},
		"all ended":                      {{1, 8, 1, "w", ""}, {1, 16, 1, "w", ""}, {1, 0, after, "", ""}, {2, 8, 1, "w", ""}, {2, 16, 1, "w", ""}},
		"the same again, kept":           {{1, 8, 1, "w", ""}, {2, 8, 1, "w", "1:8+1w"}, {1, 8, 1, "w", ""}, {2, 8, 1, "r", ""}, {3, 8, 1, "r", "1:8+1w 2:8+1w"}},
		"a write after a read":           {{1, 8, 1, "r", ""}, {2, 8, 1, "r", ""}, {1, 8, 1, "w", "2:8+1r"}, {3, 8, 1, "r", "1:8+1w"}},
		"a read after a write":           {{1, 8, 1, "w", ""}, {1, 8, 1, "r", ""}, {2, 8, 1, "r", ""}},
		"a read after a write, kept":     {{1, 8, 1, "w", ""}, {1, 8, 1, "r", ""}, {2, 8, 1, "r", "1:8+1w"}},
		"other bytes of a word":          {{1, 8, 2, "w", ""}, {2, 10, 2, "w", ""}, {3, 9, 2, "w", "1:8+2w 2:10+2w"}},
		"more bytes of the word":         {{1, 8, 2, "w", ""}, {1, 10, 2, "w", ""}, {2, 8, 2, "w", ""}, {3, 10, 1, "r", "1:10+2w"}},
		"other words":                    {{1, 8, 8, "w", ""}, {2, 16, 8, "w", ""}, {3, 0, 8, "w", ""}},
		"across words":                   {{1, 14, 4, "w", ""}, {2, 12, 2, "w", ""}, {3, 18, 2, "w", ""}, {4, 17, 1, "r", "1:16+2w"}, {5, 15, 1, "r", "1:14+2w"}},
		"once if in several words":       {{1, 8, 32, "w", ""}, {2, 8, 32, "r", "1:8+8w"}},
		"several words ended":            {{1, 8, 32, "w", ""}, {1, 0, after, "", ""}, {2, 8, 32, "w", ""}},
		"one word, then several":         {{1, 8, 8, "w", ""}, {1, 8, 16, "w", ""}, {2, 16, 1, "r", "1:16+8w"}, {3, 8, 1, "r", "1:8+8w"}},
		"size 0 is one byte":             {{1, 8, 1, "w", ""}, {2, 7, 2, "r", "1:8+1w"}},

		"wide then narrow":  {{1, 100, 1000, "w", ""}, {2, 1099, 1, "r", "1:100+1000w"}, {3, 1100, 1, "w", ""}, {4, 99, 1, "w", ""}},
		"narrow then wide":  {{1, 300, 1, "w", ""}, {2, 100, 300, "r", "1:300+1w"}, {3, 299, 1, "r", ""}, {4, 299, 1, "w", "2:100+300r 3:299+1r"}},
		"wide and wide":     {{1, 100, 1000, "w", ""}, {2, 1099, 1000, "w", "1:100+1000w"}, {3, 2099, 1000, "w", ""}},
		"wide reads":        {{1, 100, 1000, "r", ""}, {2, 100, 1000, "r", ""}, {3, 100, 1000, "w", "1:100+1000r 2:100+1000r"}},
		"wide ended":        {{1, 100, 1000, "w", ""}, {1, 0, after, "", ""}, {2, 100, 1000, "w", ""}, {2, 8, 1, "w", ""}, {3, 200, 1, "w", ""}},
		"wide, same thread": {{1, 100, 1000, "w", ""}, {1, 100, 1000, "w", ""}},

		"atomic and plain":  {{1, 8, 1, "w", ""}, {2, 8, 1, "ar", "1:8+1w"}, {3, 8, 1, "aw", "1:8+1w"}, {4, 8, 1, "r", "1:8+1w"}},
		"plain read":        {{1, 8, 1, "r", ""}, {2, 8, 1, "ar", ""}, {3, 8, 1, "aw", "1:8+1r"}},
		"plain after":       {{1, 8, 1, "aw", ""}, {2, 8, 1, "w", ""}},
		"two atomics":       {{1, 8, 1, "aw", ""}, {2, 8, 1, "aw", ""}},
		"atomic after own":  {{1, 8, 1, "w", ""}, {1, 8, 1, "aw", ""}, {2, 8, 1, "w", ""}},
		"atomic after all":  {{1, 8, 1, "w", ""}, {1, 16, 1, "w", ""}, {1, 1024, 1, "ar", ""}, {2, 8, 1, "w", ""}, {2, 16, 1, "w", ""}},
		"atomic in wide":    {{1, 100, 1000, "w", ""}, {2, 104, 4, "ar", "1:100+1000w"}},
		"wide after atomic": {{1, 104, 4, "aw", ""}, {2, 100, 1000, "w", ""}},

		"the highest addresses": {{1, 1<<64 - 1, 1, "w", ""}, {2, 1<<64 - 8, 100, "w", "1:18446744073709551615+1w"}, {3, 1<<64 - 400, 1 << 40, "r", "1:18446744073709551615+1w 2:18446744073709551608+8w"}, {4, 0, 8, "w", ""}},
		"everything":            {{1, 0, 1<<64 - 1, "w", ""}, {2, 1 << 63, 8, "r", "1:0+18446744073709551615w"}},
	} {
		for i, before := range announceFuncs {
			keep := i > 0
			if name, kept := strings.CutSuffix(name, ", kept"); kept != keep && (kept || differ[name]) {
				continue
			}
			table, threads := &Table{Keep: keep}, map[uint32]*Thread{}
			for i, s := range steps {
				if threads[s.thread] == nil {
					threads[s.thread] = new(Thread)
				}
				hits := Hits{NumOverlaps: 3}
				if s.mode == "" {
					table.After(threads[s.thread], &hits)
				} else {
					before(table, threads[s.thread], s.access(uint32(i)), &hits)
				}
				if got := overlaps(&hits); got != s.want {
					t.Errorf("%s: step %d finds %q, want %q", name, i+1, got, s.want)
				}
			}
			for _, th := range threads {
				table.After(th, new(Hits))
			}
			checkEmpty(t, table)
		}
	}
}

func checkEmpty(t *testing.T, table *Table) {
	t.Helper()
	for i := range table.buckets {
		for j := range table.buckets[i].keys {
			if k := table.buckets[i].keys[j].Load(); k&^keyTurn != 0 {
				t.Errorf("an entry is left: %x", k)
			}
		}
	}
	if m := table.wides.Load(); m != 0 {
		t.Errorf("wide entries are left: %x", m)
	}
}

// TestSingle compares figure 2 of the paper with the default. The writer comes after the first of
// two readers has ended its access. In the paper's algorithm the second reader has left no entry,
// and an access ends when its thread makes the next one.
func TestSingle(t *testing.T) {
	for _, single := range []bool{false, true} {
		table := &Table{SingleSlot: single}
		var one, two, three Thread
		var hits Hits
		table.Before(&one, &Access{Addr: 8, ID: 1 << 32}, &hits)
		table.Before(&two, &Access{Addr: 8, ID: 2 << 32}, &hits)
		table.After(&one, &hits)
		table.Before(&three, &Access{Addr: 8, ID: 3 << 32, Write: true}, &hits)
		want := "2:8+1r"
		if single {
			want = ""
		}
		if got := overlaps(&hits); got != want {
			t.Errorf("single %v: the writer finds %q, want %q", single, got, want)
		}
		table.Before(&three, &Access{Addr: 16, ID: 3 << 32}, &hits)
		table.Before(&one, &Access{Addr: 8, ID: 1 << 32}, &hits)
		if got := overlaps(&hits); got != "" {
			t.Errorf("single %v: the reader finds %q", single, got)
		}
	}
}

func TestBounds(t *testing.T) {
	before := func(table *Table, a Access) (*Thread, Hits) {
		th, hits := new(Thread), Hits{}
		table.Before(th, &a, &hits)
		return th, hits
	}
	t.Run("a full bucket", func(t *testing.T) {
		table := new(Table)
		for i := range uint64(bucketWays) {
			before(table, Access{Addr: 8, ID: i << 32})
		}
		last, hits := before(table, Access{Addr: 8, ID: 9 << 32, Write: true})
		if got := overlaps(&hits); got != "0:8+1r 1:8+1r 2:8+1r" {
			t.Errorf("the access without an entry finds %q", got)
		}
		if l := table.Missed(); l != (Losses{Unseen: 1}) {
			t.Errorf("missed %+v", l)
		}
		table.After(last, new(Hits)) // it has no entry to remove
		if _, hits := before(table, Access{Addr: 8, ID: 10 << 32, Write: true}); hits.NumOverlaps != bucketWays {
			t.Errorf("the next finds %q", overlaps(&hits))
		}
	})
	t.Run("more than hits have room for", func(t *testing.T) {
		table := new(Table)
		for i := range uint64(maxOverlaps + 2) {
			before(table, Access{Addr: i * 1024, Size: 1024, ID: i << 32, Write: true})
		}
		if _, hits := before(table, Access{Size: 1 << 20, ID: 99 << 32}); hits.NumOverlaps != maxOverlaps {
			t.Errorf("finds %q", overlaps(&hits))
		}
		if l := table.Missed(); l != (Losses{Excess: 2, Partial: maxOverlaps + 3}) {
			t.Errorf("missed %+v", l)
		}
	})
	t.Run("more than a thread holds", func(t *testing.T) {
		table, th := &Table{Keep: true}, new(Thread)
		for i := range uint64(1000) {
			for _, before := range announceFuncs {
				before(table, th, &Access{Addr: i * 8, ID: 1 << 32, Write: true}, new(Hits))
			}
		}
		held := 0
		for i := range table.buckets {
			if table.buckets[i].used() {
				held++
			}
		}
		if held != maxHeld {
			t.Errorf("%d accesses are pending", held)
		}
		if _, hits := before(table, Access{Addr: 999 * 8, ID: 2 << 32}); hits.NumOverlaps != 1 {
			t.Error("the latest is not pending")
		}
		table.After(th, new(Hits))
		if _, hits := before(table, Access{Addr: 999 * 8, ID: 2 << 32}); hits.NumOverlaps != 0 {
			t.Error("the latest is still pending")
		}
	})
	t.Run("too many wide accesses", func(t *testing.T) {
		table := new(Table)
		var all []*Thread
		for i := range uint64(maxWide + 1) {
			th, _ := before(table, Access{Addr: i << 20, Size: 100, ID: i << 32, Write: true})
			all = append(all, th)
		}
		if l := table.Missed(); l != (Losses{Unseen: 1}) {
			t.Errorf("missed %+v", l)
		}
		for _, th := range all {
			table.After(th, new(Hits))
		}
		checkEmpty(t, table)
	})
}

// TestForget reuses memory while accesses to it are pending.
func TestForget(t *testing.T) {
	table := new(Table)
	var one, two, three, four Thread
	var hits Hits
	table.Before(&one, &Access{Addr: 8, ID: 1 << 32, Write: true}, &hits)
	table.Before(&two, &Access{Addr: 1024, Size: 100, ID: 2 << 32, Write: true}, &hits)
	table.Forget()
	checkEmpty(t, table)
	table.Before(&three, &Access{Addr: 8, ID: 3 << 32, Write: true}, &hits)
	table.Before(&four, &Access{Addr: 1024, Size: 100, ID: 4 << 32, Write: true}, &hits)
	if hits.NumOverlaps != 0 {
		t.Errorf("finds %q of the earlier allocation epoch", overlaps(&hits))
	}
	// The earlier accesses have no entries to remove, and must not remove those of other threads.
	table.Before(&one, &Access{Addr: 8, ID: 1 << 32, Write: true}, &hits)
	if got := overlaps(&hits); got != "3:8+1w" {
		t.Errorf("finds %q", got)
	}
	table.After(&one, &hits)
	table.After(&two, &hits)
	table.Before(&two, &Access{Addr: 1024, ID: 2 << 32}, &hits)
	if got := overlaps(&hits); got != "4:1024+100w" {
		t.Errorf("finds %q", got)
	}
}

// TestModel compares random accesses, one at a time, with a list of the pending accesses.
func TestModel(t *testing.T) {
	type piece struct {
		bytes uint8
		write bool
		id    uint64
	}
	type pending struct {
		pieces map[uint64]piece // by word
		wide   *Access
	}
	for seed := range uint64(600) {
		before := announceFuncs[seed%2]
		rng := rand.New(rand.NewPCG(seed, 1))
		table := &Table{Keep: true}
		threads := make([]Thread, 3)
		model := make([]pending, len(threads))
		for i := range model {
			model[i].pieces = map[uint64]piece{}
		}
		excess := uint64(0) // overlaps for which Hits has no room
		for n := range uint64(200) {
			thread := rng.Uint64N(uint64(len(threads)))
			own := &model[thread]
			var hits Hits
			if rng.IntN(4) == 0 {
				table.After(&threads[thread], &hits)
				clear(own.pieces)
				own.wide = nil
				continue
			}
			a := &Access{
				Addr: 1<<40 + rng.Uint64N(40), Size: 1 + rng.Uint64N(9), ID: thread<<32 | n,
				Write: rng.IntN(2) == 0, Atomic: rng.IntN(8) == 0,
			}
			if rng.IntN(8) == 0 {
				a.Size = 33 + rng.Uint64N(100)
			} else if rng.IntN(2) == 0 {
				a.Size = 1
			}
			if a.Atomic {
				clear(own.pieces)
			}
			again := true // the thread's pending accesses cover the access
			found := map[uint64]bool{}
			first, last := a.Addr, a.Addr+a.Size-1
			narrow := last>>3-first>>3 < maxNarrow
			for word := first >> 3; word <= last>>3; word++ {
				bytes := uint8(0)
				for b := max(first, word<<3); b <= min(last, word<<3|7); b++ {
					bytes |= 1 << (b & 7)
				}
				if p := own.pieces[word]; narrow && bytes&^p.bytes == 0 && (p.write || !a.Write) {
					continue
				}
				again = false
				for i := range model {
					if p := model[i].pieces[word]; i != int(thread) && (p.write || a.Write) && p.bytes&bytes != 0 {
						found[p.id] = true
					}
				}
				if narrow && !a.Atomic {
					own.pieces[word] = piece{bytes, a.Write, a.ID}
				}
			}
			if !again || a.Size > 1 || seed%2 == 0 { // otherwise Pending is true and the access is skipped
				own.wide = nil
				for i := range model {
					if p := model[i].wide; p != nil && (p.Write || a.Write) && p.Addr <= last && first < p.Addr+p.Size {
						found[p.ID] = true
					}
				}
			}
			if !narrow && !a.Atomic {
				own.wide = a
			}
			before(table, &threads[thread], a, &hits)
			var got []uint64
			for _, o := range hits.Overlaps[:hits.NumOverlaps] {
				got = append(got, o.ID)
			}
			slices.Sort(got)
			want := slices.Sorted(maps.Keys(found))
			if len(want) > maxOverlaps && len(got) == maxOverlaps {
				excess += uint64(len(want) - maxOverlaps)
				want = slices.DeleteFunc(want, func(id uint64) bool { return !slices.Contains(got, id) })
			}
			if !slices.Equal(got, want) {
				t.Fatalf("seed %d, access %d %+v: found %x, want %x", seed, n, a, got, want)
			}
		}
		if l := table.Missed(); l != (Losses{Excess: excess}) {
			t.Fatalf("seed %d: missed %+v, not %d", seed, l, excess)
		}
	}
}

// TestConcurrent lets goroutines access a few words at the same time. It checks the reported
// overlaps with time stamps from a common clock. Every reported overlap must be real. Of two
// conflicting accesses that were both announced before either ended, one must have found the other.
// Instead, other accesses of the two threads to the same word that were pending as well may have
// found each other.
func TestConcurrent(t *testing.T) {
	type loggedAccess struct {
		Access
		called, returned, ended uint64 // times of the call of Before, of its return, and of the access's end
		found                   []uint64
		span                    uint64 // how many times After was called before
	}
	// meeting is an overlap that a thread found with an access of another one.
	type meeting struct{ finder, span, found, foundSpan, word uint64 }
	const threads, each = 3, 3000
	table := &Table{Keep: true}
	var clock atomic.Uint64
	logs := make([][]loggedAccess, threads)
	var arrived atomic.Uint64
	var wg sync.WaitGroup
	for id := range uint64(threads) {
		wg.Add(1)
		go func() {
			defer wg.Done()
			rng := rand.New(rand.NewPCG(id, 2))
			log := make([]loggedAccess, each)
			var th Thread
			span := uint64(0)
			for n := range uint64(each) {
				d := &log[n]
				d.span = span
				d.Access = Access{Addr: rng.Uint64N(16), Size: 1 + rng.Uint64N(4), ID: id<<32 | n, Write: rng.IntN(2) == 0}
				if rng.IntN(10) == 0 {
					d.Size = 60
				}
				var hits Hits
				d.called = clock.Add(1)
				if n > 0 && log[n-1].ended == 0 {
					log[n-1].ended = d.called
				}
				announceFuncs[rng.IntN(len(announceFuncs))](table, &th, &d.Access, &hits)
				d.returned = clock.Add(1)
				for _, o := range hits.Overlaps[:hits.NumOverlaps] {
					d.found = append(d.found, o.ID)
				}
				if n%100 == 0 { // wait until all threads have a pending access
					for arrived.Add(1); arrived.Load() < threads*(n/100+1); {
						runtime.Gosched()
					}
				} else if rng.IntN(3) == 0 {
					runtime.Gosched()
				}
				if rng.IntN(2) == 0 {
					d.ended = clock.Add(1)
					table.After(&th, &hits)
					span++
				}
			}
			log[each-1].ended = clock.Add(1)
			table.After(&th, new(Hits))
			logs[id] = log
		}()
	}
	wg.Wait()
	checkEmpty(t, table)
	if l := table.Missed(); l.Partial != 0 {
		t.Fatalf("missed %+v", l)
	}
	find := func(id uint64) *loggedAccess { return &logs[id>>32][id&(1<<32-1)] }
	conflict := func(a, b *loggedAccess) bool {
		return (a.Write || b.Write) && a.Addr < b.Addr+b.Size && b.Addr < a.Addr+a.Size
	}
	// words calls f for the words that two accesses touch, until it returns true.
	words := func(a, b *loggedAccess, f func(uint64) bool) bool {
		for w := max(a.Addr, b.Addr) >> 3; w <= min(a.Addr+a.Size-1, b.Addr+b.Size-1)>>3; w++ {
			if f(w) {
				return true
			}
		}
		return false
	}
	// latestRemoval returns the latest time at which an access's entry was removed, which is
	// between the call of After and the next access.
	latestRemoval := func(d *loggedAccess) uint64 {
		log := logs[d.ID>>32]
		for n := d.ID&(1<<32-1) + 1; n < each; n++ {
			if log[n].span != d.span {
				return log[n].returned
			}
		}
		return ^uint64(0)
	}
	var all []*loggedAccess
	overlaps := 0
	met := map[meeting]bool{}
	for id := range logs {
		for n := range logs[id] {
			d := &logs[id][n]
			all = append(all, d)
			for _, other := range d.found {
				overlaps++
				o := find(other)
				if o.ID>>32 == d.ID>>32 || !conflict(o, d) || o.called > d.returned || latestRemoval(o) < d.called {
					t.Fatalf("%+v found %+v", *d, *o)
				}
				words(o, d, func(w uint64) bool {
					met[meeting{d.ID >> 32, d.span, o.ID >> 32, o.span, w}] = true
					return false
				})
			}
		}
	}
	slices.SortFunc(all, func(a, b *loggedAccess) int { return int(a.returned) - int(b.returned) })
	together := 0
	for i, a := range all {
		for _, b := range all[i+1:] {
			if b.returned > a.ended {
				break
			}
			if a.ID>>32 == b.ID>>32 || !conflict(a, b) {
				continue
			}
			together++
			if l := table.Missed(); l.Unnamed+l.Unseen+l.Excess == 0 && !words(a, b, func(w uint64) bool {
				return met[meeting{a.ID >> 32, a.span, b.ID >> 32, b.span, w}] || met[meeting{b.ID >> 32, b.span, a.ID >> 32, a.span, w}]
			}) {
				t.Fatalf("%+v and %+v were pending together", *a, *b)
			}
		}
	}
	t.Logf("missed %+v", table.Missed())
	if overlaps == 0 {
		t.Error("no overlap was found")
	}
	t.Logf("%d overlaps found; %d pairs were together", overlaps, together)
}

func TestSizes(t *testing.T) {
	if n := unsafe.Sizeof(entryBucket{}); n != 64 {
		t.Errorf("a bucket has %d bytes", n)
	}
	if n := unsafe.Sizeof(wideEntry{}); n != 64 {
		t.Errorf("a wide entry has %d bytes", n)
	}
	var table Table
	if n := unsafe.Offsetof(table.wides); n%64 != 0 {
		t.Errorf("wides is at %d", n)
	}
	if n := unsafe.Offsetof(table.generation); n%64 != 0 {
		t.Errorf("generation is at %d", n)
	}
	if n := unsafe.Offsetof(table.unseenWide) - unsafe.Offsetof(table.generation); n != 64 {
		t.Errorf("the counters are %d bytes after generation", n)
	}
	t.Logf("Table %d bytes, Thread %d", unsafe.Sizeof(table), unsafe.Sizeof(Thread{}))
}

func TestSteadyStateDoesNotAllocate(t *testing.T) {
	table := new(Table)
	var one, two Thread
	if n := testing.AllocsPerRun(100, func() {
		var hits Hits
		for i := range uint64(100) {
			table.Before(&one, &Access{Addr: i, Size: i, ID: 1 << 32, Write: true}, &hits)
			table.Before(&two, &Access{Addr: i, Size: i, ID: 2 << 32, Write: true}, &hits)
		}
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

// BenchmarkKeep measures an access that repeats a pending one, an access to a new word, and a write
// after a read.
func BenchmarkKeep(b *testing.B) {
	for name, script := range map[string]func(i uint64) (addr uint64, write bool){
		"again": func(i uint64) (uint64, bool) { return i % 4 * 8, false },
		"new":   func(i uint64) (uint64, bool) { return i % 1024 * 8, false },
		"wrote": func(i uint64) (uint64, bool) { return i / 2 % 1024 * 8, i%2 == 1 },
	} {
		b.Run(name, func(b *testing.B) {
			table, th := &Table{Keep: true}, new(Thread)
			for i := range uint64(b.N) {
				addr, write := script(i)
				if table.Pending(th, addr, write) {
					continue
				}
				if pending, alone := table.Touch(th, addr, 1<<32, write); !pending || !alone {
					b.Fatal("Touch needs more steps")
				}
			}
		})
	}
}
