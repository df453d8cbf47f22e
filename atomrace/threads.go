package atomrace

import (
	"sync/atomic"

	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/internal/core/atomrace"
)

// thread is the state of a thread.
type thread struct {
	core atomrace.Thread
	hits atomrace.Hits // of the event that is being handled

	// In streams:
	latest   heisen.Access // its latest access
	depth    uint32        // calls on its stack, by Call and Return events
	activeAt int           // one more than its index in Detector.active; 0 if it is not there
}

type threadSlot struct{ atomic.Pointer[thread] }

// thread returns the state of a thread that calls the detector. A new thread gets one.
func (d *Detector) thread(t heisen.Thread) *thread {
	slot := d.threads.at(uint32(t))
	if th := slot.Load(); th != nil {
		return th
	}
	th := new(thread)
	slot.Store(th) // no other goroutine uses this thread number
	return th
}

// who packs a thread and a place into the number by which the core names an access to other threads.
func who(t heisen.Thread, place uint32) uint64 { return uint64(t)<<32 | uint64(place) }

// A place fits into 32 bits: the op in the high 3 bits and the site in the others. A place of a stream
// also has a context and a size. If they do not fit, the op is notPacked, and the other bits are an
// index into places.
const (
	opShift   = 29
	notPacked = 7
)

func packPlace(site heisen.Site, op heisen.Op) uint32 {
	if site >= 1<<opShift {
		site = 0
	}
	return uint32(op)<<opShift | uint32(site)
}

// streamPlace is a place of a stream that packPlace cannot represent.
type streamPlace struct {
	site heisen.Site
	ctx  heisen.Context
	op   heisen.Op
	size uint16
}

// places numbers the places of a stream. The zero value is ready to use.
type places struct {
	all     []streamPlace
	numbers map[streamPlace]uint32
	recent  [1 << recentBits]uint32 // cache of numbers by hash: one more than an index of all
}

const recentBits = 10

// pack returns the number of the place of an access.
func (p *places) pack(r *heisen.Record, op heisen.Op) uint32 {
	if r.Context == 0 && r.Len <= 1 && r.Site < 1<<opShift {
		return packPlace(r.Site, op)
	}
	at := streamPlace{r.Site, r.Context, op, uint16(r.Size())}
	h := (uint64(at.site)<<32|uint64(at.ctx))*0x9E3779B97F4A7C15 + uint64(at.op)<<59 + uint64(at.size)<<54
	slot := &p.recent[h>>(64-recentBits)]
	if n := *slot; n != 0 && p.all[n-1] == at {
		return notPacked<<opShift | (n - 1)
	}
	n, ok := p.numbers[at]
	switch {
	case ok:
	case len(p.all) >= 1<<opShift:
		return packPlace(r.Site, op)
	default:
		if p.numbers == nil {
			p.numbers = map[streamPlace]uint32{}
		}
		n = uint32(len(p.all))
		p.all = append(p.all, at)
		p.numbers[at] = n
	}
	*slot = n + 1
	return notPacked<<opShift | n
}

// access returns the access to a variable that the core names w; see who.
func (p *places) access(w uint64, variable uint64) heisen.Access {
	a := heisen.Access{Thread: heisen.Thread(w >> 32), Object: heisen.Object(variable), Size: 1}
	place := uint32(w)
	if rest := place & (1<<opShift - 1); place>>opShift == notPacked {
		at := p.all[rest]
		a.Op, a.Site, a.Context, a.Size = at.op, at.site, at.ctx, uint64(at.size)
	} else {
		a.Op, a.Site = heisen.Op(place>>opShift), heisen.Site(rest)
	}
	return a
}
