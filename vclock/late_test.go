package vclock

import (
	"fmt"
	"maps"
	"math/bits"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/heisen-go/heisen"
)

// The tests of this file make random executions twice into streams: as they
// happened, and as a recorder delivers them that keeps back what Late allows. The
// same bytes must race.

// item is a record in a thread's part of a lazy recording. Those with a stamp are
// merged in the order of stamps, others in the order of their thread only.
type item struct {
	stamp     int // from 1; 0 if it has none
	record    heisen.Record
	collected bool // every thread's publications come first
}

// note is an access that is kept back, or was the last to be delivered.
type note struct {
	mask      uint8
	write     bool
	delivered bool
	epoch     uint64
	site      heisen.Site
}

// cell is a recorder's state of a word.
type cell struct {
	used, shared, exposed bool
	owner                 int
	since                 int // stamp of the exposure
	notes                 []note
}

// worker is a thread of an execution.
type worker struct {
	id        int
	items     []item
	published uint64
	last      uint64 // 1 + the epoch of its last access
	stamp     int    // its latest
	bump      bool   // finalizers have run
	knows     map[int]bool
	ended     bool
}

// execution makes both streams as it goes.
type execution struct {
	rng     *rand.Rand
	workers []*worker
	cells   map[heisen.Object]*cell
	stamps  int
	site    heisen.Site
	split   bool // accesses are delivered byte by byte

	happened []heisen.Record
	lazy     []heisen.Record // merged so far
	next     int             // the stamp that comes next, - 1
	begun    map[int]bool    // threads whose fork was merged
	late     int
	lives    map[int]int // by word
}

const (
	lateWords = 4
	lateBase  = heisen.Object(0x1000)
	lateLocks = heisen.Object(0x2000) // memory as well
	lateMsgs  = heisen.Object(0x3000)
	lateLives = heisen.Object(0x4000) // messages about allocations
)

func newExecution(rng *rand.Rand) *execution {
	e := &execution{
		rng: rng, cells: map[heisen.Object]*cell{}, begun: map[int]bool{0: true},
		split: rng.IntN(2) == 0, lives: map[int]int{},
	}
	e.worker()
	return e
}

func (e *execution) worker() *worker {
	w := &worker{id: len(e.workers), knows: map[int]bool{}}
	e.workers = append(e.workers, w)
	e.put(w, heisen.Record{Code: heisen.Begin, Flags: Late}, false)
	return w
}

func (e *execution) put(w *worker, r heisen.Record, stamped bool) {
	r.TID = heisen.Thread(w.id)
	i := item{record: r}
	if stamped {
		e.stamps++
		i.stamp = e.stamps
		w.stamp = e.stamps
	}
	w.items = append(w.items, i)
}

// turn is a record that only waits for its stamp.
func (e *execution) turn(w *worker) { e.put(w, heisen.Record{}, true) }

// pieces calls put with the parts of an access to the bytes of a word.
func (e *execution) pieces(r heisen.Record, mask uint8, put func(heisen.Record)) {
	word := r.Obj
	for mask != 0 {
		first := bits.TrailingZeros8(mask)
		n := bits.TrailingZeros8(^(mask >> first))
		if e.split {
			n = 1
		}
		mask &^= uint8(1<<n-1) << first
		r.Obj, r.Len = word+heisen.Object(first), uint16(n)
		put(r)
	}
}

func (e *execution) sync(w *worker, r heisen.Record) {
	r.TID = heisen.Thread(w.id)
	e.happened = append(e.happened, r)
	e.put(w, r, true)
	switch r.Code {
	case heisen.AtomicWrite, heisen.AtomicUpdate, heisen.Release, heisen.ReleaseShared, heisen.Send, heisen.Fork:
		w.published++
	}
}

// deliverLate sends what is kept back of a word.
func (e *execution) deliverLate(w *worker, word heisen.Object, owner int, notes ...note) {
	e.turn(w)
	for _, n := range notes {
		if n.delivered {
			continue
		}
		r := heisen.Record{Code: heisen.Read, Obj: word, Loc: n.site, Val: n.epoch, Flags: Late}
		if n.write {
			r.Code = heisen.Write
		}
		e.pieces(r, n.mask, func(r heisen.Record) {
			e.late++
			r.TID = heisen.Thread(owner)
			w.items = append(w.items, item{record: r})
		})
	}
}

func (e *execution) cell(word heisen.Object) *cell {
	c := e.cells[word]
	if c == nil {
		c = new(cell)
		e.cells[word] = c
	}
	return c
}

func (e *execution) expose(w *worker, word heisen.Object) {
	c := e.cell(word)
	if c.exposed {
		return
	}
	e.deliverLate(w, word, c.owner, c.notes...)
	*c = cell{used: true, exposed: true, since: w.stamp}
}

// access is a plain access by w.
func (e *execution) access(w *worker, write bool, word heisen.Object, mask uint8) {
	e.site++
	r := heisen.Record{Code: heisen.Read, TID: heisen.Thread(w.id), Obj: word, Loc: e.site}
	if write {
		r.Code = heisen.Write
	}
	e.pieces(r, mask, func(r heisen.Record) { e.happened = append(e.happened, r) })
	e.afterFinalizers(w)
	if e.keep(w, write, word, mask) {
		return
	}
	e.pieces(r, mask, func(r heisen.Record) { e.put(w, r, false) })
}

// afterFinalizers makes what w does tell apart from what it did before finalizers
// ran.
func (e *execution) afterFinalizers(w *worker) {
	if w.bump {
		w.bump = false
		e.put(w, heisen.Record{Code: heisen.Send, Obj: lateMsgs - 8}, true)
		w.published++
	}
}

// keep takes an access to its cell, and reports whether it is kept back.
func (e *execution) keep(w *worker, write bool, word heisen.Object, mask uint8) bool {
	c := e.cell(word)
	switch {
	case !c.exposed && (c.used && c.owner != w.id && e.rng.IntN(5) == 0 || e.rng.IntN(60) == 0):
		e.expose(w, word)
		return false
	case c.exposed:
		if w.stamp < c.since {
			e.turn(w)
		}
		return false
	}
	w.last = w.published + 1
	n := note{mask: mask, write: write, epoch: w.published, site: e.site}
	if c.used && c.owner != w.id {
		e.deliverLate(w, word, c.owner, c.notes...)
		n.delivered = true
		*c = cell{used: true, shared: true, owner: w.id, notes: []note{n}}
		return false
	}
	c.used, c.owner = true, w.id
	var noted, compared uint8
	for _, old := range c.notes {
		if old.write || !write {
			compared |= old.mask
			if old.epoch == n.epoch {
				noted |= old.mask
			}
		}
	}
	if mask&^noted == 0 {
		return true
	}
	n.delivered = c.shared && mask&^compared != 0 || e.rng.IntN(6) == 0
	for i := range c.notes {
		if write || !c.notes[i].write {
			c.notes[i].mask &^= mask
		}
	}
	c.notes = slices.DeleteFunc(c.notes, func(n note) bool { return n.mask == 0 })
	if len(c.notes) == 3 {
		i := e.rng.IntN(3)
		if !c.notes[i].delivered {
			e.deliverLate(w, word, w.id, c.notes[i])
		}
		c.notes = slices.Delete(c.notes, i, i+1)
	}
	c.notes = append(c.notes, n)
	return !n.delivered
}

// merge takes what can be merged now, in a random order; all of it, or until it
// likes to stop.
func (e *execution) merge(all bool) {
	for {
		var ready []*worker
		for _, w := range e.workers {
			if len(w.items) > 0 && e.begun[w.id] && (w.items[0].stamp == 0 || w.items[0].stamp == e.next+1) {
				ready = append(ready, w)
			}
		}
		if len(ready) == 0 || !all && e.rng.IntN(12) == 0 {
			return
		}
		w := ready[e.rng.IntN(len(ready))]
		for {
			i := w.items[0]
			w.items = w.items[1:]
			if i.stamp != 0 {
				e.next++
			}
			if i.collected {
				for _, id := range slices.Sorted(maps.Keys(e.begun)) {
					if id != w.id && !e.workers[id].ended {
						e.lazy = append(e.lazy, heisen.Record{Code: heisen.Send, Obj: lateMsgs - 8, TID: heisen.Thread(id), Flags: Late})
					}
				}
			}
			if i.record.Code != heisen.Invalid {
				e.lazy = append(e.lazy, i.record)
			}
			if i.record.Code == heisen.Fork {
				e.begun[int(i.record.Obj)] = true
			}
			// A turn and what is late with it come together.
			if len(w.items) == 0 || w.items[0].record.Flags&Late == 0 || !w.items[0].record.Code.IsAccess() {
				break
			}
		}
	}
}

func (e *execution) step() {
	w := e.workers[e.rng.IntN(len(e.workers))]
	if w.ended {
		return
	}
	n := heisen.Object(e.rng.IntN(64))
	switch k := e.rng.IntN(40); {
	case k < 20:
		word := int(n % lateWords)
		if life := e.lives[word]; life > 0 && !w.knows[word] {
			e.sync(w, heisen.Record{Code: heisen.Receive, Obj: lateLives + heisen.Object(8*word)})
			w.knows[word] = true
		}
		mask := []uint8{1, 1, 1, 0xff, 0x0f, 0xf0, 0x30, 0x80}[e.rng.IntN(8)]
		e.access(w, e.rng.IntN(3) == 0, lateBase+heisen.Object(8*word), mask)
	case k < 21: // a lock is memory, too
		e.access(w, e.rng.IntN(2) == 0, lateLocks+8*(n%2), 1)
	case k < 27:
		lock := lateLocks + 8*(n%2)
		e.afterFinalizers(w)
		e.expose(w, lock)
		code := []heisen.Op{heisen.Acquire, heisen.Release, heisen.AcquireShared, heisen.ReleaseShared}[e.rng.IntN(4)]
		e.sync(w, heisen.Record{Code: code, Obj: lock, Flags: heisen.LockWord})
	case k < 33:
		code := []heisen.Op{heisen.Send, heisen.Receive}[e.rng.IntN(2)]
		e.sync(w, heisen.Record{Code: code, Obj: lateMsgs + 8*(n%3)})
	case k < 34:
		if word := int(n % lateWords); e.lives[word] == 0 && e.rng.IntN(3) == 0 {
			obj := lateBase + heisen.Object(8*word)
			e.afterFinalizers(w)
			e.expose(w, obj)
			code := []heisen.Op{heisen.AtomicRead, heisen.AtomicWrite, heisen.AtomicUpdate}[e.rng.IntN(3)]
			e.sync(w, heisen.Record{Code: code, Obj: obj})
		}
	case k < 37:
		if len(e.workers) < 14 {
			child := e.worker()
			e.sync(w, heisen.Record{Code: heisen.Fork, Obj: heisen.Object(child.id)})
		}
	case k < 38:
		if w.id != 0 {
			e.sync(w, heisen.Record{Code: heisen.Send, Obj: lateMsgs + 8*(n%3)})
			e.sync(w, heisen.Record{Code: heisen.Send, Obj: lateMsgs - 8}) // it is done with what it leaves
			e.happened = append(e.happened, heisen.Record{Code: heisen.End, TID: heisen.Thread(w.id)})
			end := heisen.Record{Code: heisen.End}
			if w.last > 0 {
				end.Val, end.Flags = w.last-1, Late
			}
			e.put(w, end, true)
			w.ended = true
		}
	case k < 39:
		e.merge(true) // the garbage collector runs
		if e.rng.IntN(2) == 0 {
			e.alloc(w, int(n%lateWords))
		} else {
			e.collected(w)
		}
	default:
		e.merge(false)
	}
}

// alloc begins a life of a word. Who accesses it receives a message first.
func (e *execution) alloc(w *worker, word int) {
	r := heisen.Record{Code: heisen.Alloc, TID: heisen.Thread(w.id), Obj: lateBase + heisen.Object(8*word), Val: 8}
	e.happened = append(e.happened, r)
	e.put(w, r, false)
	delete(e.cells, r.Obj)
	e.lives[word]++
	for _, other := range e.workers {
		delete(other.knows, word)
	}
	w.knows[word] = true
	e.sync(w, heisen.Record{Code: heisen.Send, Obj: lateLives + heisen.Object(8*word)})
}

// collected makes w run finalizers.
func (e *execution) collected(w *worker) {
	for _, other := range e.workers {
		if other != w && !other.ended {
			e.happened = append(e.happened, heisen.Record{Code: heisen.Send, Obj: lateMsgs - 8, TID: heisen.Thread(other.id)})
			other.bump = true
		}
	}
	r := heisen.Record{Code: heisen.Receive, Obj: lateMsgs - 8}
	e.sync(w, r)
	w.items[len(w.items)-1].collected = true
	e.merge(true)
}

// racing returns what FastTrack finds to race: bytes, or words.
func racing(records []heisen.Record, split bool) map[heisen.Object]bool {
	found := map[heisen.Object]bool{}
	f := NewFastTrack(func(f heisen.Finding) {
		if !split {
			f.Object &^= 7
		}
		found[f.Object] = true
	})
	f.HandleRecords(records)
	if f.Flush() != nil {
		panic(f.Flush())
	}
	return found
}

func TestLate(t *testing.T) {
	n := 20_000
	if testing.Short() {
		n = 5_000
	}
	races, late, clean := 0, 0, 0
	for seed := range n {
		e := newExecution(rand.New(rand.NewPCG(uint64(seed), 21)))
		for range 20 + e.rng.IntN(120) {
			e.step()
		}
		e.merge(true)
		want, got := racing(e.happened, e.split), racing(e.lazy, e.split)
		if d := cmp.Diff(want, got); d != "" {
			for _, r := range e.happened {
				fmt.Printf("%v t%d %#x+%d %d @%d\n", r.Code, r.TID, r.Obj, r.Len, r.Val, r.Loc)
			}
			fmt.Println("lazy:")
			for _, r := range e.lazy {
				fmt.Printf("%v t%d %#x+%d %d @%d late=%v\n", r.Code, r.TID, r.Obj, r.Len, r.Val, r.Loc, r.Flags&Late != 0)
			}
			t.Fatalf("seed %d: what races (-happened +lazy):\n%s", seed, d)
		}
		races += len(want)
		late += e.late
		if len(want) == 0 {
			clean++
		}
	}
	if races < n/2 || late < n/2 || clean < n/50 {
		t.Errorf("%d races, %d late accesses, %d executions without a race: that says little", races, late, clean)
	}
}
