package patch

import (
	"go/ast"
	"go/types"
	"slices"
	"strings"
)

// outermostFirst returns tasks in an order in which a variable comes after those through which it is reached: the lock of these may guard
// it, too. Otherwise the order stays.
func (m *maker) outermostFirst(tasks []*task) (out []*task) {
	through := map[*task]map[string]bool{} // the keys of the fields that lead to the variables of a task
	for _, t := range tasks {
		through[t] = map[string]bool{}
		target := m.target(t)
		if target == nil {
			continue
		}
		for _, u := range m.p.uses(target) {
			for v := range u.fields() {
				if d := m.p.declare(v); d != nil {
					through[t][d.first().key] = true
				}
			}
		}
	}
	waits := func(t *task) bool {
		return slices.ContainsFunc(tasks, func(o *task) bool {
			return o != t && slices.ContainsFunc(o.keys, func(key string) bool { return through[t][key] })
		})
	}
	for len(tasks) > 0 {
		i := max(slices.IndexFunc(tasks, func(t *task) bool { return !waits(t) }), 0)
		out = append(out, tasks[i])
		tasks = slices.Delete(slices.Clone(tasks), i, i+1)
	}
	return out
}

// fields returns the fields that an expression for the struct of a use names.
func (u *use) fields() map[*types.Var]bool {
	out := map[*types.Var]bool{}
	if u.base == nil || u.fn == nil {
		return out
	}
	ast.Inspect(u.base, func(n ast.Node) bool {
		if sel, ok := n.(*ast.SelectorExpr); ok {
			if v, ok := u.fn.Info().Uses[sel.Sel].(*types.Var); ok && v.IsField() {
				out[v] = true
			}
		}
		return true
	})
	return out
}

// lockKey names the variable of a lock in a way that does not depend on lines; "" if that is not known.
func (m *maker) lockKey(g *guard, t *target) string {
	if !g.existing {
		of := t.first().key
		if t.isField() && g.absolute.Valid() {
			of = t.file.Package.PkgPath + "."
		}
		return strings.TrimRight(of[:strings.LastIndex(of, ".")], "'") + "." + g.name
	}
	if v := m.p.variableOfClass(g.class); v != nil {
		if d := m.p.declare(v); d != nil {
			return d.first().key
		}
	}
	return ""
}

// covered notes that a repair that was made guards the variables of a task, too, if its lock is the given one.
func (m *maker) covered(lock string, t *task) bool {
	i, ok := m.locks[lock]
	if !ok || lock == "" {
		return false
	}
	m.result.Repairs[i].take(t)
	return true
}
