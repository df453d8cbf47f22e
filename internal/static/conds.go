package static

import (
	"go/ast"
	"go/types"
)

// CondLocks returns the classes of the locks that condition variables release while a goroutine waits for them, by the class
// of the condition variable. A class is unknown, and not in it, if the program does not show which lock that is, or shows
// several.
func (p *Program) CondLocks() map[Key]Key {
	found := map[Key]map[Key]bool{}
	add := func(info *types.Info, cond *types.Var, lock ast.Expr) {
		if cond == nil {
			return
		}
		if found[p.Key(cond)] == nil {
			found[p.Key(cond)] = map[Key]bool{}
		}
		found[p.Key(cond)][p.lockerClass(info, lock)] = true
	}
	for _, f := range p.Files() {
		info := f.Info()
		// made notes what a variable is made of.
		made := func(v *types.Var, e ast.Expr) {
			e = ast.Unparen(e)
			if addr, ok := e.(*ast.UnaryExpr); ok {
				e = ast.Unparen(addr.X)
			}
			switch e := e.(type) {
			case *ast.CallExpr:
				if fn := Callee(info, e); fn != nil && fn.FullName() == "sync.NewCond" {
					add(info, v, e.Args[0])
				}
			case *ast.CompositeLit:
				if typeName(types.Unalias(Deref(info.TypeOf(e)))) != "sync.Cond" {
					return
				}
				for _, element := range e.Elts {
					if pair, ok := element.(*ast.KeyValueExpr); ok {
						add(info, v, pair.Value)
					}
				}
			}
		}
		ast.Inspect(f.Syntax, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.AssignStmt:
				for i, left := range n.Lhs {
					if len(n.Lhs) != len(n.Rhs) {
						break
					}
					made(Variable(info, left), n.Rhs[i])
					if sel, ok := ast.Unparen(left).(*ast.SelectorExpr); ok && sel.Sel.Name == "L" { // cond.L = &mu
						add(info, Variable(info, sel.X), n.Rhs[i])
					}
				}
			case *ast.ValueSpec:
				for i, name := range n.Names {
					if v, ok := info.Defs[name].(*types.Var); ok && len(n.Names) == len(n.Values) {
						made(v, n.Values[i])
					}
				}
			case *ast.KeyValueExpr:
				if id, ok := n.Key.(*ast.Ident); ok {
					if v, ok := info.Uses[id].(*types.Var); ok {
						made(v, n.Value)
					}
				}
			}
			return true
		})
	}
	out := map[Key]Key{}
	for cond, locks := range found {
		for lock := range locks {
			if len(locks) == 1 && lock != unnamed {
				out[cond] = lock
			}
		}
	}
	return out
}

// lockerClass returns the class of a lock that is passed as a sync.Locker.
func (p *Program) lockerClass(info *types.Info, e ast.Expr) Key {
	e = ast.Unparen(e)
	if addr, ok := e.(*ast.UnaryExpr); ok {
		e = ast.Unparen(addr.X)
	}
	if call, ok := e.(*ast.CallExpr); ok {
		sel, ok := ast.Unparen(call.Fun).(*ast.SelectorExpr)
		if fn := Callee(info, call); !ok || fn == nil || fn.FullName() != "(*sync.RWMutex).RLocker" {
			return unnamed
		}
		e = sel.X
	}
	v := Variable(info, e)
	if v == nil || KindOf(Deref(v.Type())) == NotLock {
		return unnamed
	}
	return p.Key(v)
}
