package grid

import (
	"github.com/heisen-go/heisen/mcm/internal/model"
	"github.com/heisen-go/heisen/mcm/internal/moves"
	"github.com/heisen-go/heisen/mcm/order"
)

// Grid is the reachable states of one window. See the package documentation.
type Grid struct {
	m          *model.Model
	machine    *moves.Machine
	axes       []axis       // the thread with the most places first
	axis       []int32      // by thread, or -1 for a thread whose place follows from those of the others
	place      []int32      // by node: the place whose macro step contains it as the main node, or -1
	node       []order.Node // by place number: the main node of its step
	firstPlace []int        // by axis: the number of its first place, a multiple of 64; with a final entry

	heldAt     []model.LockMask // by place number: the locks that the thread holds there
	heldBefore []model.LockMask // by node: the locks that the thread holds before it
	canStep    matrix           // by place of a thread and of another one: the other permits the thread's step
	canStepT   matrix           // the transpose of canStep
	canPend    matrix           // by place of a thread and of another one: the other permits the main node to be pending
	canPendT   matrix           // the transpose of canPend
	unmet      matrix           // by places of two threads: the main nodes conflict and have not met yet

	lastAxis   int    // the axis along rows
	stride     []int  // by axis, but the first and the last: the distance of neighboring blocks
	blocks     int    // rows of a slice
	placeWords int    // words with a bit for each place of the last axis
	layout     layout // of rows

	enabledRows     [][]uint64 // by place number, but the last axis, as a row: where canStep holds
	lastEnabledRows [][]uint64 // the same: where the last thread's step is permitted
	rowSteps        []rowStep  // by lane of a row: the last thread's step
	invisibleRow    []uint64   // a row: the contents with which the last thread's step is possible and invisible

	unwritten   []unwritten // at most 64 cells
	unwrittenAt []uint64    // by place number: the cells of unwritten that the thread has not written there, as bits

	earliest        []int                   // by place number: the first place from which only invisible steps lead there
	invisiblePlaces []uint64                // places of the last axis with invisible steps, as bits
	start           uint64                  // the initial contents, as one bit
	contentCount    int                     // number of contents of memory
	pointCount      int                     // expanded points
	keptBytes       int                     // memory of the expanded slices
	expanded        []expandedSlice         // by slice
	meetings        map[[2]order.Node]point // by pair of nodes, the lower one first: where they meet
	lastSteps       map[uint64]lastStep     // by key of a point: the last step to it, for points that backward searches have decided

	wordBits        []uint64 // scratch: wordBits and hints of the slice that is being expanded
	hints           []uint8
	backStack       []backStep // scratch
	pos             []int      // scratch: by axis
	group           rowGroup   // scratch
	lastCan         []uint64   // scratch, a row: where the last thread can go on
	masked          [][]uint64 // scratch, a row by axis
	reached         []uint64   // scratch: the reached places of a row
	pendable        []uint64   // scratch: those of them where the last thread's node can be pending
	earlier         []uint64   // scratch: see findEarlier
	exactLanes      [][]uint64 // scratch: by axis, see visit
	invisibleSteps  []crossing // scratch: the steps of other threads from a row
	otherSteps      []crossing
	visits          []visit
	rows            [][]uint64 // scratch: the rows of two slices
	freeRows        []int32    // scratch: the numbers of the empty rows
	nodes           []order.Node
	offAxisProgress []int32 // scratch: by thread without an axis, how many nodes it has executed
}

// point is a set of states with the same places of all threads.
type point struct {
	slice, block, lane int32
	contents           uint64 // contents of memory, as bits
}

const (
	// maxPlaces bounds the places of all threads.
	maxPlaces = 1 << 11
	// maxGridPoints bounds the points of a grid, reached or not.
	maxGridPoints = 1 << 30
	// maxExpanded bounds the expanded points.
	maxExpanded = 1 << 27
	// maxBytes bounds the memory of the expanded slices.
	maxBytes = 1 << 28
)

// New returns the grid of a window, not explored yet, or nil if the window has none or too large a
// one.
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
	g := &Grid{m: m, machine: x, axis: model.Unset(x.Threads), place: model.Unset(int(m.Goal)), meetings: map[[2]order.Node]point{}, lastSteps: map[uint64]lastStep{}}
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

// rowStep is the step from one lane of a row to the next.
type rowStep struct {
	unchanged uint64
	shift
	more []shift
}

// layOut computes the rows that describe the steps of threads.
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
