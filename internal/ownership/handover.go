package ownership

import (
	"go/token"
	"slices"
	"strings"

	"golang.org/x/tools/go/ssa"

	"github.com/heisen-go/heisen/internal/ssaload"
	"github.com/heisen-go/heisen/internal/static"
)

// handover is the start of a goroutine that gets objects which its starter has made for it alone: in the same block, so
// that there are new ones whenever the goroutine is started. The objects are local to the new goroutine from then on,
// unless the starter uses them before it has awaited the goroutine.
type handover struct {
	by    *function
	entry *function
	ins   ssa.CallInstruction // a go statement, or the call of a WaitGroup's Go
	// objects has the instructions that make what is handed over.
	objects map[ssa.Value]bool
}

// handovers has all handovers, by instruction.
type handovers struct {
	at      map[ssa.Instruction]*handover
	objects map[ssa.Value]*handover
	entries map[*function]bool      // goroutines begin with them, and they are called in no other way
	own     map[*function]*function // the one that all goroutines begin with which run a function, or nil
}

// findHandovers finds the goroutines that may get objects of their own.
func (a *analysis) findHandovers() *handovers {
	hs := &handovers{at: map[ssa.Instruction]*handover{}, objects: map[ssa.Value]*handover{}, entries: map[*function]bool{}, own: map[*function]*function{}}
	twice := map[ssa.Value]bool{}
	for _, f := range a.functions {
		for _, b := range f.fn.Blocks {
			for _, ins := range b.Instrs {
				call, ok := ins.(ssa.CallInstruction)
				if !ok {
					continue
				}
				h := f.handoverAt(call)
				if h == nil {
					continue
				}
				hs.at[ins] = h
				for object := range h.objects {
					twice[object] = twice[object] || hs.objects[object] != nil
					hs.objects[object] = h
				}
			}
		}
	}
	a.findEntries(hs)
	for ins, h := range hs.at {
		for object := range h.objects {
			if twice[object] {
				delete(h.objects, object)
			}
		}
		if len(h.objects) == 0 || !hs.entries[h.entry] {
			delete(hs.at, ins)
		}
	}
	clear(hs.objects)
	for _, h := range hs.at {
		for object := range h.objects {
			hs.objects[object] = h
		}
	}
	a.findEntries(hs)
	a.findOwn(hs)
	return hs
}

// handoverAt returns the handover that an instruction may be, or nil.
func (f *function) handoverAt(call ssa.CallInstruction) *handover {
	h := &handover{by: f, ins: call, objects: map[ssa.Value]bool{}}
	common := call.Common()
	var given []ssa.Value
	switch call.(type) {
	case *ssa.Go:
		h.entry = f.a.functionOf(common.StaticCallee())
		given = append(given, common.Args...)
		if closure, ok := common.Value.(*ssa.MakeClosure); ok {
			if !usedOnce(closure) {
				return nil
			}
			given = append(given, closure.Bindings...)
		}
	case *ssa.Call:
		if fullName(common.StaticCallee()) != "(*sync.WaitGroup).Go" {
			return nil
		}
		closure, ok := common.Args[1].(*ssa.MakeClosure)
		if !ok || !usedOnce(closure) {
			return nil
		}
		h.entry = f.a.funcValue(closure)
		given = closure.Bindings
	default:
		return nil
	}
	if h.entry == nil {
		return nil
	}
	for _, v := range given {
		if object := madeBefore(v, call); object != nil {
			h.objects[object] = true
		}
	}
	// What these lead to, if it was made for them.
	for more := true; more; {
		more = false
		for _, ins := range call.Block().Instrs {
			if ins == ssa.Instruction(call) {
				break
			}
			store, ok := ins.(*ssa.Store)
			if !ok || !h.objects[ssaload.Pointee(store.Addr).Root] || !direct(store.Addr) {
				continue
			}
			if object := madeBefore(store.Val, call); object != nil && !h.objects[object] {
				h.objects[object] = true
				more = true
			}
		}
	}
	return h
}

// direct reports whether an address is reached from the instruction that makes the object without following pointers.
func direct(address ssa.Value) bool {
	for {
		switch at := address.(type) {
		case *ssa.FieldAddr:
			address = at.X
		case *ssa.Alloc:
			return true
		default:
			return false
		}
	}
}

func usedOnce(closure *ssa.MakeClosure) bool {
	uses := 0
	for _, ref := range *closure.Referrers() {
		if _, ok := ref.(*ssa.DebugRef); !ok {
			uses++
		}
	}
	return uses == 1
}

// madeBefore returns the instruction that makes the object which a pointer points to, if it is in the same block
// as an instruction and before it.
func madeBefore(v ssa.Value, at ssa.Instruction) ssa.Value {
	if load, ok := v.(*ssa.UnOp); ok && load.Op == token.MUL {
		if v = storedBefore(load); v == nil {
			return nil
		}
	}
	alloc, ok := v.(*ssa.Alloc)
	if !ok || alloc.Block() != at.Block() || slices.Index(at.Block().Instrs, ssa.Instruction(alloc)) > slices.Index(at.Block().Instrs, at) {
		return nil
	}
	return alloc
}

// storedBefore returns the value of a load, if the instructions in front of it have stored it there.
func storedBefore(load *ssa.UnOp) ssa.Value {
	instrs := load.Block().Instrs
	for i := slices.Index(instrs, ssa.Instruction(load)) - 1; i >= 0; i-- {
		switch ins := instrs[i].(type) {
		case *ssa.IndexAddr, *ssa.FieldAddr, *ssa.DebugRef, *ssa.Alloc, *ssa.BinOp:
		case *ssa.Store:
			if sameElement(ins.Addr, load.X) {
				return ins.Val
			}
			return nil
		default:
			return nil
		}
	}
	return nil
}

// sameElement reports whether two addresses are the same element of a slice, or the same variable.
func sameElement(x, y ssa.Value) bool {
	if x == y {
		return true
	}
	p, ok := x.(*ssa.IndexAddr)
	q, also := y.(*ssa.IndexAddr)
	return ok && also && p.X == q.X && p.Index == q.Index
}

// findEntries finds the functions that goroutines of handovers begin with, if nothing else uses them.
func (a *analysis) findEntries(hs *handovers) {
	clear(hs.entries)
	for _, h := range hs.at {
		if !h.entry.calledFromOutside() && !strings.HasSuffix(h.entry.id, "'") {
			hs.entries[h.entry] = true
		}
	}
	for _, f := range a.functions {
		for _, b := range f.fn.Blocks {
			for _, ins := range b.Instrs {
				call, isCall := ins.(ssa.CallInstruction)
				if isCall && hs.at[ins] == nil {
					delete(hs.entries, a.functionOf(call.Common().StaticCallee()))
				}
				for _, operand := range ins.Operands(nil) {
					if isCall && operand == &call.Common().Value {
						continue
					}
					fn, ok := (*operand).(*ssa.Function)
					if !ok {
						continue
					}
					if closure, ok := ins.(*ssa.MakeClosure); ok && operand == &closure.Fn && usedOnce(closure) && hs.at[userOf(closure)] != nil {
						continue
					}
					delete(hs.entries, a.funcValue(fn))
				}
			}
		}
	}
}

// userOf returns the only instruction that uses a literal.
func userOf(closure *ssa.MakeClosure) ssa.Instruction {
	for _, ref := range *closure.Referrers() {
		if _, ok := ref.(*ssa.DebugRef); !ok {
			return ref
		}
	}
	return nil
}

// findOwn finds, for each function, the entry that all goroutines begin with which run it.
func (a *analysis) findOwn(hs *handovers) {
	seen := map[*function]bool{}
	var work []*function
	reach := func(f, entry *function) {
		if f == nil {
			return
		}
		if seen[f] && hs.own[f] == entry {
			return
		}
		if seen[f] {
			if hs.own[f] == nil {
				return
			}
			entry = nil // there are several
		}
		seen[f], hs.own[f] = true, entry
		work = append(work, f)
	}
	for _, f := range a.functions {
		switch {
		case hs.entries[f]:
			reach(f, f)
		case f.indirect():
			reach(f, nil)
		}
	}
	for len(work) > 0 {
		f := work[len(work)-1]
		work = work[:len(work)-1]
		for _, b := range f.fn.Blocks {
			for _, ins := range b.Instrs {
				call, ok := ins.(ssa.CallInstruction)
				if !ok || hs.at[ins] != nil {
					continue
				}
				to := a.functionOf(call.Common().StaticCallee())
				if _, started := ins.(*ssa.Go); started {
					reach(to, nil)
				} else {
					reach(to, hs.own[f])
				}
			}
		}
	}
}

// handOver adds the start of a goroutine to the graph. Others than the goroutine get to know what is not its own.
func (g *flows) handOver(h *handover, common *ssa.CallCommon) {
	given := func(v ssa.Value) {
		if object := madeBefore(v, h.ins); object == nil || !h.objects[object] {
			g.knowValue(v)
		}
	}
	closure, _ := common.Value.(*ssa.MakeClosure)
	if _, ok := h.ins.(*ssa.Go); ok {
		for i, arg := range common.Args {
			given(arg)
			if i < len(h.entry.fn.Params) && leads(arg.Type()) && leads(h.entry.fn.Params[i].Type()) {
				g.edge(g.of(arg), g.of(h.entry.fn.Params[i]))
			} else {
				g.knowValue(arg)
				if i < len(h.entry.fn.Params) {
					g.shareUnlessPlain(h.entry.fn.Params[i])
				}
			}
		}
	} else {
		closure, _ = common.Args[1].(*ssa.MakeClosure)
	}
	if closure != nil {
		for _, bound := range closure.Bindings {
			given(bound)
		}
	}
}

// checkHandovers shares objects that are handed over and yet used by others than the goroutine that gets them, and what
// else they lead to when they are handed over.
func (g *flows) checkHandovers() {
	handed := map[*flow]*function{} // by what goroutines begin with that get the objects; several: several
	several := &function{}
	var work []*flow
	hand := func(n *flow, entry *function) {
		if old := handed[n]; old == entry || old == several {
			return
		} else if old != nil {
			entry = several
		}
		handed[n] = entry
		work = append(work, n)
	}
	for object, h := range g.handover.objects {
		if n := g.nodes[object]; n != nil {
			hand(n, h.entry)
		}
	}
	for len(work) > 0 {
		n := work[len(work)-1]
		work = work[:len(work)-1]
		for _, to := range n.to {
			hand(to, handed[n])
		}
	}
	if len(handed) == 0 {
		return
	}
	s := &spawning{a: g.a, starts: map[*function]bool{}, leaves: g.a.leaving, groups: map[*ssa.Alloc]bool{}, unknown: g.a.leavingUnknown}
	for _, f := range g.a.functions {
		own := g.handover.own[f]
		s.walk(f, func(ins ssa.Instruction, before goroutines) {
			for _, base := range basesOf(ins) {
				n := g.of(base)
				if n == nil || handed[n] == nil || handed[n] == own {
					continue
				}
				h := g.handover.objects[ssaload.Pointee(base).Root]
				early := h != nil && h.by == f && direct(base) && isBetween(ssaload.Pointee(base).Root, ins, h.ins)
				if !early && !f.alone[ins] && !g.awaited(f, n, before) {
					g.know(n)
				}
				if store, ok := ins.(*ssa.Store); ok {
					if h == nil || !early || !h.objects[madeBefore(store.Val, h.ins)] {
						g.knowValue(store.Val)
					}
				} else if update, ok := ins.(*ssa.MapUpdate); ok {
					g.knowValue(update.Key)
					g.knowValue(update.Value)
				} else if call, ok := ins.(*ssa.Call); ok { // append or copy
					for _, arg := range call.Call.Args {
						g.knowValue(arg)
					}
				}
			}
		})
	}
}

// awaited reports whether all objects that a pointer may point to are handed over by a function to goroutines that have
// ended, or are not started yet.
func (g *flows) awaited(f *function, n *flow, before goroutines) bool {
	if !before.none() {
		return false
	}
	seen := map[*flow]bool{n: true}
	work := []*flow{n}
	for len(work) > 0 {
		n := work[len(work)-1]
		work = work[:len(work)-1]
		for _, from := range n.from {
			if !seen[from] {
				seen[from] = true
				work = append(work, from)
			}
		}
	}
	for object, h := range g.handover.objects {
		if seen[g.nodes[object]] && h.by != f {
			return false
		}
	}
	return true
}

// isBetween reports whether an instruction is behind one and in front of another one in the same block.
func isBetween(first ssa.Value, ins, last ssa.Instruction) bool {
	maker, ok := first.(ssa.Instruction)
	if !ok || maker.Block() != ins.Block() || last.Block() != ins.Block() {
		return false
	}
	instrs := ins.Block().Instrs
	at := slices.Index(instrs, ins)
	return slices.Index(instrs, maker) < at && at < slices.Index(instrs, last)
}

// basesOf returns the pointers, slices and maps through which an instruction accesses memory.
func basesOf(ins ssa.Instruction) []ssa.Value {
	switch ins := ins.(type) {
	case *ssa.UnOp:
		if ins.Op == token.MUL {
			return []ssa.Value{ins.X}
		}
	case *ssa.Store:
		return []ssa.Value{ins.Addr}
	case *ssa.MapUpdate:
		return []ssa.Value{ins.Map}
	case *ssa.Lookup:
		return []ssa.Value{ins.X}
	case *ssa.Range:
		return []ssa.Value{ins.X}
	case *ssa.Next:
		if over, ok := ins.Iter.(*ssa.Range); ok {
			return []ssa.Value{over.X}
		}
	case *ssa.Convert:
		return []ssa.Value{ins.X}
	case ssa.CallInstruction:
		if _, ok := ins.Common().Value.(*ssa.Builtin); ok {
			return ins.Common().Args
		}
		// Methods of package sync access what they are given, and synchronize.
		callee := ins.Common().StaticCallee()
		if callee != nil && callee.Blocks == nil && static.Known(static.Func(callee)).Has(static.Forgets) && !synchronizes(callee) {
			return ins.Common().Args
		}
	}
	return nil
}
