package recorder

import (
	"slices"

	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/internal/core/wire"
)

// objectGraph is the graph of what objects point to, as far as hidden calls can reach it (TREE and
// RDIT, section 4.4.3). The recorder sends each object once, and again after a pointer was written
// to it. The sets that calls reach are made here.
//
// What the recorder sends has a stamp, because it may arrive before calls for which it does not
// hold yet.
type objectGraph struct {
	limit   int               // of the objects that a call reaches
	numbers map[uint64]uint32 // by address
	objects []object          // 0 is the variables of hidden packages
	changes uint64            // number of changes so far
	turn    uint32            // the last search

	updates []update // that don't hold yet, in order
	sets    map[uint64]*reachSet
	cached  int // objects in sets
	spans   int // of all sets
}

// object is a node of the graph.
type object struct {
	start, size uint64
	targets     []uint32
	defined     bool   // else it may lead to everything
	changed     uint64 // when its targets were set
	turn        uint32 // the last search that has found it
}

// update is what an object points to from a stamp on.
type update struct {
	stamp       uint64
	start, size uint64
	more        bool // in addition to the previous update
	targets     []uint64
}

// reachSet is what some roots lead to.
type reachSet struct {
	roots, objects []uint32
	validAt        uint64 // the changes at which it was last valid
	set            heisen.Reach
}

const (
	maxCachedObjects = 1 << 22 // of sets
	maxSetSpans      = 1 << 22 // of all sets; later calls reach everything
)

func newObjectGraph() objectGraph {
	return objectGraph{
		limit:   DefaultReach,
		numbers: map[uint64]uint32{0: 0},
		objects: make([]object, 1),
		sets:    map[uint64]*reachSet{},
	}
}

// addObjects takes a message of objects.
func (s *Stream) addObjects(words []uint64) error {
	g := &s.graph
	for len(words) > 0 {
		if len(words) < 3 {
			return s.corrupt("an object in %d words", len(words))
		}
		start, size, count := words[0], words[1], words[2]&^wire.GraphMore
		more := words[2]&wire.GraphMore != 0
		words = words[3:]
		if start == wire.GraphUntil {
			// Sets the stamp of all updates since the last stamp.
			for i := len(g.updates) - 1; i >= 0 && g.updates[i].stamp == 0; i-- {
				g.updates[i].stamp = size + 1 // so that 0 is none
			}
			continue
		}
		if count > uint64(len(words)) {
			return s.corrupt("an object that points to %d others, in %d words", count, len(words))
		}
		g.updates = append(g.updates, update{start: start, size: size, more: more, targets: slices.Clone(words[:count])})
		words = words[count:]
	}
	return nil
}

// applyUntil applies the updates with stamps up to the given one.
func (g *objectGraph) applyUntil(stamp uint64) {
	n := 0
	for n < len(g.updates) && g.updates[n].stamp != 0 && g.updates[n].stamp <= stamp+1 {
		g.apply(&g.updates[n])
		n++
	}
	if n > 0 {
		g.updates = slices.Delete(g.updates, 0, n)
	}
}

func (g *objectGraph) apply(y *update) {
	g.changes++
	n := g.number(y.start)
	targets := g.objects[n].targets
	if !y.more {
		targets = targets[:0]
	}
	for _, t := range y.targets {
		targets = append(targets, g.number(t))
	}
	o := &g.objects[n]
	o.size, o.targets, o.defined, o.changed = y.size, targets, true, g.changes
}

func (g *objectGraph) number(start uint64) uint32 {
	n, ok := g.numbers[start]
	if !ok {
		n = uint32(len(g.objects))
		g.numbers[start] = n
		g.objects = append(g.objects, object{start: start})
	}
	return n
}

// reach returns the set that the roots of a call, and the variables of hidden packages, lead to.
func (g *objectGraph) reach(symbols *heisen.Symbols, roots []uint64, stamp uint64) heisen.Reach {
	g.applyUntil(stamp)
	list := make([]uint32, 1, len(roots)+1)
	for _, r := range roots {
		list = append(list, g.number(r))
	}
	slices.Sort(list)
	list = slices.Compact(list)
	hash := uint64(len(list))
	for _, n := range list {
		hash = (hash ^ uint64(n)) * 0x9E3779B97F4A7C15
		hash ^= hash >> 29
	}
	k := g.sets[hash]
	if k != nil && slices.Equal(k.roots, list) {
		if g.valid(k) {
			return k.set
		}
	} else {
		if k != nil {
			g.cached -= len(k.objects)
		}
		k = &reachSet{roots: list}
	}
	if g.cached > maxCachedObjects {
		clear(g.sets)
		g.cached = 0
		k.objects = nil
	}
	g.sets[hash] = k
	g.cached -= len(k.objects)
	g.search(k, symbols)
	g.cached += len(k.objects)
	return k.set
}

// valid reports whether no object of a set has changed.
func (g *objectGraph) valid(k *reachSet) bool {
	if k.validAt != g.changes {
		for _, n := range k.objects {
			if g.objects[n].changed > k.validAt {
				return false
			}
		}
		k.validAt = g.changes
	}
	return true
}

// search finds what roots lead to.
func (g *objectGraph) search(k *reachSet, symbols *heisen.Symbols) {
	k.set, k.validAt = 0, g.changes
	k.objects = append(k.objects[:0], k.roots...)
	g.turn++
	for _, n := range k.objects {
		g.objects[n].turn = g.turn
	}
	for i := 0; i < len(k.objects); i++ {
		o := &g.objects[k.objects[i]]
		if !o.defined {
			return
		}
		for _, n := range o.targets {
			if t := &g.objects[n]; t.turn != g.turn {
				t.turn = g.turn
				k.objects = append(k.objects, n)
			}
		}
		if len(k.objects) > g.limit+1 { // and the variables
			return
		}
	}
	if g.spans += len(k.objects); g.spans > maxSetSpans {
		return
	}
	spans := make([]heisen.Span, 0, len(k.objects))
	for _, n := range k.objects {
		o := &g.objects[n]
		spans = append(spans, heisen.Span{Start: heisen.Object(o.start), Len: o.size})
	}
	k.set = symbols.AddReach(heisen.NewObjects(spans...))
}
