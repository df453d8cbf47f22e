package ownership

import (
	"fmt"
	"go/token"
	"strings"

	"golang.org/x/tools/go/ssa"

	"github.com/heisen-go/heisen/internal/ssaload"
)

// place says which variable a function reaches, in terms that its callers can translate. There are two ways
// to tell that two places of one activation are the same: by all steps from the root, if the pointers in
// through do not change, and by the steps from the same near pointer.
type place struct {
	// root is "p1" for what the second parameter points to, "f0" for what the first captured variable
	// points to, "&f0" for that variable itself, "g:NAME" for a package-level variable, and "v7" for a
	// value of this function. It is empty if the place cannot be told by its steps.
	root    string
	steps   string   // such as ".state^.mu"; ^ follows a pointer, [...] is an element
	through []memory // the pointers that the steps follow

	near        ssa.Value // the value that the last steps begin at, or nil
	nearSteps   string
	nearThrough []memory

	values []ssa.Value // what the place depends on in this function
}

func (p place) key() string { return p.root + p.steps }

// same reports whether two places are the same, if the pointers in through do not change.
func (p place) same(q place) (through []memory, ok bool) {
	if p.near != nil && p.near == q.near && p.nearSteps == q.nearSteps {
		return p.nearThrough, true
	}
	return p.through, p.root != "" && p.root == q.root && p.steps == q.steps
}

// movable reports whether a caller can translate the place.
func (p place) movable() bool {
	return p.root != "" && p.root[0] != 'v' && !strings.Contains(p.steps, "[v") && len(p.steps) < maxSteps
}

// maxSteps is the number of bytes in the steps of a place that callers are asked about. A recursive function
// would otherwise ask for n.next.next and so on.
const maxSteps = 80

// with returns the place behind further steps.
func (p place) with(steps string, through []memory) place {
	p.steps += steps
	p.through = append(p.through[:len(p.through):len(p.through)], through...)
	p.nearSteps += steps
	p.nearThrough = append(p.nearThrough[:len(p.nearThrough):len(p.nearThrough)], through...)
	return p
}

// outer returns the place of the struct that has a slice, for the place of an element of that slice.
func (p place) outer(holder memory) (place, bool) {
	last, open := len(p.through)-1, strings.LastIndexByte(p.steps, '[')
	if p.root == "" || last < 0 || p.through[last] != holder || open < 0 || !strings.HasSuffix(p.steps, "]") {
		return place{}, false
	}
	steps, ok := strings.CutSuffix(p.steps[:open], "."+holder.Name+"^")
	return place{root: p.root, steps: steps, through: p.through[:last], values: p.values}, ok
}

// places makes the places of a function.
type places struct {
	fn      *ssa.Function
	numbers map[ssa.Value]int
	cells   map[ssa.Value]*cell
}

func newPlaces(fn *ssa.Function) *places {
	return &places{fn: fn, numbers: map[ssa.Value]int{}, cells: map[ssa.Value]*cell{}}
}

// of returns the place that a pointer points to.
func (ps *places) of(pointer ssa.Value) place {
	p := ps.at(ssaload.Pointee(pointer))
	p.near, p.nearSteps = ps.near(pointer)
	p.values = append(p.values, p.near)
	return p
}

// near returns the pointer that the last steps to a variable begin at.
func (ps *places) near(v ssa.Value) (ssa.Value, string) {
	steps := ""
	for {
		switch at := v.(type) {
		case *ssa.FieldAddr:
			st, ok := ssaload.StructOf(ssaload.Deref(at.X.Type()))
			if !ok {
				return v, steps
			}
			v, steps = at.X, "."+st.Field(at.Field).Name()+steps
		case *ssa.IndexAddr:
			index := "[" + ps.number(at.Index) + "]"
			if c, ok := at.Index.(*ssa.Const); ok {
				index = "[" + c.Value.String() + "]"
			}
			v, steps = at.X, index+steps
		case *ssa.ChangeType:
			v = at.X
		case *ssa.UnOp:
			if at.Op != token.MUL {
				return v, steps
			}
			switch at.X.(type) {
			case *ssa.Alloc, *ssa.FreeVar:
			default:
				return v, steps
			}
			c := ps.cell(at.X)
			switch {
			case c.once && c.value != nil:
				v = c.value
			case c.once:
				return at.X, "^" + steps
			default:
				return v, steps
			}
		default:
			return v, steps
		}
	}
}

// at returns the place at the end of a path.
func (ps *places) at(p ssaload.Path) place {
	p = ps.resolve(p)
	out := place{}
	steps := p.Steps
	switch root := p.Root.(type) {
	case *ssa.Parameter:
		for i, param := range ps.fn.Params {
			if param == root {
				out.root = fmt.Sprintf("p%d", i)
			}
		}
	case *ssa.FreeVar:
		for i, fv := range ps.fn.FreeVars {
			if fv == root {
				out.root = fmt.Sprintf("&f%d", i)
			}
		}
		if len(steps) > 0 && steps[0].Kind == ssaload.DerefStep {
			if !ps.cell(root).once {
				return place{}
			}
			out.root = out.root[1:]
			steps = steps[1:]
		}
	case *ssa.Global:
		name, ok := globalName(root)
		if !ok {
			return place{}
		}
		out.root = "g:" + name.String()
	case *ssa.Const:
		return place{}
	default:
		out.root = ps.number(root)
		out.values = append(out.values, root)
	}
	var text strings.Builder
	at := ssaload.Path{Root: p.Root, Steps: p.Steps[:len(p.Steps)-len(steps)]}
	for _, s := range steps {
		switch s.Kind {
		case ssaload.FieldStep:
			text.WriteString("." + s.Field.Name())
		case ssaload.ElemStep:
			if s.Index != nil {
				text.WriteString("[" + ps.number(s.Index) + "]")
				out.values = append(out.values, s.Index)
			} else {
				text.WriteString("[" + s.At + "]")
			}
		case ssaload.ContentsStep:
			text.WriteString("{}")
		case ssaload.DerefStep:
			text.WriteString("^")
			m, ok := variableAt(at)
			if !ok {
				return place{} // a pointer that may have changed
			}
			out.through = append(out.through, m)
		}
		at = at.With(s)
	}
	out.steps = text.String()
	return out
}

// contentOf returns the place that the pointer in a local variable points to, if the variable is set once.
func (ps *places) contentOf(address ssa.Value) place {
	c := ps.cell(address)
	switch fv, captured := address.(*ssa.FreeVar); {
	case !c.once:
		return place{}
	case captured:
		for i, candidate := range ps.fn.FreeVars {
			if candidate == fv {
				return place{root: fmt.Sprintf("f%d", i), near: fv, nearSteps: "^"}
			}
		}
	case c.value != nil:
		return ps.of(c.value)
	}
	return place{}
}

func (ps *places) number(v ssa.Value) string {
	n, ok := ps.numbers[v]
	if !ok {
		n = len(ps.numbers)
		ps.numbers[v] = n
	}
	return fmt.Sprintf("v%d", n)
}

// resolve replaces local variables that are set once by what they are set to.
func (ps *places) resolve(p ssaload.Path) ssaload.Path {
	for len(p.Steps) > 0 && p.Steps[0].Kind == ssaload.DerefStep {
		alloc, ok := p.Root.(*ssa.Alloc)
		if !ok {
			break
		}
		c := ps.cell(alloc)
		if !c.once || c.value == nil {
			break
		}
		to := ssaload.Pointee(c.value)
		p = ssaload.Path{Root: to.Root, Steps: append(to.Steps[:len(to.Steps):len(to.Steps)], p.Steps[1:]...)}
	}
	return p
}

// cell says how a local variable that literals may capture is used.
type cell struct {
	once  bool      // it is stored to at most once, and its address is used for nothing else
	value ssa.Value // what is stored
}

// cell returns how a local variable, or a captured one, is used.
func (ps *places) cell(v ssa.Value) *cell {
	if c := ps.cells[v]; c != nil {
		return c
	}
	c := &cell{once: true}
	ps.cells[v] = c
	stores := 0
	if fv, ok := v.(*ssa.FreeVar); ok {
		outside := bindingOf(fv)
		if outside == nil {
			c.once = false
			return c
		}
		v = outside
	}
	declared := v
	var use func(v ssa.Value)
	use = func(v ssa.Value) {
		for _, ref := range *v.Referrers() {
			switch ref := ref.(type) {
			case *ssa.Store:
				if ref.Addr != v {
					c.once = false
					break
				}
				stores++
				if alloc, ok := declared.(*ssa.Alloc); ok && ref.Parent() == alloc.Parent() && repeats(ref, alloc) {
					c.once = false
				}
				if c.value = ref.Val; ref.Parent() != ps.fn {
					c.value = nil
				}
			case *ssa.UnOp:
				c.once = c.once && ref.Op == token.MUL
			case *ssa.MakeClosure:
				for i, bound := range ref.Bindings {
					if bound == v {
						use(ref.Fn.(*ssa.Function).FreeVars[i])
					}
				}
			case *ssa.DebugRef:
			default:
				c.once = false
			}
		}
	}
	use(v)
	if stores != 1 {
		c.once = false
	}
	return c
}

// repeats reports whether a store may be made several times to one local variable.
func repeats(store *ssa.Store, alloc *ssa.Alloc) bool {
	if store.Block() == alloc.Block() {
		return false
	}
	for _, succ := range store.Block().Succs {
		if succ == store.Block() || succ != alloc.Block() && len(succ.Instrs) > 0 && ssaload.LeadsTo(succ.Instrs[0], store, alloc.Block()) {
			return true
		}
	}
	return false
}

// bindingOf returns the local variable that a captured variable is, or nil.
func bindingOf(fv *ssa.FreeVar) ssa.Value {
	fn := fv.Parent()
	if fn == nil || fn.Parent() == nil {
		return nil
	}
	var found ssa.Value
	for i, candidate := range fn.FreeVars {
		if candidate != fv {
			continue
		}
		for _, b := range fn.Parent().Blocks {
			for _, ins := range b.Instrs {
				closure, ok := ins.(*ssa.MakeClosure)
				if !ok || closure.Fn != fn {
					continue
				}
				if found != nil && found != closure.Bindings[i] {
					return nil
				}
				found = closure.Bindings[i]
			}
		}
	}
	switch outside := found.(type) {
	case *ssa.FreeVar:
		return bindingOf(outside)
	case *ssa.Alloc:
		return outside
	}
	return nil
}
