package syncp

import (
	"errors"
	"fmt"
	"slices"
	"sort"
	"unsafe"
)

// ErrForgotten is wrapped by the error of Flush if the beginning of the stream was forgotten, because what is stored
// has reached the bound of WithMemory. Bugs that need an earlier event, or one of them in another order, may be missing.
var ErrForgotten = errors.New("the beginning of the stream was forgotten")

// Approximate sizes of what is stored, in bytes.
const (
	changeBytes   = int(unsafe.Sizeof(change{}))
	sectionBytes  = int(unsafe.Sizeof(section{})) + 4
	variableBytes = int(unsafe.Sizeof(variable{})) + 5
	groupBytes    = int(unsafe.Sizeof(group{}))
	accessesBytes = int(unsafe.Sizeof(accesses{}))
	blockBytes    = int(unsafe.Sizeof(block{}) + unsafe.Sizeof(blockStart{}))
)

// stored returns how many bytes are stored.
func (d *Detector) stored() int {
	n := d.log.memory + len(d.log.blocks)*blockBytes
	for _, t := range d.threads.all {
		n += t.bytes
	}
	m := &d.memory
	return n + m.variables.used()*variableBytes + m.groups.used()*groupBytes + m.accesses.used()*accessesBytes + 4*m.older
}

// checkMemory forgets the older half of what is stored if that has reached the bound, and more if it is not enough.
func (d *Detector) checkMemory() {
	for d.stored() > d.config.memory && d.floor < d.log.events {
		d.forgetUntil(d.floor + (d.log.events-d.floor+1)/2)
	}
}

// forgetUntil forgets the events before the one with a number in the log: from now on they have happened in the
// order of the stream. So closures contain them, and they are in no finding.
func (d *Detector) forgetUntil(event uint64) {
	counts, err := d.countsAt(event)
	if err != nil {
		d.fail(err)
		return
	}
	d.floor, d.closure.floor = event, counts
	d.log.forget(int(event / blockEvents))
	moved := make([][]int32, len(d.threads.all))
	for i, t := range d.threads.all {
		moved[i] = t.forget(counts[i])
	}
	for _, o := range d.objects.all {
		o.forget(moved)
	}
	d.shadow.Each(func(v *uint32) {
		if *v != 0 && d.memory.prune(*v, counts) {
			d.memory.forget(*v)
			*v = 0
		}
	})
	for _, a := range d.acquirers {
		a.forget(counts[a.thread])
	}
}

// forgotten returns the error that says what was forgotten.
func (d *Detector) forgotten() error {
	if d.floor == 0 {
		return nil
	}
	return fmt.Errorf("%w: its first %d events; bugs that need them may be missing", ErrForgotten, d.log.positionBefore(d.floor))
}

// forget forgets what only matters to prefixes below n. It returns the new indices of the thread's sections, by
// the old ones; -1 for those that are gone.
func (t *thread) forget(n uint32) (moved []int32) {
	t.bytes = 0
	for i := range t.learned {
		l := &t.learned[i]
		k := max(0, sort.Search(len(l.changes), func(k int) bool { return l.changes[k].at > n })-1)
		l.changes = slices.Clone(l.changes[k:])
		t.bytes += len(l.changes) * changeBytes
	}
	moved = make([]int32, len(t.sections))
	var kept []section
	for i, s := range t.sections {
		moved[i] = -1
		if !s.openAt(n) {
			continue
		}
		moved[i] = int32(len(kept))
		for s.outer >= 0 && moved[s.outer] < 0 {
			s.outer = t.sections[s.outer].outer
		}
		if s.outer >= 0 {
			s.outer = moved[s.outer]
		}
		kept = append(kept, s)
	}
	t.sections = kept
	t.bytes += len(kept) * sectionBytes
	for i := range t.open {
		t.open[i] = moved[t.open[i]]
	}
	return moved
}

// forget removes the sections that are gone.
func (o *object) forget(moved [][]int32) {
	for i := range o.holders {
		h := &o.holders[i]
		var kept []int32
		for _, s := range h.sections {
			if at := moved[h.thread][s]; at >= 0 {
				kept = append(kept, at)
			}
		}
		h.sections = kept
	}
	for i := range o.holds {
		h := &o.holds[i]
		h.section = moved[h.thread][h.section]
	}
}

// prune forgets accesses below prefixes. It reports whether nothing is left of the variable.
func (m *memory) prune(v uint32, counts []uint32) (empty bool) {
	empty = true
	x := &m.variables.all[v]
	for g := x.groups; g != 0; {
		at := &m.groups.all[g]
		for from := &at.accesses; *from != 0; {
			l := &m.accesses.all[*from]
			n := counts[l.thread]
			k := sort.Search(len(l.older), func(k int) bool { return l.older[k] >= n })
			m.older -= k
			if l.older = slices.Clone(l.older[k:]); l.last >= n {
				empty = false
				from = &l.next
				continue
			}
			gone, thread := *from, l.thread
			*from = l.next
			if at.threads--; at.threads >= fewThreads {
				at.set(thread, 0)
			} else {
				at.low, at.byThread = nil, nil
			}
			m.accesses.remove(gone)
		}
		g = at.next
	}
	return empty
}

// forget forgets the acquisitions below a prefix of the thread.
func (a *acquirer) forget(n uint32) {
	k := sort.Search(len(a.before), func(k int) bool { return a.before[k] >= n })
	a.before = slices.Clone(a.before[k:])
	for _, c := range a.cycles {
		i := slices.Index(c.of, a)
		c.next[i] = max(0, c.next[i]-k)
	}
}

// forget gives up the blocks before one.
func (l *log) forget(until int) {
	for i := range l.blocks[:until] {
		if b := &l.blocks[i]; b.data != nil {
			l.memory -= cap(b.data)
			b.data, b.size = nil, 0
		}
	}
	l.next = max(l.next, until)
}

// positionBefore returns the position in the stream of the event before the one with a number.
func (l *log) positionBefore(event uint64) uint64 {
	if event >= l.events {
		return l.last
	}
	_, positions, err := l.read(event, event+1, nil, nil)
	if err != nil || len(positions) == 0 {
		return l.blocks[event/blockEvents].position
	}
	return positions[0] - 1
}
