package enforce

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"go/version"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/heisen-go/heisen/heal"
)

// LockPath is the import path of package lock and the locks of the variables in the source that is written.
const LockPath = "heisen.invalid/lock"

// Names in that source.
const (
	lockName  = "heisenlock" // by which it is imported
	heldName  = "heisenHeld"
	outerName = "heisenOuter"
	suffix    = "_heisenHeld" // of functions that are told what their callers hold
)

// edit replaces a part of a file.
type edit struct {
	first, last int // offsets
	text        string
	order       int // of several edits at one place
}

// writer writes the operations of a plan into the source.
type writer struct {
	plan   *Plan
	p      *Program
	texts  map[string][]byte
	edits  map[string][]edit
	append map[string]string // at the end of a file
	fail   error

	counting bool // operations are counted
}

// Files returns the changed files of the program, by their absolute names. Lines keep their numbers.
func (plan *Plan) Files() (map[string][]byte, error) { return plan.files(false) }

func (plan *Plan) files(counting bool) (map[string][]byte, error) {
	w := &writer{plan: plan, p: plan.p, texts: map[string][]byte{}, edits: map[string][]edit{}, append: map[string]string{}, counting: counting}
	for i := range plan.p.units {
		w.unit(i)
	}
	if w.fail != nil {
		return nil, w.fail
	}
	return w.apply()
}

func (w *writer) text(name string) []byte {
	text, ok := w.texts[name]
	if !ok {
		var err error
		if text, err = os.ReadFile(name); err != nil {
			w.fail = err
		}
		w.texts[name] = text
	}
	return text
}

// replace adds an edit.
func (w *writer) replace(first, last token.Pos, text string) {
	a, b := w.p.src.Fset.PositionFor(first, false), w.p.src.Fset.PositionFor(last, false)
	w.text(a.Filename)
	w.edits[a.Filename] = append(w.edits[a.Filename], edit{a.Offset, b.Offset, text, len(w.edits[a.Filename])})
}

func (w *writer) insert(at token.Pos, text string) { w.replace(at, at, text) }

// source returns the source of a node.
func (w *writer) source(n ast.Node) string {
	a, b := w.p.src.Fset.PositionFor(n.Pos(), false), w.p.src.Fset.PositionFor(n.End(), false)
	return string(w.text(a.Filename)[a.Offset:b.Offset])
}

// apply makes the edits.
func (w *writer) apply() (map[string][]byte, error) {
	out := map[string][]byte{}
	for name, edits := range w.edits {
		f := w.p.src.File(name)
		at := w.p.src.Fset.PositionFor(f.Syntax.Name.End(), false)
		edits = append(edits, edit{at.Offset, at.Offset, fmt.Sprintf("; import %s %q", lockName, LockPath), 0})
		slices.SortStableFunc(edits, func(a, b edit) int {
			return cmp.Or(cmp.Compare(a.first, b.first), cmp.Compare(a.last, b.last), cmp.Compare(a.order, b.order))
		})
		var text []byte
		old, last := w.text(name), 0
		for _, e := range edits {
			if e.first < last {
				return nil, fmt.Errorf("%s: changes overlap", name)
			}
			text = append(append(text, old[last:e.first]...), e.text...)
			last = e.last
		}
		text = append(text, old[last:]...)
		if more := w.append[name]; more != "" {
			if len(text) > 0 && text[len(text)-1] != '\n' {
				text = append(text, '\n')
			}
			text = append(text, more...)
		}
		out[name] = text
	}
	return out, w.fail
}

// lockOf returns the expression for the lock of a variable, or for the table of those of its objects.
func (w *writer) lockOf(name string) string {
	return fmt.Sprintf("&%s.V%d", lockName, slices.Index(w.plan.names, name))
}

// unit writes the operations of a function.
func (w *writer) unit(i int) {
	u := w.p.units[i]
	names := w.names(i)
	threaded := w.plan.threaded(i)
	last := "" // what is passed on
	if threaded {
		last = outerName
	}
	var declared strings.Builder
	for n := range names {
		held := fmt.Sprintf("%s%d", heldName, n)
		switch {
		case n > 0:
			fmt.Fprintf(&declared, " %s := %s%d.Inner();", held, heldName, n-1)
		case threaded:
			fmt.Fprintf(&declared, " %s := %s.Inner();", held, outerName)
		default:
			fmt.Fprintf(&declared, " var %s %s.Held;", held, lockName)
		}
		fmt.Fprintf(&declared, " defer %s.Release();", held)
		last = "&" + held
	}
	if declared.Len() > 0 {
		w.insert(u.Body.Lbrace+1, declared.String())
	}
	w.deferredOperations(i, names, last)
	resume := w.resumes(u)
	for _, s := range u.flow.steps {
		w.step(i, s, names, last, resume[s.id])
	}
	if threaded {
		w.parameter(u)
	}
}

// names returns the variables for which a function has a Held, in the order of these.
func (w *writer) names(i int) (names []string) {
	for name, pl := range w.plan.result.Placements[i] {
		if len(pl.Acquisitions) > 0 {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// resumes returns the steps before which what has been paused is resumed.
func (w *writer) resumes(u *unit) map[int]bool {
	out := map[int]bool{}
	for _, e := range u.flow.edges {
		if w.pauses(u, u.flow.steps[e[0]]) {
			out[e[1]] = true
		}
	}
	return out
}

// pauses reports whether held locks are paused before a step.
func (w *writer) pauses(u *unit, s *step) bool {
	if s.before.kind == deferred || len(w.plan.all(u.Number, s.id)) == 0 {
		return false
	}
	if w.plan.waitsIn(s) {
		return true
	}
	return w.plan.stallsAt(s) && w.lockCall(u, s) == ""
}

// lockCall returns the operand of LockOther or RLockOther for a step that is a call of Lock or RLock; empty if it is
// something else.
func (w *writer) lockCall(u *unit, s *step) string {
	if len(s.parts) != 1 || len(s.calls) > 0 {
		return ""
	}
	e, ok := s.parts[0].(*ast.ExprStmt)
	if !ok || ast.Unparen(e.X) != s.lock.Expr {
		return ""
	}
	sel := ast.Unparen(s.lock.Expr.Fun).(*ast.SelectorExpr)
	t := u.Info().TypeOf(sel.X)
	ptr, pointer := t.Underlying().(*types.Pointer)
	if pointer {
		t = ptr.Elem()
	}
	for _, method := range []string{"Lock", "TryLock", "RLock", "TryRLock"} {
		obj, _, _ := types.LookupFieldOrMethod(types.NewPointer(t), true, u.Package.Types, method)
		if fn, ok := obj.(*types.Func); ok && (fn.Pkg() == nil || fn.Pkg().Path() != "sync") || obj == nil && !strings.Contains(method, "R") {
			return ""
		}
	}
	if pointer {
		return w.source(sel.X)
	}
	return "&" + w.source(sel.X)
}

// step writes the operations before a step, and those that replace it.
func (w *writer) step(i int, s *step, names []string, last string, resume bool) {
	u := w.p.units[i]
	var ops []string
	if resume && last != "" {
		ops = append(ops, strings.TrimPrefix(last, "&")+".Resume()")
	}
	released, acquired := w.operations(i, s, names)
	ops = append(ops, released...)
	if last != "" && w.plan.yields(i, s) {
		ops = append(ops, strings.TrimPrefix(last, "&")+".Yield()")
	}
	ops = append(ops, acquired...)
	operands := w.operands(u, s)
	if w.pauses(u, s) && last != "" && len(operands) == 0 {
		ops = append(ops, strings.TrimPrefix(last, "&")+".Pause()")
	}
	if w.counting && s.lock != nil && !s.lock.Releases() && w.countable(u, s) {
		ops = append(ops, w.counted(0))
	}
	if len(ops) > 0 && s.deferred == nil {
		w.at(s.before, strings.Join(ops, "; "))
	}
	if len(w.plan.all(i, s.id)) == 0 || last == "" {
		return
	}
	for n, e := range operands {
		if n < len(operands)-1 {
			w.insert(e.Pos(), lockName+".Value(")
			w.insert(e.End(), ")")
		} else {
			w.insert(e.Pos(), lockName+".Pausing("+last+", ")
			w.insert(e.End(), ")")
		}
	}
	if w.plan.stallsAt(s) && s.before.kind != deferred {
		if operand := w.lockCall(u, s); operand != "" && !w.plan.waitsIn(s) {
			method := "LockOther"
			if s.lock.Shared() {
				method = "RLockOther"
			}
			w.replace(s.lock.Expr.Pos(), s.lock.Expr.End(), fmt.Sprintf("%s.%s(%s)", strings.TrimPrefix(last, "&"), method, operand))
		}
	}
	for _, c := range s.calls {
		if c.Callee != nil && w.plan.threaded(c.Callee.Number) {
			w.pass(u, c, last)
		}
	}
}

// operands returns the operands after whose evaluation held locks are paused, instead of before the step.
func (w *writer) operands(u *unit, s *step) []ast.Expr {
	if !w.pauses(u, s) || !slices.ContainsFunc(w.plan.names, func(name string) bool { return w.plan.uses(u.Number, name, s.id) }) {
		return nil
	}
	all, _ := w.plan.operands(u, s)
	return all
}

// heldOf returns the name of the Held of a variable, of those of a function.
func heldOf(names []string, name string) string {
	return fmt.Sprintf("%s%d", heldName, slices.Index(names, name))
}

// operations returns the operations on inserted locks before a step: first those that release, then those that acquire.
func (w *writer) operations(i int, s *step, names []string) (releases, acquires []string) {
	type acquisition struct {
		name string
		heal.Acquisition
	}
	var acquired []acquisition
	for _, name := range names {
		pl := w.plan.result.Placements[i][name]
		var released []string
		for _, r := range pl.Releases {
			if r.To != s.id {
				continue
			}
			op := ""
			switch {
			case r.Hold >= 0:
				op = fmt.Sprintf("%s.Unhold(%d)", heldOf(names, name), r.Hold)
			case r.Access != r.From && w.plan.ends[endKey{i, name, r.From}]:
				op = fmt.Sprintf("%s.Degrade(%d, %s)", heldOf(names, name), r.From, w.mode(heal.Free))
			default:
				op = fmt.Sprintf("%s.Degrade(%d, %s)", heldOf(names, name), r.Access, w.mode(r.Left))
			}
			if !slices.Contains(released, op) {
				released = append(released, op)
			}
		}
		slices.Sort(released)
		releases = append(releases, released...)
		for _, a := range pl.Acquisitions {
			if a.Node == s.id {
				acquired = append(acquired, acquisition{name, a})
			}
		}
		if w.plan.ends[endKey{i, name, s.id}] {
			acquired = append(acquired, acquisition{name, heal.Acquisition{Node: s.id, Mode: heal.Shared, Hold: -1}})
		}
	}
	slices.SortFunc(acquired, func(a, b acquisition) int {
		return cmp.Or(cmp.Compare(b.Rank, a.Rank), cmp.Compare(a.name, b.name), cmp.Compare(b.Hold, a.Hold))
	})
	for _, a := range acquired {
		if w.counting {
			acquires = append(acquires, w.counted(int(a.Mode)))
		}
		if a.Hold >= 0 {
			acquires = append(acquires, fmt.Sprintf("%s.Hold(%s, %s, %d)", heldOf(names, a.name), w.lockOf(a.name), w.mode(a.Mode), a.Hold))
		} else {
			acquires = append(acquires, fmt.Sprintf("%s.Acquire(%s, %s, %d)", heldOf(names, a.name), w.lockAt(a.name, s), w.mode(a.Mode), a.Node))
		}
	}
	return releases, acquires
}

func (w *writer) mode(m heal.Mode) string {
	name := m.String()
	return lockName + "." + strings.ToUpper(name[:1]) + name[1:]
}

// at writes operations at a spot.
func (w *writer) at(at spot, ops string) {
	switch at.kind {
	case statement:
		w.insert(at.pos, ops+"; ")
	case start:
		w.insert(at.pos, " "+ops+";")
	case ending:
		w.insert(at.pos, "; "+ops+" ")
	case condition:
		w.insert(at.pos, "func() bool { "+ops+"; return true }() && (")
		w.insert(at.end, ")")
	case elseIf:
		w.insert(at.pos, "{ "+ops+"; ")
		w.insert(at.end, " }")
	case jumps:
		for _, jump := range at.jumps {
			w.at(jump, ops)
		}
	}
}

// pass passes on what is held to a function that is called.
func (w *writer) pass(u *unit, c *call, last string) {
	if _, literal := ast.Unparen(c.Expr.Fun).(*ast.FuncLit); !literal {
		fun := ast.Unparen(c.Expr.Fun)
		switch e := fun.(type) {
		case *ast.IndexExpr:
			fun = e.X
		case *ast.IndexListExpr:
			fun = e.X
		}
		if sel, ok := fun.(*ast.SelectorExpr); ok {
			fun = sel.Sel
		}
		w.insert(fun.End(), suffix)
	}
	text := last
	if len(c.Expr.Args) > 0 {
		text += ", "
	}
	w.insert(c.Expr.Lparen+1, text)
}

// parameter gives a function the parameter that tells what its callers hold, and writes a function with its name that
// calls it, for other callers.
func (w *writer) parameter(u *unit) {
	text := fmt.Sprintf("%s *%s.Held", outerName, lockName)
	params := u.Type.Params
	if len(params.List) > 0 {
		text += ", "
	}
	w.insert(params.Opening+1, text)
	for _, field := range params.List {
		if len(field.Names) == 0 { // parameters have names or have none
			w.insert(field.Pos(), "_ ")
		}
	}
	if u.Node == u.Decl {
		w.insert(u.Decl.Name.End(), suffix)
		w.append[u.Path] += w.wrapper(u)
	}
}

// wrapper returns the function that keeps the name of u and calls it.
func (w *writer) wrapper(u *unit) string {
	d := u.Decl
	var b strings.Builder
	b.WriteString("\nfunc ")
	callee := d.Name.Name + suffix
	if d.Recv != nil {
		fmt.Fprintf(&b, "(heisenReceiver %s) ", w.source(d.Recv.List[0].Type))
		callee = "heisenReceiver." + callee
	}
	b.WriteString(d.Name.Name)
	if d.Type.TypeParams != nil {
		var names []string
		for _, f := range d.Type.TypeParams.List {
			for _, n := range f.Names {
				names = append(names, n.Name)
			}
		}
		b.WriteString(w.source(d.Type.TypeParams))
		callee += "[" + strings.Join(names, ", ") + "]"
	}
	args := []string{"nil"}
	b.WriteString("(")
	n := 0
	for _, f := range d.Type.Params.List {
		typ := w.source(f.Type)
		for range max(len(f.Names), 1) {
			if n > 0 {
				b.WriteString(", ")
			}
			fmt.Fprintf(&b, "heisen%d %s", n, typ)
			arg := fmt.Sprintf("heisen%d", n)
			if strings.HasPrefix(typ, "...") {
				arg += "..."
			}
			args = append(args, arg)
			n++
		}
	}
	b.WriteString(") ")
	results := d.Type.Results
	if results != nil {
		b.WriteString(w.source(results) + " ")
	}
	b.WriteString("{ ")
	if results != nil && len(results.List) > 0 {
		b.WriteString("return ")
	}
	fmt.Fprintf(&b, "%s(%s) }\n", callee, strings.Join(args, ", "))
	return b.String()
}

// Write writes changed copies of files, the locks, and a file overlay.json for the -overlay flag of the go command to a
// folder, which it makes. It returns the path of overlay.json.
func (plan *Plan) Write(dir string) (string, error) { return plan.write(dir, false) }

func (plan *Plan) write(dir string, counting bool) (string, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return "", err
	}
	files, err := plan.files(counting)
	if err != nil {
		return "", err
	}
	locks, err := heal.LockSource()
	if err != nil {
		return "", err
	}
	folder := filepath.Join(dir, "lock")
	replaced := map[string]string{}
	written := map[string][]byte{
		filepath.Join(folder, "go.mod"):       []byte("module " + LockPath + "\n\ngo " + plan.p.version + "\n"),
		filepath.Join(folder, "variables.go"): plan.variables(),
	}
	if counting {
		locks["counts.go"] = []byte(countSource)
	}
	for name, text := range locks {
		if version.Compare("go"+plan.p.version, "go1.22") < 0 { // the module may not require more than the main module
			if name == "counts.go" {
				text = bytes.Replace(text, []byte("//go:build unix"), []byte("//go:build unix && go1.22"), 1)
			} else {
				text = append([]byte("//go:build go1.22\n\n"), text...)
			}
		}
		written[filepath.Join(folder, name)] = text
	}
	module, err := os.ReadFile(filepath.Join(plan.p.root, "go.mod"))
	if err != nil {
		return "", err
	}
	if _, err := os.Stat(filepath.Join(plan.p.root, "vendor", "modules.txt")); err == nil {
		return "", fmt.Errorf("%s has a vendor folder, which an overlay cannot change", plan.p.root)
	}
	module = fmt.Appendf(module, "\nrequire %s v0.0.0\nreplace %[1]s => %[2]q\n", LockPath, folder)
	files[filepath.Join(plan.p.root, "go.mod")] = module
	for name, text := range files {
		copied := filepath.Join(dir, "source", strings.ReplaceAll(plan.p.relative(name), "/", "_"))
		written[copied] = text
		replaced[name] = copied
	}
	overlay, err := json.MarshalIndent(map[string]map[string]string{"Replace": replaced}, "", "\t")
	if err != nil {
		return "", err
	}
	name := filepath.Join(dir, "overlay.json")
	written[name] = append(overlay, '\n')
	for _, name := range slices.Sorted(maps.Keys(written)) {
		if err := os.MkdirAll(filepath.Dir(name), 0o777); err != nil {
			return "", err
		}
		if err := os.WriteFile(name, written[name], 0o666); err != nil {
			return "", err
		}
	}
	return name, nil
}

// variables returns a file with the locks of the variables.
func (plan *Plan) variables() []byte {
	var b strings.Builder
	b.WriteString("package lock\n\n// The locks of variables.\nvar (\n")
	for i, name := range plan.names {
		typ := "Lock"
		if plan.objects[name] {
			typ = "Table"
		}
		fmt.Fprintf(&b, "\tV%d %s // %s\n", i, typ, name)
	}
	b.WriteString(")\n")
	b.WriteString(operandFunctions)
	return []byte(b.String())
}

const operandFunctions = `
// Value returns v. Its argument is evaluated in the order of calls.
func Value[T any](v T) T { return v }

// Pausing returns v. What h holds is paused once v has been evaluated.
func Pausing[T any](h *Held, v T) T {
	h.Pause()
	return v
}
`
