package cli

import (
	"strings"

	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/internal/shadow"
)

// operations finds the atomic operations of the standard library in the stream of a program, for
// atomicity.WithOperations. There are two kinds.
//
// Package sync and the runtime report what they synchronize at the place of the call, so that a call of
// sync.Map.Store or atomic.Value.Store is several events at one site. A call of an operation of sync/atomic is
// always the same kind of event there. So a site is one of an operation if a thread makes two different events
// there, one after another, on different objects; or an event on memory that such a site has accessed, which is
// the library's own. A site is none if it releases a lock that was not taken there: sync.Cond.Wait lets others in.
//
// Packages that guard all that they have by a lock of their own, such as log, are known by name.
type operations struct {
	symbols *heisen.Symbols
	library *standardLibrary
	sites   map[heisen.Site]bool // of operations; false if it is none for good
	memory  *shadow.Memory[operationWord]
	last    map[heisen.Thread]heisen.Record
	callers map[heisen.Site]bool // whether the innermost frame is in one of the packages that are known by name
}

// operationWord is what is known of an address.
type operationWord struct {
	inner bool        // it is the library's own
	taken heisen.Site // where the lock was taken
}

func newOperations(symbols *heisen.Symbols, library *standardLibrary) *operations {
	return &operations{
		symbols: symbols, library: library,
		sites: map[heisen.Site]bool{}, memory: shadow.New[operationWord](nil, nil),
		last: map[heisen.Thread]heisen.Record{}, callers: map[heisen.Site]bool{},
	}
}

// Handle implements heisen.Detector.
func (o *operations) Handle(e heisen.Event) {
	r := heisen.AsRecord(e)
	switch {
	case r.Op == heisen.Alloc || r.Op == heisen.Free:
		o.memory.Clear(r.Object, r.Value)
	case r.Op == heisen.End:
		delete(o.last, r.Thread)
	case r.Site != 0 && isSynchronization(r.Op):
		o.learn(r)
	}
}

// learn learns from an event whether its site is one of an operation.
func (o *operations) learn(r *heisen.Record) {
	is, known := o.sites[r.Site]
	if known && !is {
		return
	}
	word := o.memory.At(r.Object)
	switch r.Op {
	case heisen.Acquire, heisen.AcquireShared:
		word.taken = r.Site
	case heisen.Release, heisen.ReleaseShared:
		if word.taken != r.Site {
			o.sites[r.Site] = false
			return
		}
	}
	before := o.last[r.Thread]
	o.last[r.Thread] = *r
	several := before.Site == r.Site && before.Op != r.Op && before.Object != r.Object
	if !is && !several && !(word.inner && r.Op.IsAccess()) {
		return
	}
	o.sites[r.Site] = true
	word.inner = word.inner || r.Op.IsAccess()
	if several && before.Op.IsAccess() {
		o.memory.At(before.Object).inner = true
	}
}

// Flush implements heisen.Detector.
func (o *operations) Flush() error { return nil }

func isSynchronization(op heisen.Op) bool {
	switch op {
	case heisen.AtomicRead, heisen.AtomicWrite, heisen.AtomicUpdate, heisen.Send, heisen.Receive,
		heisen.Acquire, heisen.Release, heisen.AcquireShared, heisen.ReleaseShared:
		return true
	}
	return false
}

// of returns the site of the operation that an event is part of, or 0.
func (o *operations) of(a heisen.Access) heisen.Site {
	if a.Site == 0 {
		return 0
	}
	if !o.guarded(a.Site) {
		if o.sites[a.Site] {
			return a.Site
		}
		return 0
	}
	for _, call := range o.symbols.Calls(a.Context) {
		if !o.standard(call) {
			return call
		}
	}
	return 0
}

// guarded reports whether a site is in a package whose calls are atomic.
func (o *operations) guarded(site heisen.Site) bool {
	is, known := o.callers[site]
	if !known {
		if frames := o.symbols.Site(site).Frames; len(frames) > 0 {
			switch pkg := packageOf(frames[0]); pkg {
			case "log", "math/rand", "math/rand/v2", "time":
				is = o.library.has(pkg)
			}
		}
		o.callers[site] = is
	}
	return is
}

// standard reports whether a call is one within the standard library.
func (o *operations) standard(call heisen.Site) bool {
	frames := o.symbols.Site(call).Frames
	return len(frames) > 0 && (o.library.has(packageOf(frames[0])) || strings.HasPrefix(packageOf(frames[0]), "runtime"))
}
