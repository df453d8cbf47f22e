package trace

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"

	"github.com/heisen-go/heisen"
)

// A symbols block is a sequence of entries, each a tag and its fields: what
// the records after it refer to. format.md has the layout.

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
)

// tableEncoder writes what a Symbols has gained since it last looked.
type tableEncoder struct {
	symbols                       *heisen.Symbols
	sites, calls, locks, contexts int // entries written
	reaches                       int
	updates                       struct{ sites, threads, names int }
}

func newTableEncoder(symbols *heisen.Symbols) tableEncoder {
	return tableEncoder{symbols: symbols, sites: 1, calls: 1, locks: 1, contexts: 1, reaches: 1} // 0 is implied
}

// check refuses tables whose entries refer to sites that are not there, as no
// reader could take them.
func (e *tableEncoder) check() error {
	sites, calls, locks, contexts := e.symbols.Tables()
	for _, n := range calls[e.calls:] {
		if int(n.Site) >= len(sites) {
			return fmt.Errorf("trace: a call path refers to site %d, which is not in the symbols", n.Site)
		}
	}
	for _, n := range locks[e.locks:] {
		if int(n.Site) >= len(sites) {
			return fmt.Errorf("trace: a held lock refers to site %d, which is not in the symbols", n.Site)
		}
	}
	for _, t := range e.symbols.Updates().Threads[e.updates.threads:] {
		info := e.symbols.Thread(t)
		if t >= MaxThreads || info.Parent >= MaxThreads || int(info.Site) >= len(sites) || int(info.Context) >= len(contexts) {
			return fmt.Errorf("trace: what the symbols say of thread %d refers to numbers that are not in them", t)
		}
	}
	return nil
}

// next appends entries to b until all are written or b has limit bytes, and
// reports whether there are more. Entries that refer to others come after them.
func (e *tableEncoder) next(b []byte, limit int) (_ []byte, more bool) {
	sites, calls, locks, contexts := e.symbols.Tables()
	updates := e.symbols.Updates()
	for ; e.updates.sites < len(updates.Sites); e.updates.sites++ {
		if len(b) >= limit {
			return b, true
		}
		if site := updates.Sites[e.updates.sites]; int(site) < e.sites {
			b = append(b, siteUpdateEntry)
			b = binary.AppendUvarint(b, uint64(site))
			b = appendSite(b, &sites[site])
		}
	}
	for ; e.sites < len(sites); e.sites++ {
		if len(b) >= limit {
			return b, true
		}
		if task := sites[e.sites].Task; task != "" {
			b = append(b, taskEntry)
			b = appendString(b, task)
			continue
		}
		b = append(b, siteEntry)
		b = appendSite(b, &sites[e.sites])
	}
	for ; e.calls < len(calls); e.calls++ {
		if len(b) >= limit {
			return b, true
		}
		b = append(b, callEntry)
		b = binary.AppendUvarint(b, uint64(calls[e.calls].Parent))
		b = binary.AppendUvarint(b, uint64(calls[e.calls].Site))
	}
	for ; e.locks < len(locks); e.locks++ {
		if len(b) >= limit {
			return b, true
		}
		n := &locks[e.locks]
		b = append(b, lockEntry, bit(n.Shared))
		b = binary.AppendUvarint(b, uint64(n.Parent))
		b = binary.AppendUvarint(b, uint64(n.Lock))
		b = binary.AppendUvarint(b, uint64(n.Site))
	}
	for ; e.contexts < len(contexts); e.contexts++ {
		if len(b) >= limit {
			return b, true
		}
		b = append(b, contextEntry)
		b = binary.AppendUvarint(b, uint64(contexts[e.contexts].Calls))
		b = binary.AppendUvarint(b, uint64(contexts[e.contexts].Locks))
	}
	for ; e.reaches < e.symbols.NumReaches(); e.reaches++ {
		if len(b) >= limit {
			return b, true
		}
		b = append(b, reachEntry)
		b = appendObjects(b, e.symbols.Reach(heisen.Reach(e.reaches)))
	}
	for ; e.updates.threads < len(updates.Threads); e.updates.threads++ {
		if len(b) >= limit {
			return b, true
		}
		t := updates.Threads[e.updates.threads]
		info := e.symbols.Thread(t)
		b = append(b, threadEntry, bit(info.Forked))
		b = binary.AppendUvarint(b, uint64(t))
		b = appendString(b, info.Name)
		b = binary.AppendUvarint(b, uint64(info.Parent))
		b = binary.AppendUvarint(b, uint64(info.Site))
		b = binary.AppendUvarint(b, uint64(info.Context))
	}
	for ; e.updates.names < len(updates.Names); e.updates.names++ {
		if len(b) >= limit {
			return b, true
		}
		o := updates.Names[e.updates.names]
		b = append(b, nameEntry)
		b = binary.AppendUvarint(b, uint64(o))
		b = appendString(b, e.symbols.Name(o))
	}
	return b, false
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

// appendObjects writes spans by the gaps before them. The lengths of objects that
// follow each other are mostly alike, which the compressor sees.
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
	in      column
	objects heisen.Objects // scratch
	bad     bool           // a field was missing or out of bounds
}

// read adds a block's entries. Every number in them must be known already, and
// a new one must be the next.
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
	return nil
}

func (d *tableDecoder) entry(tag byte) error {
	sites, calls, locks, contexts := d.symbols.Tables()
	numSites, numCalls, numLocks, numContexts := len(sites), len(calls), len(locks), len(contexts)
	switch tag {
	case siteEntry:
		if info := d.site(); !d.bad {
			d.symbols.AddSite(info)
		}
	case taskEntry:
		task := d.string()
		if d.bad = d.bad || task == ""; !d.bad {
			d.symbols.AddSite(heisen.SiteInfo{Task: task})
		}
	case siteUpdateEntry:
		site := d.number(numSites)
		if info := d.site(); !d.bad {
			d.symbols.SetSite(heisen.Site(site), info)
		}
	case callEntry:
		parent, site := d.number(numCalls), d.number(numSites)
		if d.bad {
			return nil
		}
		if c := d.symbols.Call(heisen.Cursor{Calls: uint32(parent)}, heisen.Site(site)); int(c.Calls) != numCalls {
			return errTwice
		}
	case lockEntry:
		shared, parent, lock, site := d.number(2), d.number(numLocks), d.uvarint(), d.number(numSites)
		if d.bad {
			return nil
		}
		held := heisen.HeldLock{Lock: heisen.Object(lock), Shared: shared == 1, Site: heisen.Site(site)}
		if c := d.symbols.Acquire(heisen.Cursor{Locks: uint32(parent)}, held); int(c.Locks) != numLocks {
			return errTwice
		}
	case contextEntry:
		c := heisen.Cursor{Calls: uint32(d.number(numCalls)), Locks: uint32(d.number(numLocks))}
		if d.bad {
			return nil
		}
		if ctx := d.symbols.Context(c); int(ctx) != numContexts {
			return errTwice
		}
	case threadEntry:
		forked, t := d.number(2), d.number(MaxThreads)
		info := heisen.ThreadInfo{Forked: forked == 1, Name: d.string()}
		info.Parent = heisen.Thread(d.number(MaxThreads))
		info.Site = heisen.Site(d.number(numSites))
		info.Context = heisen.Context(d.number(numContexts))
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
		numReaches := d.symbols.NumReaches()
		d.readObjects()
		if d.bad {
			return nil
		}
		if r := d.symbols.AddReach(d.objects); int(r) != numReaches {
			return errTwice
		}
	default:
		return fmt.Errorf("entry of unknown kind %d", tag)
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
