package repro

import (
	"cmp"
	"context"
	"slices"

	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/internal/confirm/controlled"
	"github.com/heisen-go/heisen/internal/confirm/trials"
	"github.com/heisen-go/heisen/internal/observed"
	"github.com/heisen-go/heisen/internal/races"
	"github.com/heisen-go/heisen/internal/recorder"
	"github.com/heisen-go/heisen/vclock"
)

// A race may follow from another one. A goroutine that writes a pointer without synchronization publishes all that the pointer
// leads to, and a goroutine that reads the pointer races with each write to that. All these races are gone once the pointer is
// synchronized.
//
// A race follows if three things hold wherever it happens. The later goroutine can know the memory only by a race: happens-before
// does not order the allocation before its access. There are earlier racy reads by which it can have come to know the
// memory: the allocation comes before the write that was read. And the earlier access of the race comes before each of these
// writes, so that an order of the write and the read would order the accesses, too. A racy read that follows itself tells nothing new and
// does not count.
//
// The goroutine that makes such a write may itself know the memory by a racy read only: one goroutine publishes p, a second one
// reads p and publishes q, which leads to p, and a third one reads q. So comes before means: by happens-before and by the orders that
// racy reads would add if they were synchronized.

// following is a detector that finds out which races of an execution follow from others. It finds nothing.
type following struct {
	symbols *heisen.Symbols
	order   *vclock.Order
	events  uint64
	words   map[heisen.Object]*[]threadUses // by the address of an aligned word
	memory  allocations
	roots   []root // racy reads that do not follow from others
	known   map[racePair]*verdict
	lost    bool // there was too much to keep: nothing follows
}

// moment is when a thread did something.
type moment struct {
	thread heisen.Thread
	epoch  vclock.Epoch
	event  uint64
}

// memoryUse is an access. The zero value is none.
type memoryUse struct {
	moment
	op   heisen.Op
	site heisen.Site
	// firstSite is that of the first access with this op in the epoch. A detector that keeps one access of an epoch may name it in
	// place of the latest one.
	firstSite heisen.Site
	first     heisen.Object // the bytes from first to last
	last      heisen.Object
	past      vclock.Clock // of a write: what its thread had observed
}

// threadUses are the latest accesses of a thread to a word.
type threadUses struct{ read, write memoryUse }

// root is a racy read, with the write that it may have read from.
type root struct {
	read moment
	pair racePair
	// write is the write. It may be followed by others of its thread.
	write memoryUse
	// known are indexes in following.roots of racy reads that happen before the write.
	known []int
}

// racePair are the operations of a race, the earlier one first.
type racePair struct {
	earlier, later         heisen.Op
	earlierSite, laterSite heisen.Site
}

// verdict says of a race whether it follows wherever it happens, and from which ones.
type verdict struct {
	alone bool
	roots []racePair
}

// Bounds on what is kept.
const (
	maxFollowedWords = 1 << 20
	maxRoots         = 1 << 10
)

func newFollowing(symbols *heisen.Symbols) (*following, error) {
	order, err := vclock.NewOrder()
	return &following{symbols: symbols, order: order, words: map[heisen.Object]*[]threadUses{}, known: map[racePair]*verdict{}}, err
}

func (d *following) handle(r *heisen.Record) {
	d.events++
	d.order.Observe(r)
	switch op := r.Access(); {
	case d.lost:
	case r.Op == heisen.Alloc:
		d.lost = !d.memory.add(allocation{d.now(r.Thread), r.Object, r.Object + heisen.Object(max(r.Value, 1)) - 1})
	case op != heisen.Invalid:
		d.access(r, op)
	}
	d.order.Publish(r)
}

func (d *following) now(t heisen.Thread) moment { return moment{t, d.order.Access(t), d.events} }

// access looks for races of an access with earlier ones, and remembers it.
func (d *following) access(r *heisen.Record, op heisen.Op) {
	u := memoryUse{moment: d.now(r.Thread), op: op, site: r.Site, firstSite: r.Site, first: r.Object, last: r.Object + heisen.Object(r.Size()) - 1}
	if op.IsWrite() {
		u.past = d.order.Observed(r.Thread)
	}
	for word := u.first &^ 7; word <= u.last; word += 8 {
		if d.lost = len(d.words) > maxFollowedWords; d.lost {
			return
		}
		uses := d.words[word]
		if uses == nil {
			uses = &[]threadUses{}
			d.words[word] = uses
		}
		for i := range *uses {
			d.compare(&(*uses)[i].write, &u)
			d.compare(&(*uses)[i].read, &u)
		}
		remember(uses, &u)
	}
}

// remember makes u the latest access of its thread to a word.
func remember(all *[]threadUses, u *memoryUse) {
	i := slices.IndexFunc(*all, func(x threadUses) bool {
		return x.read.thread == u.thread && x.read.op != 0 || x.write.thread == u.thread && x.write.op != 0
	})
	if i < 0 {
		i = len(*all)
		*all = append(*all, threadUses{})
	}
	if u.op.IsWrite() {
		(*all)[i].write.replace(u)
	}
	if u.reads() {
		(*all)[i].read.replace(u)
	}
}

func (u *memoryUse) reads() bool { return u.op != heisen.Write && u.op != heisen.AtomicWrite }

// replace makes u a later access of the same thread.
func (u *memoryUse) replace(later *memoryUse) {
	first := later.firstSite
	if u.op == later.op && u.epoch == later.epoch {
		first = u.firstSite
	}
	*u = *later
	u.firstSite = first
}

// compare judges two accesses if they race.
func (d *following) compare(earlier, later *memoryUse) {
	if earlier.op == 0 || earlier.thread == later.thread || !earlier.op.Conflicts(later.op) || earlier.last < later.first || later.last < earlier.first ||
		d.order.Before(earlier.epoch, later.thread) {
		return
	}
	memory := d.memory.at(later.first)
	if memory != nil && memory.event > earlier.event {
		return // other memory
	}
	from := d.rootsOf(memory, earlier, later)
	pair := racePair{earlier.op, later.op, earlier.firstSite, later.site}
	d.add(pair, from)
	if len(from) == 0 && earlier.op.IsWrite() && later.reads() {
		d.addRoot(root{read: later.moment, pair: pair, write: *earlier})
	}
	if pair.earlierSite = earlier.site; earlier.site != earlier.firstSite {
		d.add(pair, from)
	}
}

// add adds a race that follows from others, or from none.
func (d *following) add(pair racePair, from []racePair) {
	v := d.known[pair]
	if v == nil {
		v = &verdict{}
		d.known[pair] = v
	}
	v.alone = v.alone || len(from) == 0
	for _, p := range from {
		if !slices.Contains(v.roots, p) {
			v.roots = append(v.roots, p)
		}
	}
}

func (d *following) addRoot(o root) {
	for i := range d.roots { // the first read says as much as later ones
		if known := &d.roots[i]; known.read.thread == o.read.thread && known.write.event == o.write.event {
			return
		}
	}
	if d.lost = len(d.roots) == maxRoots; d.lost {
		return
	}
	for i := range d.roots {
		if o.write.after(&d.roots[i].read) {
			o.known = append(o.known, i)
		}
	}
	d.roots = append(d.roots, o)
}

// rootsOf returns the races from which the race of two accesses to memory follows. memory is nil if its allocation is not known.
func (d *following) rootsOf(memory *allocation, earlier, later *memoryUse) (from []racePair) {
	if memory == nil || memory.thread == later.thread || d.order.Before(memory.epoch, later.thread) {
		return nil
	}
	for i := range d.roots {
		o := &d.roots[i]
		if o.read.thread != later.thread && !d.order.Before(o.read.epoch, later.thread) {
			continue
		}
		allocated := d.through(i, &memory.moment)
		if len(allocated) == 0 {
			continue
		}
		accessed := d.through(i, &earlier.moment)
		if len(accessed) == 0 {
			return nil
		}
		for _, k := range slices.Concat(allocated, accessed) {
			if p := d.roots[k].pair; !slices.Contains(from, p) {
				from = append(from, p)
			}
		}
	}
	return from
}

// through returns the racy reads, as indexes of roots, through which what happened at m comes before the write of a root: that root
// first. It returns none if it does not come before it.
func (d *following) through(root int, m *moment) (path []int) {
	seen := map[int]bool{}
	var reach func(i int) bool
	reach = func(i int) bool {
		if seen[i] {
			return false
		}
		seen[i] = true
		path = append(path, i)
		if o := &d.roots[i]; o.write.after(m) || slices.ContainsFunc(o.known, reach) {
			return true
		}
		path = path[:len(path)-1]
		return false
	}
	if !reach(root) {
		return nil
	}
	return path
}

// after reports whether m happens before the write u.
func (u *memoryUse) after(m *moment) bool {
	if u.thread == m.thread {
		return m.event < u.event
	}
	return u.past.Covers(m.epoch)
}

// rootsWith returns the fingerprints of the races from which one with a fingerprint follows; none if it does not.
func (d *following) rootsWith(fingerprint string) (from []string) {
	for pair, v := range d.known {
		if d.fingerprint(pair) != fingerprint {
			continue
		}
		if v.alone || d.lost || d.order.Err() != nil {
			return nil
		}
		for _, p := range v.roots {
			from = append(from, d.fingerprint(p))
		}
	}
	slices.Sort(from)
	if from = slices.Compact(from); slices.Contains(from, fingerprint) {
		return nil
	}
	return from
}

func (d *following) fingerprint(p racePair) string {
	f := races.Unordered(observed.RaceDetector, 0, heisen.Access{Op: p.earlier, Site: p.earlierSite}, heisen.Access{Op: p.later, Site: p.laterSite})
	return f.Fingerprint(d.symbols)
}

// allocation is memory, and when it was allocated.
type allocation struct {
	moment
	first, last heisen.Object
}

// allocations are found by addresses. The zero value has none.
type allocations struct {
	pages map[heisen.Object][]allocation // by the page in which they begin
	large []allocation                   // that reach further than into the next page
	count int
}

const (
	allocationPage = 13 // log2 of the size of a page
	maxAllocations = 1 << 20
)

// add adds an allocation. It returns false if there are too many.
func (a *allocations) add(x allocation) bool {
	if a.pages == nil {
		a.pages = map[heisen.Object][]allocation{}
	}
	page := x.first >> allocationPage
	switch {
	case x.last>>allocationPage > page+1:
		a.large = append(a.large, x)
	default:
		a.pages[page] = append(a.pages[page], x)
	}
	a.count++
	return a.count <= maxAllocations
}

// at returns the latest allocation of an address, or nil.
func (a *allocations) at(address heisen.Object) (found *allocation) {
	page := address >> allocationPage
	for _, all := range [...][]allocation{a.pages[page], a.pages[page-1], a.large} {
		for i := len(all) - 1; i >= 0; i-- {
			if x := &all[i]; x.first <= address && address <= x.last {
				if found == nil || x.event > found.event {
					found = x
				}
				break
			}
		}
	}
	return found
}

// maxFollowedEndings bounds the executions that say whether a race follows from others.
const maxFollowedEndings = 4

// Roots returns the fingerprints of the races from which a confirmed race follows. It returns none if the race has happened
// alone in one of the executions that it looks at, one for each ending.
func (c Repeater) Roots(ctx context.Context, v *trials.Result) (from []string, err error) {
	if v.Finding.Kind != heisen.Race {
		return nil, nil
	}
	looked := 0
	for i := range v.Endings {
		e := &v.Endings[i]
		if !e.Confirmed {
			continue
		}
		if len(e.Trial.Execution.Meetings) > 0 && v.Suspect.Directed() || e.Trial.Execution.Long() { // nothing has ordered them, or it takes too long to tell
			return nil, nil
		}
		if looked++; looked > maxFollowedEndings {
			break
		}
		some, err := c.rootsIn(ctx, v, e)
		if err != nil || len(some) == 0 {
			return nil, err
		}
		from = append(from, some...)
	}
	slices.Sort(from)
	return slices.Compact(from), nil
}

// rootsIn repeats an execution.
func (c Repeater) rootsIn(ctx context.Context, v *trials.Result, e *trials.Ending) (from []string, err error) {
	schedule := c.ScheduleOf(v.Suspect, e.Trial)
	var d *following
	plan := c.Plan(v.Suspect, &schedule)
	plan.Mode = recorder.Everything
	plan.Detect = func(symbols *heisen.Symbols) ([]heisen.Detector, error) {
		var err error
		if d, err = newFollowing(symbols); err != nil {
			return nil, err
		}
		return []heisen.Detector{observed.Handler(d.handle)}, nil
	}
	plan.Finish = func(*controlled.Execution, *heisen.Symbols) {
		from = d.rootsWith(cmp.Or(v.Finding.Inside, v.Finding.PairFingerprint()))
	}
	_, err = v.Suspect.Program.Execute(ctx, plan, c.Resolver)
	return from, err
}
