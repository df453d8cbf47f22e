package report

import (
	"fmt"
	"slices"
	"strings"

	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/internal/plural"
)

// objectNames says what the objects of a finding are called without their addresses: by their expressions, with numbers where an
// expression stands for several of them, in the order of the text. An object with several expressions has the first one behind the others.
type objectNames struct {
	objects map[string][]string // of an expression
	first   map[string]string   // the expression of an object that comes first
}

func namesOf(f *Finding) objectNames {
	names := objectNames{map[string][]string{}, map[string]string{}}
	locks := slices.Clone(f.Locks)
	for i := range f.Accesses {
		_, a := roleOf(f, i)
		if !isAccess(a.Op) { // the parts of a variable have several addresses
			names.add(a.Expression(), a.Object)
		}
		locks = append(locks, a.Locks...)
	}
	for i := range f.Blocked {
		names.add(f.Blocked[i].Variable, f.Blocked[i].Object)
		locks = append(locks, f.Blocked[i].Locks...)
	}
	for _, l := range locks {
		names.add(l.Variable, l.Lock)
	}
	return names
}

func (n objectNames) add(variable, object string) {
	if variable == "" || !isAddress(object) { // a text trace has names
		return
	}
	if n.first[object] == "" {
		n.first[object] = variable
	}
	if !slices.Contains(n.objects[variable], object) {
		n.objects[variable] = append(n.objects[variable], object)
	}
}

// of returns what an object is called, from its expression, if that is known, and its name or address.
func (n objectNames) of(variable, object string) string {
	switch first := n.first[object]; {
	case variable == "":
		return object
	case !isAddress(object):
		return nameAndObject(variable, object)
	case first != "" && first != variable:
		return variable + " (" + n.of(first, object) + ")"
	case len(n.objects[variable]) > 1:
		if i := slices.Index(n.objects[variable], object); i >= 0 {
			return fmt.Sprintf("%s #%d", variable, i+1)
		}
	}
	return variable
}

// isAccess reports whether an op accesses memory.
func isAccess(op string) bool {
	switch op {
	case heisen.Read.String(), heisen.Write.String(), heisen.AtomicRead.String(), heisen.AtomicWrite.String(), heisen.AtomicUpdate.String():
		return true
	}
	return false
}

// isAddress reports whether the name of an object is only its address.
func isAddress(object string) bool { return strings.HasPrefix(object, "0x") }

// starts prints where the goroutines of the accesses were started, each with those that lead to it. The goroutine that runs a test has
// been started by package testing, which is not said.
func (t *briefText) starts() {
	f := t.f
	var texts []string               // what happened to some goroutines
	started := map[string][]string{} // the goroutines, by text
	seen := map[heisen.Thread]bool{}
	for i := range f.Accesses {
		_, a := roleOf(f, i)
		for thread, more := a.Thread, true; more && !seen[thread]; {
			seen[thread] = true
			g := goroutineOf(f, thread)
			if g == nil || g.Parent == nil {
				break
			}
			var text string
			text, thread, more = t.start(g)
			if text == "" {
				break
			}
			if started[text] == nil {
				texts = append(texts, text)
			}
			started[text] = append(started[text], g.Name)
		}
	}
	for i, text := range texts {
		if i == 0 {
			t.linef("")
		}
		if i == min(maxBriefStarts, t.frames) && len(texts) > i+1 {
			t.linef("… %s", plural.Of(len(texts)-i, "more start"))
			break
		}
		who := started[text]
		t.linef("%s %s started%s", listed(who), plural.Form(len(who), "was", "were"), text)
	}
}

// start says where a goroutine was started, and by whom. If that is in the standard library, it is the call of the library that counts,
// which may have been by an ancestor. The text is empty if only package testing or the standard library had to do with it. by is the
// goroutine that made the call.
func (t *briefText) start(g *Goroutine) (text string, by heisen.Thread, known bool) {
	through := ""
	for range len(t.f.Goroutines) + 1 { // in a report from a file, goroutines may have started each other
		by = *g.Parent
		parent := goroutineOf(t.f, by)
		name := fmt.Sprintf("goroutine %d", by)
		if parent != nil {
			name = parent.Name
		}
		if len(g.Stack) == 0 {
			return " by " + name, by, parent != nil
		}
		if at, ok := userStart(g.Stack); ok {
			return fmt.Sprintf(" at %s in %s by %s%s", t.relative(siteOf(at)), at.Func, name, through), by, parent != nil
		}
		if through == "" {
			through = ", through " + g.Stack[0].Func
		}
		if parent == nil || parent.Parent == nil {
			return "", 0, false
		}
		g = parent
	}
	return "", 0, false
}

// goroutineOf returns what is known of a goroutine's start, or nil.
func goroutineOf(f *Finding, thread heisen.Thread) *Goroutine {
	i := slices.IndexFunc(f.Goroutines, func(g Goroutine) bool { return g.Thread == thread })
	if i < 0 {
		return nil
	}
	return &f.Goroutines[i]
}

// listed names goroutines at the start of a sentence.
func listed(names []string) string {
	numbers := make([]string, len(names))
	for i, name := range names {
		number, ok := strings.CutPrefix(name, "goroutine ")
		if !ok || len(names) == 1 {
			return heading(strings.Join(names, " and "))
		}
		numbers[i] = number
	}
	last := len(numbers) - 1
	return "Goroutines " + strings.Join(numbers[:last], ", ") + " and " + numbers[last]
}
