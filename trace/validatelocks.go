package trace

import (
	"maps"
	"slices"

	"github.com/heisen-go/heisen"
)

// checkLock checks an event of a lock and lets it take effect.
func (v *Validator) checkLock(rec *heisen.Record) {
	l := v.locks[rec.Object]
	if l == nil {
		l = &lockCheck{}
		v.locks[rec.Object] = l
	}
	mine := hold{rec.Thread, v.events}
	switch rec.Op {
	case heisen.Acquire:
		if l.exclusive {
			v.problem(ErrAcquireHeld, rec, l.owner.event, v.symbols.Name(rec.Object))
		} else if len(l.readers) > 0 {
			v.problem(ErrAcquireHeld, rec, l.readers[0].event, v.symbols.Name(rec.Object))
		}
		*l = lockCheck{exclusive: true, owner: mine}
	case heisen.AcquireShared:
		if l.exclusive {
			v.problem(ErrAcquireHeld, rec, l.owner.event, v.symbols.Name(rec.Object))
			*l = lockCheck{}
		}
		l.readers = append(l.readers, mine)
	case heisen.Release:
		switch {
		case l.exclusive && l.owner.thread != rec.Thread:
			v.foreign(rec, l.owner)
		case !l.exclusive && len(l.readers) > 0:
			v.problem(ErrMode, rec, l.readers[0].event, v.symbols.Name(rec.Object))
		case !l.exclusive:
			v.problem(ErrReleaseUnheld, rec, 0, v.symbols.Name(rec.Object))
		}
		*l = lockCheck{readers: l.readers[:0]}
	case heisen.ReleaseShared:
		i := slices.IndexFunc(l.readers, func(h hold) bool { return h.thread == rec.Thread })
		switch {
		case l.exclusive:
			v.problem(ErrMode, rec, l.owner.event, v.symbols.Name(rec.Object))
			*l = lockCheck{readers: l.readers[:0]}
		case len(l.readers) == 0:
			v.problem(ErrReleaseUnheld, rec, 0, v.symbols.Name(rec.Object))
		case i < 0:
			v.foreign(rec, l.readers[0])
			l.readers = l.readers[1:]
		default:
			l.readers = slices.Delete(l.readers, i, i+1)
		}
	}
}

// sortedLocks returns the locks in the order of their numbers.
func sortedLocks(locks map[heisen.Object]*lockCheck) []heisen.Object {
	return slices.Sorted(maps.Keys(locks))
}
