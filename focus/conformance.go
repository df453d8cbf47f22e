package focus

import (
	"fmt"

	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/internal/locksets"
)

// conformance is what a Filter knows of a byte, or of bytes that were accessed together, of a variable that
// is guarded and not safe.
type conformance struct {
	lock  locksets.Lock // that the guard says; 0 before the byte is shared and somebody has taken it
	flags conformanceFlags
	turn  uint8           // the entry of first that is replaced next
	last  location        // of the last access
	other location        // of the last access by another goroutine than that of last
	first [4]firstForward // of goroutines since the byte is shared
}

type location struct {
	thread heisen.Thread
	site   heisen.Site
	ctx    heisen.Context
	op     heisen.Op
}

// firstForward says of which ops a goroutine has had an access forwarded.
type firstForward struct {
	thread heisen.Thread
	ops    uint8 // 1 for reads, 2 for writes; 0 in an unused entry
}

type conformanceFlags uint8

const (
	accessed conformanceFlags = 1 << iota
	shared                    // a second goroutine has accessed it
	written                   // since then
	violated                  // since then, an access did not hold the lock, or another lock was the guard
	reported
)

// check takes in an access by op to a variable whose guard is the lock at an address. A trusted access needs
// no look at the locks that are held. check reports whether the access may be left out if it is trusted.
//
// That is so if the byte is shared, and an access by the same goroutine, of the same kind, has been
// forwarded since. The accesses before are forwarded because they need no lock. An access that is left
// out holds the lock, so it does not race with others that hold it; what does not hold it, check reports
// here. And if it races with an access from before the byte was shared, so does the one that was
// forwarded.
func (f *Filter) check(r *heisen.Record, op heisen.Op, at heisen.Object, trusted bool, v Variable) (needless bool) {
	lock := f.table.Find(at)
	if r.Len <= 1 {
		return f.checkByte(f.memory.At(r.Object), r.Object, r, op, lock, trusted, v)
	}
	needless = true
	for c := f.memory.Range(r.Object, r.Size()); c.Next(); {
		needless = f.checkByte(c.State(), c.Object(), r, op, lock, trusted, v) && needless
	}
	return needless
}

func (f *Filter) checkByte(c *conformance, at heisen.Object, r *heisen.Record, op heisen.Op, lock locksets.Lock, trusted bool, v Variable) (needless bool) {
	if c.flags&accessed == 0 {
		c.flags = accessed
	} else if c.last.thread != r.Thread {
		c.other = c.last
		c.flags |= shared
	}
	c.last = location{r.Thread, r.Site, r.Context, op}
	if c.flags&shared == 0 {
		return false
	}
	if c.lock == 0 {
		c.lock = lock
	}
	if op.IsWrite() {
		c.flags |= written
	}
	conforms := lock != 0 && c.lock == lock && (trusted || f.holds(r.Thread, lock, op))
	if !conforms {
		c.flags |= violated
	}
	if c.flags&(written|violated|reported) == written|violated {
		c.flags |= reported
		f.report(c, at, r, op, conforms, v)
	}
	return !op.IsAtomic() && !c.isFirst(r.Thread, op)
}

// isFirst reports whether no plain access by op of the goroutine is known to have been forwarded, and notes
// that this one is. It forgets goroutines if there are many, so it may be true more than once.
func (c *conformance) isFirst(t heisen.Thread, op heisen.Op) bool {
	bit := uint8(1)
	if op.IsWrite() {
		bit = 2
	}
	for i := range c.first {
		if e := &c.first[i]; e.ops != 0 && e.thread == t {
			is := e.ops&bit == 0
			e.ops |= bit
			return is
		}
	}
	c.first[c.turn] = firstForward{t, bit}
	c.turn = (c.turn + 1) % uint8(len(c.first))
	return true
}

// holds reports whether a goroutine holds a lock as Eraser wants it for an access by op: exclusively for
// a write, in any mode for a read.
func (f *Filter) holds(t heisen.Thread, lock locksets.Lock, op heisen.Op) bool {
	held := f.locks.HeldBy(t)
	if op.IsWrite() {
		return f.table.Has(held.Exclusive, lock)
	}
	return f.table.Has(held.Any, lock)
}

// compact drops the locksets that are no longer used, if there are many.
func (f *Filter) compact() {
	if !f.table.Grown() {
		return
	}
	f.table.Compact(func(k *locksets.Compaction) {
		f.locks.KeepSets(k)
		f.memory.Each(func(c *conformance) { k.KeepLock(c.lock) })
	})
}

func (f *Filter) report(c *conformance, at heisen.Object, r *heisen.Record, op heisen.Op, conforms bool, v Variable) {
	if f.sink == nil {
		return
	}
	message := fmt.Sprintf("%v of %v without the lock that guards it", op, v)
	if conforms {
		message = fmt.Sprintf("%v of %v, which goroutines have shared without the lock that guards it", op, v)
	}
	access := heisen.AccessOf(r, f.events)
	access.Op = op
	var locks []heisen.Object
	if c.lock != 0 {
		locks = []heisen.Object{f.table.Object(c.lock)}
	}
	f.sink(heisen.Finding{
		Detector: "focus",
		Kind:     heisen.Discipline,
		Object:   at,
		Message:  message,
		Accesses: []heisen.Access{{
			Op: c.other.op, Thread: c.other.thread, Object: at, Size: 1, Site: c.other.site, Context: c.other.ctx,
		}, access},
		Locks: locks,
	})
}
