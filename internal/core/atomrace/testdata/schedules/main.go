// The program is compiled together with the source of package internal/core/atomrace. It runs
// threads that use the package's tables under many schedules, and checks what they find.
package main

import (
	"flag"
	"fmt"
	"iter"
	"math/bits"
	"math/rand/v2"
	"os"
	"slices"

	"schedules/atomic"
)

// What the core needs from its host.

func storeRelease(x *atomic.Uint64, v uint64)   { x.Store(v) }
func storeRelease32(x *atomic.Uint32, v uint32) { x.Store(v) }
func lowestBit(x uint32) uint32                 { return uint32(bits.TrailingZeros32(x)) }
func pauseSpinning()                            {}

// loggedAccess is an access with four steps: the call of Before, its return, the call that ends the
// access, and that call's return. If the table keeps accesses pending, ending is the next access of
// the thread, but the entry may stay until After.
type loggedAccess struct {
	Access
	called, returned, ending, ended uint64
	found                           []uint64 // IDs of the accesses that overlap it
	span                            uint64   // how many times After was called before
}

// reported is a violation and the step by which it was reported.
type reported struct {
	Violation
	by uint64
}

// thread is one of the threads of a run.
type thread struct {
	state    Thread
	hits     Hits
	log      []loggedAccess
	reported []reported
	open     bool // the latest access is pending
	span     uint64
}

// before makes an access, which ends the latest one.
func (th *thread) before(t *Table, a Access) {
	d := loggedAccess{Access: a, called: atomic.Steps, span: th.span}
	latest := len(th.log) - 1
	if th.open {
		th.log[latest].ending = atomic.Steps
	}
	th.announce(t, &a)
	d.returned = atomic.Steps
	if th.open && !t.Keep {
		th.log[latest].ended = atomic.Steps
	}
	for _, o := range th.hits.Overlaps[:th.hits.NumOverlaps] {
		d.found = append(d.found, o.ID)
	}
	th.takeViolations()
	th.log = append(th.log, d)
	th.open = true
	if a.Atomic {
		th.after(t)
	}
}

// announce calls Before, or the functions of the fast path, which do the same.
func (th *thread) announce(t *Table, a *Access) {
	if t.Keep && a.Size <= 1 && !a.Atomic {
		th.hits = Hits{}
		if t.Pending(&th.state, a.Addr, a.Write) {
			return
		}
		if pending, alone := t.Touch(&th.state, a.Addr, a.ID, a.Write); alone {
			return
		} else if pending {
			t.Search(a, &th.hits)
			return
		}
	}
	t.Before(&th.state, a, &th.hits)
}

// after ends all pending accesses.
func (th *thread) after(t *Table) {
	latest := len(th.log) - 1
	if th.open {
		th.log[latest].ending = atomic.Steps
	}
	t.After(&th.state, &th.hits)
	for i := latest; i >= 0 && th.log[i].ended == 0; i-- {
		th.log[i].ended = atomic.Steps
	}
	th.open = false
	th.span++
	th.takeViolations()
}

func (th *thread) takeViolations() {
	for _, v := range th.hits.Violations[:th.hits.NumViolations] {
		th.reported = append(th.reported, reported{v, atomic.Steps})
	}
}

// script is what a thread does: random accesses to the bytes of a word or two.
func (th *thread) script(t *Table, id uint64, seed uint64) {
	rng := rand.New(rand.NewPCG(seed, id))
	longest := []int{1, 30}[seed%2]
	for n := range 2 + rng.Uint64N(3) {
		a := Access{
			Addr: 4 + rng.Uint64N(6), Size: rng.Uint64N(3), ID: id<<32 | n,
			Write: rng.IntN(2) == 0, Atomic: rng.IntN(8) == 0,
		}
		switch rng.IntN(12) {
		case 0, 1:
			a.Size = 60
		case 2, 3, 4: // only the bytes of one word, which makes overlaps likely
			a.Addr, a.Size = 4+rng.Uint64N(2), 1
		}
		if t.sections != 0 && a.Size < 60 {
			a.Addr, a.Size, a.Loc = 4+rng.Uint64N(2), 1, rng.Uint32N(3)
		}
		th.before(t, a)
		for range rng.IntN(longest) { // the access itself and the time until the next one
			atomic.Pause()
		}
		if rng.IntN(3) == 0 {
			th.after(t)
		}
	}
	th.after(t)
	t.AtomExit(&th.state, 0, 1<<64-1, &th.hits)
}

// run runs three threads under a schedule that the seed determines.
func run(t *Table, seed uint64) []*thread {
	rng := rand.New(rand.NewPCG(seed, 99))
	var threads []*thread
	var resume []func() (struct{}, bool)
	yields := make([]func(struct{}) bool, 3)
	for id := range uint64(3) {
		th := new(thread)
		threads = append(threads, th)
		next, _ := iter.Pull(func(yield func(struct{}) bool) {
			yields[id] = yield
			yield(struct{}{})
			th.script(t, id, seed)
		})
		next() // to the beginning of its script
		resume = append(resume, next)
	}
	running := []int{0, 1, 2}
	at := 0
	stay := rng.IntN(6) // probability, in sixths, that the same thread continues
	for len(running) > 0 {
		if rng.IntN(6) >= stay || at >= len(running) {
			at = rng.IntN(len(running))
		}
		id := running[at]
		atomic.Step = func() { yields[id](struct{}{}) }
		if _, ok := resume[id](); !ok {
			running = slices.Delete(running, at, at+1)
		}
	}
	atomic.Step = func() {}
	return threads
}

func conflict(a, b *loggedAccess) bool {
	return (a.Write || b.Write) && !(a.Atomic && b.Atomic) &&
		a.Addr < b.Addr+max(b.Size, 1) && b.Addr < a.Addr+max(a.Size, 1)
}

// meeting is an overlap that a thread found with an access of another one, and the spans of the
// two.
type meeting struct{ finder, span, other, otherSpan, word uint64 }

// words calls f for the words that two accesses share, until it returns true.
func words(a, b *loggedAccess, f func(uint64) bool) bool {
	last := func(d *loggedAccess) uint64 { return d.Addr + max(d.Size, 1) - 1 }
	for w := max(a.Addr, b.Addr) >> 3; w <= min(last(a), last(b))>>3; w++ {
		if f(w) {
			return true
		}
	}
	return false
}

// checkRaces checks overlaps by their steps. A reported access was pending at some time during
// Before. Of two conflicting plain accesses that were both announced before either was ending, one
// found the other. If the table keeps accesses pending, other accesses of the two threads to the
// same word, in the same spans, may have found each other instead.
func checkRaces(t *Table, threads []*thread, complete bool) (found int, err error) {
	var all []*loggedAccess
	met := map[meeting]bool{}
	for _, th := range threads {
		for i := range th.log {
			d := &th.log[i]
			all = append(all, d)
			found += len(d.found)
			for _, id := range d.found {
				o := &threads[id>>32].log[uint32(id)]
				if o.ID>>32 == d.ID>>32 || o.Atomic || !conflict(o, d) || o.called > d.returned || o.ended < d.called {
					return found, fmt.Errorf("%+v found %+v", *d, *o)
				}
				words(d, o, func(w uint64) bool {
					met[meeting{d.ID >> 32, d.span, o.ID >> 32, o.span, w}] = true
					return false
				})
			}
		}
	}
	reports := func(a, b *loggedAccess) bool { // a reports an overlap with b
		return slices.Contains(a.found, b.ID) || t.Keep && words(a, b, func(w uint64) bool {
			return met[meeting{a.ID >> 32, a.span, b.ID >> 32, b.span, w}]
		})
	}
	for _, a := range all {
		for _, b := range all {
			if !complete || a.ID>>32 == b.ID>>32 || a.Atomic || !conflict(a, b) {
				continue
			}
			if a.returned <= b.called && b.returned <= a.ending && !reports(b, a) && !(t.Keep && reports(a, b)) {
				return found, fmt.Errorf("%+v was pending, and not found by %+v", *a, *b)
			}
			if a.returned <= b.returned && b.returned <= a.ending && !b.Atomic && !reports(a, b) && !reports(b, a) {
				return found, fmt.Errorf("%+v and %+v were pending together", *a, *b)
			}
		}
	}
	return found, nil
}

// checkSections checks violations by their steps, as sections_test.go does with a clock.
func checkSections(_ *Table, threads []*thread, complete bool) (found int, err error) {
	for id, th := range threads {
		for _, v := range th.reported {
			found++
			entry, end := &th.log[uint32(v.Entry)], &th.log[uint32(v.End)]
			if v.Entry>>32 != uint64(id) || v.End>>32 != uint64(id) || entry.Loc != 1 || end.Loc != 2 ||
				entry.Addr != v.Addr || end.Addr != v.Addr || !v.Read && !v.Wrote {
				return found, fmt.Errorf("no section: %+v", v)
			}
			for _, s := range []struct {
				there, write bool
				id           uint64
			}{{v.Read, false, v.Reader}, {v.Wrote, true, v.Writer}} {
				if !s.there {
					continue
				}
				d := &threads[s.id>>32].log[uint32(s.id)]
				if d.ID>>32 == uint64(id) || d.Write != s.write || d.returned < entry.called || d.called > v.by ||
					v.Addr < d.Addr || v.Addr >= d.Addr+max(d.Size, 1) {
					return found, fmt.Errorf("%+v is held against the section from %+v to %+v", *d, *entry, *end)
				}
			}
		}
		// Check every end with the latest entry of its variable.
		entries := map[uint64]*loggedAccess{}
		for i := range th.log {
			a := &th.log[i]
			entry := entries[a.Addr]
			switch a.Loc {
			case 1:
				entries[a.Addr] = a
				continue
			case 2:
				delete(entries, a.Addr)
			}
			if a.Loc != 2 || entry == nil || !complete {
				continue
			}
			at := slices.IndexFunc(th.reported, func(v reported) bool { return v.End == a.ID })
			for other, o := range threads {
				for j := range o.log {
					d := &o.log[j]
					if other == id || d.called < entry.returned || d.returned > a.called || a.Addr < d.Addr || a.Addr >= d.Addr+max(d.Size, 1) {
						continue
					}
					if at < 0 || d.Write && !th.reported[at].Wrote || !d.Write && !th.reported[at].Read {
						return found, fmt.Errorf("%+v came into the section from %+v to %+v, and was not found", *d, *entry, *a)
					}
				}
			}
		}
	}
	return found, nil
}

// checkEmpty checks that a table has no entries.
func checkEmpty(t *Table) error {
	for i := range t.buckets {
		for j := range t.buckets[i].keys {
			if k := t.buckets[i].keys[j].Load(); k&keyBytes != 0 {
				return fmt.Errorf("an entry is left: %x", k)
			}
		}
	}
	for i := range t.active {
		for j := range t.active[i].keys {
			if k := t.active[i].keys[j].Load(); k != 0 {
				return fmt.Errorf("a section is left: %x", k)
			}
		}
	}
	if m := t.wides.Load(); m != 0 {
		return fmt.Errorf("wide entries are left: %x", m)
	}
	return nil
}

func main() {
	runs := flag.Uint64("runs", 15000, "schedules of each kind")
	flag.Parse()
	atomic.Step = func() {}
	for kind := range 3 {
		t, check := &Table{Keep: kind == 1}, checkRaces
		sections := kind == 2
		if sections {
			check = checkSections
			if !t.AddEnd(t.AddSection(1, 0, false, false), 2, false, false) {
				panic("no room")
			}
		}
		found := 0
		busy := uint64(0)
		for seed := range *runs {
			threads := run(t, seed)
			n, err := check(t, threads, t.unnamed.Load() == busy)
			busy = t.unnamed.Load()
			found += n
			if err == nil && seed%1000 == 0 {
				err = checkEmpty(t)
			}
			if err != nil {
				fmt.Printf("keep %v, sections %v, seed %d: %v\n", t.Keep, sections, seed, err)
				os.Exit(1)
			}
		}
		if l := t.Missed(); l.Unseen+l.Partial+l.Excess+l.Sections != 0 || found == 0 {
			fmt.Printf("keep %v, sections %v: %d found, missed %+v\n", t.Keep, sections, found, l)
			os.Exit(1)
		}
		fmt.Printf("keep %v, sections %v: %d found, %d steps\n", t.Keep, sections, found, atomic.Steps)
	}
}
