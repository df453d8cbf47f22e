// Package maximal encodes race queries about traces as problems of package mcm/order, in full and
// in the plainest way, so that solvers can be compared on the same formula. The constraints are
// those of TREE and RDIT, section 4.4.4, in their maximal form: events that need not come before
// the race are unconstrained.
package maximal

import (
	"cmp"
	"slices"

	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/mcm/order"
)

// Formula is the part that all race queries about a trace have in common.
type Formula struct {
	order.Problem
	Sees  []order.Lit  // each read reads the write that it read in the trace: the preferred literals
	Place order.Node   // the place of the race: what comes before it is the prefix
	Node  []order.Node // by record

	records  []heisen.Record
	held     [][]heisen.Object // by record
	locks    [][]section
	accesses [][]int // of each variable, the records
}

// section is a critical section. out is -1 if it does not end.
type section struct {
	thread  heisen.Thread
	in, out order.Node
}

// Encode returns the formula of a trace of reads and writes, exclusive locks, forks and joins.
// Variables that are read before they are written are 0.
func Encode(records []heisen.Record) *Formula {
	f := outline(records)
	for _, sections := range f.locks {
		f.exclude(sections)
	}
	for _, accesses := range f.accesses {
		f.readConsistently(accesses)
	}
	return f
}

// outline returns the formula without its clauses, which is what Native needs.
func outline(records []heisen.Record) *Formula {
	f := &Formula{records: records, Node: make([]order.Node, len(records)), held: make([][]heisen.Object, len(records))}
	threads := heisen.Thread(0)
	for i := range records {
		threads = max(threads, records[i].Thread+1)
	}
	f.Chains = make([]int, threads+1)
	for i := range records {
		f.Chains[records[i].Thread]++
	}
	next := make([]order.Node, threads+1)
	for t := range threads {
		next[t+1] = next[t] + order.Node(f.Chains[t])
	}
	f.Place, f.Chains[threads] = next[threads], 1

	var (
		began    = map[heisen.Object]order.Node{} // by thread
		ended    = map[heisen.Object]order.Node{}
		forked   = map[heisen.Object]order.Node{}
		open     = map[heisen.Object]section{} // by lock
		sections = map[heisen.Object][]section{}
		held     = make([][]heisen.Object, threads)
		locks    []heisen.Object // in the order of first use
		vars     []heisen.Object
		accesses = map[heisen.Object][]int{}
	)
	for i := range records {
		r := &records[i]
		n := next[r.Thread]
		next[r.Thread]++
		f.Node[i] = n
		switch r.Op {
		case heisen.Fork:
			forked[r.Object] = n
		case heisen.Begin:
			began[r.Object] = n
			if a, ok := forked[r.Object]; ok {
				f.Require = append(f.Require, order.Lit{Before: a, After: n})
			}
		case heisen.End:
			ended[r.Object] = n
		case heisen.Join:
			if a, ok := ended[r.Object]; ok {
				f.Require = append(f.Require, order.Lit{Before: a, After: n})
			}
		case heisen.Acquire:
			if _, ok := sections[r.Object]; !ok {
				locks = append(locks, r.Object)
				sections[r.Object] = nil
			}
			open[r.Object] = section{r.Thread, n, -1}
			held[r.Thread] = append(held[r.Thread][:len(held[r.Thread]):len(held[r.Thread])], r.Object)
		case heisen.Release:
			s := open[r.Object]
			s.out = n
			sections[r.Object] = append(sections[r.Object], s)
			delete(open, r.Object)
			var left []heisen.Object
			for _, l := range held[r.Thread] {
				if l != r.Object {
					left = append(left, l)
				}
			}
			held[r.Thread] = left
		case heisen.Read, heisen.Write:
			if _, ok := accesses[r.Object]; !ok {
				vars = append(vars, r.Object)
			}
			accesses[r.Object] = append(accesses[r.Object], i)
		}
		f.held[i] = held[r.Thread]
	}
	for _, l := range locks {
		if s, ok := open[l]; ok {
			sections[l] = append(sections[l], s)
		}
		f.locks = append(f.locks, sections[l])
	}
	for _, v := range vars {
		f.accesses = append(f.accesses, accesses[v])
	}
	return f
}

// exclude adds the clauses for the critical sections of a lock: one ends before the other starts,
// unless one of them starts after the race.
func (f *Formula) exclude(sections []section) {
	for i, a := range sections {
		for _, b := range sections[:i] {
			if a.thread == b.thread {
				continue
			}
			c := []order.Lit{{Before: f.Place, After: a.in}, {Before: f.Place, After: b.in}}
			if a.out >= 0 {
				c = append(c, order.Lit{Before: a.out, After: b.in})
			}
			if b.out >= 0 {
				c = append(c, order.Lit{Before: b.out, After: a.in})
			}
			f.Clauses = append(f.Clauses, c)
		}
	}
}

// readConsistently adds the clauses for the reads of a variable: a read before the race reads the
// value that it read in the trace. A boolean for each read and write says that the read reads that
// write, or a later write of the same value.
func (f *Formula) readConsistently(accesses []int) {
	for at, i := range accesses {
		r := &f.records[i]
		if r.Op != heisen.Read {
			continue
		}
		sees := []order.Lit{{Before: f.Place, After: f.Node[i]}}
		observed, seen := order.Lit{}, false
		// The nearest write first: with equal scores, solvers try the older variable.
		near := append(accesses[at+1:len(accesses):len(accesses)], accesses[:at]...)
		slices.SortFunc(near, func(j, k int) int { return cmp.Compare(max(j-i, i-j), max(k-i, i-k)) })
		for _, j := range near {
			w := &f.records[j]
			if w.Op != heisen.Write || w.Value != r.Value || w.Thread == r.Thread && j > i {
				continue
			}
			b := f.newBool()
			sees = append(sees, b)
			if j < i && !seen {
				observed, seen = b, true
			}
			f.Clauses = append(f.Clauses, []order.Lit{b.Not(), {Before: f.Node[j], After: f.Node[i]}})
			for _, k := range accesses {
				if o := &f.records[k]; o.Op == heisen.Write && o.Value != r.Value {
					f.Clauses = append(f.Clauses, []order.Lit{
						b.Not(), {Before: f.Node[k], After: f.Node[j]}, {Before: f.Node[i], After: f.Node[k]},
					})
				}
			}
		}
		if r.Value == 0 { // the value before all writes
			b := f.newBool()
			sees = append(sees, b)
			if !seen {
				observed = b
			}
			for _, k := range accesses {
				if o := &f.records[k]; o.Op == heisen.Write && o.Value != 0 {
					f.Clauses = append(f.Clauses, []order.Lit{b.Not(), {Before: f.Node[i], After: f.Node[k]}})
				}
			}
		}
		f.Clauses = append(f.Clauses, sees)
		f.Sees = append(f.Sees, observed)
	}
}

func (f *Formula) newBool() order.Lit {
	f.Bools++
	return order.Bool(f.Bools - 1)
}

// Race returns the assumptions that make records i and j, accesses of different threads, the next
// events of their threads at the same time.
func (f *Formula) Race(i, j int) []order.Lit {
	var out []order.Lit
	for _, x := range []int{i, j} {
		n := f.Node[x]
		if x > 0 && !f.firstOf(x) {
			out = append(out, order.Lit{Before: n - 1, After: f.Place})
		}
		out = append(out, order.Lit{Before: f.Place, After: n})
	}
	return out
}

func (f *Formula) firstOf(x int) bool {
	n := order.Node(0)
	for t := range f.records[x].Thread {
		n += order.Node(f.Chains[t])
	}
	return f.Node[x] == n
}

// Pairs returns conflicting accesses of different threads that have no lock in common: at most a
// number of pairs, evenly chosen.
func (f *Formula) Pairs(most int) [][2]int {
	var all [][2]int
	byVar := map[heisen.Object][]int{}
	for i := range f.records {
		r := &f.records[i]
		if r.Op != heisen.Read && r.Op != heisen.Write {
			continue
		}
		for _, j := range byVar[r.Object] {
			o := &f.records[j]
			if o.Thread != r.Thread && (o.Op == heisen.Write || r.Op == heisen.Write) && disjoint(f.held[i], f.held[j]) {
				all = append(all, [2]int{j, i})
			}
		}
		byVar[r.Object] = append(byVar[r.Object], i)
	}
	if len(all) <= most {
		return all
	}
	out := make([][2]int, most)
	for k := range out {
		out[k] = all[k*len(all)/most]
	}
	return out
}

func disjoint(a, b []heisen.Object) bool {
	for _, x := range a {
		for _, y := range b {
			if x == y {
				return false
			}
		}
	}
	return true
}

// hint returns the observed order, with the place of the race first: events that need not come
// before the race come after it.
func (f *Formula) hint() []order.Node {
	return append([]order.Node{f.Place}, f.Node...)
}

// Native returns a Solver with the formula as reads and critical sections, and the observed order
// as the preferred one.
func (f *Formula) Native(opts ...order.Option) (*order.Solver, error) {
	p := order.Problem{Chains: f.Chains, Require: f.Require}
	s, err := p.Solver(append(opts, order.WithGoalChain(len(f.Chains)-1))...)
	if err != nil {
		return nil, err
	}
	if err := s.PreferOrder(f.hint()); err != nil {
		return nil, err
	}
	for _, accesses := range f.accesses {
		values := map[uint64]int32{0: 0}
		value := func(i int) int32 {
			v, ok := values[f.records[i].Value]
			if !ok {
				v = int32(len(values))
				values[f.records[i].Value] = v
			}
			return v
		}
		var writes []order.Write
		for _, i := range accesses {
			if f.records[i].Op == heisen.Write {
				writes = append(writes, order.Write{Node: f.Node[i], Value: value(i)})
			}
		}
		v, err := s.NewVariable(0, writes...)
		if err != nil {
			return nil, err
		}
		for _, i := range accesses {
			if f.records[i].Op != heisen.Read {
				continue
			}
			if err := s.AddRead(v, f.Node[i], value(i)); err != nil {
				return nil, err
			}
		}
	}
	for _, sections := range f.locks {
		var list []order.CriticalSection
		for _, x := range sections {
			list = append(list, order.CriticalSection{Start: x.in, End: x.out, Holder: int(x.thread)})
		}
		if err := s.AddLock(list...); err != nil {
			return nil, err
		}
	}
	return s, nil
}

// Solver returns a Solver with the formula as clauses, and the observed order as the preferred one.
func (f *Formula) Solver(opts ...order.Option) (*order.Solver, error) {
	s, err := f.Problem.Solver(append(opts, order.WithGoalChain(len(f.Chains)-1))...)
	if err != nil {
		return nil, err
	}
	for _, l := range f.Sees {
		if err := s.Prefer(l); err != nil {
			return nil, err
		}
	}
	return s, s.PreferOrder(f.hint())
}
