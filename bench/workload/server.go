package workload

import (
	"math/rand/v2"
	"slices"

	"github.com/heisen-go/heisen"
)

// Server generates the endless stream of a server that starts threads for each connection, and that waits
// for none of them. A few connections are open at a time, and the steps of their threads come in random
// order. Threads take locks of their own and common ones, nested and for reading, send messages, make
// atomic operations, and access memory of theirs and of all, some of it without order. Some end with a
// lock that another thread releases, or nobody. The memory and the locks of a connection are allocated
// where those of earlier ones were. The number of sites is bounded.
type Server struct {
	rng     *rand.Rand
	next    heisen.Thread // the next number of a thread
	open    []*connection
	threads []*serving
	memory  []heisen.Object       // of which no open connection has any
	held    map[heisen.Object]int // shared holds, or -1
	left    []heisen.Record       // releases of locks whose threads have ended
	batch   []heisen.Record
	started int
}

// connection is an open connection.
type connection struct {
	memory  heisen.Object
	threads int // that have not ended
}

// serving is a thread that serves a connection, and what it has to do.
type serving struct {
	id    heisen.Thread
	of    *connection
	steps []heisen.Record
}

const (
	serverConnections = 24
	connectionBytes   = 1 << 10
	serverSites       = 5
	serverLocks       = 6
)

// NewServer returns a server at its start.
func NewServer(seed uint64) *Server {
	s := &Server{rng: rand.New(rand.NewPCG(seed, 41)), next: 1, held: map[heisen.Object]int{}}
	for i := range 4 * serverConnections {
		s.memory = append(s.memory, varBase+connectionBytes*heisen.Object(1+i))
	}
	return s
}

// Started returns the number of threads that the server has started.
func (s *Server) Started() int { return s.started }

// Run starts n more threads, and gives the events to handle.
func (s *Server) Run(n int, handle func([]heisen.Record)) {
	for until := s.started + n; s.started < until; {
		if len(s.open) < serverConnections {
			s.accept()
		}
		s.step(s.threads[s.rng.IntN(len(s.threads))])
		if len(s.batch) > 500 {
			handle(s.batch)
			s.batch = s.batch[:0]
		}
	}
}

func (s *Server) add(t heisen.Thread, r heisen.Record) {
	r.Thread = t
	s.batch = append(s.batch, r)
}

// accept opens a connection, in thread 0.
func (s *Server) accept() {
	i := s.rng.IntN(len(s.memory))
	c := &connection{memory: s.memory[i]}
	s.memory = slices.Delete(s.memory, i, i+1)
	s.open = append(s.open, c)
	s.add(0, heisen.Record{Op: heisen.Alloc, Object: c.memory, Value: connectionBytes})
	for lock := range s.held { // of earlier connections that nobody will release
		if lock >= c.memory && lock < c.memory+connectionBytes {
			delete(s.held, lock)
		}
	}
	s.left = slices.DeleteFunc(s.left, func(r heisen.Record) bool {
		return r.Object >= c.memory && r.Object < c.memory+connectionBytes
	})
	for i := range heisen.Object(8) {
		s.add(0, heisen.Record{Op: heisen.Write, Object: c.memory + 8*i})
	}
	s.start(0, c)
	if len(s.left) > 0 && s.rng.IntN(2) == 0 {
		r := s.left[0]
		s.left = s.left[1:]
		s.unlock(0, r)
	}
}

// start starts a thread for a connection.
func (s *Server) start(by heisen.Thread, c *connection) {
	t := &serving{id: s.next, of: c}
	s.next++
	s.started++
	c.threads++
	s.add(by, heisen.Record{Op: heisen.Fork, Object: heisen.Object(t.id)})
	s.add(t.id, heisen.Record{Op: heisen.Begin})
	for range 3 + s.rng.IntN(6) {
		s.plan(t)
	}
	s.threads = append(s.threads, t)
}

// plan adds to what a thread has to do.
func (s *Server) plan(t *serving) {
	own := t.of.memory + 64*heisen.Object(s.rng.IntN(connectionBytes/64))
	common := varBase - 1<<16 + 8*heisen.Object(s.rng.IntN(64))
	lock := s.rng.IntN(serverLocks)
	todo := s.rng.IntN(12)
	site := heisen.Site(100 + 20*todo)
	if s.rng.IntN(1000) == 0 {
		site += heisen.Site(1000 * s.rng.IntN(serverSites)) // code that rarely runs
	}
	do := func(op heisen.Op, o heisen.Object) {
		site++
		t.steps = append(t.steps, heisen.Record{Op: op, Object: o, Site: site})
	}
	switch todo {
	case 0:
		do(heisen.Write, own)
		do(heisen.Read, own)
	case 1:
		do(heisen.Write, own)
		t.steps[len(t.steps)-1].Len = 24
		do(heisen.Read, own+8)
	case 2: // a lock of the connection
		do(heisen.Acquire, own+32)
		do(heisen.Write, own+40)
		do(heisen.Release, own+32)
	case 3: // nested common locks, mostly in their order
		other := (lock + 1 + s.rng.IntN(serverLocks-1)) % serverLocks
		if s.rng.IntN(50) > 0 {
			lock, other = min(lock, other), max(lock, other)
		}
		do(heisen.Acquire, lockAt(lock))
		do(heisen.Acquire, lockAt(other))
		do(heisen.Write, varBase-1<<12+8*heisen.Object(lock))
		do(heisen.Release, lockAt(other))
		do(heisen.Release, lockAt(lock))
	case 4: // a lock of the connection under a common one
		do(heisen.Acquire, lockAt(lock))
		do(heisen.Acquire, own+32)
		do(heisen.Write, own+40)
		do(heisen.Release, own+32)
		do(heisen.Release, lockAt(lock))
	case 5:
		if s.rng.IntN(20) == 0 {
			do(heisen.Acquire, lockAt(serverLocks))
			do(heisen.Write, varBase-1<<13)
			do(heisen.Release, lockAt(serverLocks))
			break
		}
		do(heisen.AcquireShared, lockAt(serverLocks))
		do(heisen.Read, varBase-1<<13)
		do(heisen.ReleaseShared, lockAt(serverLocks))
	case 6:
		do(heisen.Send, own+16)
		if t.of.threads < 4 {
			do(heisen.Fork, 0)
		}
	case 7:
		do(heisen.Receive, own+16)
		do(heisen.Write, own)
	case 8:
		do(heisen.AtomicUpdate, common)
	case 9:
		do(heisen.Read, common)
	case 10:
		do(heisen.Send, signalAt(lock))
		do(heisen.Receive, signalAt(s.rng.IntN(serverLocks)))
	case 11:
		if s.rng.IntN(20) == 0 {
			do(heisen.Acquire, own+48) // see lock
		}
	}
}

// step makes the next step of a thread.
func (s *Server) step(t *serving) {
	if len(t.steps) == 0 {
		s.end(t)
		return
	}
	r := t.steps[0]
	t.steps = t.steps[1:]
	switch r.Op {
	case heisen.Fork:
		s.start(t.id, t.of)
	case heisen.Acquire, heisen.AcquireShared:
		s.lock(t, r)
	case heisen.Release, heisen.ReleaseShared:
		s.unlock(t.id, r)
	default:
		s.add(t.id, r)
	}
}

// lock adds an acquisition, or leaves out the critical section if the lock is held. A lock that the thread
// will not release is released by another one, or by none.
func (s *Server) lock(t *serving, r heisen.Record) {
	release := slices.IndexFunc(t.steps, func(u heisen.Record) bool {
		return u.Object == r.Object && (u.Op == heisen.Release || u.Op == heisen.ReleaseShared)
	})
	holds := s.held[r.Object]
	if holds < 0 || holds > 0 && r.Op == heisen.Acquire {
		t.steps = t.steps[release+1:]
		return
	}
	s.add(t.id, r)
	if s.held[r.Object]++; r.Op == heisen.Acquire {
		s.held[r.Object] = -1
	}
	if release < 0 && s.rng.IntN(2) == 0 {
		s.left = append(s.left, heisen.Record{Op: heisen.Release, Object: r.Object})
	}
}

// unlock adds a release.
func (s *Server) unlock(t heisen.Thread, r heisen.Record) {
	s.add(t, r)
	if s.held[r.Object]--; r.Op == heisen.Release || s.held[r.Object] == 0 {
		delete(s.held, r.Object)
	}
}

// end ends a thread, and its connection with the last one.
func (s *Server) end(t *serving) {
	s.add(t.id, heisen.Record{Op: heisen.Send, Object: varBase - 1<<14})
	s.add(t.id, heisen.Record{Op: heisen.End, Object: heisen.Object(t.id)})
	s.threads = slices.DeleteFunc(s.threads, func(u *serving) bool { return u == t })
	if t.of.threads--; t.of.threads == 0 {
		s.open = slices.DeleteFunc(s.open, func(c *connection) bool { return c == t.of })
		s.memory = append(s.memory, t.of.memory)
	}
}
