package ownership

import (
	"go/token"
	"go/types"

	"golang.org/x/tools/go/ssa"

	"github.com/heisen-go/heisen/internal/ssaload"
)

// A pointer to a variable may be chosen from several by control, as in
//
//	queue := &f.down
//	if up {
//		queue = &f.up
//	}
//
// An access through it is one of each variable that it may point to, if the pointer is used for nothing but accesses.

// isChoice reports whether a pointer is chosen from others and used for nothing but accesses.
func isChoice(v ssa.Value) bool {
	phi, ok := v.(*ssa.Phi)
	return ok && onlyAccessed(phi, map[*ssa.Phi]bool{})
}

func onlyAccessed(phi *ssa.Phi, seen map[*ssa.Phi]bool) bool {
	if _, pointer := phi.Type().Underlying().(*types.Pointer); !pointer {
		return false
	}
	if seen[phi] {
		return true
	}
	seen[phi] = true
	for _, ref := range *phi.Referrers() {
		switch ref := ref.(type) {
		case *ssa.DebugRef, *ssa.BinOp:
		case *ssa.UnOp:
			if ref.Op != token.MUL {
				return false
			}
		case *ssa.Store:
			if ref.Val == phi {
				return false
			}
		case *ssa.Phi:
			if !onlyAccessed(ref, seen) {
				return false
			}
		default:
			return false
		}
	}
	return true
}

// choices returns the addresses from which one is chosen. It is the address itself if that is no choice.
func choices(address ssa.Value) (list []ssa.Value) {
	if !isChoice(address) {
		return []ssa.Value{address}
	}
	seen := map[ssa.Value]bool{}
	var follow func(v ssa.Value)
	follow = func(v ssa.Value) {
		if seen[v] {
			return
		}
		seen[v] = true
		switch v := v.(type) {
		case *ssa.Phi:
			for _, edge := range v.Edges {
				follow(edge)
			}
		case *ssa.Const: // nil
		default:
			list = append(list, v)
		}
	}
	follow(address)
	return list
}

// chosen returns the targets of an access through a chosen pointer, or through any other address. It is not complete if some
// have no name.
//
// In a loop, a pointer may have been chosen in an earlier turn, when the values that a place names were others.
func (f *function) chosen(t types.Type, address ssa.Value) (list []target, complete bool) {
	if !isChoice(address) || f.a.aggregate(t) {
		return f.targets(t, address)
	}
	phi := address.(*ssa.Phi)
	turns := ssaload.Repeats(phi.Block())
	complete = true
	for _, each := range choices(address) {
		targets, all := f.targets(t, each)
		for _, target := range targets {
			target.base = phi
			if turns {
				target.place = place{}
			}
			list = append(list, target)
		}
		complete = complete && all
	}
	return list, complete
}
