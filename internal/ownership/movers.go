package ownership

import (
	"fmt"
	"go/token"
	"go/types"
	"strings"

	"golang.org/x/tools/go/ssa"

	"github.com/heisen-go/heisen/internal/ssaload"
	"github.com/heisen-go/heisen/internal/static"
)

// mover says with what events of other goroutines a piece of code can be exchanged (Lipton, "Reduction: A Method of
// Proving Properties of Parallel Programs", CACM 1975). The order is that of strength: join is the larger one, except for
// right and left.
type mover uint8

const (
	nothing  mover = iota // touches nothing that can change
	both                  // can be exchanged with events before and after it
	right                 // with events after it, such as the acquisition of a lock
	left                  // with events before it, such as the release of a lock
	atomic                // as if nothing came in between
	compound              // none of these
)

// then returns what code is that does m and then next.
func (m mover) then(next mover) mover {
	switch {
	case m <= both || next <= both:
		return max(m, next)
	case m == compound || next == compound:
		return compound
	case m == right:
		if next == right {
			return right
		}
		return atomic
	case next == left:
		return m // left or atomic
	}
	return compound
}

// join returns what code is that does one or the other.
func (m mover) join(other mover) mover {
	if m == right && other == left || m == left && other == right {
		return atomic
	}
	return max(m, other)
}

// part is what an instruction contributes to the atomicity of its function.
type part struct {
	ins     ssa.Instruction
	is      mover
	callees []*function // or one of these; is then says what comes in addition
	later   bool        // it is done when the function returns
	sync    bool        // it uses a lock, an atomic variable or the like
	locks   int         // how many locks are held more after it
	why     string      // what it does, as a verb with an object
}

// parts returns what the instructions of the function contribute, by block.
func (f *function) parts() [][]part {
	accesses := map[ssa.Instruction][]*access{}
	for _, x := range f.accesses {
		accesses[x.ins] = append(accesses[x.ins], x)
	}
	out := make([][]part, len(f.fn.Blocks))
	for _, b := range f.fn.Blocks {
		for _, ins := range b.Instrs {
			var list []part
			switch ins := ins.(type) {
			case *ssa.RunDefers:
				out[b.Index] = append(out[b.Index], part{ins: ins})
			case ssa.CallInstruction:
				list = f.callParts(ins, accesses[ins])
			default:
				list = f.accessParts(ins, accesses[ins])
			}
			for _, p := range list {
				// What a called function does may not be alone.
				if _, call := ins.(ssa.CallInstruction); f.alone[ins] && (!call || p.locks != 0 && !p.later) {
					p.is = both
				}
				if p.is != nothing || p.locks != 0 || len(p.callees) > 0 {
					p.ins = ins
					out[b.Index] = append(out[b.Index], p)
				}
			}
		}
	}
	return out
}

// accessParts returns what an instruction contributes that is no call.
func (f *function) accessParts(ins ssa.Instruction, accesses []*access) (list []part) {
	switch ins := ins.(type) {
	case *ssa.Send:
		return []part{{is: compound, why: "sends to a channel"}}
	case *ssa.Select:
		return []part{{is: compound, why: "selects"}}
	case *ssa.UnOp:
		if ins.Op == token.ARROW {
			return []part{{is: compound, why: "receives from a channel"}}
		}
	}
	for _, x := range accesses {
		list = append(list, f.accessPart(x))
	}
	if f.a.nameless[ins] {
		list = append(list, part{is: steps(ins), why: "accesses memory that has no name"})
	}
	return list
}

// accessPart returns what an access contributes. If it can race with no other, it can be exchanged with all that comes
// before or after it.
func (f *function) accessPart(x *access) part {
	v := f.a.verdictOf(x.memory)
	if v != nil && v.safe && !x.atomic || x.harmless() || f.a.isFresh(x) {
		return part{is: both}
	}
	verb := "reads"
	if x.write {
		verb = "writes"
	}
	return part{is: steps(x.ins), why: fmt.Sprintf("%s %s, which is race-unsafe", verb, x.memory)}
}

// steps returns what an access to memory is that others may access at the same time: atomic, if one step is enough.
func steps(ins ssa.Instruction) mover {
	var t types.Type
	switch ins := ins.(type) {
	case *ssa.Store:
		t = ins.Val.Type()
	case *ssa.UnOp:
		t = ins.Type()
	default:
		return compound
	}
	switch u := t.Underlying().(type) {
	case *types.Pointer, *types.Map, *types.Chan, *types.Signature:
		return atomic
	case *types.Basic:
		if u.Info()&(types.IsInteger|types.IsFloat|types.IsBoolean) != 0 {
			return atomic
		}
	}
	return compound
}

// callParts returns what a call, go or defer statement contributes.
func (f *function) callParts(ins ssa.CallInstruction, accesses []*access) []part {
	common := ins.Common()
	switch ins := ins.(type) {
	case *ssa.Go:
		// What the new goroutine does comes after it. Like a message, it can be exchanged with what comes before.
		return []part{{is: left, why: "starts a goroutine"}}
	case *ssa.Defer:
		list := []part{f.called(common, nil)}
		if _, builtin := common.Value.(*ssa.Builtin); builtin {
			list = f.builtinParts(ins, accesses)
		}
		for i := range list {
			list[i].later = true
		}
		return list
	case *ssa.Call:
		if _, builtin := common.Value.(*ssa.Builtin); builtin {
			return f.builtinParts(ins, accesses)
		}
		var list []part
		if common.IsInvoke() {
			for _, x := range accesses { // what the wrapper of a method copies
				list = append(list, f.accessPart(x))
			}
		}
		return append(list, f.called(common, ins))
	}
	return []part{{is: compound, why: "calls something"}}
}

// builtinParts returns what a call of a builtin function contributes.
func (f *function) builtinParts(ins ssa.CallInstruction, accesses []*access) []part {
	list := []part{builtinPart(ins.Common())}
	for _, x := range accesses {
		list = append(list, f.accessPart(x))
	}
	if list[0].is == nothing && f.a.nameless[ins] {
		list = append(list, part{is: compound, why: "accesses memory that has no name"})
	}
	return list
}

func builtinPart(common *ssa.CallCommon) part {
	switch name := common.Value.Name(); name {
	case "close":
		return part{is: atomic, why: "closes a channel"}
	case "print", "println":
		return part{is: atomic, why: "prints"}
	case "len", "cap":
		if _, isChan := common.Args[0].Type().Underlying().(*types.Chan); isChan {
			return part{is: atomic, why: "looks at a channel"}
		}
		return part{}
	case "append", "copy", "delete", "clear", "min", "max", "real", "imag", "complex", "recover", "panic", "ssa:wrapnilchk":
		return part{}
	default:
		return part{is: compound, why: "calls " + name}
	}
}

// called returns what a call contributes that is none of a builtin function. Ins is nil if it is deferred.
func (f *function) called(common *ssa.CallCommon, ins *ssa.Call) part {
	switch op, _ := lockOperation(common); {
	case op.Tries():
		return part{is: compound, why: "tries to acquire a lock"}
	case op.Acquires():
		return part{is: right, locks: 1, sync: true, why: "acquires a lock"}
	case op.Releases():
		return part{is: left, locks: -1, sync: true, why: "releases a lock"}
	}
	if common.IsInvoke() {
		return f.invoked(common, ins)
	}
	callee := common.StaticCallee()
	if to := f.a.functionOf(callee); to != nil {
		if f.a.twice[f.a.id(callee)] {
			return part{is: compound, why: "calls " + callee.Name() + ", which there is twice"}
		}
		return part{callees: []*function{to}, why: "calls " + shortName(callee)}
	}
	known := static.Known(static.Func(callee))
	switch name := fullName(callee); {
	case callee == nil:
		return part{is: compound, why: "calls a function value"}
	case ssaload.IsAtomic(callee):
		return part{is: atomic, sync: true, why: "calls " + shortName(callee)}
	case name == "(*sync.Once).Do":
		p := part{is: atomic, sync: true, why: "calls (*sync.Once).Do"}
		if once := f.a.funcValue(common.Args[1]); once != nil {
			p.callees = []*function{once}
			return p
		}
		p.is = compound
		return p
	case known.Has(static.Indivisible), known.Has(static.Prints) && f.plainArguments(common.Args):
		return part{is: atomic, sync: known.Has(static.Indivisible), why: "calls " + name}
	case known.Has(static.Unnoticed), known.Has(static.OnlyLooks) && f.plainArguments(common.Args):
		return part{is: both}
	default:
		return part{is: compound, why: "calls " + name}
	}
}

// invoked returns what a call through an interface contributes.
func (f *function) invoked(common *ssa.CallCommon, ins *ssa.Call) part {
	p := part{is: compound, why: "calls " + common.Method.Name() + " through an interface"}
	if ins == nil {
		return p
	}
	methods, complete := f.a.boxes.called(f, ins)
	if !complete {
		return p
	}
	var callees []*function
	for _, to := range methods {
		if to == nil || f.a.twice[to.id] {
			return p
		}
		callees = append(callees, to)
	}
	p.is, p.callees = nothing, callees
	return p
}

// plainArguments reports whether a function that is given these arguments can access no memory that others may access.
func (f *function) plainArguments(args []ssa.Value) bool {
	for _, arg := range args {
		if !f.plain(arg) {
			return false
		}
	}
	return true
}

// plain reports whether a value leads to no memory, or only to such that no other function ever knows, and that leads to no
// other.
func (f *function) plain(v ssa.Value) bool {
	if basic, ok := v.Type().Underlying().(*types.Basic); ok && basic.Kind() != types.UnsafePointer {
		return true
	}
	switch v := v.(type) {
	case *ssa.Const:
		return true
	case *ssa.MakeInterface:
		return f.plain(v.X) && types.NewMethodSet(v.X.Type()).Len() == 0
	case *ssa.Slice: // the arguments of a function with ...
		array, ok := v.X.(*ssa.Alloc)
		if !ok {
			return false
		}
		for _, ref := range *array.Referrers() {
			switch ref := ref.(type) {
			case *ssa.Slice, *ssa.DebugRef:
			case *ssa.IndexAddr:
				for _, ref := range *ref.Referrers() {
					store, ok := ref.(*ssa.Store)
					if !ok || !f.plain(store.Val) {
						return false
					}
				}
			default:
				return false
			}
		}
		return true
	case *ssa.Alloc:
		return qualifiedName(ssaload.Deref(v.Type())) == "strings.Builder" && f.in.publish.private(v)
	}
	return qualifiedName(v.Type()) == "time.Time"
}

// shortName returns a function's name with the name of its package.
func shortName(fn *ssa.Function) string {
	if obj, ok := fn.Object().(*types.Func); ok && obj.Pkg() != nil {
		return strings.ReplaceAll(obj.Origin().FullName(), obj.Pkg().Path()+".", obj.Pkg().Name()+".")
	}
	return fn.Name()
}
