package heal

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// world is a program whose threads run functions under all schedules, with or without inserted locks.
type world struct {
	functions  []Function
	placements []map[string]*Placement // nil without inserted locks
	dropped    []string
	starts     []int // the function of each thread

	seen  map[string]bool
	limit int
	wrong string // what was wrong first
}

// frame is a function that a thread is in.
type frame struct {
	function, node, phase int
	reasons               map[string]reason // by variable
	last                  map[string]seen   // by variable: the latest access of the frame
}

type reason struct {
	access int
	mode   Mode
	holds  map[int]Mode
}

type seen struct {
	node        int
	read, write bool // by another thread since
}

type worldThread struct {
	frames    []frame
	locks     map[string]Mode // of the program
	announced bool            // waits for a lock of the program in mode Exclusive, which holds up readers
}

func (f frame) clone() frame {
	f.last = maps.Clone(f.last)
	f.reasons = maps.Clone(f.reasons)
	for v, r := range f.reasons {
		r.holds = maps.Clone(r.holds)
		f.reasons[v] = r
	}
	return f
}

func cloneThreads(threads []worldThread) []worldThread {
	threads = slices.Clone(threads)
	for i := range threads {
		t := &threads[i]
		t.locks = maps.Clone(t.locks)
		t.frames = slices.Clone(t.frames)
		for j := range t.frames {
			t.frames[j] = t.frames[j].clone()
		}
	}
	return threads
}

func newFrame(function int) frame {
	return frame{function: function, reasons: map[string]reason{}, last: map[string]seen{}}
}

func (r reason) effective() Mode {
	mode := r.mode
	for _, m := range r.holds {
		mode = max(mode, m)
	}
	return mode
}

func (t worldThread) mode(variable string) (mode Mode) {
	for _, f := range t.frames {
		mode = max(mode, f.reasons[variable].effective())
	}
	return mode
}

// explore runs the threads under all schedules, up to the limit of states, and reports whether it tried all.
func (w *world) explore() bool {
	w.seen = map[string]bool{}
	var threads []worldThread
	for _, f := range w.starts {
		threads = append(threads, worldThread{frames: []frame{newFrame(f)}, locks: map[string]Mode{}})
	}
	return w.visit(threads)
}

func (w *world) visit(threads []worldThread) bool {
	key := fmt.Sprint(threads)
	if w.seen[key] || w.wrong != "" {
		return true
	}
	if len(w.seen) >= w.limit {
		return false
	}
	w.seen[key] = true
	moved, live, all := false, false, true
	for i := range threads {
		if len(threads[i].frames) == 0 {
			continue
		}
		live = true
		for _, next := range w.step(threads, i) {
			moved = true
			all = w.visit(next) && all
		}
	}
	if live && !moved {
		w.wrong = "deadlock: " + key
	}
	return all
}

// operations returns the acquisitions of inserted locks at a node, in their order.
func (w *world) operations(function, node int) (ops []string, at []Acquisition) {
	if w.placements == nil {
		return nil, nil
	}
	type op struct {
		name string
		Acquisition
	}
	var all []op
	for name, p := range w.placements[function] {
		for _, a := range p.Acquisitions {
			if a.Node == node {
				all = append(all, op{name, a})
			}
		}
	}
	slices.SortFunc(all, func(a, b op) int {
		if a.Rank != b.Rank {
			return b.Rank - a.Rank
		}
		if a.name != b.name {
			return strings.Compare(a.name, b.name)
		}
		return b.Hold - a.Hold
	})
	for _, o := range all {
		ops, at = append(ops, o.name), append(at, o.Acquisition)
	}
	return ops, at
}

// step returns the states after the next step of a thread; none if it is blocked.
func (w *world) step(threads []worldThread, i int) [][]worldThread {
	threads = cloneThreads(threads)
	t := &threads[i]
	f := &t.frames[len(t.frames)-1]
	names, at := w.operations(f.function, f.node)
	if f.phase < len(at) {
		name, a := names[f.phase], at[f.phase]
		if want := max(t.mode(name), a.Mode); want > t.mode(name) {
			for j := range threads {
				if j != i && want.Excludes(threads[j].mode(name)) {
					return nil
				}
			}
		}
		r := f.reasons[name]
		if a.Hold >= 0 {
			if r.holds == nil {
				r.holds = map[int]Mode{}
			}
			r.holds[a.Hold] = a.Mode
		} else {
			r.access, r.mode = f.node, max(r.mode, a.Mode)
		}
		f.reasons[name] = r
		f.phase++
		return [][]worldThread{threads}
	}
	if f.phase == len(at) {
		return w.act(threads, i)
	}
	return w.leave(threads, i)
}

// act makes the program's own operation at a node: on a lock, a call, or accesses.
func (w *world) act(threads []worldThread, i int) [][]worldThread {
	t := &threads[i]
	f := &t.frames[len(t.frames)-1]
	fn := w.functions[f.function]
	f.phase++
	for _, op := range fn.Locks {
		if op.Node != f.node {
			continue
		}
		if op.Release {
			if t.locks[op.Lock] == op.Mode {
				delete(t.locks, op.Lock)
			}
			continue
		}
		if op.Mode == Exclusive && !t.announced {
			t.announced = true
			f.phase--
			return [][]worldThread{threads}
		}
		for j, other := range threads {
			held := other.locks[op.Lock]
			if op.Mode == Exclusive && held > Free || held == Exclusive {
				return nil
			}
			if op.Mode == Shared && j != i && other.announced && w.wants(other, op.Lock) {
				return nil
			}
		}
		t.locks[op.Lock], t.announced = op.Mode, false
	}
	for name, v := range fn.Variables {
		for _, a := range v.Accesses {
			if a.Node == f.node {
				w.access(threads, i, name, a)
			}
		}
	}
	var all [][]worldThread
	for _, c := range fn.Calls {
		if c.Node == f.node && len(t.frames) < 4 {
			for _, callee := range c.Callees {
				next := cloneThreads(threads)
				next[i].frames = append(next[i].frames, newFrame(callee))
				all = append(all, next)
			}
		}
	}
	if all == nil {
		all = [][]worldThread{threads}
	}
	return all
}

// wants reports whether a thread is about to acquire a lock of the program.
func (w *world) wants(t worldThread, lock string) bool {
	if len(t.frames) == 0 {
		return false
	}
	f := t.frames[len(t.frames)-1]
	return slices.ContainsFunc(w.functions[f.function].Locks, func(op LockOp) bool {
		return op.Node == f.node && op.Lock == lock && !op.Release
	})
}

// access checks an access against what is profiled and what is held.
func (w *world) access(threads []worldThread, i int, name string, a Access) {
	f := &threads[i].frames[len(threads[i].frames)-1]
	if w.placements != nil && !slices.Contains(w.dropped, name) {
		need := Shared
		if a.Write {
			need = Exclusive
		}
		if got := threads[i].mode(name); got < need {
			w.wrong = fmt.Sprintf("access of %s at node %d of function %d: held %v", name, f.node, f.function, got)
		}
		if last, ok := f.last[name]; ok {
			mode := profiled(w.functions[f.function].Variables[name], last.node, f.node)
			if last.write && mode >= Shared || last.read && mode == Exclusive {
				w.wrong = fmt.Sprintf("pair %d, %d of %s in function %d is violated", last.node, f.node, name, f.function)
			}
		}
	}
	f.last[name] = seen{node: f.node}
	for j := range threads {
		if j == i {
			continue
		}
		for k := range threads[j].frames {
			if last, ok := threads[j].frames[k].last[name]; ok {
				last.read, last.write = last.read || !a.Write, last.write || a.Write
				threads[j].frames[k].last[name] = last
			}
		}
	}
}

// leave follows the edges out of a node.
func (w *world) leave(threads []worldThread, i int) (all [][]worldThread) {
	f := threads[i].frames[len(threads[i].frames)-1]
	for _, next := range w.functions[f.function].Graph.successors(f.node) {
		state := cloneThreads(threads)
		t := &state[i]
		g := &t.frames[len(t.frames)-1]
		if w.placements != nil {
			for name, p := range w.placements[f.function] {
				r := g.reasons[name]
				for _, rel := range p.Releases {
					if rel.From != f.node || rel.To != next {
						continue
					}
					if rel.Hold >= 0 {
						delete(r.holds, rel.Hold)
					} else if r.mode > Free && r.access == rel.Access {
						r.mode = min(r.mode, rel.Left)
					}
				}
				g.reasons[name] = r
			}
		}
		if next == Exit {
			t.frames = t.frames[:len(t.frames)-1]
		} else {
			g.node, g.phase = next, 0
		}
		all = append(all, state)
	}
	return all
}
