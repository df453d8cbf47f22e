package beam

import (
	"math"
	"slices"

	"github.com/heisen-go/heisen/mcm/internal/model"
	"github.com/heisen-go/heisen/mcm/internal/moves"
	"github.com/heisen-go/heisen/mcm/order"
)

// beam leads an order, a line, on to where a node is next, with one thread or two held back. It looks
// at states in layers, by how many nodes have come, and of each layer at few, the best: those
// in which nobody is far behind and many can go on, for who can go on can help. Where it gets
// stuck it begins again from ever farther back, and wider. (Beam search with backtracking: Zhou
// and Hansen, "Beam-stack search", ICAPS 2005.)
//
// Threads get stuck where somebody waits in a critical section for what others have to write
// and keeps them out. So nobody enters one that he does not come out of in one go, if need be
// with the help of writes by others in between, unless he is held back in it.
type beam struct {
	moves.Machine            // with its own current state
	target        order.Node // where the search leads, or none
	effects       []effect   // by node
	width         int        // at how many states of a layer one looks at first, and at twice as many where that does not do

	packing    moves.Packing
	words      []uint64     // packed states
	links      []link       // by state
	linkSteps  []order.Node // steps of all states, none after those of each
	table      []int32      // states plus one by hash, linear probing
	layers     []layer      // by how many nodes have come
	firstLayer int          // the first one that has had states
	lastLayer  int          // and the last one
	Expanded   int          // states, in all searches

	key       []uint64          // scratch
	parent    []int32           // scratch: the state that is looked at
	saved     [][]int32         // scratch: states before somebody helps
	ancestors []int32           // scratch: states
	missing   []moves.CellValue // scratch
}

// effect is what a step, or the critical section that it begins, needs memory to hold, and what
// it leaves there.
type effect struct {
	requires, leaves []moves.CellValue
	needsHelp        bool // it does not do without others
}

// link is how a state is reached from another one.
type link struct {
	parent int32 // -1 less so many steps if these were along the line
	steps  int32 // where its steps are
}

// layer is a layer.
type layer struct {
	open     []moves.Ranked
	expanded int // at so many states
}

const (
	// layerShift is by how many bits the number of nodes is greater than that of layers.
	layerShift = 2
	// firstBacktrack is how many layers one goes back at first, beamClear, after how many layers
	// without trouble that is so again.
	firstBacktrack, clearLayers = 8, 32
	// maxHelps is how often somebody can be helped in a critical section.
	maxHelps = 2
)

// What the cost of a state is made of: lagCost for each event by which threads are apart, as
// a standard deviation; less canCost for each that can go on, or hardCost, if only with help,
// and less helpCost for each that waits for what one of these can write.
const (
	spreadCost   = 10
	enabledBonus = 100
	helpedBonus  = 50
	helperBonus  = 30
	// distanceCost is for each node by which a thread is before where both are held back.
	distanceCost = 100
)

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

// findEffects finds what steps need.
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

// sectionEnd returns the end of the critical section that a step begins, or the step if nobody is to
// come to that at once.
func (s *beam) sectionEnd(n order.Node) order.Node {
	if s.Model.Begins[n] < 0 || s.RegionStart[n] != model.None || n+1 == s.Model.Base[s.Model.Chain[n]+1] || s.RegionStart[n+1] != n {
		return n
	}
	end := s.RegionEnd[n+1]
	if s.Model.Ends[end] < 0 {
		return n // it is not given back
	}
	for _, inside := range [3]order.Node{s.HoldAt, s.AlsoHoldAt, s.target} {
		if n < inside && inside <= end {
			return n
		}
	}
	return end
}

// search leads a line on to where a node is next or, if its thread is held back there, where
// both threads are where they are held back. It looks at so many states at most, and returns
// the steps to where that is, or as far as it has come, and whether it has got there.
func (s *beam) search(line []order.Node, aim order.Node, states int) ([]order.Node, bool) {
	s.reset()
	s.target = aim
	seeds := len(line) + 1
	sow := func(from int) { // states along the line
		if from >= seeds {
			return
		}
		s.follow(line[:from])
		for i := from; i < seeds; i++ {
			s.parent = append(s.parent[:0], s.State...)
			s.Path = s.Path[:0]
			s.TakeMovers()
			s.add(link{-1 - int32(i), 0})
			if copy(s.State, s.parent); i < len(line) {
				s.Step(line[i])
			}
		}
		seeds = from
	}
	sow(len(line))
	k, want := int(s.Model.Chain[aim]), s.Model.Pos(aim)
	back, width, trouble := firstBacktrack, s.width, 0
	best, far := int32(0), int32(-1)
	for l, end := s.firstLayer, s.Expanded+states; s.Expanded < end; {
		if l > s.lastLayer { // stuck
			if s.lastLayer > trouble+clearLayers {
				back, width = firstBacktrack, s.width
			}
			if back > len(s.layers) {
				break
			}
			trouble = s.lastLayer
			back, width = back+back/2, min(2*width, 2*s.width)
			l = max(0, s.lastLayer-back)
			for i := l; i <= s.lastLayer; i++ {
				s.layers[i].expanded = s.width - width
			}
			sow(l << layerShift)
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
			return s.pathTo(line, i), true
		}
		s.expand(i)
	}
	return s.pathTo(line, best), false
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

// follow goes along a line from the window's start.
func (s *beam) follow(line []order.Node) {
	s.Reset()
	for _, n := range line {
		s.Step(n)
	}
}

// packed returns a packed state.
func (s *beam) packed(i int32) []uint64 {
	return s.words[int(i)*s.packing.Words : (int(i)+1)*s.packing.Words]
}

// add lets the state at hand, to which the path at hand leads, wait if it is new.
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

// pop removes the best state.
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

// cost returns the cost of the state at hand.
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

// expand looks at what follows a state.
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

// crossSection takes a thread to the end of the critical section that it is in, with the help of others
// where it cannot go on, and adds the states that it comes to.
func (s *beam) crossSection(i int32, k int, end order.Node, helped int) {
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
		if helped == maxHelps || s.Transitions[n].Required < 0 {
			return
		}
		s.saved[helped] = append(s.saved[helped][:0], s.State...)
		size := len(s.Path)
		for j := range s.Threads {
			o := s.Machine.NextNode(j)
			if j == k || o == model.None || s.Transitions[o].Cell != s.Transitions[n].Cell || !s.Transitions[o].Writes || !s.Enabled(o) {
				continue
			}
			if s.Step(o); s.Value(s.Transitions[n].Cell) == s.Transitions[n].Required {
				s.crossSection(i, k, end, helped+1)
			}
			copy(s.State, s.saved[helped])
			s.Path = s.Path[:size]
		}
		return
	}
}

// pathTo returns the steps from the window's start to a state.
func (s *beam) pathTo(line []order.Node, i int32) []order.Node {
	s.ancestors = s.ancestors[:0]
	for ; i >= 0; i = s.links[i].parent {
		s.ancestors = append(s.ancestors, i)
	}
	s.follow(line[:-1-i])
	for _, i := range slices.Backward(s.ancestors) {
		for at := s.links[i].steps; s.linkSteps[at] != model.None; at++ {
			s.Step(s.linkSteps[at])
		}
	}
	return slices.Clone(s.Path)
}
