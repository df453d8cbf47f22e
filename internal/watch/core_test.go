package watch

import (
	"fmt"
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
	want   string // who is found, as thread:address+size and mode
}

func (s step) access(place uint32) *Access {
	return &Access{
		Addr: s.addr, Size: s.size, Who: uint64(s.thread)<<32 | uint64(place),
		Write: strings.HasSuffix(s.mode, "w"), Atomic: strings.HasPrefix(s.mode, "a"),
	}
}

func overlaps(h *Hits) string {
	var found []string
	for _, o := range h.At[:h.Overlaps] {
		mode := "r"
		if o.Write {
			mode = "w"
		}
		found = append(found, fmt.Sprintf("%d:%d+%d%s", o.Who>>32, o.Addr, o.Size, mode))
	}
	slices.Sort(found)
	return strings.Join(found, " ")
}

func TestOverlaps(t *testing.T) {
	const after = 0
	for name, steps := range map[string][]step{
		"write and read":           {{1, 8, 1, "w", ""}, {2, 8, 1, "r", "1:8+1w"}},
		"read and write":           {{1, 8, 1, "r", ""}, {2, 8, 1, "w", "1:8+1r"}},
		"two writes":               {{1, 8, 1, "w", ""}, {2, 8, 1, "w", "1:8+1w"}},
		"two reads":                {{1, 8, 1, "r", ""}, {2, 8, 1, "r", ""}},
		"the same thread":          {{1, 8, 1, "w", ""}, {1, 8, 1, "r", ""}},
		"over":                     {{1, 8, 1, "w", ""}, {1, 0, after, "", ""}, {2, 8, 1, "r", ""}},
		"over at the next":         {{1, 8, 1, "w", ""}, {1, 16, 1, "r", ""}, {2, 8, 1, "w", ""}, {3, 16, 1, "w", "1:16+1r"}},
		"a write after a read":     {{1, 8, 1, "r", ""}, {2, 8, 1, "r", ""}, {1, 8, 1, "w", "2:8+1r"}, {3, 8, 1, "r", "1:8+1w"}},
		"a read after a write":     {{1, 8, 1, "w", ""}, {1, 8, 1, "r", ""}, {2, 8, 1, "r", ""}},
		"other bytes of a word":    {{1, 8, 2, "w", ""}, {2, 10, 2, "w", ""}, {3, 9, 2, "w", "1:8+2w 2:10+2w"}},
		"on in the same word":      {{1, 8, 2, "w", ""}, {1, 10, 2, "w", ""}, {2, 8, 2, "w", ""}, {3, 10, 1, "r", "1:10+2w"}},
		"other words":              {{1, 8, 8, "w", ""}, {2, 16, 8, "w", ""}, {3, 0, 8, "w", ""}},
		"across words":             {{1, 14, 4, "w", ""}, {2, 12, 2, "w", ""}, {3, 18, 2, "w", ""}, {4, 17, 1, "r", "1:16+2w"}, {5, 15, 1, "r", "1:14+2w"}},
		"once if in several words": {{1, 8, 32, "w", ""}, {2, 8, 32, "r", "1:8+8w"}},
		"several words over":       {{1, 8, 32, "w", ""}, {1, 0, after, "", ""}, {2, 8, 32, "w", ""}},
		"one word, then several":   {{1, 8, 8, "w", ""}, {1, 8, 16, "w", ""}, {2, 16, 1, "r", "1:16+8w"}, {3, 8, 1, "r", "1:8+8w"}},
		"no size is one byte":      {{1, 8, 1, "w", ""}, {2, 7, 2, "r", "1:8+1w"}},

		"wide then narrow":  {{1, 100, 1000, "w", ""}, {2, 1099, 1, "r", "1:100+1000w"}, {3, 1100, 1, "w", ""}, {4, 99, 1, "w", ""}},
		"narrow then wide":  {{1, 300, 1, "w", ""}, {2, 100, 300, "r", "1:300+1w"}, {3, 299, 1, "r", ""}, {4, 299, 1, "w", "2:100+300r 3:299+1r"}},
		"wide and wide":     {{1, 100, 1000, "w", ""}, {2, 1099, 1000, "w", "1:100+1000w"}, {3, 2099, 1000, "w", ""}},
		"wide reads":        {{1, 100, 1000, "r", ""}, {2, 100, 1000, "r", ""}, {3, 100, 1000, "w", "1:100+1000r 2:100+1000r"}},
		"wide over":         {{1, 100, 1000, "w", ""}, {1, 0, after, "", ""}, {2, 100, 1000, "w", ""}, {2, 8, 1, "w", ""}, {3, 200, 1, "w", ""}},
		"wide, same thread": {{1, 100, 1000, "w", ""}, {1, 100, 1000, "w", ""}},

		"atomic and plain":  {{1, 8, 1, "w", ""}, {2, 8, 1, "ar", "1:8+1w"}, {3, 8, 1, "aw", "1:8+1w"}, {4, 8, 1, "r", "1:8+1w"}},
		"plain read":        {{1, 8, 1, "r", ""}, {2, 8, 1, "ar", ""}, {3, 8, 1, "aw", "1:8+1r"}},
		"plain after":       {{1, 8, 1, "aw", ""}, {2, 8, 1, "w", ""}},
		"two atomics":       {{1, 8, 1, "aw", ""}, {2, 8, 1, "aw", ""}},
		"atomic after own":  {{1, 8, 1, "w", ""}, {1, 8, 1, "aw", ""}, {2, 8, 1, "w", ""}},
		"atomic in wide":    {{1, 100, 1000, "w", ""}, {2, 104, 4, "ar", "1:100+1000w"}},
		"wide after atomic": {{1, 104, 4, "aw", ""}, {2, 100, 1000, "w", ""}},

		"the highest addresses": {{1, 1<<64 - 1, 1, "w", ""}, {2, 1<<64 - 8, 100, "w", "1:18446744073709551615+1w"}, {3, 1<<64 - 400, 1 << 40, "r", "1:18446744073709551615+1w 2:18446744073709551608+8w"}, {4, 0, 8, "w", ""}},
		"everything":            {{1, 0, 1<<64 - 1, "w", ""}, {2, 1 << 63, 8, "r", "1:0+18446744073709551615w"}},
	} {
		t.Run(name, func(t *testing.T) {
			table, threads := new(Table), map[uint32]*Thread{}
			for i, s := range steps {
				if threads[s.thread] == nil {
					threads[s.thread] = new(Thread)
				}
				hits := Hits{Overlaps: 3}
				if s.mode == "" {
					table.After(threads[s.thread], &hits)
				} else {
					table.Before(threads[s.thread], s.access(uint32(i)), &hits)
				}
				if got := overlaps(&hits); got != s.want {
					t.Errorf("step %d finds %q, want %q", i+1, got, s.want)
				}
			}
			for _, th := range threads {
				table.After(th, new(Hits))
			}
			checkEmpty(t, table)
		})
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

// TestSingle is figure 2, to the letter and by default. The writer comes when one
// of two readers is gone; in the paper's algorithm the second has left no trace.
func TestSingle(t *testing.T) {
	for _, single := range []bool{false, true} {
		table := &Table{Single: single}
		var one, two, three Thread
		var hits Hits
		table.Before(&one, &Access{Addr: 8, Who: 1 << 32}, &hits)
		table.Before(&two, &Access{Addr: 8, Who: 2 << 32}, &hits)
		table.After(&one, &hits)
		table.Before(&three, &Access{Addr: 8, Who: 3 << 32, Write: true}, &hits)
		want := "2:8+1r"
		if single {
			want = ""
		}
		if got := overlaps(&hits); got != want {
			t.Errorf("single %v: the writer finds %q, want %q", single, got, want)
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
			before(table, Access{Addr: 8, Who: i << 32})
		}
		last, hits := before(table, Access{Addr: 8, Who: 9 << 32, Write: true})
		if got := overlaps(&hits); got != "0:8+1r 1:8+1r 2:8+1r" {
			t.Errorf("the one too many finds %q", got)
		}
		if l := table.Missed(); l != (Losses{Full: 1}) {
			t.Errorf("missed %+v", l)
		}
		table.After(last, new(Hits)) // has nothing to take back
		if _, hits := before(table, Access{Addr: 8, Who: 10 << 32, Write: true}); hits.Overlaps != bucketWays {
			t.Errorf("the next finds %q", overlaps(&hits))
		}
	})
	t.Run("more than hits have room for", func(t *testing.T) {
		table := new(Table)
		for i := range uint64(6) {
			before(table, Access{Addr: i * 1024, Size: 1024, Who: i << 32, Write: true})
		}
		if _, hits := before(table, Access{Size: 1 << 20, Who: 9 << 32}); hits.Overlaps != maxOverlaps {
			t.Errorf("finds %q", overlaps(&hits))
		}
		if l := table.Missed(); l != (Losses{Found: 2, Long: 7}) {
			t.Errorf("missed %+v", l)
		}
	})
	t.Run("too many wide accesses", func(t *testing.T) {
		table := new(Table)
		var all []*Thread
		for i := range uint64(maxWide + 1) {
			th, _ := before(table, Access{Addr: i << 20, Size: 64, Who: i << 32, Write: true})
			all = append(all, th)
		}
		if l := table.Missed(); l != (Losses{Full: 1}) {
			t.Errorf("missed %+v", l)
		}
		for _, th := range all {
			table.After(th, new(Hits))
		}
		checkEmpty(t, table)
	})
}

// TestForget lets memory have another life while accesses are pending.
func TestForget(t *testing.T) {
	table := new(Table)
	var one, two, three, four Thread
	var hits Hits
	table.Before(&one, &Access{Addr: 8, Who: 1 << 32, Write: true}, &hits)
	table.Before(&two, &Access{Addr: 1024, Size: 100, Who: 2 << 32, Write: true}, &hits)
	table.Forget()
	checkEmpty(t, table)
	table.Before(&three, &Access{Addr: 8, Who: 3 << 32, Write: true}, &hits)
	table.Before(&four, &Access{Addr: 1024, Size: 100, Who: 4 << 32, Write: true}, &hits)
	if hits.Overlaps != 0 {
		t.Errorf("finds %q of a former life", overlaps(&hits))
	}
	// Those of before have nothing to take back, and do not take what others have.
	table.Before(&one, &Access{Addr: 8, Who: 1 << 32, Write: true}, &hits)
	if got := overlaps(&hits); got != "3:8+1w" {
		t.Errorf("finds %q", got)
	}
	table.After(&one, &hits)
	table.After(&two, &hits)
	table.Before(&two, &Access{Addr: 1024, Who: 2 << 32}, &hits)
	if got := overlaps(&hits); got != "4:1024+100w" {
		t.Errorf("finds %q", got)
	}
}

// TestModel compares random accesses, one at a time, with a list of what is
// pending.
func TestModel(t *testing.T) {
	for seed := range uint64(300) {
		rng := rand.New(rand.NewPCG(seed, 1))
		table := new(Table)
		threads := make([]Thread, 3)
		pending := make([]*Access, len(threads))
		for n := range uint64(200) {
			who := rng.Uint64N(uint64(len(threads)))
			var hits Hits
			if rng.IntN(4) == 0 {
				table.After(&threads[who], &hits)
				pending[who] = nil
				continue
			}
			a := &Access{
				Addr: 1<<40 + rng.Uint64N(40), Size: rng.Uint64N(10), Who: who<<32 | n,
				Write: rng.IntN(2) == 0, Atomic: rng.IntN(8) == 0,
			}
			if rng.IntN(8) == 0 {
				a.Size = rng.Uint64N(100)
			}
			var want, got []uint64
			for i, p := range pending {
				if p != nil && i != int(who) && (p.Write || a.Write) &&
					p.Addr < a.Addr+max(a.Size, 1) && a.Addr < p.Addr+max(p.Size, 1) {
					want = append(want, p.Who)
				}
			}
			table.Before(&threads[who], a, &hits)
			for _, o := range hits.At[:hits.Overlaps] {
				got = append(got, o.Who)
			}
			slices.Sort(got)
			slices.Sort(want)
			if !slices.Equal(got, want) {
				t.Fatalf("seed %d, access %d %+v: found %x, want %x", seed, n, a, got, want)
			}
			if pending[who] = a; a.Atomic {
				pending[who] = nil
			}
		}
		if l := table.Missed(); l != (Losses{}) {
			t.Fatalf("seed %d: missed %+v", seed, l)
		}
	}
}

// TestConcurrent lets goroutines access a few words at the same time and judges
// what they find by a clock that they all take stamps from. An overlap that is found
// was one, and of two accesses that were both announced before either was over, one
// has found the other.
func TestConcurrent(t *testing.T) {
	type done struct {
		Access
		asked, told, over uint64 // when Before was called, when it returned, when the end was called
		found             []uint64
	}
	const threads, each = 3, 3000
	table := new(Table)
	var clock atomic.Uint64
	logs := make([][]done, threads)
	var arrived atomic.Uint64
	var wg sync.WaitGroup
	for id := range uint64(threads) {
		wg.Add(1)
		go func() {
			defer wg.Done()
			rng := rand.New(rand.NewPCG(id, 2))
			log := make([]done, each)
			var th Thread
			for n := range uint64(each) {
				d := &log[n]
				d.Access = Access{Addr: rng.Uint64N(16), Size: 1 + rng.Uint64N(4), Who: id<<32 | n, Write: rng.IntN(2) == 0}
				if rng.IntN(10) == 0 {
					d.Size = 60
				}
				var hits Hits
				d.asked = clock.Add(1)
				if n > 0 && log[n-1].over == 0 {
					log[n-1].over = d.asked
				}
				table.Before(&th, &d.Access, &hits)
				d.told = clock.Add(1)
				for _, o := range hits.At[:hits.Overlaps] {
					d.found = append(d.found, o.Who)
				}
				if n%100 == 0 { // all are in an access now, and those go on together
					for arrived.Add(1); arrived.Load() < threads*(n/100+1); {
						runtime.Gosched()
					}
				} else if rng.IntN(3) == 0 {
					runtime.Gosched()
				}
				if rng.IntN(2) == 0 {
					d.over = clock.Add(1)
					table.After(&th, &hits)
				}
			}
			log[each-1].over = clock.Add(1)
			table.After(&th, new(Hits))
			logs[id] = log
		}()
	}
	wg.Wait()
	checkEmpty(t, table)
	if l := table.Missed(); l.Full+l.Long+l.Found != 0 {
		t.Fatalf("missed %+v", l)
	}
	find := func(who uint64) *done { return &logs[who>>32][who&(1<<32-1)] }
	conflict := func(a, b *done) bool {
		return (a.Write || b.Write) && a.Addr < b.Addr+b.Size && b.Addr < a.Addr+a.Size
	}
	var all []*done
	overlaps := 0
	for id := range logs {
		for n := range logs[id] {
			d := &logs[id][n]
			all = append(all, d)
			for _, who := range d.found {
				overlaps++
				// The other one's entry may go a little after its end was called for.
				next := ^uint64(0)
				if o := find(who); o.Who&(1<<32-1)+1 < each {
					next = logs[who>>32][who&(1<<32-1)+1].told
				}
				if o := find(who); o.Who>>32 == d.Who>>32 || !conflict(o, d) || o.asked > d.told || next < d.asked {
					t.Fatalf("%+v found %+v", *d, *o)
				}
			}
		}
	}
	slices.SortFunc(all, func(a, b *done) int { return int(a.told) - int(b.told) })
	together := 0
	for i, a := range all {
		for _, b := range all[i+1:] {
			if b.told > a.over {
				break
			}
			if a.Who>>32 != b.Who>>32 && conflict(a, b) {
				together++
				if !slices.Contains(a.found, b.Who) && !slices.Contains(b.found, a.Who) && table.Missed().Busy == 0 {
					t.Fatalf("%+v and %+v were pending together", *a, *b)
				}
			}
		}
	}
	if overlaps == 0 {
		t.Error("there was nothing to find")
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
	if n := unsafe.Offsetof(table.fullWide) - unsafe.Offsetof(table.wides); n != 64 {
		t.Errorf("the counters are %d bytes after wides", n)
	}
	t.Logf("Table %d bytes, Thread %d", unsafe.Sizeof(table), unsafe.Sizeof(Thread{}))
}

func TestSteadyStateDoesNotAllocate(t *testing.T) {
	table := new(Table)
	var one, two Thread
	if n := testing.AllocsPerRun(100, func() {
		var hits Hits
		for i := range uint64(100) {
			table.Before(&one, &Access{Addr: i, Size: i, Who: 1 << 32, Write: true}, &hits)
			table.Before(&two, &Access{Addr: i, Size: i, Who: 2 << 32, Write: true}, &hits)
		}
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
