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
	moves.Machine            // with a state at hand of its own
	aim           order.Node // where the search leads, or none
	demands       []demand   // by node
	width         int        // at how many states of a layer one looks at first, and at twice as many where that does not do

	pack   moves.Packing
	words  []uint64     // packed states
	leads  []lead       // by state
	taken  []order.Node // steps of all states, none after those of each
	table  []int32      // states plus one by hash, linear probing
	layers []beamLayer  // by how many nodes have come
	bottom int          // the first one that has had states
	top    int          // and the last one
	Looked int          // states, in all searches

	key    []uint64          // scratch
	parent []int32           // scratch: the state that is looked at
	before [][]int32         // scratch: states before somebody helps
	way    []int32           // scratch: states
	lacks  []moves.CellValue // scratch
}

// demand is what a step, or the critical section that it begins, needs memory to hold, and what
// it leaves there.
type demand struct {
	needs, gives []moves.CellValue
	hard         bool // it does not do without others
}

// lead is how a state is reached from another one.
type lead struct {
	parent int32 // -1 less so many steps if these were along the line
	taken  int32 // where its steps are
}

// beamLayer is a layer.
type beamLayer struct {
	waits  []moves.Ranked
	looked int // at so many states
}

const (
	// beamShift is by how many bits the number of nodes is greater than that of layers.
	beamShift = 2
	// beamBack is how many layers one goes back at first, beamClear, after how many layers
	// without trouble that is so again.
	beamBack, beamClear = 8, 32
	// helps is how often somebody can be helped in a critical section.
	helps = 2
)

// What the cost of a state is made of: lagCost for each event by which threads are apart, as
// a standard deviation; less canCost for each that can go on, or hardCost, if only with help,
// and less helpCost for each that waits for what one of these can write.
const (
	lagCost  = 10
	canCost  = 100
	hardCost = 50
	helpCost = 30
	// nearCost is for each node by which a thread is before where both are held back.
	nearCost = 100
)

func newBeam(x *moves.Machine) beam {
	s := beam{Machine: *x, aim: model.None, width: wideBeam, pack: moves.NewPacking(x.Limits())}
	s.SilentWrites, s.Path = true, nil
	s.UseStaticOrder()
	s.State, s.key = make([]int32, x.StateSize), make([]uint64, s.pack.Words)
	s.layers = make([]beamLayer, int(x.Model.Goal)>>beamShift+1)
	s.before = make([][]int32, helps)
	s.findDemands()
	return s
}

// findDemands finds what steps need.
func (s *beam) findDemands() {
	m := s.Model
	s.demands = make([]demand, m.Goal)
	for n := range m.Goal {
		d := &s.demands[n]
		for o := n; o <= s.out(n); o++ {
			for i := m.AccessAt[o]; i < m.AccessAt[o+1]; i++ {
				t := &m.Accesses[i]
				k := slices.IndexFunc(d.gives, func(w moves.CellValue) bool { return w.Cell == t.Cell })
				if k < 0 {
					k = len(d.gives)
					d.gives = append(d.gives, moves.CellValue{Cell: t.Cell, Class: -1})
				}
				w := &d.gives[k]
				if t.Read >= 0 {
					if w.Class < 0 {
						d.needs = append(d.needs, moves.CellValue{Cell: t.Cell, Class: s.ReadClass[t.Read]})
					}
					d.hard = d.hard || w.Class >= 0 && w.Class != s.ReadClass[t.Read]
					w.Class = s.ReadClass[t.Read]
				}
				if t.Write {
					w.Class = s.WriteClass[i]
				}
			}
		}
	}
}

// out returns the end of the critical section that a step begins, or the step if nobody is to
// come to that at once.
func (s *beam) out(n order.Node) order.Node {
	if s.Model.Begins[n] < 0 || s.RegionStart[n] != model.None || n+1 == s.Model.Base[s.Model.Chain[n]+1] || s.RegionStart[n+1] != n {
		return n
	}
	end := s.RegionEnd[n+1]
	if s.Model.Ends[end] < 0 {
		return n // it is not given back
	}
	for _, inside := range [3]order.Node{s.HoldAt, s.AlsoHoldAt, s.aim} {
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
	s.begin()
	s.aim = aim
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
			s.add(lead{-1 - int32(i), 0})
			if copy(s.State, s.parent); i < len(line) {
				s.Step(line[i])
			}
		}
		seeds = from
	}
	sow(len(line))
	k, want := int(s.Model.Chain[aim]), s.Model.Pos(aim)
	back, width, trouble := beamBack, s.width, 0
	best, far := int32(0), int32(-1)
	for l, end := s.bottom, s.Looked+states; s.Looked < end; {
		if l > s.top { // stuck
			if s.top > trouble+beamClear {
				back, width = beamBack, s.width
			}
			if back > len(s.layers) {
				break
			}
			trouble = s.top
			back, width = back+back/2, min(2*width, 2*s.width)
			l = max(0, s.top-back)
			for i := l; i <= s.top; i++ {
				s.layers[i].looked = s.width - width
			}
			sow(l << beamShift)
			continue
		}
		if s.Looked%moves.InterruptEvery == 0 && s.Interrupted() {
			break
		}
		w := &s.layers[l]
		if w.looked >= s.width || len(w.waits) == 0 {
			l++
			continue
		}
		w.looked++
		s.Looked++
		i := w.pop()
		s.pack.Unpack(s.at(i), s.State)
		if v := s.State[k]; v > far && s.AlsoHoldAt == model.None {
			far, best = v, i
		}
		if s.State[k] >= want && (s.AlsoHoldAt == model.None || s.Machine.NextNode(int(s.Model.Chain[s.HoldAt])) == s.HoldAt) {
			return s.trace(line, i), true
		}
		s.expand(i)
	}
	return s.trace(line, best), false
}

// begin forgets all states.
func (s *beam) begin() {
	s.words, s.leads, s.taken = s.words[:0], s.leads[:0], s.taken[:0]
	s.table = s.table[:min(len(s.table), 1<<10)]
	clear(s.table)
	for i := s.bottom; i <= s.top && i < len(s.layers); i++ {
		s.layers[i].waits, s.layers[i].looked = s.layers[i].waits[:0], 0
	}
	s.bottom, s.top = len(s.layers), 0
}

// follow goes along a line from the window's start.
func (s *beam) follow(line []order.Node) {
	s.Reset()
	for _, n := range line {
		s.Step(n)
	}
}

// at returns a packed state.
func (s *beam) at(i int32) []uint64 { return s.words[int(i)*s.pack.Words : (int(i)+1)*s.pack.Words] }

// add lets the state at hand, to which the path at hand leads, wait if it is new.
func (s *beam) add(from lead) {
	if 2*len(s.leads) >= len(s.table) {
		n := max(1<<10, 2*len(s.table))
		s.table = slices.Grow(s.table[:0], n)[:n]
		clear(s.table)
		for i := range s.leads {
			s.table[moves.FindSlot(s.table, s.words, s.at(int32(i)))] = int32(i) + 1
		}
	}
	s.pack.Pack(s.State, s.key)
	at := moves.FindSlot(s.table, s.words, s.key)
	if s.table[at] > 0 {
		return
	}
	i := int32(len(s.leads))
	s.table[at] = i + 1
	s.words = append(s.words, s.key...)
	from.taken = int32(len(s.taken))
	s.leads = append(s.leads, from)
	s.taken = append(append(s.taken, s.Path...), model.None)
	sum := 0
	for _, v := range s.State[:s.Threads] {
		sum += int(v)
	}
	l := sum >> beamShift
	s.layers[l].waits = append(s.layers[l].waits, moves.Ranked{State: i, Cost: s.cost()})
	s.bottom, s.top = min(s.bottom, l), max(s.top, l)
}

// pop removes the best state.
func (l *beamLayer) pop() int32 {
	best, last := 0, len(l.waits)-1
	for i := range l.waits {
		if l.waits[i].Before(l.waits[best]) {
			best = i
		}
	}
	i := l.waits[best].State
	l.waits[best] = l.waits[last]
	l.waits = l.waits[:last]
	return i
}

// cost returns the cost of the state at hand.
func (s *beam) cost() (cost int32) {
	var count, first, sum, squares int
	var given uint64
	s.lacks = s.lacks[:0]
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
		d := &s.demands[n]
		i := 0
		for i < len(d.needs) && s.Value(d.needs[i].Cell) == d.needs[i].Class {
			i++
		}
		switch {
		case i < len(d.needs):
			s.lacks = append(s.lacks, d.needs[i])
		case s.Enabled(n):
			if d.hard {
				cost -= hardCost
			} else {
				cost -= canCost
			}
			for _, g := range d.gives {
				if s.Value(g.Cell) != g.Class {
					given |= g.Bit()
				}
			}
		}
	}
	for _, w := range s.lacks {
		if given&w.Bit() != 0 {
			cost -= helpCost
		}
	}
	if count > 0 {
		mean := float64(sum) / float64(count)
		cost += int32(lagCost * math.Sqrt(max(0, float64(squares)/float64(count)-mean*mean)))
	}
	if s.AlsoHoldAt != model.None {
		for _, n := range [2]order.Node{s.HoldAt, s.AlsoHoldAt} {
			cost += nearCost * (s.Model.Pos(n) - s.State[s.Model.Chain[n]])
		}
	}
	return cost
}

// expand looks at what follows a state.
func (s *beam) expand(i int32) {
	s.pack.Unpack(s.at(i), s.State)
	s.parent = append(s.parent[:0], s.State...)
	for k := range s.Threads {
		n := s.Machine.NextNode(k)
		if n == model.None || !s.Enabled(n) {
			continue
		}
		s.Path = s.Path[:0]
		s.Step(n)
		s.cross(i, k, s.out(n), 0)
		copy(s.State, s.parent)
	}
}

// cross takes a thread to the end of the critical section that it is in, with the help of others
// where it cannot go on, and adds the states that it comes to.
func (s *beam) cross(i int32, k int, end order.Node, helped int) {
	for {
		n := s.Machine.NextNode(k)
		if n == model.None || n > end {
			s.TakeMoversAfter(0)
			s.add(lead{i, 0})
			return
		}
		if s.Enabled(n) {
			s.Step(n)
			continue
		}
		if s.TakeMoversAfter(0); s.Enabled(n) {
			continue
		}
		if helped == helps || s.Transitions[n].Required < 0 {
			return
		}
		s.before[helped] = append(s.before[helped][:0], s.State...)
		size := len(s.Path)
		for j := range s.Threads {
			o := s.Machine.NextNode(j)
			if j == k || o == model.None || s.Transitions[o].Cell != s.Transitions[n].Cell || !s.Transitions[o].Writes || !s.Enabled(o) {
				continue
			}
			if s.Step(o); s.Value(s.Transitions[n].Cell) == s.Transitions[n].Required {
				s.cross(i, k, end, helped+1)
			}
			copy(s.State, s.before[helped])
			s.Path = s.Path[:size]
		}
		return
	}
}

// trace returns the steps from the window's start to a state.
func (s *beam) trace(line []order.Node, i int32) []order.Node {
	s.way = s.way[:0]
	for ; i >= 0; i = s.leads[i].parent {
		s.way = append(s.way, i)
	}
	s.follow(line[:-1-i])
	for _, i := range slices.Backward(s.way) {
		for at := s.leads[i].taken; s.taken[at] != model.None; at++ {
			s.Step(s.taken[at])
		}
	}
	return slices.Clone(s.Path)
}
