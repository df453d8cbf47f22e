package atomrace

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
)

// rule is a section of a test. Locations are numbers.
type rule struct {
	entry     uint32
	ends      map[uint32]string // allowed kinds of remote accesses, out of "rw"
	above     uint32
	circular  bool
	recursive bool
}

func add(t *testing.T, table *Table, rules []rule) {
	t.Helper()
	for i, r := range rules {
		s := table.AddSection(r.entry, r.above, r.circular, r.recursive)
		if s != uint32(i+1) {
			t.Fatalf("section %d is numbered %d", i+1, s)
		}
		for at, allow := range r.ends {
			if !table.AddEnd(s, at, strings.Contains(allow, "r"), strings.Contains(allow, "w")) {
				t.Fatal("no room for an end")
			}
		}
	}
}

// violations returns the violated sections with the steps of their entry, their end and the remote
// accesses.
func violations(h *Hits) string {
	var found []string
	for _, v := range h.Violations[:h.NumViolations] {
		s := fmt.Sprintf("S%d %d-%d", v.Section, uint32(v.Entry), uint32(v.End))
		if v.Wrote && v.WriterFirst {
			s += fmt.Sprintf(" w%d", uint32(v.Writer))
		}
		if v.Read {
			s += fmt.Sprintf(" r%d", uint32(v.Reader))
		}
		if v.Wrote && !v.WriterFirst {
			s += fmt.Sprintf(" w%d", uint32(v.Writer))
		}
		found = append(found, s)
	}
	slices.Sort(found)
	return strings.Join(found, ", ")
}

// event is an access at a location, or one of "after", "exit" with a depth and
// "atomExit".
type event struct {
	thread uint32
	what   string
	addr   uint64
	loc    uint32
	depth  uint32
	want   string
}

func TestSections(t *testing.T) {
	const x, y = 8, 16
	loadStore := rule{entry: 1, ends: map[uint32]string{2: "r"}}
	for name, test := range map[string]struct {
		rules  []rule
		single bool
		events []event
	}{
		"figure 3: a suspect": {rules: []rule{loadStore}, events: []event{
			{1, "r", x, 1, 0, ""}, {1, "after", 0, 0, 0, ""},
			{2, "w", x, 0, 0, ""}, {2, "after", 0, 0, 0, ""},
			{1, "w", x, 2, 0, ""}, {1, "after", 0, 0, 0, "S1 1-5 w3"},
		}},
		"figure 3: an allowed one": {rules: []rule{loadStore}, events: []event{
			{1, "r", x, 1, 0, ""}, {2, "r", x, 0, 0, ""}, {1, "w", x, 2, 0, ""}, {1, "after", 0, 0, 0, ""},
		}},
		"figure 3: no other thread": {rules: []rule{loadStore}, events: []event{
			{2, "w", x, 0, 0, ""}, {2, "after", 0, 0, 0, ""},
			{1, "r", x, 1, 0, ""}, {1, "w", x, 2, 0, ""}, {1, "after", 0, 0, 0, ""},
			{2, "w", x, 0, 0, ""}, {1, "after", 0, 0, 0, ""},
		}},
		"another variable": {rules: []rule{loadStore}, events: []event{
			{1, "r", x, 1, 0, ""}, {2, "w", y, 0, 0, ""}, {1, "w", y, 2, 0, ""}, {1, "after", 0, 0, 0, ""},
		}},
		"the end at another variable": {rules: []rule{loadStore}, events: []event{
			{1, "r", x, 1, 0, ""}, {2, "w", x, 0, 0, ""}, {1, "w", y, 2, 0, ""}, {1, "w", x, 2, 0, ""}, {1, "after", 0, 0, 0, "S1 1-4 w2"},
		}},
		"two variables at a time": {rules: []rule{loadStore}, events: []event{
			{1, "r", x, 1, 0, ""}, {1, "r", y, 1, 0, ""}, {2, "w", x, 0, 0, ""}, {3, "w", y, 0, 0, ""},
			{1, "w", y, 2, 0, ""}, {1, "w", x, 2, 0, "S1 2-5 w4"}, {1, "after", 0, 0, 0, "S1 1-6 w3"},
		}},
		"the end's after is at the next event": {rules: []rule{loadStore}, events: []event{
			{1, "r", x, 1, 0, ""}, {1, "w", x, 2, 0, ""}, {2, "w", x, 0, 0, ""}, {1, "r", y, 0, 0, "S1 1-2 w3"},
		}},
		"the first of each": {rules: []rule{{entry: 1, ends: map[uint32]string{2: ""}}}, events: []event{
			{1, "w", x, 1, 0, ""}, {2, "r", x, 0, 0, ""}, {3, "w", x, 0, 0, ""}, {4, "r", x, 0, 0, ""}, {5, "w", x, 0, 0, ""},
			{1, "w", x, 2, 0, ""}, {1, "after", 0, 0, 0, "S1 1-6 r2 w3"},
		}},
		"everything allowed": {rules: []rule{{entry: 1, ends: map[uint32]string{2: "rw"}}}, events: []event{
			{1, "w", x, 1, 0, ""}, {2, "w", x, 0, 0, ""}, {1, "w", x, 2, 0, ""}, {1, "after", 0, 0, 0, ""},
		}},
		"several ends": {rules: []rule{{entry: 1, ends: map[uint32]string{2: "r", 3: "rw", 4: ""}}}, events: []event{
			{1, "r", x, 1, 0, ""}, {2, "r", x, 0, 0, ""}, {1, "w", x, 2, 0, ""}, {1, "w", x, 4, 0, ""},
			{1, "r", x, 1, 0, ""}, {2, "w", x, 0, 0, ""}, {1, "w", x, 3, 0, ""},
			{1, "r", x, 1, 0, ""}, {2, "r", x, 0, 0, ""}, {1, "r", x, 4, 0, ""}, {1, "after", 0, 0, 0, "S1 8-10 r9"},
		}},
		"begun anew": {rules: []rule{loadStore}, events: []event{
			{1, "r", x, 1, 0, ""}, {2, "w", x, 0, 0, ""}, {1, "r", x, 1, 0, ""}, {1, "w", x, 2, 0, ""}, {1, "after", 0, 0, 0, ""},
			{1, "r", x, 1, 0, ""}, {1, "r", x, 1, 0, ""}, {2, "w", x, 0, 0, ""}, {1, "w", x, 2, 0, ""}, {1, "after", 0, 0, 0, "S1 7-9 w8"},
		}},
		"the end of one is the entry of the next": {
			rules: []rule{loadStore, {entry: 2, ends: map[uint32]string{3: ""}}}, events: []event{
				{1, "r", x, 1, 0, ""}, {2, "w", x, 0, 0, ""}, {1, "w", x, 2, 0, ""}, {1, "r", x, 3, 0, "S1 1-3 w2"}, {1, "after", 0, 0, 0, ""},
				{1, "w", x, 2, 0, ""}, {3, "r", x, 0, 0, ""}, {1, "r", x, 3, 0, ""}, {1, "after", 0, 0, 0, "S2 6-8 r7"},
			}},
		"one entry, two sections": {
			rules: []rule{loadStore, {entry: 1, ends: map[uint32]string{3: ""}}}, events: []event{
				{1, "r", x, 1, 0, ""}, {2, "r", x, 0, 0, ""}, {1, "w", x, 2, 0, ""}, {2, "w", x, 0, 0, ""},
				{1, "w", x, 3, 0, "S1 1-3 w4"}, {1, "after", 0, 0, 0, "S2 1-5 r2 w4"},
			}},
		"entry and end at once": {rules: []rule{{entry: 1, ends: map[uint32]string{1: ""}}}, events: []event{
			{1, "r", x, 1, 0, ""}, {2, "w", x, 0, 0, ""}, {1, "r", x, 1, 0, "S1 1-1 w2"}, {1, "after", 0, 0, 0, ""},
		}},
		"circular": {rules: []rule{{entry: 1, ends: map[uint32]string{1: "r"}, circular: true}}, events: []event{
			{1, "r", x, 1, 0, ""}, {1, "after", 0, 0, 0, ""}, {2, "w", x, 0, 0, ""},
			{1, "r", x, 1, 0, ""}, {1, "after", 0, 0, 0, "S1 1-4 w3"}, {2, "r", x, 0, 0, ""},
			{1, "r", x, 1, 0, ""}, {1, "after", 0, 0, 0, ""}, {2, "w", x, 0, 0, ""},
			{1, "r", x, 1, 0, ""}, {1, "after", 0, 0, 0, "S1 7-10 w9"},
		}},
		"recursive": {rules: []rule{{entry: 1, ends: map[uint32]string{2: "r"}, recursive: true}}, events: []event{
			{1, "r", x, 1, 0, ""}, {2, "w", x, 0, 0, ""}, {1, "r", x, 1, 0, ""}, {1, "w", x, 2, 0, ""}, {1, "after", 0, 0, 0, ""},
			{1, "w", x, 2, 0, ""}, {1, "after", 0, 0, 0, "S1 1-6 w2"}, {1, "w", x, 2, 0, ""}, {1, "after", 0, 0, 0, ""},
		}},
		"given up on return": {rules: []rule{loadStore}, events: []event{
			{1, "r", x, 1, 2, ""}, {2, "w", x, 0, 0, ""}, {1, "exit", 0, 0, 2, ""}, {1, "exit", 0, 0, 1, ""}, {1, "w", x, 2, 1, ""}, {1, "after", 0, 0, 0, ""},
		}},
		"an end before the return": {rules: []rule{loadStore}, events: []event{
			{1, "r", x, 1, 2, ""}, {2, "w", x, 0, 0, ""}, {1, "w", x, 2, 2, ""}, {1, "exit", 0, 0, 1, "S1 1-3 w2"},
		}},
		"unwound without notice": {rules: []rule{loadStore}, events: []event{
			{1, "r", x, 1, 2, ""}, {2, "w", x, 0, 0, ""}, {1, "w", x, 2, 1, ""}, {1, "after", 0, 0, 0, ""},
		}},
		"above": {rules: []rule{{entry: 1, ends: map[uint32]string{2: "r"}, above: 1}}, events: []event{
			{1, "r", x, 1, 2, ""}, {2, "w", x, 0, 0, ""}, {1, "exit", 0, 0, 1, ""}, {1, "w", x, 2, 1, ""}, {1, "exit", 0, 0, 0, "S1 1-4 w2"},
			{1, "r", x, 1, 2, ""}, {2, "w", x, 0, 0, ""}, {1, "exit", 0, 0, 0, ""}, {1, "w", x, 2, 0, ""}, {1, "after", 0, 0, 0, ""},
		}},
		"atomExit": {rules: []rule{loadStore}, events: []event{
			{1, "r", x, 1, 0, ""}, {1, "r", y, 1, 0, ""}, {2, "w", x, 0, 0, ""}, {2, "w", y, 0, 0, ""}, {1, "atomExit", x, 0, 0, ""},
			{1, "w", x, 2, 0, ""}, {1, "w", y, 2, 0, ""}, {1, "after", 0, 0, 0, "S1 2-7 w4"},
		}},
		"an end before atomExit": {rules: []rule{loadStore}, events: []event{
			{1, "r", x, 1, 0, ""}, {2, "w", x, 0, 0, ""}, {1, "w", x, 2, 0, ""}, {1, "atomExit", x, 0, 0, "S1 1-3 w2"},
		}},
		"atomic operations": {rules: []rule{loadStore}, events: []event{
			{1, "ar", x, 1, 0, ""}, {1, "after", 0, 0, 0, ""}, {2, "aw", x, 0, 0, ""}, {2, "after", 0, 0, 0, ""},
			{1, "aw", x, 2, 0, ""}, {1, "after", 0, 0, 0, "S1 1-5 w3"},
		}},
		"several threads are followed": {rules: []rule{loadStore}, events: []event{
			{1, "r", x, 1, 0, ""}, {2, "r", x, 1, 0, ""}, {1, "w", x, 2, 0, ""}, {1, "after", 0, 0, 0, ""},
			{2, "w", x, 2, 0, ""}, {2, "after", 0, 0, 0, "S1 2-5 w3"},
		}},
		"one thread is followed": {rules: []rule{loadStore}, single: true, events: []event{
			{1, "r", x, 1, 0, ""}, {2, "r", x, 1, 0, ""}, {1, "w", x, 2, 0, ""}, {1, "after", 0, 0, 0, ""},
			{2, "w", x, 2, 0, ""}, {2, "after", 0, 0, 0, ""},
			{2, "r", x, 1, 0, ""}, {1, "w", x, 0, 0, ""}, {2, "w", x, 2, 0, ""}, {2, "after", 0, 0, 0, "S1 7-9 w8"},
		}},
	} {
		t.Run(name, func(t *testing.T) {
			table := &Table{SingleSlot: test.single}
			add(t, table, test.rules)
			threads := map[uint32]*Thread{}
			for i, e := range test.events {
				if threads[e.thread] == nil {
					threads[e.thread] = new(Thread)
				}
				th := threads[e.thread]
				hits := Hits{NumViolations: 2}
				switch e.what {
				case "after":
					table.After(th, &hits)
				case "exit":
					table.Exit(th, e.depth, &hits)
				case "atomExit":
					table.AtomExit(th, e.addr, e.addr, &hits)
				default:
					s := step{thread: e.thread, addr: e.addr, size: 1, mode: e.what}
					a := s.access(uint32(i + 1))
					a.Loc, a.Depth = e.loc, e.depth
					table.Before(th, a, &hits)
				}
				if got := violations(&hits); got != e.want {
					t.Errorf("event %d finds %q, want %q", i+1, got, e.want)
				}
			}
			for _, th := range threads {
				table.After(th, new(Hits))
				table.AtomExit(th, 0, 1<<64-1, new(Hits))
				if !th.Idle() {
					t.Error("a thread is not idle")
				}
			}
			checkEmpty(t, table)
			checkInactive(t, table)
			if l := table.Missed(); l.Sections+l.Unnamed+l.Excess != 0 {
				t.Errorf("missed %+v", l)
			}
		})
	}
}

func checkInactive(t *testing.T, table *Table) {
	t.Helper()
	for i := range table.active {
		for j := range table.active[i].keys {
			if k := table.active[i].keys[j].Load(); k != 0 {
				t.Errorf("a section is left: %x", k)
			}
		}
	}
}

// TestSectionBounds reaches the limits of a table.
func TestSectionBounds(t *testing.T) {
	t.Run("too many sections of a thread", func(t *testing.T) {
		table, th, hits := new(Table), new(Thread), new(Hits)
		add(t, table, []rule{{entry: 1, ends: map[uint32]string{2: ""}}})
		for i := range uint64(maxActive + 3) {
			table.Before(th, &Access{Addr: i * 64, Loc: 1}, hits)
		}
		if l := table.Missed(); l != (Losses{Sections: 3}) {
			t.Errorf("missed %+v", l)
		}
	})
	t.Run("too many threads in sections on a word", func(t *testing.T) {
		table, hits := new(Table), new(Hits)
		add(t, table, []rule{{entry: 1, ends: map[uint32]string{2: ""}}})
		for i := range uint64(activeWays + 2) {
			th := new(Thread)
			table.Before(th, &Access{Addr: 8, Loc: 1, ID: i << 32}, hits)
			table.After(th, hits)
		}
		if l := table.Missed(); l != (Losses{Sections: 2}) {
			t.Errorf("missed %+v", l)
		}
	})
	t.Run("a full repository", func(t *testing.T) {
		table := new(Table)
		for i := range uint32(MaxSections) {
			if s := table.AddSection(1+i%MaxLocations, 0, false, false); s != i+1 {
				t.Fatalf("section %d is numbered %d", i+1, s)
			}
			for at := range uint32(MaxEnds / MaxSections) {
				if !table.AddEnd(i+1, MaxLocations-at, true, false) {
					t.Fatal("no room for an end")
				}
			}
		}
		if table.AddSection(1, 0, false, false) != 0 || table.AddEnd(1, 1, false, false) {
			t.Error("there was room")
		}
	})
	t.Run("several entries", func(t *testing.T) {
		table := new(Table)
		s := table.AddSection(1, 0, false, false)
		if !table.AddEntry(s, 3) || !table.AddEnd(s, 2, false, false) {
			t.Fatal("no room")
		}
		var one, two Thread
		var hits Hits
		for i, loc := range []uint32{1, 3} {
			table.Before(&one, &Access{Addr: 8, Loc: loc, ID: 1 << 32}, &hits)
			table.Before(&two, &Access{Addr: 8, ID: 2 << 32}, &hits)
			table.Before(&one, &Access{Addr: 8, Loc: 2, ID: 1 << 32}, &hits)
			table.After(&one, &hits)
			if hits.NumViolations != 1 {
				t.Errorf("entry %d: %q", i, violations(&hits))
			}
		}
	})
	t.Run("no such location or section", func(t *testing.T) {
		table := new(Table)
		if table.AddSection(MaxLocations+1, 0, false, false) != 0 {
			t.Error("a section was added")
		}
		s := table.AddSection(MaxLocations, 0, false, false)
		if table.AddEnd(s, 0, false, false) || table.AddEnd(s, MaxLocations+1, false, false) || table.AddEnd(s+1, 1, false, false) || table.AddEnd(0, 1, false, false) ||
			table.AddEntry(s+1, 1) || table.AddEntry(s, 0) || table.AddEntry(s, MaxLocations+1) {
			t.Error("an end was added")
		}
		th := new(Thread)
		table.Before(th, &Access{Addr: 8, Loc: MaxLocations + 1}, new(Hits))
		table.After(th, new(Hits))
	})
}

func TestForgetSections(t *testing.T) {
	table, hits := new(Table), new(Hits)
	add(t, table, []rule{{entry: 1, ends: map[uint32]string{2: ""}}})
	var one, two Thread
	table.Before(&one, &Access{Addr: 8, Loc: 1, ID: 1 << 32}, hits)
	table.Before(&two, &Access{Addr: 8, ID: 2 << 32, Write: true}, hits)
	table.Forget()
	checkInactive(t, table)
	table.After(&one, hits)
	if !one.In(8, 8) {
		t.Error("the thread has left the section")
	}
	table.Before(&one, &Access{Addr: 8, Loc: 2, ID: 1 << 32}, hits)
	table.After(&one, hits)
	if hits.NumViolations != 0 {
		t.Errorf("finds %q of the earlier allocation epoch", violations(hits))
	}
	if one.In(8, 8) {
		t.Error("the section has not ended")
	}
	table.Before(&one, &Access{Addr: 8, Loc: 1, ID: 1 << 32}, hits)
	table.Before(&two, &Access{Addr: 8, ID: 2 << 32, Write: true}, hits)
	table.Before(&one, &Access{Addr: 8, Loc: 2, ID: 1 << 32}, hits)
	table.After(&one, hits)
	if hits.NumViolations != 1 {
		t.Error("finds nothing in the new allocation epoch")
	}
}

// modelSection is a section that a thread of the model is in.
type modelSection struct {
	rule         int
	addr         uint64
	entry        uint32
	depth        uint32
	count        int
	fresh        bool
	read, writer uint32 // steps of the first remote accesses
}

// TestSectionsModel compares random events with a straightforward implementation of
// the same rules.
func TestSectionsModel(t *testing.T) {
	const locations, threads = 4, 3
	found := 0
	for seed := range uint64(1500) {
		rng := rand.New(rand.NewPCG(seed, 3))
		var rules []rule
		for range 1 + rng.IntN(3) {
			r := rule{entry: 1 + rng.Uint32N(locations), ends: map[uint32]string{}, above: rng.Uint32N(2)}
			for range 1 + rng.IntN(2) {
				r.ends[1+rng.Uint32N(locations)] = []string{"", "r", "w", "rw"}[rng.IntN(4)]
			}
			switch rng.IntN(4) {
			case 0:
				r.circular = true
				r.ends[r.entry] = "r"
			case 1:
				r.recursive = true
			}
			rules = append(rules, r)
		}
		table := new(Table)
		add(t, table, rules)
		var ths [threads]Thread
		var in [threads][]*modelSection
		var loc [threads]uint32 // of the pending access
		var addr [threads]uint64
		var last [threads]uint32
		for n := uint32(1); n <= 120; n++ {
			thread := rng.IntN(threads)
			var want []string
			finish := func() {
				left := in[thread][:0:0]
				for _, s := range in[thread] {
					r := &rules[s.rule]
					allow, end := r.ends[loc[thread]]
					end = end && loc[thread] != 0 && s.addr == addr[thread] && !(r.circular && s.fresh)
					s.fresh = false
					if !end {
						left = append(left, s)
						continue
					}
					if s.count--; s.count > 0 {
						left = append(left, s)
						continue
					}
					var bad []string
					if s.read != 0 && !strings.Contains(allow, "r") {
						bad = append(bad, fmt.Sprintf("r%d", s.read))
					}
					if s.writer != 0 && !strings.Contains(allow, "w") {
						bad = append(bad, fmt.Sprintf("w%d", s.writer))
					}
					if len(bad) == 2 && s.writer < s.read {
						slices.Reverse(bad)
					}
					if bad != nil {
						want = append(want, fmt.Sprintf("S%d %d-%d %s", s.rule+1, s.entry, last[thread], strings.Join(bad, " ")))
					}
				}
				in[thread], loc[thread] = left, 0
			}
			abandon := func(depth uint32) {
				in[thread] = slices.DeleteFunc(in[thread], func(s *modelSection) bool { return s.depth > depth })
			}
			finish()
			var hits Hits
			switch rng.IntN(12) {
			case 0:
				table.After(&ths[thread], &hits)
			case 1:
				depth := rng.Uint32N(3)
				abandon(depth)
				table.Exit(&ths[thread], depth, &hits)
			case 2:
				v := 8 + 8*rng.Uint64N(2)
				in[thread] = slices.DeleteFunc(in[thread], func(s *modelSection) bool { return s.addr == v })
				table.AtomExit(&ths[thread], v, v, &hits)
			default:
				a := &Access{
					Addr: 8 + 8*rng.Uint64N(2), Size: 1, ID: uint64(thread)<<32 | uint64(n),
					Loc: rng.Uint32N(locations + 1), Depth: 1 + rng.Uint32N(2), Write: rng.IntN(2) == 0, Atomic: rng.IntN(4) == 0,
				}
				if rng.IntN(6) == 0 {
					a.Size, a.Loc = 9, 0 // both variables
				}
				abandon(a.Depth)
				for other := range in {
					for _, s := range in[other] {
						if other == thread || s.addr < a.Addr || s.addr >= a.Addr+a.Size {
							continue
						}
						if a.Write && s.writer == 0 {
							s.writer = n
						}
						if !a.Write && s.read == 0 {
							s.read = n
						}
					}
				}
				for i, r := range rules {
					if a.Loc == 0 || r.entry != a.Loc {
						continue
					}
					at := slices.IndexFunc(in[thread], func(s *modelSection) bool { return s.rule == i && s.addr == a.Addr })
					if at >= 0 && r.recursive {
						in[thread][at].count++
						continue
					}
					if at >= 0 && !r.circular {
						in[thread] = slices.Delete(in[thread], at, at+1)
					}
					in[thread] = append(in[thread], &modelSection{
						rule: i, addr: a.Addr, entry: n, depth: a.Depth - min(a.Depth, r.above), count: 1, fresh: true,
					})
				}
				loc[thread], addr[thread], last[thread] = a.Loc, a.Addr, n
				table.Before(&ths[thread], a, &hits)
			}
			slices.Sort(want)
			if got := violations(&hits); got != strings.Join(want, ", ") {
				t.Fatalf("seed %d, event %d: found %q, want %q\n%+v", seed, n, got, want, rules)
			}
			found += len(want)
		}
		if l := table.Missed(); l != (Losses{}) {
			t.Fatalf("seed %d: missed %+v", seed, l)
		}
	}
	t.Logf("%d violations", found)
}

// TestSectionsConcurrent has goroutines that read and write a variable in one critical section, or
// split into two. A counter under the lock shows whether another goroutine wrote in between.
func TestSectionsConcurrent(t *testing.T) {
	const threads, rounds = 4, 2000
	for _, split := range []bool{false, true} {
		table := new(Table)
		add(t, table, []rule{{entry: 1, ends: map[uint32]string{2: "r"}}})
		var mu sync.Mutex
		var writes uint64
		var violated, found atomic.Uint64
		var wg sync.WaitGroup
		for id := range uint64(threads) {
			wg.Add(1)
			go func() {
				defer wg.Done()
				var th Thread
				var hits Hits
				for range rounds {
					mu.Lock()
					table.Before(&th, &Access{Addr: 8, ID: id << 32, Loc: 1}, &hits)
					seen := writes
					table.After(&th, &hits)
					if split {
						mu.Unlock()
						runtime.Gosched()
						mu.Lock()
					}
					table.Before(&th, &Access{Addr: 8, ID: id << 32, Loc: 2, Write: true}, &hits)
					if hits.NumOverlaps != 0 {
						t.Errorf("finds a race: %q", overlaps(&hits))
					}
					if writes != seen {
						violated.Add(1)
					}
					writes++
					table.After(&th, &hits)
					found.Add(uint64(hits.NumViolations))
					mu.Unlock()
				}
			}()
		}
		wg.Wait()
		checkInactive(t, table)
		l := table.Missed()
		if got, want := found.Load(), violated.Load(); got != want && l.Sections+l.Unnamed == 0 || got > want {
			t.Errorf("split %v: %d of %d violations found", split, got, want)
		}
		t.Logf("split %v: %d violations, missed %+v", split, found.Load(), l)
	}
}

// TestSectionsRacy lets goroutines enter sections on the bytes of one word and access them without
// a lock. It checks the violations with time stamps from a common clock. A reported remote access
// must have accessed the section's variable after Before was called for the entry and before After
// returned for the end. If a remote access certainly came in between, it or another one of the same
// kind must be reported.
func TestSectionsRacy(t *testing.T) {
	type loggedAccess struct {
		Access
		called, returned, ended uint64 // times of the call of Before, of its return, and of the return of After
	}
	type execution struct {
		entry, end uint64 // access IDs
		v          *Violation
	}
	const threads, rounds = 3, 1500
	table := new(Table)
	add(t, table, []rule{{entry: 1, ends: map[uint32]string{2: ""}}})
	var clock, arrived atomic.Uint64
	logs := make([][]loggedAccess, threads)
	sections := make([][]execution, threads)
	var wg sync.WaitGroup
	for id := range uint64(threads) {
		wg.Add(1)
		go func() {
			defer wg.Done()
			rng := rand.New(rand.NewPCG(id, 4))
			var th Thread
			access := func(addr uint64, loc uint32, hits *Hits) {
				d := loggedAccess{Access: Access{Addr: addr, ID: id<<32 | uint64(len(logs[id])), Loc: loc, Write: rng.IntN(2) == 0}}
				d.called = clock.Add(1)
				table.Before(&th, &d.Access, hits)
				d.returned = clock.Add(1)
				if rng.IntN(8) == 0 {
					runtime.Gosched()
				}
				table.After(&th, hits)
				d.ended = clock.Add(1)
				logs[id] = append(logs[id], d)
			}
			for n := range uint64(rounds) {
				variable := 8 + rng.Uint64N(3)
				var hits Hits
				entry := id<<32 | uint64(len(logs[id]))
				access(variable, 1, &hits)
				if n%50 == 0 { // wait until all threads are in a section
					for arrived.Add(1); arrived.Load() < threads*(n/50+1); {
						runtime.Gosched()
					}
				}
				for range 1 + rng.IntN(2) {
					access(8+rng.Uint64N(3), 0, &hits)
				}
				end := id<<32 | uint64(len(logs[id]))
				access(variable, 2, &hits)
				b := execution{entry: entry, end: end}
				if hits.NumViolations > 0 {
					b.v = &hits.Violations[0]
				}
				sections[id] = append(sections[id], b)
			}
		}()
	}
	wg.Wait()
	checkInactive(t, table)
	if l := table.Missed(); l.Sections+l.Excess != 0 {
		t.Fatalf("missed %+v", l)
	}
	find := func(id uint64) *loggedAccess { return &logs[id>>32][uint32(id)] }
	violations, certain := 0, 0
	for id := range sections {
		for _, s := range sections[id] {
			entry, end := find(s.entry), find(s.end)
			read, wrote := false, false
			for other := range logs {
				for i := range logs[other] {
					if d := &logs[other][i]; other != id && d.Addr == entry.Addr && d.called > entry.returned && d.returned < end.called {
						read, wrote = read || !d.Write, wrote || d.Write
						certain++
					}
				}
			}
			if (read && (s.v == nil || !s.v.Read) || wrote && (s.v == nil || !s.v.Wrote)) && table.Missed().Unnamed == 0 {
				t.Fatalf("the section from %+v to %+v: read %v, wrote %v, found %+v", *entry, *end, read, wrote, s.v)
			}
			if s.v == nil {
				continue
			}
			violations++
			check := func(other uint64, write bool) {
				d := find(other)
				if d.ID>>32 == uint64(id) || d.Addr != entry.Addr || d.Write != write || d.returned < entry.called || d.called > end.ended {
					t.Fatalf("the section from %+v to %+v found %+v", *entry, *end, *d)
				}
			}
			if s.v.Entry != s.entry || s.v.End != s.end {
				t.Fatalf("the section from %+v to %+v is found as %+v", *entry, *end, *s.v)
			}
			if s.v.Read {
				check(s.v.Reader, false)
			}
			if s.v.Wrote {
				check(s.v.Writer, true)
			}
		}
	}
	if violations == 0 {
		t.Error("no violation was found")
	}
	t.Logf("%d violations; %d accesses in between for certain", violations, certain)
}

// TestIn asks where a thread is in sections.
func TestIn(t *testing.T) {
	table, th, hits := new(Table), new(Thread), new(Hits)
	add(t, table, []rule{{entry: 1, ends: map[uint32]string{2: ""}}})
	in := func(want bool, first, last uint64) {
		t.Helper()
		if got := th.In(first, last); got != want {
			t.Errorf("In(%#x, %#x) = %v", first, last, got)
		}
	}
	in(false, 0, 1<<64-1)
	table.Before(th, &Access{Addr: 0x1008, Size: 1, Loc: 1}, hits)
	in(true, 0x1000, 0x103f)
	in(true, 0x1008, 0x1008)
	in(false, 0x1009, 0x103f)
	in(false, 0x1000, 0x1007)
	table.Before(th, &Access{Addr: 0x1008, Size: 1, Loc: 2}, hits)
	in(true, 0x1000, 0x103f)
	table.After(th, hits)
	in(false, 0, 1<<64-1)
}
