package heal

import (
	"cmp"
	"fmt"
	"maps"
	"math/rand/v2"
	"runtime"
	"slices"
	"sync"
	"testing"

	"github.com/heisen-go/heisen/heal/lock"
	"github.com/heisen-go/heisen/internal/testaid/tier"
)

// lockedProgram runs functions in goroutines, with the operations of a Resolution on the locks of package lock, as
// patched programs do.
type lockedProgram struct {
	functions []Function
	res       *Resolution
	inserted  map[string]*lock.Lock // by variable
	program   map[string]*sync.RWMutex

	mu    sync.Mutex
	last  map[*call]map[string]seen // the latest access of a call to each variable, with what others did since
	wrong string
}

// call is a call of a function.
type call struct {
	thread int
	held   map[string]*lock.Held // by variable
}

// run runs a function until control leaves it.
func (p *lockedProgram) run(r *rand.Rand, thread, function int, outer map[string]*lock.Held, depth int) {
	f := p.functions[function]
	c := &call{thread, map[string]*lock.Held{}}
	p.mu.Lock()
	p.last[c] = map[string]seen{}
	p.mu.Unlock()
	for name := range p.inserted {
		h := outer[name].Inner()
		c.held[name] = &h
		defer h.Release()
	}
	locks := map[string]Mode{}
	for node := 0; node != Exit && f.Graph.Nodes() > 0; {
		p.acquire(c, function, node)
		for _, op := range f.Locks {
			if op.Node == node {
				p.operate(op, locks)
			}
		}
		for name, v := range f.Variables {
			for _, a := range v.Accesses {
				if a.Node == node {
					p.access(c, name, v, a)
				}
			}
		}
		for _, called := range f.Calls {
			if called.Node == node && depth < 3 {
				p.run(r, thread, called.Callees[r.IntN(len(called.Callees))], c.held, depth+1)
			}
		}
		if r.IntN(3) == 0 {
			runtime.Gosched()
		}
		next := f.Graph.successors(node)
		to := next[r.IntN(len(next))]
		for name, placed := range p.res.Placements[function] {
			for _, rel := range placed.Releases {
				switch {
				case rel.From != node || rel.To != to:
				case rel.Hold >= 0:
					c.held[name].Unhold(rel.Hold)
				default:
					c.held[name].Degrade(rel.Access, lock.Mode(rel.Left))
				}
			}
		}
		node = to
	}
	p.mu.Lock()
	delete(p.last, c)
	p.mu.Unlock()
	for name, mode := range locks { // what the function leaves locked
		p.operate(LockOp{Lock: name, Mode: mode, Release: true}, locks)
	}
}

// acquire makes the acquisitions before a node, in their order.
func (p *lockedProgram) acquire(c *call, function, node int) {
	type acquisition struct {
		name string
		Acquisition
	}
	var all []acquisition
	for name, placed := range p.res.Placements[function] {
		for _, a := range placed.Acquisitions {
			if a.Node == node {
				all = append(all, acquisition{name, a})
			}
		}
	}
	slices.SortFunc(all, func(a, b acquisition) int {
		return cmp.Or(b.Rank-a.Rank, cmp.Compare(a.name, b.name), b.Hold-a.Hold)
	})
	for _, a := range all {
		if h, l := c.held[a.name], p.inserted[a.name]; a.Hold >= 0 {
			h.Hold(l, lock.Mode(a.Mode), a.Hold)
		} else {
			h.Acquire(l, lock.Mode(a.Mode), node)
		}
	}
}

// operate makes an operation on a lock of the program.
func (p *lockedProgram) operate(op LockOp, locks map[string]Mode) {
	mu := p.program[op.Lock]
	switch {
	case op.Release && locks[op.Lock] != op.Mode:
	case op.Release && op.Mode == Shared:
		delete(locks, op.Lock)
		mu.RUnlock()
	case op.Release:
		delete(locks, op.Lock)
		mu.Unlock()
	case op.Mode == Shared:
		mu.RLock()
		locks[op.Lock] = Shared
	default:
		mu.Lock()
		locks[op.Lock] = Exclusive
	}
}

// access makes an access, and checks that it comes into no pair of another thread.
func (p *lockedProgram) access(c *call, name string, v Variable, a Access) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if slices.Contains(p.res.Dropped, name) {
		return
	}
	if last, ok := p.last[c][name]; ok {
		mode := profiled(v, last.node, a.Node)
		if last.write && mode >= Shared || last.read && mode == Exclusive {
			p.wrong = fmt.Sprintf("pair %d, %d of %s is violated", last.node, a.Node, name)
		}
	}
	p.last[c][name] = seen{node: a.Node}
	for other, accesses := range p.last {
		if last, ok := accesses[name]; ok && other.thread != c.thread {
			last.read, last.write = last.read || !a.Write, last.write || a.Write
			accesses[name] = last
		}
	}
}

// TestLocksOfPackageLock runs random programs in goroutines with the locks that Resolve has placed. All come to
// their ends, and all pairs are atomic. Programs with a deadlock of their own are left out.
func TestLocksOfPackageLock(t *testing.T) {
	programs := tier.Pick(40, 40, 200)
	tried := 0
	for seed := range uint64(programs) {
		r := rand.New(rand.NewPCG(seed, 3))
		functions := randomProgram(r)
		for i := range functions { // which function calls which does not depend on the schedule
			for j := range functions[i].Calls {
				functions[i].Calls[j].Callees = functions[i].Calls[j].Callees[:1]
			}
		}
		starts := []int{len(functions) - 1, r.IntN(len(functions))}
		plain := world{functions: functions, starts: starts, limit: 4000}
		if all := plain.explore(); !all || plain.wrong != "" {
			continue
		}
		res, err := Resolve(t.Context(), functions)
		if err != nil {
			t.Fatal(err)
		}
		tried++
		for round := range uint64(20) {
			p := &lockedProgram{
				functions: functions, res: res, inserted: map[string]*lock.Lock{}, last: map[*call]map[string]seen{},
				program: map[string]*sync.RWMutex{"k": {}, "l": {}},
			}
			for _, f := range functions {
				for name := range maps.Keys(f.Variables) {
					p.inserted[name] = new(lock.Lock)
				}
			}
			var wg sync.WaitGroup
			for thread, start := range starts {
				r := rand.New(rand.NewPCG(seed, round<<8|uint64(thread)))
				wg.Go(func() { p.run(r, thread, start, nil, 0) })
			}
			wg.Wait()
			if p.wrong != "" {
				t.Fatalf("seed %d: %s", seed, p.wrong)
			}
		}
	}
	if tried < programs/10 {
		t.Errorf("only %d programs", tried)
	}
	t.Logf("%d programs", tried)
}
