package heisen

import "slices"

// HeldLock is a lock that a thread holds.
type HeldLock struct {
	Lock   Object
	Shared bool // whether it is held for reading
	Site   Site // where it was acquired
}

// Cursor is the position of a thread: the calls that it is in and the locks that it holds. The zero
// Cursor is the start of a thread. Call, Return, Acquire and Release of a [Symbols] take a cursor
// and return the one after the step; Symbols.Context turns a cursor into the number that a [Record]
// carries.
type Cursor struct {
	Calls uint32 // number of a call path, see CallNode
	Locks uint32 // number of a path of held locks, see LockNode
}

// CallNode is a call path, as a node of the tree of all call paths: a call at Site from within the
// path Parent. Path 0 is empty.
type CallNode struct {
	Parent uint32
	Site   Site
}

// LockNode is a path of held locks, as a node of the tree of all such paths: the lock was acquired
// while the locks of the path Parent were held. Path 0 is empty.
type LockNode struct {
	Parent uint32
	HeldLock
}

// Limits bounds what a [Symbols] keeps of the positions of threads. A field that is 0 sets no
// bound. Beyond a limit, contexts are incomplete but never wrong: they lack the innermost calls,
// the identity of locks or all locks.
type Limits struct {
	// CallPaths bounds the number of call paths. Beyond it, Call of a new path returns the cursor
	// that it was given. A caller that gets its own cursor back must skip Call and Return within
	// that call, and Return at its end.
	CallPaths int

	// LockPaths bounds the number of paths of held locks. Beyond it, Acquire puts OtherLock in the
	// place of the lock on a new path. Beyond twice the limit, Acquire of a new path returns the
	// cursor that it was given.
	LockPaths int

	// OtherLock stands for locks whose identity was lost.
	OtherLock Object

	// Contexts bounds the number of contexts. Beyond it, Context leaves out the locks of a new
	// context, so that there are at most as many further contexts as there are call paths.
	Contexts int

	// EndedThreads bounds the number of threads that have ended, by EndThread, and of which something is
	// known. Beyond it, the thread that ended first is forgotten.
	EndedThreads int

	// OtherThread is the name of threads that were forgotten.
	OtherThread string
}

// SetLimits sets the limits for all calls that follow. What is in the table stays there.
func (s *Symbols) SetLimits(limits Limits) {
	if s == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.limits = limits
}

// LimitPassed reports whether anything was left out because of the limits that SetLimits has set.
func (s *Symbols) LimitPassed() bool { return s != nil && s.limitPassed.Load() }

// passes reports whether a table with count entries besides the zero entry has reached a limit, and
// notes it.
func (s *Symbols) passes(count uint32, limit int) bool {
	if limit <= 0 || int(count)+1 < limit {
		return false
	}
	s.limitPassed.Store(true)
	return true
}

// Call returns the cursor of a thread that was at c and made a call at site.
func (s *Symbols) Call(c Cursor, site Site) Cursor {
	if s == nil {
		return c
	}
	node := CallNode{c.Calls, site}
	hash := hashCall(node)
	id := s.calls.find(node, hash)
	if id == 0 {
		s.mu.Lock()
		defer s.mu.Unlock()
		if id = s.calls.find(node, hash); id == 0 {
			if s.passes(s.calls.count.Load(), s.limits.CallPaths) {
				return c
			}
			id = s.calls.add(node, hash, hashCall)
		}
	}
	return Cursor{id, c.Locks}
}

// Return undoes the innermost Call. At the start of a thread it returns c.
func (s *Symbols) Return(c Cursor) Cursor {
	if s == nil {
		return c
	}
	return Cursor{s.calls.key(c.Calls).Parent, c.Locks}
}

// Acquire returns the cursor of a thread that was at c and acquired a lock.
func (s *Symbols) Acquire(c Cursor, lock HeldLock) Cursor {
	if s == nil {
		return c
	}
	node := LockNode{c.Locks, lock}
	hash := hashLock(node)
	id := s.locks.find(node, hash)
	if id == 0 {
		s.mu.Lock()
		defer s.mu.Unlock()
		id = s.acquire(node, hash)
		if id == 0 {
			return c
		}
	}
	return Cursor{c.Calls, id}
}

// acquire returns the number of a path of locks, which is new as a rule, or 0 if the limits leave
// the lock out. The caller holds mu.
func (s *Symbols) acquire(node LockNode, hash uint64) uint32 {
	if id := s.locks.find(node, hash); id != 0 {
		return id
	}
	if count := s.locks.count.Load(); s.passes(count, s.limits.LockPaths) {
		node.Lock = s.limits.OtherLock
		hash = hashLock(node)
		if id := s.locks.find(node, hash); id != 0 || s.passes(count, 2*s.limits.LockPaths) {
			return id
		}
	}
	return s.locks.add(node, hash, hashLock)
}

// Release removes the latest hold of lock in the given mode from the path of c, wherever it stands,
// and reports whether there is one. If not, it returns c. It takes a step for each lock that was
// acquired later.
func (s *Symbols) Release(c Cursor, lock Object, shared bool) (Cursor, bool) {
	if s == nil {
		return c, false
	}
	var above []HeldLock
	for id := c.Locks; id != 0; {
		n := s.locks.key(id)
		if n.Lock == lock && n.Shared == shared {
			out := Cursor{c.Calls, n.Parent}
			for _, h := range slices.Backward(above) {
				out = s.Acquire(out, h)
			}
			return out, true
		}
		above = append(above, n.HeldLock)
		id = n.Parent
	}
	return c, false
}

// Context returns the number of the context of a thread that is at c.
func (s *Symbols) Context(c Cursor) Context {
	if s == nil || c == (Cursor{}) {
		return 0
	}
	hash := hashContext(c)
	id := s.contexts.find(c, hash)
	if id == 0 {
		s.mu.Lock()
		defer s.mu.Unlock()
		id = s.context(c, hash)
	}
	return Context(id)
}

// context returns the number of a context, which is new as a rule. The caller holds mu.
func (s *Symbols) context(c Cursor, hash uint64) uint32 {
	if id := s.contexts.find(c, hash); id != 0 {
		return id
	}
	if s.passes(s.contexts.count.Load(), s.limits.Contexts) {
		if c.Locks = 0; c.Calls == 0 {
			return 0
		}
		hash = hashContext(c)
		if id := s.contexts.find(c, hash); id != 0 {
			return id
		}
	}
	return s.contexts.add(c, hash, hashContext)
}

// NumContexts returns one more than the largest context number. It is 0 for a nil table.
func (s *Symbols) NumContexts() int {
	if s == nil {
		return 0
	}
	return int(s.contexts.count.Load()) + 1
}

// Cursor returns the position that a context number stands for; the start of a thread for a number
// that is not known.
func (s *Symbols) Cursor(ctx Context) Cursor {
	if s == nil {
		return Cursor{}
	}
	return s.contexts.key(uint32(ctx))
}

// Calls returns the sites of the calls of a context, innermost first. Tasks are among them, see
// [SiteInfo].
func (s *Symbols) Calls(ctx Context) (sites []Site) {
	for id := s.Cursor(ctx).Calls; id != 0; {
		n := s.calls.key(id)
		sites = append(sites, n.Site)
		id = n.Parent
	}
	return sites
}

// Locks returns the locks held in a context, in the order of acquisition.
func (s *Symbols) Locks(ctx Context) (held []HeldLock) {
	for id := s.Cursor(ctx).Locks; id != 0; {
		n := s.locks.key(id)
		held = append(held, n.HeldLock)
		id = n.Parent
	}
	slices.Reverse(held)
	return held
}

// Stack returns the frames of a thread that is at site in a context, innermost first and without
// tasks. A site without frames is a frame whose Func is the site's String.
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

// Task returns the name of the task that a thread works on in a context. That is the innermost task
// among the calls of the context, otherwise the task that the thread's parent worked on when it
// started the thread, and so on. It is empty if there is no task.
func (s *Symbols) Task(t Thread, ctx Context) string {
	if s == nil {
		return ""
	}
	for range s.numThreads() + 1 { // a damaged trace may contain a cycle of parents
		for _, site := range s.Calls(ctx) {
			if task := s.Site(site).Task; task != "" {
				return task
			}
		}
		info := s.Thread(t)
		if !info.Forked {
			return ""
		}
		t, ctx = info.Parent, info.Context
	}
	return ""
}
