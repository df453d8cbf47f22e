package beam

import (
	"math"
	"slices"

	"github.com/heisen-go/heisen/mcm/internal/model"
	"github.com/heisen-go/heisen/mcm/internal/moves"
	"github.com/heisen-go/heisen/mcm/order"
)

// beam is a beam search that extends a schedule until a node is pending, with one or two threads
// held back. See the package documentation.
type beam struct {
	moves.Machine            // with its own current state
	target        order.Node // the node that is to be pending, or None
	effects       []effect   // by node
	width         int        // how many states of a layer are expanded; up to twice as many after backtracking

	packing    moves.Packing
	words      []uint64     // packed states, one after the other
	links      []link       // by state
	linkSteps  []order.Node // the steps of all links, each list ending with None
	table      []int32      // hash table of states; see moves.FindSlot
	layers     []layer      // by number of executed nodes >> layerShift
	firstLayer int          // the first layer that has had states
	lastLayer  int          // the last one
	Expanded   int          // states, in all searches

	key       []uint64          // scratch
	parent    []int32           // scratch: the state that is being expanded
	saved     [][]int32         // scratch: by depth of help, the state before it
	ancestors []int32           // scratch: states
	missing   []moves.CellValue // scratch
}

// effect is what a node, or the critical section that it begins, requires of memory and leaves
// there.
type effect struct {
	requires, leaves []moves.CellValue
	needsHelp        bool // it cannot finish without writes of other threads in between
}

// link is how a state is reached from its parent.
type link struct {
	parent int32 // a state, or -1-i for the state after the first i steps of the schedule
	steps  int32 // index in linkSteps
}

// layer is the states with about the same number of executed nodes.
type layer struct {
	open     []moves.Ranked // states that have not been expanded
	expanded int            // how many have been expanded
}

const (
	// layerShift makes a layer of 1<<layerShift numbers of executed nodes.
	layerShift = 2
	// firstBacktrack is how many layers the search backtracks at first. It does so again after
	// clearLayers layers of progress.
	firstBacktrack, clearLayers = 8, 32
	// maxHelps bounds how often other threads help a thread through a critical section.
	maxHelps = 2
)

// Weights of the cost of a state; see beam.cost.
const (
	// spreadCost is the cost of each event of standard deviation between the positions of the
	// threads.
	spreadCost = 10
	// enabledBonus is subtracted for each thread that can go on.
	enabledBonus = 100
	// helpedBonus is subtracted instead if the thread needs help.
	helpedBonus = 50
	// helperBonus is subtracted for each thread that waits for a value which a thread that can go
	// on can write.
	helperBonus = 30
	// distanceCost is the cost of each node that separates a thread from where it is to be held
	// back, if both are.
	distanceCost = 100
)

// newBeam returns a beam search over the states of x, with silent writes as movers.
func newBeam(x *moves.Machine) beam {
	s := beam{Machine: *x, target: model.None, width: defaultWidth, packing: moves.NewPacking(x.Limits())}
	s.SilentWrites, s.Path = true, nil
	s.UseStaticOrder()
	s.State, s.key = make([]int32, x.StateSize), make([]uint64, s.packing.Words)
	s.layers = make([]layer, int(x.Model.Goal)>>layerShift+1)
	s.saved = make([][]int32, maxHelps)
	s.findEffects()
	return s
}

// findEffects computes the effects of all nodes.
func (s *beam) findEffects() {
	m := s.Model
	s.effects = make([]effect, m.Goal)
	for n := range m.Goal {
		d := &s.effects[n]
		for o := n; o <= s.sectionEnd(n); o++ {
			for i := m.AccessAt[o]; i < m.AccessAt[o+1]; i++ {
				t := &m.Accesses[i]
				k := slices.IndexFunc(d.leaves, func(w moves.CellValue) bool { return w.Cell == t.Cell })
				if k < 0 {
					k = len(d.leaves)
					d.leaves = append(d.leaves, moves.CellValue{Cell: t.Cell, Class: -1})
				}
				w := &d.leaves[k]
				if t.Read >= 0 {
					if w.Class < 0 {
						d.requires = append(d.requires, moves.CellValue{Cell: t.Cell, Class: s.ReadClass[t.Read]})
					}
					d.needsHelp = d.needsHelp || w.Class >= 0 && w.Class != s.ReadClass[t.Read]
					w.Class = s.ReadClass[t.Read]
				}
				if t.Write {
					w.Class = s.WriteClass[i]
				}
			}
		}
	}
}

// sectionEnd returns the last node of the locked region that n begins. It returns n if n begins
// none, or if a thread is to stay inside.
func (s *beam) sectionEnd(n order.Node) order.Node {
	if s.Model.Begins[n] < 0 || s.RegionStart[n] != model.None || n+1 == s.Model.Base[s.Model.Chain[n]+1] || s.RegionStart[n+1] != n {
		return n
	}
	end := s.RegionEnd[n+1]
	if s.Model.Ends[end] < 0 {
		return n // the window ends before the release
	}
	for _, inside := range [3]order.Node{s.HoldAt, s.AlsoHoldAt, s.target} {
		if n < inside && inside <= end {
			return n
		}
	}
	return end
}

// search extends a schedule until target is pending. If the thread of target is held back there,
// both threads must be where they are held back. It expands at most the given number of states. It
// returns the extended schedule and true, or the schedule that gets the thread of target farthest
// and false.
func (s *beam) search(prefix []order.Node, target order.Node, states int) ([]order.Node, bool) {
	s.reset()
	s.target = target
	seeds := len(prefix) + 1
	addAlong := func(from int) { // adds the states along the schedule
		if from >= seeds {
			return
		}
		s.follow(prefix[:from])
		for i := from; i < seeds; i++ {
			s.parent = append(s.parent[:0], s.State...)
			s.Path = s.Path[:0]
			s.TakeMovers()
			s.add(link{-1 - int32(i), 0})
			if copy(s.State, s.parent); i < len(prefix) {
				s.Step(prefix[i])
			}
		}
		seeds = from
	}
	addAlong(len(prefix))
	k, want := int(s.Model.Chain[target]), s.Model.Pos(target)
	back, width, stuckAt := firstBacktrack, s.width, 0
	best, far := int32(0), int32(-1)
	for l, end := s.firstLayer, s.Expanded+states; s.Expanded < end; {
		if l > s.lastLayer { // all open states are used up
			if s.lastLayer > stuckAt+clearLayers {
				back, width = firstBacktrack, s.width
			}
			if back > len(s.layers) {
				break
			}
			stuckAt = s.lastLayer
			back, width = back+back/2, min(2*width, 2*s.width)
			l = max(0, s.lastLayer-back)
			for i := l; i <= s.lastLayer; i++ {
				s.layers[i].expanded = s.width - width
			}
			addAlong(l << layerShift)
			continue
		}
		if s.Expanded%moves.InterruptEvery == 0 && s.Interrupted() {
			break
		}
		w := &s.layers[l]
		if w.expanded >= s.width || len(w.open) == 0 {
			l++
			continue
		}
		w.expanded++
		s.Expanded++
		i := w.pop()
		s.packing.Unpack(s.packed(i), s.State)
		if v := s.State[k]; v > far && s.AlsoHoldAt == model.None {
			far, best = v, i
		}
		if s.State[k] >= want && (s.AlsoHoldAt == model.None || s.Machine.NextNode(int(s.Model.Chain[s.HoldAt])) == s.HoldAt) {
			return s.pathTo(prefix, i), true
		}
		s.expand(i)
	}
	return s.pathTo(prefix, best), false
}

// reset forgets all states.
func (s *beam) reset() {
	s.words, s.links, s.linkSteps = s.words[:0], s.links[:0], s.linkSteps[:0]
	s.table = s.table[:min(len(s.table), 1<<10)]
	clear(s.table)
	for i := s.firstLayer; i <= s.lastLayer && i < len(s.layers); i++ {
		s.layers[i].open, s.layers[i].expanded = s.layers[i].open[:0], 0
	}
	s.firstLayer, s.lastLayer = len(s.layers), 0
}

// follow executes a schedule from the start of the window.
func (s *beam) follow(prefix []order.Node) {
	s.Reset()
	for _, n := range prefix {
		s.Step(n)
	}
}

// packed returns the packed form of a state.
func (s *beam) packed(i int32) []uint64 {
	return s.words[int(i)*s.packing.Words : (int(i)+1)*s.packing.Words]
}

// add stores the current state and opens it, if it is new. Path leads to it.
func (s *beam) add(from link) {
	if 2*len(s.links) >= len(s.table) {
		n := max(1<<10, 2*len(s.table))
		s.table = slices.Grow(s.table[:0], n)[:n]
		clear(s.table)
		for i := range s.links {
			s.table[moves.FindSlot(s.table, s.words, s.packed(int32(i)))] = int32(i) + 1
		}
	}
	s.packing.Pack(s.State, s.key)
	at := moves.FindSlot(s.table, s.words, s.key)
	if s.table[at] > 0 {
		return
	}
	i := int32(len(s.links))
	s.table[at] = i + 1
	s.words = append(s.words, s.key...)
	from.steps = int32(len(s.linkSteps))
	s.links = append(s.links, from)
	s.linkSteps = append(append(s.linkSteps, s.Path...), model.None)
	sum := 0
	for _, v := range s.State[:s.Threads] {
		sum += int(v)
	}
	l := sum >> layerShift
	s.layers[l].open = append(s.layers[l].open, moves.Ranked{State: i, Cost: s.cost()})
	s.firstLayer, s.lastLayer = min(s.firstLayer, l), max(s.lastLayer, l)
}

// pop removes the best open state.
func (l *layer) pop() int32 {
	best, last := 0, len(l.open)-1
	for i := range l.open {
		if l.open[i].Before(l.open[best]) {
			best = i
		}
	}
	i := l.open[best].State
	l.open[best] = l.open[last]
	l.open = l.open[:last]
	return i
}

// cost returns the heuristic cost of the current state.
func (s *beam) cost() (cost int32) {
	var count, first, sum, squares int
	var given uint64
	s.missing = s.missing[:0]
	for k := range s.Threads {
		n := s.Machine.NextNode(k)
		if n == model.None || n == s.HoldAt || n == s.AlsoHoldAt {
			continue
		}
		e := int(s.Model.Event[n])
		if count == 0 {
			first = e
		}
		e -= first
		count, sum, squares = count+1, sum+e, squares+e*e
		d := &s.effects[n]
		i := 0
		for i < len(d.requires) && s.Value(d.requires[i].Cell) == d.requires[i].Class {
			i++
		}
		switch {
		case i < len(d.requires):
			s.missing = append(s.missing, d.requires[i])
		case s.Enabled(n):
			if d.needsHelp {
				cost -= helpedBonus
			} else {
				cost -= enabledBonus
			}
			for _, g := range d.leaves {
				if s.Value(g.Cell) != g.Class {
					given |= g.Bit()
				}
			}
		}
	}
	for _, w := range s.missing {
		if given&w.Bit() != 0 {
			cost -= helperBonus
		}
	}
	if count > 0 {
		mean := float64(sum) / float64(count)
		cost += int32(spreadCost * math.Sqrt(max(0, float64(squares)/float64(count)-mean*mean)))
	}
	if s.AlsoHoldAt != model.None {
		for _, n := range [2]order.Node{s.HoldAt, s.AlsoHoldAt} {
			cost += distanceCost * (s.Model.Pos(n) - s.State[s.Model.Chain[n]])
		}
	}
	return cost
}

// expand adds the successors of a state.
func (s *beam) expand(i int32) {
	s.packing.Unpack(s.packed(i), s.State)
	s.parent = append(s.parent[:0], s.State...)
	for k := range s.Threads {
		n := s.Machine.NextNode(k)
		if n == model.None || !s.Enabled(n) {
			continue
		}
		s.Path = s.Path[:0]
		s.Step(n)
		s.crossSection(i, k, s.sectionEnd(n), 0)
		copy(s.State, s.parent)
	}
}

// crossSection executes thread k up to the node end of its critical section. Where the thread is
// blocked, it tries the writes of other threads that unblock it. It adds the states that this
// leads to as successors of state i.
func (s *beam) crossSection(i int32, k int, end order.Node, helps int) {
	for {
		n := s.Machine.NextNode(k)
		if n == model.None || n > end {
			s.TakeMoversAfter(0)
			s.add(link{i, 0})
			return
		}
		if s.Enabled(n) {
			s.Step(n)
			continue
		}
		if s.TakeMoversAfter(0); s.Enabled(n) {
			continue
		}
		if helps == maxHelps || s.Transitions[n].Required < 0 {
			return
		}
		s.saved[helps] = append(s.saved[helps][:0], s.State...)
		size := len(s.Path)
		for j := range s.Threads {
			o := s.Machine.NextNode(j)
			if j == k || o == model.None || s.Transitions[o].Cell != s.Transitions[n].Cell || !s.Transitions[o].Writes || !s.Enabled(o) {
				continue
			}
			if s.Step(o); s.Value(s.Transitions[n].Cell) == s.Transitions[n].Required {
				s.crossSection(i, k, end, helps+1)
			}
			copy(s.State, s.saved[helps])
			s.Path = s.Path[:size]
		}
		return
	}
}

// pathTo returns the schedule from the start of the window to a state.
func (s *beam) pathTo(prefix []order.Node, i int32) []order.Node {
	s.ancestors = s.ancestors[:0]
	for ; i >= 0; i = s.links[i].parent {
		s.ancestors = append(s.ancestors, i)
	}
	s.follow(prefix[:-1-i])
	for _, i := range slices.Backward(s.ancestors) {
		for at := s.links[i].steps; s.linkSteps[at] != model.None; at++ {
			s.Step(s.linkSteps[at])
		}
	}
	return slices.Clone(s.Path)
}
