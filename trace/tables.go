package trace

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"

	"github.com/heisen-go/heisen"
)

// A symbols block is a sequence of entries that the records after it refer to, each a tag and its
// fields. format.md has the layout.

const (
	siteEntry       = 1 // the next site
	callEntry       = 2 // the next call path
	lockEntry       = 3 // the next path of held locks
	contextEntry    = 4 // the next context
	threadEntry     = 5 // what is known of a thread
	nameEntry       = 6 // the name of an object
	siteUpdateEntry = 7 // more about an earlier site
	taskEntry       = 8 // the next site, a task
	reachEntry      = 9 // the next set of objects; not in version 1

	gapEntry = 10 // a gap, in the first block; from version 3 on
)

// tableEncoder writes what was added to a Symbols, or changed in it, since the last look.
type tableEncoder struct {
	symbols         *heisen.Symbols
	revision        heisen.Revision
	pending         heisen.Changes // up to revision; what is written is cut off
	sites, contexts int            // numbers below these are known at revision
}

func newTableEncoder(symbols *heisen.Symbols) tableEncoder {
	return tableEncoder{symbols: symbols, sites: 1, contexts: 1}
}

// look collects what is to be written. It refuses entries that refer to numbers that are not in the
// symbols, because no reader could take them.
func (e *tableEncoder) look() error {
	e.pending, e.revision = e.symbols.Changes(e.revision)
	e.sites += len(e.pending.Sites)
	e.contexts += len(e.pending.Contexts)
	for _, n := range e.pending.CallPaths {
		if int(n.Site) >= e.sites {
			return refused("a call path refers to site %d, which is not in the symbols", n.Site)
		}
	}
	for _, n := range e.pending.LockPaths {
		if int(n.Site) >= e.sites {
			return refused("a held lock refers to site %d, which is not in the symbols", n.Site)
		}
	}
	for _, t := range e.pending.Threads {
		if t.Thread >= MaxThreads || t.Info.Parent >= MaxThreads || int(t.Info.Site) >= e.sites || int(t.Info.Context) >= e.contexts {
			return refused("what the symbols say of thread %d refers to numbers that are not in them", t.Thread)
		}
	}
	return nil
}

// next appends pending entries to b until all are written or b has limit bytes, and reports whether
// there are more. Entries that refer to others come after them.
func (e *tableEncoder) next(b []byte, limit int) (_ []byte, more bool) {
	p := &e.pending
	b = appendEntries(b, limit, &p.SetSites, func(b []byte, c *heisen.SiteChange) []byte {
		b = append(b, siteUpdateEntry)
		b = binary.AppendUvarint(b, uint64(c.Site))
		return appendSite(b, &c.Info)
	})
	b = appendEntries(b, limit, &p.Sites, func(b []byte, info *heisen.SiteInfo) []byte {
		if info.Task != "" {
			return appendString(append(b, taskEntry), info.Task)
		}
		return appendSite(append(b, siteEntry), info)
	})
	b = appendEntries(b, limit, &p.CallPaths, func(b []byte, n *heisen.CallNode) []byte {
		b = append(b, callEntry)
		b = binary.AppendUvarint(b, uint64(n.Parent))
		return binary.AppendUvarint(b, uint64(n.Site))
	})
	b = appendEntries(b, limit, &p.LockPaths, func(b []byte, n *heisen.LockNode) []byte {
		b = append(b, lockEntry, bit(n.Shared))
		b = binary.AppendUvarint(b, uint64(n.Parent))
		b = binary.AppendUvarint(b, uint64(n.Lock))
		return binary.AppendUvarint(b, uint64(n.Site))
	})
	b = appendEntries(b, limit, &p.Contexts, func(b []byte, c *heisen.Cursor) []byte {
		b = append(b, contextEntry)
		b = binary.AppendUvarint(b, uint64(c.Calls))
		return binary.AppendUvarint(b, uint64(c.Locks))
	})
	b = appendEntries(b, limit, &p.Reaches, func(b []byte, objects *heisen.Objects) []byte {
		return appendObjects(append(b, reachEntry), *objects)
	})
	b = appendEntries(b, limit, &p.Threads, func(b []byte, t *heisen.ThreadChange) []byte {
		b = append(b, threadEntry, bit(t.Info.Forked))
		b = binary.AppendUvarint(b, uint64(t.Thread))
		b = appendString(b, t.Info.Name)
		b = binary.AppendUvarint(b, uint64(t.Info.Parent))
		b = binary.AppendUvarint(b, uint64(t.Info.Site))
		return binary.AppendUvarint(b, uint64(t.Info.Context))
	})
	b = appendEntries(b, limit, &p.Names, func(b []byte, n *heisen.NameChange) []byte {
		b = append(b, nameEntry)
		b = binary.AppendUvarint(b, uint64(n.Object))
		return appendString(b, n.Name)
	})
	return b, len(p.SetSites)+len(p.Sites)+len(p.CallPaths)+len(p.LockPaths)+len(p.Contexts)+
		len(p.Reaches)+len(p.Threads)+len(p.Names) > 0
}

// appendEntries appends entries to b and cuts them off the pending ones, until none are left or b
// has limit bytes.
func appendEntries[E any](b []byte, limit int, pending *[]E, appendEntry func([]byte, *E) []byte) []byte {
	n := 0
	for ; n < len(*pending) && len(b) < limit; n++ {
		b = appendEntry(b, &(*pending)[n])
	}
	*pending = (*pending)[n:]
	return b
}

func appendSite(b []byte, info *heisen.SiteInfo) []byte {
	b = appendString(b, info.Text)
	b = binary.AppendUvarint(b, info.PC)
	b = binary.AppendUvarint(b, uint64(len(info.Frames)))
	for _, f := range info.Frames {
		b = appendString(b, f.Func)
		b = appendString(b, f.File)
		b = binary.AppendUvarint(b, uint64(max(f.Line, 0)))
		b = binary.AppendUvarint(b, uint64(max(f.Start, 0)))
	}
	return b
}

// appendObjects appends the gap before each span and its length. Neighboring objects mostly have
// the same length, so that this compresses well.
func appendObjects(b []byte, objects heisen.Objects) []byte {
	b = binary.AppendUvarint(b, uint64(len(objects)))
	next := heisen.Object(0)
	for _, s := range objects {
		b = binary.AppendUvarint(b, uint64(s.Start-next))
		b = binary.AppendUvarint(b, s.Len)
		next = s.Start + heisen.Object(s.Len)
	}
	return b
}

func appendString(b []byte, s string) []byte {
	b = binary.AppendUvarint(b, uint64(len(s)))
	return append(b, s...)
}

func bit(v bool) byte {
	if v {
		return 1
	}
	return 0
}

// tableDecoder adds the entries of symbols blocks to a Symbols.
type tableDecoder struct {
	symbols *heisen.Symbols
	version uint32
	gaps    Gaps
	closed  bool // no gap may follow
	in      column
	objects heisen.Objects // scratch
	bad     bool           // a field was missing or out of bounds

	sites, calls, locks, contexts, reaches int // entries read, without the implied ones with number 0
}

func newTableDecoder() tableDecoder { return tableDecoder{symbols: heisen.NewSymbols()} }

// read adds a block's entries. Every number in them must be known already, and a new one must be
// the next.
func (d *tableDecoder) read(payload []byte) error {
	d.in, d.bad = payload, false
	for len(d.in) > 0 {
		tag := d.in[0]
		d.in = d.in[1:]
		if err := d.entry(tag); err != nil {
			return err
		}
		if d.bad {
			return fmt.Errorf("bad field in an entry of kind %d", tag)
		}
	}
	d.closed = true
	return nil
}

func (d *tableDecoder) entry(tag byte) error {
	switch tag {
	case siteEntry:
		if info := d.site(); !d.bad {
			return d.addSite(info)
		}
	case taskEntry:
		task := d.string()
		if d.bad = d.bad || task == ""; !d.bad {
			return d.addSite(heisen.SiteInfo{Task: task})
		}
	case siteUpdateEntry:
		site := d.number(d.sites + 1)
		if info := d.site(); !d.bad {
			d.symbols.SetSite(heisen.Site(site), info)
		}
	case callEntry:
		parent, site := d.number(d.calls+1), d.number(d.sites+1)
		if d.bad {
			return nil
		}
		c := d.symbols.Call(heisen.Cursor{Calls: uint32(parent)}, heisen.Site(site))
		return countEntry(&d.calls, c.Calls)
	case lockEntry:
		shared, parent, lock, site := d.number(2), d.number(d.locks+1), d.uvarint(), d.number(d.sites+1)
		if d.bad {
			return nil
		}
		held := heisen.HeldLock{Lock: heisen.Object(lock), Shared: shared == 1, Site: heisen.Site(site)}
		c := d.symbols.Acquire(heisen.Cursor{Locks: uint32(parent)}, held)
		return countEntry(&d.locks, c.Locks)
	case contextEntry:
		c := heisen.Cursor{Calls: uint32(d.number(d.calls + 1)), Locks: uint32(d.number(d.locks + 1))}
		if d.bad {
			return nil
		}
		return countEntry(&d.contexts, uint32(d.symbols.Context(c)))
	case threadEntry:
		forked, t := d.number(2), d.number(MaxThreads)
		info := heisen.ThreadInfo{Forked: forked == 1, Name: d.string()}
		info.Parent = heisen.Thread(d.number(MaxThreads))
		info.Site = heisen.Site(d.number(d.sites + 1))
		info.Context = heisen.Context(d.number(d.contexts + 1))
		if !d.bad {
			d.symbols.SetThread(heisen.Thread(t), info)
		}
	case nameEntry:
		o, name := d.uvarint(), d.string()
		if !d.bad {
			d.symbols.SetName(heisen.Object(o), name)
		}
	case reachEntry:
		if d.version == firstVersion {
			return fmt.Errorf("entry of kind %d in version %d", tag, d.version)
		}
		d.readObjects()
		if d.bad {
			return nil
		}
		return countEntry(&d.reaches, uint32(d.symbols.AddReach(d.objects)))
	case gapEntry:
		if d.version <= gaplessVersion {
			return fmt.Errorf("entry of kind %d in version %d", tag, d.version)
		}
		gap := d.string()
		if d.bad = d.bad || d.closed; !d.bad {
			return d.gaps.add(gap)
		}
	default:
		return fmt.Errorf("entry of unknown kind %d", tag)
	}
	return nil
}

func (d *tableDecoder) addSite(info heisen.SiteInfo) error {
	return countEntry(&d.sites, uint32(d.symbols.AddSite(info)))
}

// countEntry counts an entry, which must have got the next number.
func countEntry(count *int, got uint32) error {
	if *count++; int(got) != *count {
		return errTwice
	}
	return nil
}

var errTwice = errors.New("entry stands twice")

func (d *tableDecoder) site() (info heisen.SiteInfo) {
	info.Text = d.string()
	info.PC = d.uvarint()
	frames := d.number(len(d.in)/4 + 1) // a frame has four fields
	for ; frames > 0 && !d.bad; frames-- {
		info.Frames = append(info.Frames, heisen.Frame{
			Func: d.string(), File: d.string(), Line: int(d.number(math.MaxInt32)), Start: int(d.number(math.MaxInt32)),
		})
	}
	return info
}

func (d *tableDecoder) readObjects() {
	d.objects = d.objects[:0]
	spans := d.number(min(heisen.MaxSpans, len(d.in)/2) + 1) // a span has two fields
	next := heisen.Object(0)
	for ; spans > 0 && !d.bad; spans-- {
		s := heisen.Span{Start: next + heisen.Object(d.uvarint()), Len: d.uvarint()}
		d.objects = append(d.objects, s)
		next = s.Start + heisen.Object(s.Len)
	}
	d.bad = d.bad || !d.objects.Canonical()
}

func (d *tableDecoder) uvarint() uint64 {
	v, ok := d.in.next()
	d.bad = d.bad || !ok
	return v
}

// number reads a number below limit.
func (d *tableDecoder) number(limit int) uint64 {
	v := d.uvarint()
	if v >= uint64(limit) {
		d.bad = true
		return 0
	}
	return v
}

func (d *tableDecoder) string() string {
	text, ok := d.in.cut(d.uvarint())
	d.bad = d.bad || !ok
	return string(text)
}
