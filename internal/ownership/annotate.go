package ownership

import (
	"bytes"
	"cmp"
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/heisen-go/heisen/focus"
	"github.com/heisen-go/heisen/internal/reformat"
	"github.com/heisen-go/heisen/internal/ssaload"
	"github.com/heisen-go/heisen/internal/textdiff"
)

// WriteAnnotations writes a patch that adds annotations to the source: to fields and package-level variables
// which lock guards them, or that they are atomic, and to functions which locks their callers hold for that. The
// format is that of git apply, with names relative to Root. What is annotated already stays as it is. Skipped says
// what would have to be annotated but cannot be, with the reason.
func (r *Result) WriteAnnotations(w io.Writer) (skipped []Reason, err error) {
	n := &annotator{a: r.analysis, notes: map[string]map[int]note{}, needs: map[*function]map[string]bool{}, known: map[string]bool{}}
	generated := map[string]bool{}
	for _, in := range r.analysis.packages {
		declarations(in.pkg, n.variable)
		for _, file := range in.pkg.Syntax {
			if ast.IsGenerated(file) {
				generated[n.a.position(file.Package).File] = true
			}
		}
	}
	n.functions()
	for _, name := range slices.Sorted(maps.Keys(n.notes)) {
		if generated[name] {
			n.skipped = append(n.skipped, Reason{Position{name, 1}, "nothing has an annotation in this file, because it is generated"})
			continue
		}
		before, err := os.ReadFile(name)
		if err != nil {
			return nil, fmt.Errorf("annotate: %w", err)
		}
		relative, err := filepath.Rel(r.Root, name)
		if err != nil {
			return nil, fmt.Errorf("annotate: %w", err)
		}
		after := n.insert(name, before)
		if bytes.Equal(before, after) {
			continue
		}
		if err := textdiff.Write(w, filepath.ToSlash(relative), before, after); err != nil {
			return nil, fmt.Errorf("annotate: %w", err)
		}
	}
	slices.SortFunc(n.skipped, func(x, y Reason) int {
		return cmp.Or(strings.Compare(x.File, y.File), x.Line-y.Line, strings.Compare(x.Text, y.Text))
	})
	return slices.Compact(n.skipped), nil
}

// note is what belongs before a line.
type note struct {
	lines  []string
	before string // what is annotated
	column int    // where its declaration begins
}

// annotator finds the annotations that a program lacks.
type annotator struct {
	a       *analysis
	notes   map[string]map[int]note       // by file and line
	needs   map[*function]map[string]bool // the locks that callers hold, and whether exclusively
	known   map[string]bool               // function and goal
	skipped []Reason
}

func (n *annotator) skip(pos token.Pos, format string, args ...any) {
	n.skipped = append(n.skipped, Reason{n.a.position(pos), fmt.Sprintf(format, args...)})
}

// variable annotates a variable that is guarded or atomic.
func (n *annotator) variable(d declared) {
	note := n.noteOf(d)
	if note == "" {
		return
	}
	if some, _ := d.annotated(); some {
		return
	}
	if d.together {
		n.skip(d.at, "%s has no annotation, because it is declared together with others, or behind fields that are: checklocks takes those for one field", d.name.Name)
		return
	}
	n.add(d.at, d.doc, d.name.Name, note)
}

// noteOf returns the annotation of a variable, which may have it already; empty if it has none. It follows which
// functions must be annotated then.
func (n *annotator) noteOf(d declared) string {
	m := memory{Variable: d.name}
	v, verdict := n.a.variables[m], n.a.verdicts[m]
	if v == nil || verdict == nil || !verdict.safe {
		return ""
	}
	switch verdict.owner.Kind {
	case focus.Self:
		if basic, ok := types.Unalias(v.typ).Underlying().(*types.Basic); ok && basic.Info()&types.IsInteger != 0 {
			return atomicsLine
		}
	case focus.Guarded:
		lock, ok := lockFrom(n.a.structs, d, verdict.owner.Guard)
		if !ok {
			n.skip(d.at, "%s has no annotation, because none can name its lock %v here", d.name.Name, verdict.owner.Guard)
			return ""
		}
		for _, c := range n.a.candidates(v, v.accesses) {
			if guard := verdict.owner.Guard; c.guard.SameObject == guard.SameObject && c.guard.Path == guard.Path && c.guard.Variable == guard.Variable {
				n.accesses(v, c)
				break
			}
		}
		return locksPrefix + lock
	}
	return ""
}

// lockFrom returns the name of a lock where a variable is declared. Named has the struct types with names.
func lockFrom(named map[focus.Variable]*types.Named, d declared, guard focus.Guard) (name string, ok bool) {
	if guard.SameObject {
		return strings.CutPrefix(guard.Path, d.within)
	}
	name = guard.Variable.Name
	if guard.Variable.Type != "" {
		if named[focus.Variable{Package: guard.Variable.Package, Type: guard.Variable.Type}] != nil {
			return "", false // of another object
		}
		name = guard.Variable.Type + "." + name
	}
	return name, guard.Variable.Package == d.name.Package
}

// accesses finds the functions that access a guarded variable without having acquired its lock.
func (n *annotator) accesses(v *variable, c candidate) {
	p := n.a.proofs
	for _, x := range v.accesses {
		if x.f.dead() || x.harmless() || x.atomic || x.fresh || p.fresh(x) {
			continue
		}
		at := place{root: c.root, steps: c.steps}
		if c.root == "" {
			at = x.place.with(c.steps, nil)
		}
		if g := (goal{at: at, class: c.class, exclusively: x.write}); !p.heldIn(x.locks, g) {
			n.need(x.f, g)
		}
	}
}

// need notes that the callers of a function hold a lock, and finds those that do so because their own callers do.
func (n *annotator) need(f *function, g goal) {
	key := fmt.Sprint(f.id, " ", g.at.key(), " ", g.exclusively)
	if n.known[key] {
		return
	}
	n.known[key] = true
	if decl, ok := f.fn.Syntax().(*ast.FuncDecl); ok {
		if name, ok := n.lockIn(f, g.at); ok {
			if n.needs[f] == nil {
				n.needs[f] = map[string]bool{}
			}
			n.needs[f][name] = n.needs[f][name] || g.exclusively
		} else {
			n.skip(decl.Pos(), "%s has no annotation, because none can name the lock that its callers hold", f.fn.Name())
		}
	}
	for _, c := range f.callers {
		at, ok := c.caller.instantiate(c.ins.Common(), g.at)
		if !ok {
			continue // the caller has made the object
		}
		there := goal{at: at, class: g.class, exclusively: g.exclusively}
		if !n.a.proofs.heldIn(c.locks, there) && !n.made(c, g.at) {
			n.need(c.caller, there)
		}
	}
}

// made reports whether a caller has made the object that a place in the called function begins at.
func (n *annotator) made(c *call, at place) bool {
	var number int
	if _, err := fmt.Sscanf(at.root, "p%d", &number); err != nil {
		return false
	}
	args := ssaload.Arguments(c.ins.Common())
	return c.caller.initializes || number < len(args) && c.caller.in.publish.unpublished(args[number], c.ins)
}

// lockIn returns the expression for a lock in the annotation of a function.
func (n *annotator) lockIn(f *function, at place) (name string, ok bool) {
	if global, isGlobal := strings.CutPrefix(at.root, "g:"); isGlobal {
		name, ok = strings.CutPrefix(global, f.in.pkg.PkgPath+".")
	} else {
		var number int
		if _, err := fmt.Sscanf(at.root, "p%d", &number); err != nil || number >= len(f.fn.Params) {
			return "", false
		}
		name = f.fn.Params[number].Name()
		ok = name != "" && name != "_"
	}
	name += strings.ReplaceAll(at.steps, "^", "")
	return name, ok && !strings.ContainsAny(name, "[{")
}

// functions annotates the functions whose callers hold locks.
func (n *annotator) functions() {
	for f, locks := range n.needs {
		decl := f.fn.Syntax().(*ast.FuncDecl)
		has := map[string]bool{}
		if decl.Doc != nil {
			for _, c := range decl.Doc.List {
				has[strings.TrimSpace(c.Text)] = true
			}
		}
		for _, lock := range slices.Sorted(maps.Keys(locks)) {
			note := readsPrefix + lock
			if locks[lock] {
				note = locksPrefix + lock
			}
			if !has[note] && !has[locksPrefix+lock] {
				n.add(decl.Pos(), decl.Doc, decl.Name.Name, note)
			}
		}
	}
}

// add adds an annotation before a declaration.
func (n *annotator) add(pos token.Pos, doc *ast.CommentGroup, name, text string) {
	at := n.a.fset.Position(pos)
	if n.notes[at.Filename] == nil {
		n.notes[at.Filename] = map[int]note{}
	}
	of := n.notes[at.Filename][at.Line]
	of.before, of.column = name, at.Column
	if len(of.lines) == 0 && doc != nil && !strings.HasPrefix(doc.List[len(doc.List)-1].Text, anyOfThem) {
		of.lines = append(of.lines, commentStart) // apart from the text
	}
	if !slices.Contains(of.lines, text) {
		of.lines = append(of.lines, text)
	}
	n.notes[at.Filename][at.Line] = of
}

// insert returns a file with lines before others, indented as those.
func (n *annotator) insert(name string, before []byte) []byte {
	var out bytes.Buffer
	for i, line := range bytes.SplitAfter(before, []byte("\n")) {
		indentation := line[:len(line)-len(bytes.TrimLeft(line, " \t"))]
		of := n.notes[name][i+1]
		if len(of.lines) > 0 && len(indentation) != of.column-1 {
			n.skipped = append(n.skipped, Reason{Position{name, i + 1}, of.before + " has no annotation, because its declaration does not begin a line"})
			of.lines = nil
		}
		for _, text := range of.lines {
			out.Write(indentation)
			out.WriteString(text + "\n")
		}
		out.Write(line)
	}
	return reformat.Like(before, out.Bytes())
}
