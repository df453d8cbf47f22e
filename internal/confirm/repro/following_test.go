package repro

import (
	"slices"
	"testing"

	"github.com/heisen-go/heisen"
)

// Objects, and the sites of their accesses, of the streams in TestFollowingOrder: each op on an object has a site of its own.
const (
	pointer heisen.Object = 0x1000 // a variable
	flag    heisen.Object = 0x1010
	hook    heisen.Object = 0x1030
	memory  heisen.Object = 0xc000010000 // allocated by a stream
	inner   heisen.Object = 0xc000020000
	lock    heisen.Object = 0x1020
)

func siteOf(thread heisen.Thread, op heisen.Op, o heisen.Object) heisen.Site {
	return heisen.Site(uint32(thread)<<24 | uint32(op)<<16 | uint32(o>>4&0xfff) | uint32(o>>16&0xf)<<12)
}

// did returns an event of a thread.
func did(thread heisen.Thread, op heisen.Op, o heisen.Object) heisen.Record {
	r := heisen.Record{Thread: thread, Op: op, Object: o, Len: 8, Site: siteOf(thread, op, o)}
	if op == heisen.Alloc {
		r.Value, r.Len = 64, 0
	}
	return r
}

// TestFollowingOrder: a race follows from others if its memory can be known only by these, and its earlier access comes before all of
// them.
func TestFollowingOrder(t *testing.T) {
	const (
		alloc, read, write = heisen.Alloc, heisen.Read, heisen.Write
		acquire, release   = heisen.Acquire, heisen.Release
	)
	for name, test := range map[string]struct {
		events  []heisen.Record
		follows bool // the race of a write by thread 1 and a read by thread 2 of memory
	}{
		"published": {[]heisen.Record{did(1, alloc, memory), did(1, write, memory), did(1, write, pointer),
			did(2, read, pointer), did(2, read, memory)}, true},
		"through another pointer": {[]heisen.Record{did(1, alloc, memory), did(1, alloc, inner), did(1, write, memory), did(1, write, inner), did(1, write, pointer),
			did(2, read, pointer), did(2, read, inner), did(2, read, memory)}, true},
		"handed on in order": {[]heisen.Record{did(1, alloc, memory), did(1, write, memory), did(1, write, pointer),
			did(3, read, pointer), did(3, acquire, lock), did(3, release, lock), did(2, acquire, lock), did(2, read, memory)}, true},
		"of an ordered allocator": {[]heisen.Record{did(3, alloc, memory), did(3, acquire, lock), did(3, release, lock), did(1, acquire, lock), did(1, write, memory), did(1, write, pointer),
			did(2, read, pointer), did(2, read, memory)}, true},
		"read twice": {[]heisen.Record{did(1, alloc, memory), did(1, write, memory), did(1, write, pointer),
			did(2, read, pointer), did(2, read, pointer), did(2, read, memory), did(2, read, memory)}, true},
		"written after it was published": {[]heisen.Record{did(1, alloc, memory), did(1, write, pointer), did(1, write, memory),
			did(2, read, pointer), did(2, read, memory)}, false},
		"written before and after": {[]heisen.Record{did(1, alloc, memory), did(1, write, memory), did(1, write, pointer), did(1, write, memory),
			did(2, read, pointer), did(2, read, memory)}, false},
		"a variable": {[]heisen.Record{did(1, write, memory), did(1, write, flag),
			did(2, read, flag), did(2, read, memory)}, false},
		"known before": {[]heisen.Record{did(1, alloc, memory), did(1, acquire, lock), did(1, release, lock), did(2, acquire, lock),
			did(1, write, memory), did(1, write, pointer), did(2, read, pointer), did(2, read, memory)}, false},
		"a later race orders it": {[]heisen.Record{did(1, alloc, memory), did(1, write, pointer), did(1, write, memory), did(1, write, flag),
			did(2, read, pointer), did(2, read, flag), did(2, read, memory)}, false},
		"no read of a pointer": {[]heisen.Record{did(1, alloc, memory), did(1, write, memory), did(2, read, memory)}, false},
		"published on": {[]heisen.Record{did(1, alloc, memory), did(1, write, memory), did(1, write, pointer),
			did(3, read, pointer), did(3, alloc, inner), did(3, write, inner), did(3, write, flag), did(2, read, flag), did(2, read, inner), did(2, read, memory)}, true},
		"published on by two": {[]heisen.Record{did(1, alloc, memory), did(1, write, memory), did(1, write, pointer),
			did(3, read, pointer), did(3, write, flag), did(4, read, flag), did(4, write, hook), did(2, read, hook), did(2, read, memory)}, true},
		"handed on in order and published on": {[]heisen.Record{did(1, alloc, memory), did(1, write, memory), did(1, write, pointer),
			did(3, read, pointer), did(3, acquire, lock), did(3, release, lock), did(4, acquire, lock), did(4, write, flag),
			did(2, read, flag), did(2, read, memory)}, true},
		"published on before it was known": {[]heisen.Record{did(1, alloc, memory), did(1, write, memory), did(3, write, flag), did(1, write, pointer),
			did(3, read, pointer), did(2, read, flag), did(2, read, memory)}, false},
		"published on and written later": {[]heisen.Record{did(1, alloc, memory), did(1, write, pointer),
			did(3, read, pointer), did(3, write, flag), did(1, write, memory), did(2, read, flag), did(2, read, memory)}, false},
		"once alone": {[]heisen.Record{did(1, alloc, memory), did(1, write, memory), did(1, write, pointer), did(2, read, pointer), did(2, read, memory),
			did(1, write, memory), did(2, read, memory)}, false},
	} {
		d, err := newFollowing(nil)
		if err != nil {
			t.Fatal(err)
		}
		for i := range test.events {
			d.handle(&test.events[i])
		}
		of := d.fingerprint(racePair{write, read, siteOf(1, write, memory), siteOf(2, read, memory)})
		if got := d.rootsWith(of); (len(got) > 0) != test.follows || slices.Contains(got, of) {
			t.Errorf("%s: it follows from %q", name, got)
		}
	}
}
