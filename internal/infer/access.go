package infer

import (
	"go/token"
	"go/types"
	"strings"

	"golang.org/x/tools/go/ssa"

	"github.com/heisen-go/heisen/internal/ssaload"
	"github.com/heisen-go/heisen/section"
)

// access is an instruction that reads or writes a variable.
type access struct {
	ins    ssa.Instruction
	path   ssaload.Path
	mode   section.Modes // Reads or Writes
	name   string        // the expression for the variable
	at     token.Pos     // its position in the compiler's line table
	key    ssa.Value     // of the map element, if a single one is accessed
	stored []ssa.Value   // what a write stores
	exact  bool          // an atomic operation that returns or compares the old value: a swap
}

// accessOf returns the access that an instruction makes, or nil. Instructions without a place in the
// source, such as the copy of a parameter that a literal captures, make none.
func (p *program) accessOf(ins ssa.Instruction) *access {
	a := &access{ins: ins, mode: section.Reads}
	switch ins := ins.(type) {
	case *ssa.UnOp:
		if ins.Op != token.MUL || !needed(ins) {
			return nil
		}
		a.path = ssaload.Pointee(ins.X)
	case *ssa.Store:
		a.path, a.mode, a.stored = ssaload.Pointee(ins.Addr), section.Writes, []ssa.Value{ins.Val}
	case *ssa.Lookup:
		if !isMap(ins.X) {
			return nil
		}
		a.path, a.key = ssaload.Contents(ins.X), ins.Index
	case *ssa.MapUpdate:
		a.path, a.key = ssaload.Contents(ins.Map), ins.Key
		a.mode, a.stored = section.Writes, []ssa.Value{ins.Value}
	case *ssa.Range:
		if !isMap(ins.X) {
			return nil
		}
		a.path = ssaload.Contents(ins.X)
	case *ssa.Call:
		if !a.call(&ins.Call) {
			return nil
		}
	default:
		return nil
	}
	found := p.spots.Of(ins)
	if found == nil {
		return nil
	}
	a.name, a.at = found.Name, found.Read
	if a.mode == section.Writes {
		a.at = found.Write
	}
	if !a.at.IsValid() {
		return nil
	}
	if a.name == "" {
		a.name = a.path.String()
	}
	return a
}

// call fills in the access of a builtin function or an atomic operation. It reports whether there
// is one.
func (a *access) call(c *ssa.CallCommon) bool {
	if builtin, ok := c.Value.(*ssa.Builtin); ok {
		if len(c.Args) == 0 || !isMap(c.Args[0]) {
			return false
		}
		a.path = ssaload.Contents(c.Args[0])
		switch builtin.Name() {
		case "len":
			return true
		case "delete":
			a.key = c.Args[1]
			fallthrough
		case "clear":
			a.mode = section.Writes
			return true
		}
		return false
	}
	callee := c.StaticCallee()
	if callee != nil && strings.HasPrefix(callee.String(), "(*sync.Map).") {
		return a.syncMap(c, callee.Name())
	}
	if callee == nil || callee.Object() == nil || callee.Object().Pkg() == nil ||
		callee.Object().Pkg().Path() != "sync/atomic" || len(c.Args) == 0 {
		return false
	}
	if _, ok := c.Args[0].Type().Underlying().(*types.Pointer); !ok {
		return false
	}
	a.path, a.stored = ssaload.Pointee(c.Args[0]), c.Args[1:]
	for _, arg := range c.Args[1:] {
		a.stored = append(a.stored[:len(a.stored):len(a.stored)], contentsOf(arg)...)
	}
	switch name := callee.Object().Name(); {
	case strings.HasPrefix(name, "Load"):
		a.stored = nil
	case strings.HasPrefix(name, "Store"), strings.HasPrefix(name, "Add"), strings.HasPrefix(name, "And"), strings.HasPrefix(name, "Or"):
		a.mode = section.Writes
	case strings.HasPrefix(name, "Swap"), strings.HasPrefix(name, "CompareAndSwap"):
		a.mode, a.exact = section.Writes, true
	default:
		return false
	}
	return true
}

// syncMap fills in the access of a method of sync.Map. The recorder reports the atomic operations on
// an element of the map, at the line of the call.
func (a *access) syncMap(c *ssa.CallCommon, method string) bool {
	a.path = ssaload.Pointee(c.Args[0]).With(ssaload.Step{Kind: ssaload.ContentsStep})
	if len(c.Args) > 1 {
		a.key = c.Args[1]
		if boxed, ok := a.key.(*ssa.MakeInterface); ok {
			a.key = boxed.X
		}
	}
	switch method {
	case "Load":
	case "Store":
		a.mode, a.stored = section.Writes, c.Args[2:]
	case "Delete":
		a.mode = section.Writes
	case "LoadOrStore", "LoadAndDelete", "Swap", "CompareAndSwap", "CompareAndDelete":
		a.mode, a.exact = section.Writes, true
	default: // Range and Clear access all elements
		return false
	}
	return true
}

// contentsOf returns what is stored in the variable that a pointer points to, if the function makes
// the variable: an atomic pointer is often set to the address of a new value.
func contentsOf(pointer ssa.Value) (values []ssa.Value) {
	local, ok := pointer.(*ssa.Alloc)
	if !ok {
		return nil
	}
	for _, ref := range *local.Referrers() {
		if store, ok := ref.(*ssa.Store); ok && store.Addr == local {
			values = append(values, store.Val)
		}
	}
	return values
}

// needed reports whether a value is used. The compiler does not load unused values, such as the
// array of a range clause without a second variable.
func needed(v ssa.Value) bool {
	for _, ref := range *v.Referrers() {
		switch ref := ref.(type) {
		case *ssa.FieldAddr:
			if needed(ref) {
				return true
			}
		case *ssa.UnOp:
			if ref.Op != token.MUL || needed(ref) {
				return true
			}
		default:
			return true
		}
	}
	return false
}

// value returns the result of a read.
func (a *access) value() ssa.Value {
	v, _ := a.ins.(ssa.Value)
	return v
}

func isMap(v ssa.Value) bool {
	_, ok := v.Type().Underlying().(*types.Map)
	return ok
}
