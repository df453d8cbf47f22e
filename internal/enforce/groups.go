package enforce

import (
	"go/ast"
	"go/types"
	"maps"
	"slices"
	"strings"

	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/heal"
	"github.com/heisen-go/heisen/internal/static"
)

// findLayouts finds out where variables are in objects of the struct types of the module that have several.
func (p *Program) findLayouts() {
	p.layouts = map[string][]heal.Field{}
	for _, f := range p.src.Files() {
		sizes := f.Package.TypesSizes
		ast.Inspect(f.Syntax, func(n ast.Node) bool {
			lit, ok := n.(*ast.StructType)
			if !ok || sizes == nil {
				return true
			}
			st, ok := f.Info().TypeOf(lit).(*types.Struct)
			if !ok {
				return true
			}
			fields := p.layout(st, sizes, 0)
			if len(fields) < 2 {
				return true
			}
			size := uint64(0)
			if fixed(st) {
				size = uint64(sizes.Sizeof(st))
				p.sizes = append(p.sizes, size)
			}
			for _, field := range fields {
				field.Size = size
				if all := p.layouts[field.Variable]; !slices.Contains(all, field) {
					p.layouts[field.Variable] = append(all, field)
				}
			}
			return true
		})
	}
	slices.Sort(p.sizes)
	p.sizes = slices.Compact(p.sizes)
}

// layout returns the variables in a struct type and their offsets, up to the first field whose place depends on a type
// parameter.
func (p *Program) layout(st *types.Struct, sizes types.Sizes, from uint64) (out []heal.Field) {
	var before []*types.Var
	for v := range st.Fields() {
		if !fixed(v.Type()) {
			break // its alignment is not known
		}
		before = append(before, v)
	}
	for i, offset := range sizes.Offsetsof(before) {
		v, at := before[i], from+uint64(offset)
		inner, isStruct := v.Type().Underlying().(*types.Struct)
		switch name := p.fields[p.src.Key(v)]; {
		case synchronizes(v.Type()):
		case isStruct && p.structVariables(v.Type()) != nil:
			out = append(out, p.layout(inner, sizes, at)...)
		case name != "":
			out = append(out, heal.Field{Variable: name, Offset: at, Refers: p.inParts(v.Type())})
		}
	}
	return out
}

// fixed reports whether the size of a type does not depend on type parameters.
func fixed(t types.Type) bool {
	switch t := types.Unalias(t).(type) {
	case *types.TypeParam:
		return false
	case *types.Array:
		return fixed(t.Elem())
	case *types.Named:
		return fixed(t.Underlying())
	case *types.Struct:
		for v := range t.Fields() {
			if !fixed(v.Type()) {
				return false
			}
		}
	}
	return true
}

// objectsOf tells a profiler which variables are parts of one object.
func (r *Recorder) objectsOf() heal.Objects {
	return heal.Objects{Sizes: r.p.sizes, Fields: r.fields, Name: r.known, Section: r.p.section, Follows: r.p.follows}
}

// fields returns the variables that may be accessed at a place, where they may be in objects.
func (r *Recorder) fields(use heal.Use) (out []heal.Field) {
	at, ok := r.inModule(use)
	if !ok {
		return nil
	}
	for _, name := range r.p.known[at][use.Write] {
		writes := slices.Contains(r.p.known[at][true], name)
		for _, field := range r.p.layouts[name] {
			field.Writes = field.Refers && writes
			out = append(out, field)
		}
	}
	return out
}

// section returns the frame of a stack in whose function accesses to an object belong together: the innermost one, or the
// method that has called it on the way, through methods of the same type only. The name stands for this function with its
// literals; a function that only one other one defers is part of that, since its stack may lack it.
func (p *Program) section(stack []heisen.Frame) (frame int, name string) {
	var inner *unit
	for i, f := range slices.Backward(stack) {
		if p.src.File(f.File) == nil {
			continue
		}
		u := p.innermost(f.File, f.Line)
		if u == nil || inner != nil && u.Decl != inner.Decl && (receiver(u.Decl) == "" || receiver(u.Decl) != receiver(inner.Decl)) {
			break
		}
		frame, inner = i, u
	}
	if inner == nil {
		return len(stack) - 1, stack[len(stack)-1].Func
	}
	for seen := 0; len(p.deferrers[inner]) == 1 && seen < len(p.units); seen++ {
		inner = p.deferrers[inner][0]
	}
	return frame, p.name(inner)
}

// receiver returns the name of the type that a method has as its receiver, or "".
func receiver(d *ast.FuncDecl) string {
	if d == nil || d.Recv == nil || len(d.Recv.List) == 0 {
		return ""
	}
	if id := embeddedName(d.Recv.List[0].Type); id != nil {
		return id.Name
	}
	return ""
}

// follows reports whether control may come from one line to another one in one call of a function, or from a line to itself
// again.
func (p *Program) follows(first, second heisen.Frame, again bool) bool {
	u := p.innermost(first.File, first.Line)
	if u == nil || u != p.innermost(second.File, second.Line) || u.flow.refused != "" {
		return true
	}
	on := func(f heisen.Frame) (out []int) {
		for _, s := range u.flow.steps {
			if p.isOn(s, f.Line) {
				out = append(out, s.id)
			}
		}
		return out
	}
	from, to := on(first), on(second)
	if len(from) == 0 || len(to) == 0 {
		return true
	}
	if again {
		return slices.ContainsFunc(from, func(s int) bool { return u.flow.leads([]int{s}, []int{s}) })
	}
	return slices.ContainsFunc(from, func(s int) bool { return slices.Contains(to, s) }) || u.flow.leads(from, to)
}

// leads reports whether control may come from one of some steps to one of others.
func (f *flow) leads(from, to []int) bool {
	seen := map[int]bool{}
	work := slices.Clone(from)
	for len(work) > 0 {
		at := work[len(work)-1]
		work = work[:len(work)-1]
		for _, next := range f.succs[at] {
			if slices.Contains(to, next) {
				return true
			}
			if !seen[next] {
				seen[next] = true
				work = append(work, next)
			}
		}
	}
	return false
}

// group is variables that have one lock.
type group struct {
	name    string
	members []string
}

// groupsOf returns the variables that belong together in a profile.
func (p *Program) groupsOf(profile *heal.Profile) (groups []group) {
	polled := p.polled()
	for _, members := range profile.Groups(func(v string) bool {
		_, escapes := p.addressed[v]
		return (escapes || p.written[v]) && !polled[v]
	}) {
		groups = append(groups, group{groupName(members), members})
	}
	return groups
}

// polled returns the variables at which loops look that wait for other goroutines: these must come in between.
func (p *Program) polled() map[string]bool {
	out := map[string]bool{}
	for _, u := range p.units {
		for _, s := range u.flow.steps {
			if !s.polls.IsValid() {
				continue
			}
			how := map[string]reaching{}
			for _, in := range u.flow.steps {
				if in != s && !(u.flow.leads([]int{s.id}, []int{in.id}) && u.flow.leads([]int{in.id}, []int{s.id})) {
					continue
				}
				for _, a := range in.accesses {
					how[a.variable] = max(how[a.variable], reads)
					if a.write {
						how[a.variable] = writes
					}
				}
				for v := range p.layouts {
					for _, c := range in.calls {
						how[v] = max(how[v], p.reaches(c, v))
					}
				}
			}
			for v, by := range how {
				out[v] = out[v] || by == reads
			}
		}
	}
	return out
}

// Atomic returns the variables and pairs of a profile for which locks must be inserted, as heal.Profile.Atomic does, with the
// variables that belong together as one.
func (p *Program) Atomic(profile *heal.Profile) []heal.ProfiledVariable {
	return profile.Grouped(p.grouped(p.groupsOf(profile)).groupOf).Atomic()
}

// groupName returns the name of a group, such as m.T.{a,b}.
func groupName(members []string) string {
	prefix := members[0]
	for _, m := range members {
		for !strings.HasPrefix(m, prefix) {
			prefix = prefix[:len(prefix)-1]
		}
	}
	prefix = prefix[:strings.LastIndexByte(prefix, '.')+1]
	if strings.LastIndexByte(prefix, '.') < strings.LastIndexByte(prefix, '/') {
		prefix = ""
	}
	var names []string
	for _, m := range members {
		names = append(names, strings.TrimPrefix(m, prefix))
	}
	return prefix + "{" + strings.Join(names, ",") + "}"
}

// grouped returns a program in which accesses to the variables of a group are accesses to the group.
func (p *Program) grouped(groups []group) *Program {
	if len(groups) == 0 {
		return p
	}
	q := *p
	q.groups, q.groupBy = map[string][]string{}, map[string]string{}
	q.addressed, q.written = maps.Clone(p.addressed), maps.Clone(p.written)
	for _, g := range groups {
		q.groups[g.name] = g.members
		for _, m := range g.members {
			q.groupBy[m] = g.name
			if at, ok := p.addressed[m]; ok {
				q.escapes(g.name, at)
			}
			q.written[g.name] = q.written[g.name] || p.written[m]
		}
	}
	q.fields = map[static.Key]string{}
	for k, name := range p.fields {
		q.fields[k] = q.groupOf(name)
	}
	q.reach, q.units = map[string][]reaching{}, nil
	for _, u := range p.units {
		q.units = append(q.units, q.groupedUnit(u))
	}
	q.findDeferrers()
	return &q
}

// groupedUnit returns a function in which accesses to variables of groups are accesses to the groups.
func (p *Program) groupedUnit(u *unit) *unit {
	f := *u.flow
	f.steps = nil
	direct := map[string]bool{}
	for _, s := range u.flow.steps {
		copied := *s
		copied.accesses = slices.Clone(s.accesses)
		for i := range copied.accesses {
			a := &copied.accesses[i]
			if name := p.groupOf(a.variable); name != a.variable {
				a.variable, a.member = name, a.variable
			}
		}
		f.steps = append(f.steps, &copied)
	}
	for v, write := range u.direct {
		name := p.groupOf(v)
		direct[name] = direct[name] || write
	}
	return &unit{Function: u.Function, flow: &f, outline: u.outline, direct: direct}
}

// membersOf returns the variables of a group that each step accesses; nil if the variable is none.
func (f *flow) membersOf(variable string) (out map[int][]string) {
	for _, s := range f.steps {
		for _, a := range s.accesses {
			if a.variable == variable && a.member != "" && !a.made {
				if out == nil {
					out = map[int][]string{}
				}
				out[s.id] = append(out[s.id], a.member)
			}
		}
	}
	return out
}

// groupOf returns the name of the group of a variable; its own if it is in none.
func (p *Program) groupOf(variable string) string {
	if name, ok := p.groupBy[variable]; ok {
		return name
	}
	return variable
}

// oneStruct reports whether a variable is none, or a group of fields of one struct type.
func (p *Program) oneStruct(variable string) bool {
	owner := func(field string) string { return field[:strings.LastIndexByte(field, '.')+1] }
	members := p.groups[variable]
	return !slices.ContainsFunc(members, func(m string) bool { return owner(m) != owner(members[0]) })
}

// refusedOf returns what a plan refuses of a variable.
func (plan *Plan) refusedOf(variable string) (out []Refusal) {
	for _, r := range plan.Refused {
		if r.Variable == variable {
			out = append(out, r)
		}
	}
	return out
}

// lostBy returns why a group is not one: what the plan refuses of it, if that is more than another plan, without groups,
// refuses of its variables.
func (plan *Plan) lostBy(g group, alone *Plan) (out []Refusal) {
	refused := plan.refusedOf(g.name)
	if len(refused) == 0 {
		return nil
	}
	for _, m := range g.members {
		for _, r := range alone.refusedOf(m) {
			refused = slices.DeleteFunc(refused, func(of Refusal) bool { return of.File == r.File && of.Line == r.Line && of.Reason == r.Reason })
		}
	}
	for _, r := range refused {
		r.Apart, r.Function, r.Tests = true, "", false
		out = append(out, r)
	}
	return out
}
