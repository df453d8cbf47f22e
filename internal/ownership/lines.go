package ownership

import (
	"go/ast"
	"go/token"

	"golang.org/x/tools/go/ssa"

	"github.com/heisen-go/heisen/focus"
)

// The compiler gives an access the line of some operator of the statement that it is in, and go/ssa tells the position
// of another one. So an access here is on all lines of its statement: a safe one makes them candidates, and one that
// is not safe, or not known, excludes them.

// unit is the lines of a statement, or of the part of it in front of its body.
type unit struct {
	from, to token.Pos
	more     [][2]token.Pos // further places where the compiler may put its accesses
}

// units finds the statement of a position in a file.
type units struct {
	list []unit
}

func newUnits(file *ast.File) *units {
	u := &units{}
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncDecl:
			if n.Body != nil {
				u.add(n.Pos(), n.Body.Lbrace, [2]token.Pos{n.Body.Rbrace, n.Body.Rbrace})
			}
		case *ast.FuncLit:
			u.add(n.Pos(), n.Body.Lbrace, [2]token.Pos{n.Body.Rbrace, n.Body.Rbrace})
		case *ast.IfStmt:
			u.add(n.Pos(), n.Body.Lbrace)
		case *ast.ForStmt:
			u.add(n.Pos(), n.Body.Lbrace)
		case *ast.RangeStmt:
			u.add(n.Pos(), n.Body.Lbrace)
		case *ast.SwitchStmt:
			u.clauses(n.Pos(), n.Body)
		case *ast.TypeSwitchStmt:
			u.clauses(n.Pos(), n.Body)
		case *ast.SelectStmt:
			u.clauses(n.Pos(), n.Body)
		case *ast.BlockStmt, *ast.LabeledStmt, *ast.CaseClause, *ast.CommClause:
		case ast.Stmt:
			u.add(n.Pos(), n.End())
		case *ast.ValueSpec:
			u.add(n.Pos(), n.End())
		}
		return true
	})
	return u
}

func (u *units) add(from, to token.Pos, more ...[2]token.Pos) {
	u.list = append(u.list, unit{from, to, more})
}

// clauses adds a switch or select statement, whose cases may be on the line of the switch.
func (u *units) clauses(from token.Pos, body *ast.BlockStmt) {
	header := [2]token.Pos{from, body.Lbrace}
	all := [][2]token.Pos{}
	for _, clause := range body.List {
		switch clause := clause.(type) {
		case *ast.CaseClause:
			all = append(all, [2]token.Pos{clause.Case, clause.Colon})
		case *ast.CommClause:
			all = append(all, [2]token.Pos{clause.Case, clause.Colon})
		}
	}
	u.add(from, body.Lbrace, all...)
	for _, clause := range all {
		u.add(clause[0], clause[1], header)
	}
}

// of returns the innermost statement that has a position.
func (u *units) of(pos token.Pos) *unit {
	var found *unit
	for i := range u.list {
		at := &u.list[i]
		if at.from <= pos && pos <= at.to && (found == nil || at.to-at.from <= found.to-found.from) {
			found = at
		}
	}
	return found
}

// lineSets has, for a file, the lines with safe accesses and those with others.
type lineSets struct {
	candidates map[int]bool
	excluded   map[int]bool
}

func (s *lineSets) lines() focus.Lines {
	var list []int
	for line := range s.candidates {
		if !s.excluded[line] {
			list = append(list, line)
		}
	}
	return focus.LinesOf(list)
}

// lining collects the lines of a package.
type lining struct {
	a             *analysis
	units         map[*token.File]*units
	reads, writes map[string]*lineSets
	spoiled       map[string]bool    // files with positions that are not known
	typed         map[*function]bool // functions with accesses; true if all of them are safe

	remarks map[Line][]string // why lines are excluded, if somebody wants to know
}

// lines returns, for each file, the lines on which all reads, and all writes, are of safe memory, and which functions are
// typed: those all of whose accesses are safe.
func (a *analysis) lines() (reads, writes map[string]focus.Lines, functions map[focus.Function]focus.Properties) {
	l := a.line(false)
	functions = map[focus.Function]focus.Properties{}
	for _, f := range a.functions {
		if f.name == "" || l.spoiled[a.fset.PositionFor(f.fn.Pos(), false).Filename] {
			continue
		}
		typed, accesses := l.typed[f]
		if old, twice := functions[f.name]; twice && !old.Typed {
			typed, accesses = false, true
		}
		functions[f.name] = focus.Properties{Typed: typed || !accesses}
	}
	return l.result(l.reads), l.result(l.writes), functions
}

// line collects the lines of all packages, with remarks if they are wanted.
func (a *analysis) line(remarks bool) *lining {
	l := &lining{a: a, units: map[*token.File]*units{}, reads: map[string]*lineSets{}, writes: map[string]*lineSets{}, spoiled: map[string]bool{}, typed: map[*function]bool{}}
	for _, in := range a.packages {
		for _, file := range in.pkg.Syntax {
			l.units[a.fset.File(file.Package)] = newUnits(file)
			actual := a.fset.PositionFor(file.Package, false).Filename
			for _, group := range file.Comments {
				for _, c := range group.List {
					if len(c.Text) > 7 && (c.Text[:7] == "//line " || c.Text[:7] == "/*line ") {
						l.spoiled[actual] = true
					}
				}
			}
		}
	}
	for _, f := range a.functions {
		for _, x := range f.accesses {
			v := a.verdictOf(x.memory)
			safe := (v != nil && v.safe || x.harmless()) && !x.atomic
			l.mark(f, x.ins, x.write, safe)
			if remarks && !safe {
				l.remark(f, x.ins, x.write, remarkOn(x, v))
			}
		}
	}
	for _, o := range a.orphans {
		if _, deferred := o.ins.(*ssa.Defer); o.f.alone[o.ins] && !deferred {
			continue
		}
		if o.read {
			l.mark(o.f, o.ins, false, false)
		}
		if o.write {
			l.mark(o.f, o.ins, true, false)
		}
		if remarks {
			for _, write := range []bool{false, true} {
				if write && o.write || !write && o.read {
					l.remark(o.f, o.ins, write, "memory that has no name")
				}
			}
		}
	}
	return l
}

func (l *lining) result(sets map[string]*lineSets) map[string]focus.Lines {
	out := map[string]focus.Lines{}
	for file, s := range sets {
		if lines := s.lines(); len(lines) > 0 && !l.spoiled[file] {
			out[file] = lines
		}
	}
	return out
}

// mark adds the lines of an instruction.
func (l *lining) mark(f *function, ins ssa.Instruction, write, safe bool) {
	typed, known := l.typed[f]
	l.typed[f] = safe && (typed || !known)
	positions := l.positions(f, ins)
	if safe && len(positions) != 1 {
		return
	}
	for _, pos := range positions {
		file := l.a.fset.File(pos)
		if file == nil || l.units[file] == nil {
			continue
		}
		at := l.units[file].of(pos)
		if at == nil {
			l.spoiled[file.Name()] = true
			continue
		}
		if safe {
			l.add(file, pos, pos, write, true)
		} else {
			l.add(file, at.from, at.to, write, false)
			for _, more := range at.more {
				l.add(file, more[0], more[1], write, false)
			}
		}
	}
}

func (l *lining) add(file *token.File, from, to token.Pos, write, safe bool) {
	sets := l.reads
	if write {
		sets = l.writes
	}
	s := sets[file.Name()]
	if s == nil {
		s = &lineSets{map[int]bool{}, map[int]bool{}}
		sets[file.Name()] = s
	}
	to = min(to, token.Pos(file.Base()+file.Size()))
	for line := file.Line(from); line <= file.Line(to); line++ {
		if safe {
			s.candidates[line] = true
		} else {
			s.excluded[line] = true
		}
	}
}

// positions returns the position of an instruction. If go/ssa gives it none, they are all those in the function where it
// may stand.
func (l *lining) positions(f *function, ins ssa.Instruction) []token.Pos {
	if pos := ins.Pos(); pos.IsValid() {
		return []token.Pos{pos}
	}
	if spot := f.in.spots.Of(ins); spot != nil {
		if _, store := ins.(*ssa.Store); store && spot.Write.IsValid() {
			return []token.Pos{spot.Write}
		} else if !store && spot.Read.IsValid() {
			return []token.Pos{spot.Read}
		}
	}
	if store, ok := ins.(*ssa.Store); ok {
		_, passed := store.Val.(*ssa.Parameter)
		if alloc, ok := store.Addr.(*ssa.Alloc); ok && passed && alloc.Pos().IsValid() {
			return []token.Pos{alloc.Pos()} // a parameter that literals capture
		}
	}
	if next, ok := ins.(*ssa.Next); ok {
		if pos := next.Iter.Pos(); pos.IsValid() {
			return []token.Pos{pos}
		}
	}
	return l.anywhere(f)
}

// anywhere returns the positions of a function's parts where an instruction without a position may stand: its beginning
// and end, loops over ranges, and statements that return, and declare variables.
func (l *lining) anywhere(f *function) (out []token.Pos) {
	syntax := f.fn.Syntax()
	if syntax == nil { // the initialization of package-level variables
		for _, file := range f.in.pkg.Syntax {
			for _, decl := range file.Decls {
				if decl, ok := decl.(*ast.GenDecl); ok && decl.Tok == token.VAR {
					for _, spec := range decl.Specs {
						out = append(out, spec.Pos())
					}
				}
			}
		}
		return out
	}
	ast.Inspect(syntax, func(n ast.Node) bool {
		if n != nil {
			switch n.(type) {
			case *ast.FuncLit:
				return n == syntax
			case *ast.BlockStmt, *ast.LabeledStmt:
			case ast.Stmt, *ast.ValueSpec:
				out = append(out, n.Pos())
			}
		}
		return true
	})
	return append(out, syntax.Pos())
}
