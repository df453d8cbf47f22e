package grid

import (
	"math/bits"
	"slices"

	"github.com/heisen-go/heisen/mcm/internal/model"
	"github.com/heisen-go/heisen/mcm/internal/moves"
	"github.com/heisen-go/heisen/mcm/order"
)

// Grid finds the states of a window in which every thread can be, all of them, and so
// for all pairs of accesses at once whether they meet. It is for few threads and few
// contents of memory: a state is a point of a grid with an axis for each thread, and what
// memory can hold there is the bits of a word. A thread's step takes, of all that memory
// can hold, what it can come at to what it makes of it, in a few operations on words, so
// that points are far cheaper than states that are looked up one by one.
//
// Whether a thread can take a step depends on memory and, one by one, on where each of
// the others is: whether it has come far enough, holds a lock, or has sent what the step must not
// see. That is known beforehand for each pair of places.
//
// What a thread does without any difference to others, such as a read outside of what it
// guards, it does at once; it may as well do it later, and meets whom it could meet before.
//
// The grid is gone through in slices, by where the thread with most places is: of each
// slice follow the points of the next. Points that cannot be reached take no memory, and of
// the others not much is kept. That is enough to find ways: one goes back from a point, and
// returns now and then from where memory cannot have held what it would have had to.
type Grid struct {
	m          *model.Model
	machine    *moves.Machine
	axes       []axis       // the thread with most places first
	axis       []int32      // by thread, -1 if where it is follows from where others are
	place      []int32      // by node: the place where it is next, or -1
	node       []order.Node // by number of a place
	firstPlace []int        // by axis: the number of its first place, a multiple of 64; and one more

	heldAt     []model.LockMask // by place: what its thread holds there
	heldBefore []model.LockMask // by node: what its thread holds when it is next
	canStep    matrix           // by place of a thread and of another one: the thread's step can be taken
	canStepT   matrix           // the other way round
	canPend    matrix           // by place of a thread and of another one: nothing but its node is left of the step
	canPendT   matrix           // the other way round
	unmet      matrix           // by places of two threads: their nodes clash, and have not met yet

	lastAxis   int    // the axis that rows go along
	stride     []int  // by axis but the first and the last: how far apart the blocks of neighbours are
	blocks     int    // of a slice
	placeWords int    // words that have a bit for each place of the last axis
	layout     layout // of rows

	enabledRows     [][]uint64 // by place of a thread but that of the last axis, a row: where it can take its step
	lastEnabledRows [][]uint64 // the same: where the last axis' thread can take its own
	rowSteps        []rowStep  // by lane of a row: the step of the last axis' thread
	invisibleRow    []uint64   // a row: the contents with which that step is possible and quiet

	unwritten   []unwritten // cells
	unwrittenAt []uint64    // by place: which of these its thread has not written there

	earliest        []int                   // by number of a place: the first one from where only quiet steps lead there
	invisiblePlaces []uint64                // the places of the last axis with quiet steps
	start           uint64                  // what memory holds at first
	contentCount    int                     // of contents
	pointCount      int                     // points
	keptBytes       int                     // bytes that are kept
	expanded        []expandedSlice         // by slice
	meetings        map[[2]order.Node]point // where accesses meet, the lower node first
	lastSteps       map[uint64]lastStep     // by key of a point that one has come to on a way back: the step to it

	wordBits        []uint64 // scratch, and the next one: see past
	hints           []uint8
	backStack       []backStep // scratch
	pos             []int      // scratch: by axis
	group           rowGroup   // scratch
	lastCan         []uint64   // scratch, a row: where the last axis' thread can go on
	masked          [][]uint64 // scratch, a row by axis: where its thread can go on
	reached         []uint64   // scratch: at which places in a row there is something left
	pendable        []uint64   // scratch: and the node is near
	earlier         []uint64   // scratch, see late
	exactLanes      [][]uint64 // scratch: by axis, see visit
	invisibleSteps  []crossing // scratch, and others
	otherSteps      []crossing
	visits          []visit
	rows            [][]uint64 // scratch: the rows of two slices
	freeRows        []int32    // scratch: the numbers of those that are empty
	nodes           []order.Node
	offAxisProgress []int32 // scratch: by thread that has no axis how many of its nodes have come
}

// axis is the places of a thread, of which the last one is its end.
type axis struct {
	thread int
	steps  []macroStep
}

// macroStep are the nodes that a thread takes in one step: acquisitions, which can as well
// come later; one that is more than that; and releases and forks, which can as well come at
// once. If it is quiet, it makes no difference to others when it comes: it is taken at once,
// and nothing else is looked at before, but who meets.
type macroStep struct {
	first, node, end order.Node
	readsUnwritten   uint64  // the fresh cells that must have been written before
	unchanged        uint64  // the contents with which it is possible and that it leaves as they are
	shift                    // what it makes of others
	more             []shift // and of yet others
	invisible        bool
}

// shift moves some contents of memory.
type shift struct {
	mask uint64
	by   int
}

// point is a state: where it is, and what memory holds, or can have held.
type point struct {
	slice, block, lane int32
	contents           uint64
}

const (
	// maxPlaces bounds how many places a grid has in all, gridPoints, how many points, and
	// gridLooked, at how many of these one looks.
	maxPlaces     = 1 << 11
	maxGridPoints = 1 << 30
	maxExpanded   = 1 << 27
	// maxBytes bounds the memory of what is kept.
	maxBytes = 1 << 28
)

// matrix is a matrix of bits.
type matrix struct {
	width int
	bits  []uint64
}

func newMatrix(n int) matrix { return matrix{n / 64, make([]uint64, n*n/64)} }

func (a *matrix) row(i int) []uint64 { return a.bits[i*a.width : (i+1)*a.width] }

func (a *matrix) has(i, j int) bool { return a.bits[i*a.width+j/64]>>(j%64)&1 != 0 }

func (a *matrix) set(i, j int) { a.bits[i*a.width+j/64] |= 1 << (j % 64) }

func (a *matrix) unset(i, j int) { a.bits[i*a.width+j/64] &^= 1 << (j % 64) }

// New returns nil if the window has none, or one that is too large: who holds a lock has
// to follow from where one thread is, and what reads may see from what memory holds.
func New(x *moves.Machine) *Grid {
	m := x.Model
	if !x.Exact || len(m.Locks) > 64 {
		return nil
	}
	for n := range m.Goal {
		if id := m.Ends[n]; id >= 0 && m.Sections[id].Chain != m.Chain[n] {
			return nil
		}
	}
	g := &Grid{m: m, machine: x, axis: model.Fill(x.Threads), place: model.Fill(int(m.Goal)), meetings: map[[2]order.Node]point{}, lastSteps: map[uint64]lastStep{}}
	g.findPlaces()
	if len(g.axes) < 2 {
		return nil
	}
	points := 1
	for i := range g.axes {
		if points *= g.places(i); points > maxGridPoints {
			return nil
		}
	}
	if g.firstPlace[len(g.axes)] > maxPlaces {
		return nil
	}
	g.findUnwritten()
	if !g.findContents() {
		return nil
	}
	g.findHeld()
	g.comparePlaces()
	g.lastAxis = len(g.axes) - 1
	g.stride, g.blocks = make([]int, g.lastAxis), 1
	for i := g.lastAxis - 1; i > 0; i-- {
		g.stride[i] = g.blocks
		g.blocks *= g.places(i)
	}
	g.nodes = make([]order.Node, 0, m.Goal)
	g.pos, g.offAxisProgress = make([]int, len(g.axes)), make([]int32, x.Threads)
	g.placeWords = (g.firstPlace[g.lastAxis+1] - g.firstPlace[g.lastAxis]) / 64
	bits := func() []uint64 { return make([]uint64, g.placeWords) }
	g.reached, g.pendable, g.earlier, g.invisiblePlaces = bits(), bits(), bits(), bits()
	for range g.lastAxis {
		g.exactLanes = append(g.exactLanes, bits())
	}
	g.earliest = make([]int, g.firstPlace[len(g.axes)])
	for i := range g.axes {
		for p, at := 0, g.firstPlace[i]; p < g.places(i); p, at = p+1, at+1 {
			g.earliest[at] = at
			if p > 0 && g.axes[i].steps[p-1].invisible {
				g.earliest[at] = g.earliest[at-1]
				if i == g.lastAxis {
					g.invisiblePlaces[(p-1)/64] |= 1 << ((p - 1) % 64)
				}
			}
		}
	}
	g.layOut()
	return g
}

// places returns how many places an axis has.
func (g *Grid) places(axis int) int { return len(g.axes[axis].steps) + 1 }

// findPlaces finds the steps of all threads.
func (g *Grid) findPlaces() {
	m := g.m
	out, in := make([]bool, m.Goal), make([]bool, m.Goal)
	for _, list := range [][]model.Edge{m.Edges, m.ReadsFrom} {
		for _, e := range list {
			out[e.From], in[e.To] = true, true
		}
	}
	bare := func(n order.Node) bool { return m.AccessAt[n] == m.AccessAt[n+1] && m.Message[n] < 0 }
	for k := range g.machine.Threads {
		from, to := m.Base[k], m.Base[k+1]
		matters := false
		for n := from; n < to; n++ {
			matters = matters || !bare(n) || m.Begins[n] >= 0 || m.Ends[n] >= 0
		}
		if !matters {
			continue
		}
		a := axis{thread: k}
		for n := from; n < to; {
			s := macroStep{first: n}
			for n+1 < to && m.Begins[n] >= 0 && m.Ends[n] < 0 && bare(n) && !out[n] {
				n++
			}
			s.node = n
			for n++; n < to && m.Begins[n] < 0 && bare(n) && !in[n]; n++ {
			}
			s.end = n
			s.invisible = !slices.ContainsFunc(m.Accesses[m.AccessAt[s.node]:m.AccessAt[s.node+1]], func(t model.CellAccess) bool { return t.Write })
			for n := s.first; n < s.end; n++ {
				s.invisible = s.invisible && m.Begins[n] < 0 && m.Ends[n] < 0 && !out[n] && (m.Message[n] < 0 || m.Receives(n))
			}
			a.steps = append(a.steps, s)
		}
		g.axes = append(g.axes, a)
	}
	slices.SortStableFunc(g.axes, func(a, b axis) int { return len(b.steps) - len(a.steps) })
	g.firstPlace = []int{0}
	for i := range g.axes {
		a := &g.axes[i]
		g.axis[a.thread] = int32(i)
		g.firstPlace = append(g.firstPlace, (g.firstPlace[i]+g.places(i)+63)&^63)
	}
	g.node = make([]order.Node, g.firstPlace[len(g.axes)])
	for i := range g.axes {
		for p, s := range g.axes[i].steps {
			g.place[s.node], g.node[g.firstPlace[i]+p] = int32(p), s.node
		}
	}
}

// findContents finds what memory can hold and what steps make of it, and reports whether
// a word has enough bits.
func (g *Grid) findContents() bool {
	m, x := g.m, g.machine
	most := x.Limits()[x.Threads : x.Threads+x.Cells]
	lowest := make([]int32, x.Cells)
	for _, f := range g.unwritten {
		lowest[f.cell] = 1 // classes are numbered from what a cell holds at first
	}
	stride, values, count := make([]int, x.Cells), make([]int, x.Cells), 1
	for c, v := range most {
		stride[c], values[c] = count, int(v-lowest[c])+1
		g.start += uint64(count) * uint64(max(0, x.InitialClass[c]-lowest[c]))
		if count *= values[c]; count > 64 {
			return false
		}
	}
	g.start, g.contentCount = 1<<g.start, count
	for i := range g.axes {
		for p := range g.axes[i].steps {
			s := &g.axes[i].steps[p]
			for content := range count {
				can, by := true, 0
				for i := m.AccessAt[s.node]; i < m.AccessAt[s.node+1]; i++ {
					t := &m.Accesses[i]
					v := int32(content/stride[t.Cell]%values[t.Cell]) + lowest[t.Cell]
					can = can && (t.Read < 0 || x.ReadClass[t.Read] == v)
					if t.Write {
						by += int(x.WriteClass[i]-v) * stride[t.Cell]
					}
				}
				if !can {
					continue
				}
				if by == 0 {
					s.unchanged |= 1 << content
				} else {
					s.shiftBy(by).mask |= 1 << content
				}
			}
		}
	}
	return true
}

// shiftBy returns the part of a step that moves contents so far.
func (s *macroStep) shiftBy(by int) *shift {
	if s.mask == 0 || s.by == by {
		s.by = by
		return &s.shift
	}
	k := slices.IndexFunc(s.more, func(t shift) bool { return t.by == by })
	if k < 0 {
		k = len(s.more)
		s.more = append(s.more, shift{0, by})
	}
	return &s.more[k]
}

// predecessors returns what memory can have held before a step.
func (s *macroStep) predecessors(contents uint64) uint64 {
	from := contents&s.unchanged | bits.RotateLeft64(contents, -s.by)&s.mask
	for _, t := range s.more {
		from |= bits.RotateLeft64(contents, -t.by) & t.mask
	}
	return from
}

// findHeld finds what threads hold at places.
func (g *Grid) findHeld() {
	m := g.m
	g.heldAt, g.heldBefore = make([]model.LockMask, g.firstPlace[len(g.axes)]), m.HeldLocks()
	var always model.LockMask // by threads that never come to a place
	now := make([]model.LockMask, g.machine.Threads)
	set := func(id int32, to bool) {
		s, h := &m.Sections[id], &always
		if s.Chain >= 0 && g.axis[s.Chain] >= 0 {
			h = &now[s.Chain]
		}
		bit := uint64(1) << s.Lock
		h.Any &^= bit
		h.Exclusive &^= bit
		if to {
			h.Any |= bit
			if !s.Shared {
				h.Exclusive |= bit
			}
		}
	}
	for i := range m.Sections {
		if m.Sections[i].Acquire == model.None {
			set(int32(i), true)
		}
	}
	for i := range g.axes {
		a := &g.axes[i]
		h := &now[a.thread]
		for p := range g.places(i) {
			at := &g.heldAt[g.firstPlace[i]+p]
			*at = model.LockMask{Any: h.Any | always.Any, Exclusive: h.Exclusive | always.Exclusive}
			if p == len(a.steps) {
				break
			}
			for n := a.steps[p].first; n < a.steps[p].end; n++ {
				if id := m.Begins[n]; id >= 0 {
					set(id, true)
				}
				if id := m.Ends[n]; id >= 0 {
					set(id, false)
				}
			}
		}
	}
}

// comparePlaces finds at which places of two threads the one can go on, and at which they are to meet.
func (g *Grid) comparePlaces() {
	n := g.firstPlace[len(g.axes)]
	g.canStep, g.canStepT, g.canPend, g.canPendT, g.unmet = newMatrix(n), newMatrix(n), newMatrix(n), newMatrix(n), newMatrix(n)
	for i := range g.axes {
		for p := range g.axes[i].steps {
			for j := range g.axes {
				for q := 0; j != i && q < g.places(j); q++ {
					at, other := g.firstPlace[i]+p, g.firstPlace[j]+q
					may, near := g.compatible(&g.axes[i].steps[p], j, q)
					if may {
						g.canStep.set(at, other)
						g.canStepT.set(other, at)
					}
					if near {
						g.canPend.set(at, other)
						g.canPendT.set(other, at)
					}
					if a, b := g.node[at], g.node[other]; q < len(g.axes[j].steps) && g.machine.Conflict(a, b) && !g.heldBefore[a].Excludes(g.heldBefore[b]) {
						g.unmet.set(at, other)
					}
				}
			}
		}
	}
}

// compatible reports whether a step can be taken while another thread is at a place, and
// whether its node can be next.
func (g *Grid) compatible(s *macroStep, axis, place int) (all, near bool) {
	m := g.m
	a := &g.axes[axis]
	end := m.Base[a.thread+1]
	if place < len(a.steps) {
		end = a.steps[place].first
	}
	come := int32(end - m.Base[a.thread])
	held := g.heldAt[g.firstPlace[axis]+place]
	near = true
	for _, e := range m.Enablers(s.node) {
		near = near && m.Row(e)[a.thread] <= come
	}
	for n := s.first; n < s.end; n++ {
		can := m.Row(n)[a.thread] <= come
		if id := m.Begins[n]; id >= 0 {
			bit := uint64(1) << m.Sections[id].Lock
			can = can && held.Exclusive&bit == 0 && (held.Any&bit == 0 || m.Sections[id].Shared)
		}
		if q := m.Message[n]; q >= 0 && m.Receives(n) {
			for i, e := range m.Messages[q].Sends {
				if m.Chain[e] == int32(a.thread) {
					can = can && (e < end) == (i < int(m.Rank[n]))
				}
			}
		}
		if !can {
			return false, near && n >= s.node
		}
	}
	return true, near
}

// rowStep is a step from one lane of a row to the next one.
type rowStep struct {
	unchanged uint64
	shift
	more []shift
}

// layOut lays out as rows are what the steps of threads do.
func (g *Grid) layOut() {
	g.layout = newLayout(g.places(g.lastAxis), g.contentCount)
	l := &g.layout
	var may, back [][]uint64
	for at := range g.firstPlace[g.lastAxis] {
		may, back = append(may, g.lanes(&g.canStep, at)), append(back, g.lanes(&g.canStepT, at))
	}
	g.enabledRows, g.lastEnabledRows = l.rows(may), l.rows(back)
	g.rowSteps, g.invisibleRow = make([]rowStep, l.words*l.each), make([]uint64, l.words)
	for p, s := range g.axes[g.lastAxis].steps {
		at := func(m shift) shift { return shift{l.at(p, m.mask), m.by + l.size} }
		t := &g.rowSteps[p]
		t.unchanged, t.shift = l.at(p, s.unchanged), at(s.shift)
		for _, m := range s.more {
			t.more = append(t.more, at(m))
		}
		if s.invisible {
			g.invisibleRow[p/l.each] |= t.unchanged
		}
	}
	g.layOutUnwritten()
	g.lastCan, g.group.lastEnabled, g.group.unmet = make([]uint64, l.words), make([]uint64, l.words), make([]uint64, g.unmet.width)
	for range g.lastAxis {
		g.masked = append(g.masked, make([]uint64, l.words))
	}
}
