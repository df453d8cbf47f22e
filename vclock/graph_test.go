package vclock_test

import "github.com/heisen-go/heisen"

// pair is a race: the earlier access as a finding shows it, and the position of
// the later one.
type pair struct {
	op     heisen.Op
	thread heisen.Thread
	obj    heisen.Object
	size   uint64
	site   heisen.Site
	ctx    heisen.Context
	later  uint64
}

func pairOf(f heisen.Finding) pair {
	a := f.Accesses[0]
	return pair{a.Op, a.Thread, a.Object, a.Size, a.Site, a.Context, f.Accesses[1].Index}
}

// verdict is what reachability says of a trace.
type verdict struct {
	pairs map[pair]bool
	// meet has the bytes at which the accesses of a pair, given by their
	// positions, race.
	meet map[[2]uint64][]heisen.Object
	// first has the position of the first later access of a race at a byte.
	first map[heisen.Object]uint64
	// later has the positions of all accesses that race with an earlier one.
	later map[uint64]bool
}

// graph is happens-before by its definition: the doc comments of heisen.Op as
// edges between events, and reachability. It shares nothing with vector clocks.
type graph struct {
	trace   []heisen.Record
	reach   []map[int]bool // by event: those before it, itself included
	last    map[heisen.Thread]int
	pending map[heisen.Thread][]int // forks of a thread that has done nothing since
	pub     map[heisen.Object][]int
	readers map[heisen.Object][]int
	hidden  *heisen.Symbols // nil if BarrierPairs order nothing
	open    map[heisen.Thread][]*heisen.Record
	heard   map[*heisen.Record]map[int]bool // by open Hide: events that its code may pass on
	within  []map[heisen.Reach]bool         // by event: what the pairs reach that it is of
}

func judge(trace []heisen.Record, hidden *heisen.Symbols) verdict {
	g := &graph{
		hidden:  hidden,
		open:    map[heisen.Thread][]*heisen.Record{},
		heard:   map[*heisen.Record]map[int]bool{},
		trace:   trace,
		last:    map[heisen.Thread]int{},
		pending: map[heisen.Thread][]int{},
		pub:     map[heisen.Object][]int{},
		readers: map[heisen.Object][]int{},
	}
	v := verdict{map[pair]bool{}, map[[2]uint64][]heisen.Object{}, map[heisen.Object]uint64{}, map[uint64]bool{}}
	alive := map[heisen.Object][]int{} // accesses by byte, in its present life
	for j := range trace {
		g.add(j)
		r := &trace[j]
		if r.Op == heisen.Alloc || r.Op == heisen.Free {
			for b := r.Object; b < r.Object+heisen.Object(r.Value); b++ {
				delete(alive, b)
			}
		}
		op := accessOf(r, 0).Op
		if !op.IsAccess() {
			continue
		}
		for b := r.Object; b < r.Object+heisen.Object(r.Size()); b++ {
			for _, i := range alive[b] {
				e := &trace[i]
				earlier := accessOf(e, 0).Op
				if e.Thread == r.Thread || !earlier.Conflicts(op) || g.reach[j][i] {
					continue
				}
				later := uint64(j + 1)
				v.pairs[pair{earlier, e.Thread, e.Object, e.Size(), e.Site, e.Context, later}] = true
				at := [2]uint64{uint64(i + 1), later}
				v.meet[at] = append(v.meet[at], b)
				v.later[later] = true
				if _, ok := v.first[b]; !ok {
					v.first[b] = later
				}
			}
			alive[b] = append(alive[b], j)
		}
	}
	return v
}

// add adds event j and its edges.
func (g *graph) add(j int) {
	r := &g.trace[j]
	before := map[int]bool{j: true}
	after := func(events ...int) {
		for _, i := range events {
			for k := range g.reach[i] {
				before[k] = true
			}
		}
	}
	if i, ok := g.last[r.Thread]; ok {
		after(i)
	}
	after(g.pending[r.Thread]...)
	delete(g.pending, r.Thread)

	switch r.Op {
	case heisen.AtomicRead, heisen.AtomicUpdate, heisen.AcquireShared, heisen.Receive:
		after(g.pub[r.Object]...)
	case heisen.Acquire:
		after(g.pub[r.Object]...)
		after(g.readers[r.Object]...)
	case heisen.Join:
		if i, ok := g.last[r.Object.Thread()]; ok {
			after(i)
		}
		// A thread that was forked and has done nothing ends all the same.
		if r.Object.Thread() != r.Thread {
			after(g.pending[r.Object.Thread()]...)
		}
	case heisen.Alloc, heisen.Free:
		for b := r.Object; b < r.Object+heisen.Object(r.Value); b++ {
			delete(g.pub, b)
			delete(g.readers, b)
		}
	}
	if g.hidden != nil {
		after(g.pairs(j)...)
	}
	g.reach = append(g.reach, before)
	g.last[r.Thread] = j

	switch r.Op {
	case heisen.AtomicWrite:
		g.pub[r.Object] = []int{j}
		delete(g.readers, r.Object)
	case heisen.AtomicUpdate, heisen.Release, heisen.Send:
		g.pub[r.Object] = append(g.pub[r.Object], j)
	case heisen.ReleaseShared:
		g.readers[r.Object] = append(g.readers[r.Object], j)
	case heisen.Fork:
		if r.Object.Thread() != r.Thread {
			g.pending[r.Object.Thread()] = append(g.pending[r.Object.Thread()], j)
		}
	}
}

// pairs returns the events that j comes after because of BarrierPairs: by the
// doc comment of heisen.Hide, event by event.
func (g *graph) pairs(j int) (earlier []int) {
	r := &g.trace[j]
	if r.Op == heisen.Hide {
		g.open[r.Thread] = append(g.open[r.Thread], r)
		g.heard[r] = map[int]bool{}
	}
	if r.Op == heisen.Alloc || r.Op == heisen.Free {
		g.within = append(g.within, nil)
		for i := range j {
			if g.within[i][0] {
				earlier = append(earlier, i)
			}
		}
		return earlier
	}
	reaches := map[heisen.Reach]bool{}
	for _, hide := range g.open[r.Thread] {
		reaches[hide.Reach()] = true
	}
	g.within = append(g.within, reaches)
	earlier = g.overhear(j)
	if r.Op == heisen.Reveal {
		open := g.open[r.Thread]
		for k := len(open) - 1; k >= 0; k-- {
			if open[k].Object == r.Object {
				g.open[r.Thread] = open[:k]
				for _, hide := range open[k:] {
					delete(g.heard, hide)
				}
				break
			}
		}
	}
	if r.Op == heisen.End {
		for _, hide := range g.open[r.Thread] {
			delete(g.heard, hide)
		}
		delete(g.open, r.Thread)
	}
	for i := range j {
		if g.meet(i, j) {
			earlier = append(earlier, i)
		}
	}
	return earlier
}

// overhear returns the events that open pairs may have passed on to j, and lets
// them hear j.
func (g *graph) overhear(j int) (earlier []int) {
	r := &g.trace[j]
	if len(g.within[j]) == 0 && !r.Op.IsSync() && r.Op != heisen.Begin && r.Op != heisen.End {
		return nil
	}
	touches := func(hide *heisen.Record) bool {
		reached := g.hidden.Reach(hide.Reach())
		if start, size := named(r); reached.Meets(start, size) {
			return true
		}
		for mine := range g.within[j] {
			if g.hidden.Reach(mine).Intersects(reached) {
				return true
			}
		}
		return false
	}
	// What one hears, those that it is connected with hear.
	for changed := true; changed; {
		changed = false
		for p, heard := range g.heard {
			for q, other := range g.heard {
				if p == q || !g.hidden.Reach(p.Reach()).Intersects(g.hidden.Reach(q.Reach())) {
					continue
				}
				for i := range heard {
					changed = changed || !other[i]
					other[i] = true
				}
			}
		}
		for hide, heard := range g.heard {
			if touches(hide) && !heard[j] {
				heard[j], changed = true, true
			}
		}
	}
	for hide, heard := range g.heard {
		if touches(hide) {
			for i := range heard {
				if i != j {
					earlier = append(earlier, i)
				}
			}
		}
	}
	return earlier
}

// meet reports whether i and j, of which one is an event of a pair, may touch the same object in the
// same allocation epoch.
func (g *graph) meet(i, j int) bool {
	if g.within[i][0] || g.within[j][0] {
		return true
	}
	objects := func(e int) (o []heisen.Object) {
		for start, size := named(&g.trace[e]); size > 0; size-- {
			o = append(o, start)
			start++
		}
		return o
	}
	reached := func(e int, o heisen.Object) bool {
		for r := range g.within[e] {
			if g.hidden.Reach(r).Meets(o, 1) {
				return true
			}
		}
		return false
	}
	alive := func(o heisen.Object) bool {
		for k := i + 1; k <= j; k++ {
			r := &g.trace[k]
			if (r.Op == heisen.Alloc || r.Op == heisen.Free) && o >= r.Object && uint64(o-r.Object) < r.Value {
				return false
			}
		}
		return true
	}
	for _, o := range objects(i) {
		if reached(j, o) && alive(o) {
			return true
		}
	}
	for _, o := range objects(j) {
		if reached(i, o) && alive(o) {
			return true
		}
	}
	for r := range g.within[i] {
		for _, s := range g.hidden.Reach(r) {
			for k := range s.Len {
				if o := s.Start + heisen.Object(k); reached(j, o) && alive(o) {
					return true
				}
			}
		}
	}
	return false
}

// named returns the objects that an event is about.
func named(r *heisen.Record) (start heisen.Object, size uint64) {
	switch r.Op {
	case heisen.Fork, heisen.Join:
		return heisen.ThreadObject(r.Object.Thread()), 1
	case heisen.Begin, heisen.End:
		return heisen.ThreadObject(r.Thread), 1
	case heisen.Send, heisen.Receive, heisen.Acquire, heisen.Release, heisen.AcquireShared, heisen.ReleaseShared:
		return r.Object, 1
	}
	if r.Op.IsAccess() {
		return r.Object, r.Size()
	}
	return 0, 0
}
