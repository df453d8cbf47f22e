package report

import (
	"slices"

	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/internal/source"
)

// variables chooses the expressions of the accesses and steps of one finding. Those with the same
// object are chosen together, so that they agree and that one tells which of several expressions
// another one is.
type variables struct {
	objects map[heisen.Object]*variable
	shared  map[heisen.Object]*variable // the one of all accesses, by their objects
}

// variable is an object, or several that are parts of one variable.
type variable struct {
	uses     []use
	excerpts []*source.Excerpt // by use
	choices  []source.Choice   // by use; nil until one is wanted
}

// use is what decides which expressions an access or step may be to.
type use struct {
	site    heisen.Site
	context heisen.Context // 0 for steps
	op      heisen.Op
	size    uint64
}

// maxUses bounds the uses of a variable that are compared with each other.
const maxUses = 64

// variablesOf returns the variables of f, still without uses. Its accesses are to one variable,
// although perhaps to different parts of it; in a deadlock they are to different locks, and goroutines that wait for ever wait for
// different things.
func variablesOf(f *heisen.Finding) variables {
	v := variables{map[heisen.Object]*variable{}, map[heisen.Object]*variable{}}
	if f.Kind != heisen.Deadlock && f.Kind != heisen.Leak {
		accessed := &variable{}
		for _, a := range f.Accesses {
			v.shared[a.Object] = accessed
		}
	}
	return v
}

func (v variables) of(o heisen.Object) *variable {
	if x := v.shared[o]; x != nil {
		return x
	}
	if v.objects[o] == nil {
		v.objects[o] = &variable{}
	}
	return v.objects[o]
}

// add adds a use of an object. All uses must be added before the first choice.
func (v variables) add(o heisen.Object, u use, e *source.Excerpt) {
	x := v.of(o)
	if !slices.Contains(x.uses, u) && len(x.uses) < maxUses {
		x.uses, x.excerpts = append(x.uses, u), append(x.excerpts, e)
	}
}

// choice returns the choice for a use, or nothing if there are too many uses.
func (v variables) choice(o heisen.Object, u use) source.Choice {
	x := v.of(o)
	i := slices.Index(x.uses, u)
	if i < 0 {
		return source.Choice{}
	}
	if x.choices == nil {
		x.choices = source.Choose(x.excerpts)
	}
	if v.isContested(x, i) {
		return source.Choose(x.excerpts[i : i+1])[0]
	}
	return x.choices[i]
}

// isContested reports whether the line of a use of a lock has several expressions, and another lock has there the one that was chosen
// for this. Then it is not known which lock it denotes.
func (v variables) isContested(x *variable, i int) bool {
	name := x.choices[i].Variable
	if name == "" || !x.uses[i].op.IsLock() || x.excerpts[i].Variable() != "" {
		return false
	}
	for _, y := range v.objects {
		if y == x {
			continue
		}
		for k := range y.uses {
			if y.uses[k].op.IsLock() && y.excerpts[k].SameLine(x.excerpts[i]) && source.Choose(y.excerpts)[k].Variable == name {
				return true
			}
		}
	}
	return false
}

func useOf(a *heisen.Access) use { return use{a.Site, a.Context, a.Op, a.Size} }

func useOfStep(r *heisen.Record) use { return use{r.Site, 0, r.Op, r.Size()} }
