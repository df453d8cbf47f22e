package lockset

// path is the locks that a thread holds, in the order in which it took them: the latest, and the path of
// those before. Equal stored paths are the same pointer, and nil is the empty path. So paths take memory in
// proportion to what was taken, however many locks are held at the same time.
//
// A path also stands for edges of the graph: from the lock before to the latest one. An edge from each of
// the others is not needed to know the cycles of the graph, because edges lead from one lock of the path
// to the next.
type path struct {
	before *path
	lock   *lockNode
	mode   mode   // how the latest lock was taken
	stored bool   // it is in LockOrder.paths, in lock.paths and among the children of before
	depth  uint32 // number of locks
	atLock int32  // index into lock.paths
	sign   uint64 // a bit for each lock: paths without a common bit have no common lock

	child, next, previous *path // the first path with one lock more, and others with the same before
	deps                  *dependency
	wait, carry           *edge // what a thread waits for to get the latest lock, and what it holds then, if different
}

type pathKey struct {
	before *path
	lock   *lockNode
	mode   mode
}

// path returns the path with one more lock. If there are too many, it is not stored.
func (d *LockOrder) path(before *path, l *lockNode, m mode) *path {
	key := pathKey{before, l, m}
	if p := d.paths[key]; p != nil {
		return p
	}
	p := &path{before: before, lock: l, mode: m, depth: 1, sign: 1 << (l.id % 64)}
	if before != nil {
		p.depth += before.depth
		p.sign |= before.sign
	}
	if len(d.paths) >= d.limit || before != nil && !before.stored {
		return p
	}
	p.stored = true
	d.paths[key] = p
	p.atLock = int32(len(l.paths))
	l.paths = append(l.paths, p)
	if before != nil {
		if p.next = before.child; p.next != nil {
			p.next.previous = p
		}
		before.child = p
	}
	d.link(p)
	return p
}

// link adds the edges of a new path to the graph.
func (d *LockOrder) link(p *path) {
	if p.mode == writing && p.lock.readWrite {
		d.linkWriters(p.lock)
	}
	if p.before == nil {
		return
	}
	from := d.writeVertex(p.before.lock)
	if p.before.mode == reading {
		from = p.before.lock.readVertex
	}
	p.wait = d.graph.connect(from, d.writeVertex(p.lock))
	if p.mode == reading {
		p.carry = d.graph.connect(from, p.lock.readVertex)
	}
}

// linkWriters adds the edge of writers of a read-write lock, who keep new readers out while they wait for
// the others.
func (d *LockOrder) linkWriters(l *lockNode) {
	if l.forReaders == nil {
		l.forReaders = d.graph.connect(d.writeVertex(l), l.readVertex)
	}
}

// writeVertex returns the vertex that writers of a lock hold. Locks that are taken alone have none.
func (d *LockOrder) writeVertex(l *lockNode) *vertex {
	if l.writeVertex == nil {
		l.writeVertex = d.graph.newVertex(l)
	}
	return l.writeVertex
}

// setReadWrite records that l is a read-write lock.
func (d *LockOrder) setReadWrite(l *lockNode) {
	l.readWrite = true
	l.readVertex = d.graph.newVertex(l)
	for _, p := range l.paths {
		if p.mode == writing {
			d.linkWriters(l)
			return
		}
	}
}

// vertex returns what threads hold that have taken the latest lock of a path, or nil if no path goes on
// from it.
func (p *path) vertex() *vertex {
	if p.mode == reading {
		return p.lock.readVertex
	}
	return p.lock.writeVertex
}

// holds returns how a lock is in a path, 0 if it is not.
func (p *path) holds(l *lockNode) (m mode) {
	if p == nil || p.sign&(1<<(l.id%64)) == 0 {
		return 0
	}
	for ; p != nil; p = p.before {
		if p.lock == l {
			m |= p.mode
		}
	}
	return m
}

// excludes reports whether a lock is in two paths, and in one of them for writing.
func (p *path) excludes(other *path) bool {
	if p == nil || other == nil || p.sign&other.sign == 0 {
		return false
	}
	for ; p != nil; p = p.before {
		if m := other.holds(p.lock); m != 0 && (m|p.mode)&writing != 0 {
			return true
		}
	}
	return false
}

// below calls visit with the paths that go on from p, each before those that go on from it. These are left
// out if it returns deeper as false. It reports whether visit has always returned goOn as true.
func (p *path) below(visit func(*path) (deeper, goOn bool)) bool {
	for q := p.child; q != nil; {
		deeper, goOn := visit(q)
		switch {
		case !goOn:
			return false
		case deeper && q.child != nil:
			q = q.child
			continue
		}
		for q.next == nil {
			if q = q.before; q == p {
				return true
			}
		}
		q = q.next
	}
	return true
}

// removePaths removes a stored path and all that go on from it.
func (d *LockOrder) removePaths(p *path) {
	if p.previous != nil {
		p.previous.next = p.next
	} else if p.before != nil {
		p.before.child = p.next
	}
	if p.next != nil {
		p.next.previous = p.previous
	}
	p.below(func(q *path) (deeper, goOn bool) { d.removePath(q); return true, true })
	d.removePath(p)
}

// removePath removes a path from everything but its neighbors.
func (d *LockOrder) removePath(p *path) {
	for dep := p.deps; dep != nil; dep = dep.next {
		d.forget(dep)
	}
	delete(d.paths, pathKey{p.before, p.lock, p.mode})
	p.lock.paths = removeAt(p.lock.paths, int(p.atLock), func(moved *path) { moved.atLock = p.atLock })
	d.graph.disconnect(p.wait)
	d.graph.disconnect(p.carry)
}
