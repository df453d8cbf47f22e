package racefuzz

import (
	"maps"
	"testing"
)

// This is a model of collections -of treeset: a goroutine that iterates over the tree, and the one that changes it. The
// other goroutines iterate one after the other, because each holds the lock of its own collection. All states that
// the two can reach are enumerated, and so all pairs of accesses that can be next at the same time.

// cell is a field of a node, or of the set, which has no number.
type cell struct {
	node  int // 1 + the value of the element; 0 for the set
	field string
}

// change is a write of the goroutine that changes the tree. Its place has no mark if nothing is known of it.
type change struct {
	mark  string
	at    cell
	value int
}

// tree has the values of all cells, and the writes so far.
type tree struct {
	cells map[cell]int
	log   []change
}

func (s *tree) get(node int, field string) int { return s.cells[cell{node, field}] }

func (s *tree) set(mark string, node int, field string, value int) {
	s.log = append(s.log, change{mark, cell{node, field}, value})
	s.cells[cell{node, field}] = value
}

func (s *tree) add(x int) {
	parent := 0
	for n := s.get(0, "root"); n != 0; {
		parent = n
		if n = s.get(parent, "right"); x+1 < parent {
			n = s.get(parent, "left")
		}
	}
	s.set("tree.add.modified", 0, "modified", s.get(0, "modified")+1)
	s.set("tree.add.length", 0, "length", s.get(0, "length")+1)
	n := x + 1
	s.set("tree.value", n, "value", x)
	s.set("tree.new", n, "parent", parent)
	s.set("", n, "weight", int(uint32(x)*2654435769))
	switch {
	case parent == 0:
		s.set("", 0, "root", n)
	case n < parent:
		s.set("", parent, "left", n)
	default:
		s.set("tree.add.right", parent, "right", n)
	}
	for p := s.get(n, "parent"); p != 0 && s.get(p, "weight") < s.get(n, "weight"); p = s.get(n, "parent") {
		s.lift(n)
	}
}

func (s *tree) lift(n int) {
	p := s.get(n, "parent")
	if n == s.get(p, "left") {
		s.set("", p, "left", s.get(n, "right"))
		if below := s.get(p, "left"); below != 0 {
			s.set("", below, "parent", p)
		}
		s.set("", n, "right", p)
	} else {
		s.set("tree.turn.right", p, "right", s.get(n, "left"))
		if below := s.get(p, "right"); below != 0 {
			s.set("tree.turn.right.parent", below, "parent", p)
		}
		s.set("tree.lift.left", n, "left", p)
	}
	s.replace(p, n)
	s.set("tree.lift.parent", p, "parent", n)
}

func (s *tree) replace(old, n int) {
	parent := s.get(old, "parent")
	switch {
	case parent == 0:
		s.set("", 0, "root", n)
	case s.get(parent, "left") == old:
		s.set("tree.replace.left", parent, "left", n)
	default:
		s.set("tree.replace.right", parent, "right", n)
	}
	if n != 0 {
		s.set("tree.replace.parent", n, "parent", parent)
	}
}

func (s *tree) remove(x int) {
	n := x + 1
	s.set("tree.remove.modified", 0, "modified", s.get(0, "modified")+1)
	s.set("tree.remove.length", 0, "length", s.get(0, "length")-1)
	for left, right := s.get(n, "left"), s.get(n, "right"); left != 0 && right != 0; left, right = s.get(n, "left"), s.get(n, "right") {
		if s.get(left, "weight") > s.get(right, "weight") {
			s.lift(left)
		} else {
			s.lift(right)
		}
	}
	s.replace(n, max(s.get(n, "left"), s.get(n, "right"))) // one of them is 0
}

func (s *tree) clear() {
	s.set("tree.clear.modified", 0, "modified", s.get(0, "modified")+1)
	s.set("tree.clear.length", 0, "length", 0)
	s.set("", 0, "root", 0)
}

// iteration is the state of a goroutine that iterates: the mark of its next access, and which of those on the line it is; the iterator's
// node, index and count; and the nodes in local variables.
type iteration struct {
	mark                string // empty at the end
	nth                 int
	at, index, modified int
	n, parent           int
}

// next returns the cell that the next access reads, and the state after it, given what it reads.
func (it iteration) next(read func(node int, field string) int) (cell, iteration) {
	then := it
	to := func(mark string, nth int) { then.mark, then.nth = mark, nth }
	step := func(n int) {
		then.at, then.index, then.n, then.parent = n, it.index+1, 0, 0
		to("tree.hasnext", 0)
	}
	var c cell
	switch {
	case it.mark == "tree.hasnext":
		c = cell{0, "length"}
		if to("tree.check", 0); read(0, "length") == it.index {
			to("", 0)
		}
	case it.mark == "tree.check":
		c = cell{0, "modified"}
		if to("tree.get", 0); read(0, "modified") != it.modified || it.at == 0 { // it panics
			to("", 0)
		}
	case it.mark == "tree.get":
		c = cell{it.at, "value"}
		to("tree.right", 0)
	case it.mark == "tree.right":
		c = cell{it.at, "right"}
		if then.n = read(it.at, "right"); then.n != 0 {
			to("tree.first", 0)
		} else {
			then.n = it.at
			to("tree.up", 0)
		}
	case it.mark == "tree.first":
		c = cell{it.n, "left"}
		if to("tree.down", 0); read(it.n, "left") == 0 {
			step(it.n)
		}
	case it.mark == "tree.down":
		c = cell{it.n, "left"}
		if then.n = read(it.n, "left"); then.n != 0 {
			to("tree.first", 0)
		} else {
			step(0)
		}
	case it.mark == "tree.up" && it.nth < 2: // it reads the parent twice
		c = cell{it.n, "parent"}
		switch then.parent = read(it.n, "parent"); {
		case then.parent != 0:
			to("tree.up", it.nth+1)
		case it.nth == 0:
			to("tree.parent", 0)
		default: // it panics
			to("", 0)
		}
	case it.mark == "tree.up":
		c = cell{it.parent, "right"}
		if to("tree.climb", 0); read(it.parent, "right") != it.n {
			to("tree.parent", 0)
		}
	case it.mark == "tree.climb":
		c = cell{it.n, "parent"}
		if then.n = read(it.n, "parent"); then.n != 0 {
			to("tree.up", 0)
		} else { // it panics
			to("", 0)
		}
	case it.mark == "tree.parent":
		c = cell{it.n, "parent"}
		step(read(it.n, "parent"))
	}
	return c, then
}

// TestTreeTruth: the pairs that race in treeset are those that meet in a state of the model. The pairs in Apart meet in none.
func TestTreeTruth(t *testing.T) {
	s := &tree{cells: map[cell]int{}}
	for x := range 8 {
		s.add(x)
	}
	s.log = nil
	versions := []map[cell]int{maps.Clone(s.cells)} // after each write
	free := []int{0}                                // where the lock is free: an iterator can be made there
	for _, op := range []func(){func() { s.add(8) }, func() { s.remove(1) }, s.clear, func() { s.add(9) }} {
		op()
		free = append(free, len(s.log))
	}
	for _, c := range s.log {
		after := maps.Clone(versions[len(versions)-1])
		after[c.at] = c.value
		versions = append(versions, after)
	}
	type state struct {
		writes int // so far
		it     iteration
	}
	seen := map[state]bool{}
	var open []state
	reach := func(x state) {
		if !seen[x] {
			seen[x] = true
			open = append(open, x)
		}
	}
	for _, writes := range free {
		v := versions[writes]
		n := v[cell{0, "root"}]
		for n != 0 && v[cell{n, "left"}] != 0 {
			n = v[cell{n, "left"}]
		}
		reach(state{writes, iteration{mark: "tree.hasnext", at: n, modified: v[cell{0, "modified"}]}})
	}
	met := map[[2]Place]bool{}
	for len(open) > 0 {
		x := open[len(open)-1]
		open = open[:len(open)-1]
		if x.writes < len(s.log) {
			reach(state{x.writes + 1, x.it})
		}
		if x.it.mark == "" {
			continue
		}
		c, then := x.it.next(func(node int, field string) int { return versions[x.writes][cell{node, field}] })
		reach(state{x.writes, then})
		if x.writes < len(s.log) && s.log[x.writes].at == c {
			met[Pair{A: Place("read " + x.it.mark), B: Place("write " + s.log[x.writes].mark)}.places()] = true
		}
	}
	p := collection("treeset")
	for _, pair := range p.Races {
		if !met[pair.places()] {
			t.Errorf("%s and %s never meet", pair.A, pair.B)
		}
		delete(met, pair.places())
	}
	for _, pair := range p.Apart {
		if met[pair.places()] {
			t.Errorf("%s and %s meet", pair.A, pair.B)
		}
		delete(met, pair.places())
	}
	for places := range met {
		t.Errorf("nothing is known of %s and %s, which meet", places[0], places[1])
	}
	t.Logf("%d states", len(seen))
}
