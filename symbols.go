package heisen

import (
	"fmt"
	"path"
	"slices"
	"strings"
)

// Frame is one function of a call stack.
type Frame struct {
	Func  string // package-qualified function name
	File  string // path as the compiler recorded it
	Line  int    // from 1; 0 if unknown
	Start int    // line on which the function begins, from 1; 0 if unknown
}

// SiteInfo says what a Site is. Sites of real programs have a program counter
// and frames, those of text traces a text.
//
// A site that has a Task is no place in the program: as a call in a call path it
// says that a thread works on that task, such as a test, until the call's return.
// It has nothing else.
type SiteInfo struct {
	Task   string  // name of the task, or empty
	Text   string  // the site as it stands in a text trace, or empty
	PC     uint64  // program counter, 0 if there is none
	Frames []Frame // innermost first: more than one where calls were inlined
}

// String returns the site's text, else "file:line" of its innermost frame, else
// its program counter in hexadecimal.
func (i SiteInfo) String() string {
	switch {
	case i.Text != "":
		return i.Text
	case len(i.Frames) > 0:
		return fmt.Sprintf("%s:%d", i.Frames[0].File, i.Frames[0].Line)
	case i.PC != 0:
		return fmt.Sprintf("%#x", i.PC)
	case i.Task != "":
		return i.Task
	}
	return "?"
}

// fingerprint is the site's identity across runs, machines and versions of the
// program: no directory and no address in it where frames or a text are known,
// and no file and line where it is known how far into the function it is.
func (i SiteInfo) fingerprint() string {
	if i.Text == "" && len(i.Frames) > 0 {
		f := i.Frames[0]
		if f.Start > 0 && f.Line > 0 {
			return fmt.Sprintf("%s +%d", f.Func, f.Line-f.Start)
		}
		return fmt.Sprintf("%s %s:%d", f.Func, path.Base(strings.ReplaceAll(f.File, `\`, "/")), f.Line)
	}
	return i.String()
}

// ThreadInfo says what is known of a thread.
type ThreadInfo struct {
	Name    string  // as it stands in a text trace, or empty
	Forked  bool    // whether the three fields below are known
	Parent  Thread  // who started it
	Site    Site    // where its go statement stands
	Context Context // where its parent stood then
}

// HeldLock is a lock that a thread holds.
type HeldLock struct {
	Lock   Object
	Shared bool // held for reading
	Site   Site // where it was acquired
}

// Cursor follows one thread through its calls and locks; the zero Cursor
// stands at the start of a thread. Its methods are those of Symbols that take
// and return it; Symbols.Context turns it into the number that a Record
// carries.
type Cursor struct {
	Calls uint32 // node in the tree of call paths
	Locks uint32 // node in the tree of held locks
}

// CallNode is a node of the tree of call paths: a call at Site made from the
// path Parent. Node 0 is the empty path.
type CallNode struct {
	Parent uint32
	Site   Site
}

// LockNode is a node of the tree of held locks: Held was taken while the path
// Parent was held. Node 0 is the empty path.
type LockNode struct {
	Parent uint32
	HeldLock
}

// Symbols says what the numbers in a stream's records stand for: sites,
// contexts, threads, object names, sets of objects. A Source fills it as it reads, before it
// delivers the records that use the numbers; sinks and reports read it. Equal
// things get equal numbers, numbers are dense and never change their meaning.
//
// It belongs to one goroutine at a time. Call paths and held locks are
// hash-consed, so a distinct path costs 16 bytes, one of locks 40, and a context
// 16, however often it is taken; a thread costs about 30.
type Symbols struct {
	sites    []SiteInfo
	calls    numbering[CallNode]
	locks    numbering[LockNode]
	contexts numbering[Cursor]

	threads threadTable
	names   map[Object]string
	reaches reaches

	updates Updates
}

// Updates lists what was set in a Symbols, each in the order of setting. A
// thing that was set twice stands there twice.
type Updates struct {
	Sites   []Site   // changed by SetSite
	Threads []Thread // described by SetThread
	Names   []Object // named by SetName
}

// NewSymbols returns a table that knows only the zero numbers.
func NewSymbols() *Symbols {
	return &Symbols{
		sites:    make([]SiteInfo, 1),
		calls:    newNumbering[CallNode](),
		locks:    newNumbering[LockNode](),
		contexts: newNumbering[Cursor](),
		threads:  newThreadTable(),
		names:    map[Object]string{},
		reaches:  newReaches(),
	}
}

// AddSite gives info the next site number.
func (s *Symbols) AddSite(info SiteInfo) Site {
	s.sites = append(s.sites, info)
	return Site(len(s.sites) - 1)
}

// SetSite replaces what is known of a site that AddSite has numbered; other
// numbers are ignored. Sources that learn names late use it.
func (s *Symbols) SetSite(site Site, info SiteInfo) {
	if site != 0 && int(site) < len(s.sites) {
		s.sites[site] = info
		s.updates.Sites = append(s.updates.Sites, site)
	}
}

// Site returns what is known of site; the zero SiteInfo for an unknown one.
func (s *Symbols) Site(site Site) SiteInfo {
	if s == nil || int(site) >= len(s.sites) {
		return SiteInfo{}
	}
	return s.sites[site]
}

// NumSites returns one more than the largest site number; 0 of a nil table.
func (s *Symbols) NumSites() int {
	if s == nil {
		return 0
	}
	return len(s.sites)
}

// Call returns the cursor of a thread that stood at c and made a call at site.
func (s *Symbols) Call(c Cursor, site Site) Cursor {
	node := CallNode{c.Calls, site}
	hash := hashCall(node)
	id := s.calls.find(node, hash)
	if id == 0 {
		id = s.calls.add(node, hash, hashCall)
	}
	return Cursor{id, c.Locks}
}

// FindCall is Call where that adds nothing; it reports false where it would.
func (s *Symbols) FindCall(c Cursor, site Site) (Cursor, bool) {
	node := CallNode{c.Calls, site}
	id := s.calls.find(node, hashCall(node))
	return Cursor{id, c.Locks}, id != 0
}

// Return undoes the innermost Call; at the start of a thread it does nothing.
func (s *Symbols) Return(c Cursor) Cursor {
	return Cursor{s.calls.keys[c.Calls].Parent, c.Locks}
}

// Acquire returns the cursor of a thread that stood at c and took a lock.
func (s *Symbols) Acquire(c Cursor, h HeldLock) Cursor {
	node := LockNode{c.Locks, h}
	hash := hashLock(node)
	id := s.locks.find(node, hash)
	if id == 0 {
		id = s.locks.add(node, hash, hashLock)
	}
	return Cursor{c.Calls, id}
}

// FindAcquire is Acquire where that adds nothing; it reports false where it
// would.
func (s *Symbols) FindAcquire(c Cursor, h HeldLock) (Cursor, bool) {
	node := LockNode{c.Locks, h}
	id := s.locks.find(node, hashLock(node))
	return Cursor{c.Calls, id}, id != 0
}

// Release drops the latest hold of lock with the given mode, wherever it
// stands in the order of acquisition. It reports whether there was one; if not,
// c is returned unchanged. It costs a step per lock acquired since.
func (s *Symbols) Release(c Cursor, lock Object, shared bool) (Cursor, bool) {
	var above []HeldLock
	for id := c.Locks; id != 0; id = s.locks.keys[id].Parent {
		n := s.locks.keys[id]
		if n.Lock == lock && n.Shared == shared {
			out := Cursor{c.Calls, n.Parent}
			for _, h := range slices.Backward(above) {
				out = s.Acquire(out, h)
			}
			return out, true
		}
		above = append(above, n.HeldLock)
	}
	return c, false
}

// Context returns the number of the context in which a cursor stands.
func (s *Symbols) Context(c Cursor) Context {
	if c == (Cursor{}) {
		return 0
	}
	hash := hashContext(c)
	id := s.contexts.find(c, hash)
	if id == 0 {
		id = s.contexts.add(c, hash, hashContext)
	}
	return Context(id)
}

// FindContext is Context where that adds nothing; it reports false where it
// would.
func (s *Symbols) FindContext(c Cursor) (Context, bool) {
	if c == (Cursor{}) {
		return 0, true
	}
	id := s.contexts.find(c, hashContext(c))
	return Context(id), id != 0
}

// Sizes returns how many paths of calls, paths of held locks and contexts there
// are, the empty ones included: what a source that bounds them looks at.
func (s *Symbols) Sizes() (calls, locks, contexts int) {
	return len(s.calls.keys), len(s.locks.keys), len(s.contexts.keys)
}

// Cursor returns the cursor that a context number stands for.
func (s *Symbols) Cursor(ctx Context) Cursor {
	if s == nil || int(ctx) >= len(s.contexts.keys) {
		return Cursor{}
	}
	return s.contexts.keys[ctx]
}

// Calls returns the call sites of a context, innermost first, tasks among them.
func (s *Symbols) Calls(ctx Context) (sites []Site) {
	for id := s.Cursor(ctx).Calls; id != 0; id = s.calls.keys[id].Parent {
		sites = append(sites, s.calls.keys[id].Site)
	}
	return sites
}

// Locks returns the locks held in a context, in order of acquisition.
func (s *Symbols) Locks(ctx Context) (held []HeldLock) {
	for id := s.Cursor(ctx).Locks; id != 0; id = s.locks.keys[id].Parent {
		held = append(held, s.locks.keys[id].HeldLock)
	}
	slices.Reverse(held)
	return held
}

// Task returns what a thread works on in a context: the innermost task there,
// else what the thread that started it worked on when it did so, and so on. It is
// empty if there is none.
func (s *Symbols) Task(t Thread, ctx Context) string {
	if s == nil {
		return ""
	}
	for range s.threads.count + 1 { // a damaged trace may claim a cycle
		for id := s.Cursor(ctx).Calls; id != 0; id = s.calls.keys[id].Parent {
			if task := s.Site(s.calls.keys[id].Site).Task; task != "" {
				return task
			}
		}
		info := s.threads.get(t)
		if !info.Forked {
			return ""
		}
		t, ctx = info.Parent, info.Context
	}
	return ""
}

// Stack returns the frames of a thread that stands at site in a context,
// innermost first, without tasks. Where the site or a call site has no frames,
// its String stands in the frame's Func.
func (s *Symbols) Stack(site Site, ctx Context) (stack []Frame) {
	for _, at := range append([]Site{site}, s.Calls(ctx)...) {
		info := s.Site(at)
		switch {
		case info.Task != "":
		case len(info.Frames) > 0:
			stack = append(stack, info.Frames...)
		case at != 0:
			stack = append(stack, Frame{Func: info.String()})
		}
	}
	return stack
}

// Tables returns the tables behind the numbers, for writers of traces: an entry
// made by Call, Acquire, Context or AddSite stands at the number it was given,
// so a reader that repeats those calls in the same order gets the same numbers.
// The slices are views, to be read only, and only until the next addition.
func (s *Symbols) Tables() (sites []SiteInfo, calls []CallNode, locks []LockNode, contexts []Cursor) {
	return s.sites, s.calls.keys, s.locks.keys, s.contexts.keys
}

// Updates returns what SetSite, SetThread and SetName changed so far, for
// writers of traces: what they have not written yet is the end of each list.
// The slices are views, to be read only, and only until the next change.
func (s *Symbols) Updates() Updates { return s.updates }

// SetThread records what is known of a thread.
func (s *Symbols) SetThread(t Thread, info ThreadInfo) {
	if s.threads.set(t, info) {
		s.updates.Threads = append(s.updates.Threads, t)
	}
}

// Thread returns what is known of a thread.
func (s *Symbols) Thread(t Thread) ThreadInfo {
	if s == nil {
		return ThreadInfo{}
	}
	return s.threads.get(t)
}

// SetName names an object.
func (s *Symbols) SetName(o Object, name string) {
	if old, named := s.names[o]; named && old == name {
		return
	}
	s.names[o] = name
	s.updates.Names = append(s.updates.Names, o)
}

// Name returns an object's name, or its number in hexadecimal.
func (s *Symbols) Name(o Object) string {
	if s != nil {
		if name, ok := s.names[o]; ok {
			return name
		}
	}
	return fmt.Sprintf("%#x", uint64(o))
}
