package ownership

import (
	"go/token"

	"golang.org/x/tools/go/ssa"

	"github.com/heisen-go/heisen/internal/ssaload"
	"github.com/heisen-go/heisen/internal/static"
)

// publishing finds where objects may become known to other goroutines: from where on they are not fresh.
// It looks at one package. It errs on the side of published.
type publishing struct {
	known func(call *ssa.CallCommon) *ssa.Function // the function of the package that a call is known to call
	facts map[ssa.Value]*fact
	fresh map[*ssa.Function]bool // functions whose first result is fresh; while it is computed, false
}

// fact says what becomes of a pointer.
type fact struct {
	published []ssa.Instruction // where others may get to know the object
	returned  bool
	computing bool
}

func newPublishing(known func(*ssa.CallCommon) *ssa.Function) *publishing {
	return &publishing{known: known, facts: map[ssa.Value]*fact{}, fresh: map[*ssa.Function]bool{}}
}

// unpublished reports whether no other goroutine can know the object that a pointer points into when control
// is at ins, because this function has made it.
func (pub *publishing) unpublished(pointer ssa.Value, ins ssa.Instruction) bool {
	makers, merged, ok := pub.makers(pointer)
	if !ok {
		return false
	}
	for _, maker := range makers {
		// A pointer that is merged from several may have been made in an earlier turn of a loop.
		made := maker.(ssa.Instruction).Block()
		if merged {
			made = nil
		}
		for _, at := range pub.of(maker).published {
			if at.Parent() != ins.Parent() || at == ins || ssaload.LeadsTo(at, ins, made) {
				return false
			}
		}
	}
	return true
}

// private reports whether nobody but this function, and those that it calls, ever knows the object that a pointer points
// into.
func (pub *publishing) private(pointer ssa.Value) bool {
	makers, _, ok := pub.makers(pointer)
	if !ok {
		return false
	}
	for _, maker := range makers {
		if fact := pub.of(maker); len(fact.published) > 0 || fact.returned {
			return false
		}
	}
	return true
}

// publishedBefore reports whether the object that a parameter points to may have been published by this
// function before ins.
func (pub *publishing) publishedBefore(param *ssa.Parameter, ins ssa.Instruction) bool {
	for _, at := range pub.of(param).published {
		if at == ins || ssaload.LeadsTo(at, ins, nil) {
			return true
		}
	}
	return false
}

// makers returns the instructions of the function that make the object which a pointer points into, if it comes
// from these only. Merged says that control decides which of them it is, or which of the objects that one made.
func (pub *publishing) makers(v ssa.Value) (makers []ssa.Value, merged, ok bool) {
	seen := map[ssa.Value]bool{}
	ok = true
	var follow func(v ssa.Value)
	follow = func(v ssa.Value) {
		if seen[v] {
			return
		}
		seen[v] = true
		switch v := v.(type) {
		case *ssa.Phi:
			merged = true
			for _, edge := range v.Edges {
				follow(edge)
			}
		case *ssa.FieldAddr:
			follow(v.X)
		case *ssa.ChangeType:
			follow(v.X)
		case *ssa.IndexAddr:
			follow(v.X)
		case *ssa.Slice:
			follow(v.X)
		case *ssa.Const:
		case *ssa.Alloc, *ssa.MakeSlice, *ssa.MakeMap:
			makers = append(makers, v)
		case *ssa.UnOp:
			if alloc, isAlloc := v.X.(*ssa.Alloc); isAlloc && v.Op == token.MUL {
				if value := onlyValue(alloc); value != nil {
					follow(value)
					return
				}
			}
			ok = false
		case *ssa.Extract:
			if call, isCall := v.Tuple.(*ssa.Call); isCall && v.Index == 0 && pub.makes(call) {
				makers = append(makers, call) // other results may lead to the same object
				return
			}
			ok = false
		case *ssa.Call:
			if builtin, isBuiltin := v.Call.Value.(*ssa.Builtin); isBuiltin && builtin.Name() == "append" {
				follow(v.Call.Args[0])
				makers = append(makers, v)
				return
			}
			if !pub.makes(v) {
				ok = false
				return
			}
			makers = append(makers, v)
		default:
			ok = false
		}
	}
	follow(v)
	return makers, merged, ok && len(makers) > 0
}

// onlyValue returns what a local variable has, if it is stored to once and in its function.
func onlyValue(alloc *ssa.Alloc) ssa.Value {
	c := newPlaces(alloc.Parent()).cell(alloc)
	if !c.once {
		return nil
	}
	return c.value
}

// makes reports whether the first result of a call is an object that the called function has made and nobody
// else knows.
func (pub *publishing) makes(call *ssa.Call) bool {
	fn := pub.known(&call.Call)
	if fn == nil {
		return false
	}
	if fresh, ok := pub.fresh[fn]; ok {
		return fresh
	}
	pub.fresh[fn] = false
	fresh := false
	for _, b := range fn.Blocks {
		ret, ok := b.Instrs[len(b.Instrs)-1].(*ssa.Return)
		if !ok || len(ret.Results) == 0 {
			continue
		}
		if c, isConst := ret.Results[0].(*ssa.Const); isConst && c.IsNil() {
			continue
		}
		if !pub.unpublished(ret.Results[0], ret) {
			return false
		}
		fresh = true
	}
	pub.fresh[fn] = fresh
	return fresh
}

// of returns what becomes of a pointer.
func (pub *publishing) of(v ssa.Value) *fact {
	if f := pub.facts[v]; f != nil {
		return f
	}
	f := &fact{computing: true}
	pub.facts[v] = f
	follow := following{pub: pub, fact: f, seen: map[ssa.Value]bool{}}
	follow.value(v)
	if len(f.published) > 0 {
		f.published = append(f.published, follow.recursive...)
	}
	f.computing = false
	return f
}

// following follows a pointer, and pointers into the same object, to their uses.
type following struct {
	pub  *publishing
	fact *fact
	seen map[ssa.Value]bool

	recursive []ssa.Instruction // calls that publish the object if the function does
}

func (f *following) publishes(ins ssa.Instruction) { f.fact.published = append(f.fact.published, ins) }

func (f *following) value(v ssa.Value) {
	if f.seen[v] || v.Referrers() == nil {
		return
	}
	f.seen[v] = true
	for _, ref := range *v.Referrers() {
		switch ref := ref.(type) {
		case *ssa.Store:
			if ref.Val == v {
				f.stored(ref)
			}
		case *ssa.UnOp:
			if ref.Op != token.MUL {
				f.publishes(ref)
			}
		case *ssa.Phi, *ssa.Slice, *ssa.ChangeType, *ssa.FieldAddr, *ssa.IndexAddr, *ssa.Extract, *ssa.SliceToArrayPointer:
			f.value(ref.(ssa.Value))
		case *ssa.Return:
			f.fact.returned = true
		case *ssa.Call:
			f.call(ref, v)
		case *ssa.Defer:
			if op, _ := lockOperation(&ref.Call); op == static.NoLockOp {
				f.publishes(ref)
			}
		case *ssa.MakeInterface:
			if !onlyForCond(ref) {
				f.publishes(ref)
			}
		case *ssa.MapUpdate:
			if ref.Map != v {
				f.publishes(ref)
			}
		case *ssa.BinOp, *ssa.If, *ssa.DebugRef, *ssa.Lookup, *ssa.Range:
		default:
			f.publishes(ref)
		}
	}
}

// stored follows a pointer that is stored in a local variable. If it is stored elsewhere, others may get to
// know it.
func (f *following) stored(store *ssa.Store) {
	alloc, ok := store.Addr.(*ssa.Alloc)
	if !ok || !newPlaces(alloc.Parent()).cell(alloc).once {
		f.publishes(store)
		return
	}
	f.value(alloc) // a literal that captures the variable publishes; loads yield the pointer
	for _, ref := range *alloc.Referrers() {
		if load, ok := ref.(*ssa.UnOp); ok {
			f.value(load)
		}
	}
}

func (f *following) call(call *ssa.Call, v ssa.Value) {
	if builtin, ok := call.Call.Value.(*ssa.Builtin); ok {
		if builtin.Name() == "append" {
			if call.Call.Args[0] == v {
				f.value(call)
			}
			if call.Call.Args[1] == v { // the elements are copied
				return
			}
		}
		return
	}
	if static := call.Call.StaticCallee(); synchronizes(static) && call.Call.Args[0] == v {
		return // a method of a lock that the object has, or an atomic operation
	}
	callee := f.pub.known(&call.Call)
	if callee == nil {
		f.publishes(call)
		return
	}
	for i, arg := range ssaload.Arguments(&call.Call) {
		if arg != v || i >= len(callee.Params) {
			continue
		}
		inside := f.pub.of(callee.Params[i])
		if inside == f.fact { // the function calls itself
			f.recursive = append(f.recursive, call)
			f.value(call)
			continue
		}
		if inside.computing || len(inside.published) > 0 {
			f.publishes(call)
			return
		}
		if inside.returned {
			f.value(call)
		}
	}
}

// synchronizes reports whether a function is a method of a type of package sync, or an atomic operation.
func synchronizes(fn *ssa.Function) bool {
	if ssaload.IsAtomic(fn) {
		return true
	}
	return fn != nil && fn.Object() != nil && fn.Object().Pkg() != nil && fn.Object().Pkg().Path() == "sync" && fn.Signature.Recv() != nil
}

// onlyForCond reports whether a lock is converted to an interface for sync.NewCond only.
func onlyForCond(locker *ssa.MakeInterface) bool {
	if static.KindOf(ssaload.Deref(locker.X.Type())) == static.NotLock {
		return false
	}
	for _, ref := range *locker.Referrers() {
		call, ok := ref.(*ssa.Call)
		if !ok || call.Call.StaticCallee() == nil || call.Call.StaticCallee().String() != "sync.NewCond" {
			return false
		}
	}
	return true
}
