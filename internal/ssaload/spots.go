package ssaload

import (
	"go/ast"
	"go/token"
	"go/types"
	"strings"
	"unicode/utf8"

	"golang.org/x/tools/go/ssa"
)

// Spot is an expression in the source that is accessed, with the positions that the compiler's line
// table has for its accesses. In a statement that spans several lines, a load is at the line of the
// operator that uses it, and a store at the line of the assignment operator. The rules were found
// by looking at compiled code; TestLines of internal/infer compares them with compiled code.
type Spot struct {
	Name  string    // the variable as reports write it
	Read  token.Pos // position of a load, if there can be one
	Write token.Pos // position of a store, if there can be one
	field bool      // it is the selection of a field
}

// Spots finds the expression that an instruction accesses, by the position that go/ssa gives to the
// instruction.
type Spots struct {
	info   *types.Info
	at     map[token.Pos]*Spot
	ranges map[ssa.Instruction]*Spot // loads of the elements that a range clause visits
}

// NewSpots returns the spots of a package with the given files and functions.
func NewSpots(files []*ast.File, info *types.Info, funcs []*ssa.Function) *Spots {
	s := &Spots{info: info, at: map[token.Pos]*Spot{}, ranges: map[ssa.Instruction]*Spot{}}
	for _, file := range files {
		var parents []ast.Node
		ast.Inspect(file, func(n ast.Node) bool {
			if n == nil {
				parents = parents[:len(parents)-1]
				return true
			}
			s.add(n, parents)
			parents = append(parents, n)
			return true
		})
	}
	for _, fn := range funcs {
		s.addRanges(fn)
	}
	return s
}

// keyOf returns the position that go/ssa gives to loads and stores of e.
func keyOf(e ast.Expr) token.Pos {
	switch e := ast.Unparen(e).(type) {
	case *ast.Ident:
		return e.Pos()
	case *ast.SelectorExpr:
		return e.Sel.Pos()
	case *ast.IndexExpr:
		return e.Lbrack
	case *ast.StarExpr:
		return e.Star
	}
	return token.NoPos
}

func (s *Spots) spot(key token.Pos) *Spot {
	found := s.at[key]
	if found == nil {
		found = &Spot{}
		s.at[key] = found
	}
	return found
}

func (s *Spots) add(n ast.Node, parents []ast.Node) {
	switch n := n.(type) {
	case *ast.SelectorExpr:
		*s.spot(n.Sel.Pos()) = Spot{Name: NameOf(n), Read: n.X.End(), Write: s.spot(n.Sel.Pos()).Write, field: true}
		if _, imported := s.info.Uses[n.Sel].(*types.Var); imported && s.info.Selections[n] == nil {
			s.spot(n.Sel.Pos()).Read = anchor(s.info, n, parents) // a variable of another package
		}
	case *ast.IndexExpr:
		found := s.spot(n.Lbrack)
		found.Name, found.Read = NameOf(n), n.Lbrack
		if _, ok := underlying(s.info.TypeOf(n.X)).(*types.Map); ok {
			found.Name = NameOf(n.X)
			if at := commaOk(n, parents); at.IsValid() {
				found.Read = at
			}
		}
	case *ast.StarExpr:
		found := s.spot(n.Star)
		found.Name, found.Read = NameOf(n), n.Star
	case *ast.Ident:
		if len(parents) > 0 {
			if sel, ok := parents[len(parents)-1].(*ast.SelectorExpr); ok && sel.Sel == n {
				return
			}
		}
		found := s.spot(n.Pos())
		found.Name, found.Read = n.Name, anchor(s.info, n, parents)
	case *ast.AssignStmt:
		for _, left := range n.Lhs {
			s.target(left, n.TokPos)
		}
		for i, right := range n.Rhs {
			if lit, ok := ast.Unparen(right).(*ast.CompositeLit); ok && len(n.Lhs) == len(n.Rhs) {
				s.literal(lit, NameOf(n.Lhs[i]), n.TokPos)
			}
		}
	case *ast.IncDecStmt:
		s.target(n.X, n.TokPos)
	case *ast.RangeStmt:
		for _, left := range []ast.Expr{n.Key, n.Value} {
			if left != nil {
				s.target(left, n.Range)
			}
		}
		// The position of the instruction that iterates over a map.
		*s.spot(n.For) = Spot{Name: NameOf(n.X), Read: n.Range}
	case *ast.ValueSpec:
		for _, name := range n.Names {
			s.target(name, n.Pos())
		}
	case *ast.CallExpr:
		found := s.spot(n.Lparen)
		found.Read, found.Write = n.Lparen, n.Lparen
		found.Name = callee(n)
	}
}

// callee returns the name of the variable that a call accesses, if it is an atomic operation or a
// builtin function on a map.
func callee(call *ast.CallExpr) string {
	switch fun := ast.Unparen(call.Fun).(type) {
	case *ast.Ident:
		if len(call.Args) > 0 {
			return NameOf(call.Args[0])
		}
	case *ast.SelectorExpr:
		if len(call.Args) > 0 {
			if at, ok := ast.Unparen(call.Args[0]).(*ast.UnaryExpr); ok && at.Op == token.AND {
				if pkg, ok := fun.X.(*ast.Ident); ok && pkg.Name == "atomic" {
					return NameOf(at.X)
				}
			}
		}
		return NameOf(fun.X)
	}
	return ""
}

// target records that a statement stores to e, with the position at. A store to a map element is at
// the index expression instead.
func (s *Spots) target(e ast.Expr, at token.Pos) {
	if index, ok := ast.Unparen(e).(*ast.IndexExpr); ok {
		if _, ok := underlying(s.info.TypeOf(index.X)).(*types.Map); ok {
			at = index.Lbrack
		}
	}
	if key := keyOf(e); key.IsValid() {
		s.spot(key).Write = at
	}
}

// literal records the stores of a composite literal that is assigned in place. The compiler makes
// them at one position.
func (s *Spots) literal(lit *ast.CompositeLit, name string, at token.Pos) {
	note := func(key token.Pos, field string) {
		found := s.spot(key)
		if found.Write == token.NoPos {
			found.Write = at
		}
		if found.Name == "" {
			found.Name = strings.TrimPrefix(name, "*") + field
		}
	}
	note(lit.Lbrace, "")
	for _, e := range lit.Elts {
		field := ""
		if kv, ok := e.(*ast.KeyValueExpr); ok {
			if key, ok := kv.Key.(*ast.Ident); ok {
				field = "." + key.Name
			}
			note(kv.Colon, field)
			e = kv.Value
		}
		if inner, ok := ast.Unparen(e).(*ast.CompositeLit); ok {
			s.literal(inner, name+field, at)
		}
	}
}

// commaOk returns the position of the lookup in a statement v, ok = m[k], or NoPos if e is not the
// right side of such a statement.
func commaOk(e ast.Expr, parents []ast.Node) token.Pos {
	for i := len(parents) - 1; i >= 0; i-- {
		switch parent := parents[i].(type) {
		case *ast.ParenExpr:
			continue
		case *ast.AssignStmt:
			if len(parent.Lhs) == 2 && len(parent.Rhs) == 1 && ast.Unparen(parent.Rhs[0]) == e {
				return parent.TokPos
			}
		case *ast.ValueSpec:
			if len(parent.Names) == 2 && len(parent.Values) == 1 {
				return parent.Pos()
			}
		}
		return token.NoPos
	}
	return token.NoPos
}

// anchor returns the position of the load of the variable e. In compiled code a name does not have
// its own line; it has the line of the innermost operation around it. The function is one long
// switch: the rule for each kind of operation.
func anchor(info *types.Info, e ast.Expr, parents []ast.Node) token.Pos {
	for i := len(parents) - 1; i >= 0; i-- {
		switch parent := parents[i].(type) {
		case *ast.ParenExpr:
			continue
		case *ast.SelectorExpr:
			return parent.X.End()
		case *ast.IndexExpr:
			if at := commaOk(parent, parents[:i]); at.IsValid() {
				return at
			}
			return parent.Lbrack
		case *ast.SliceExpr:
			return parent.Lbrack
		case *ast.StarExpr:
			return parent.Star
		case *ast.UnaryExpr:
			return parent.OpPos
		case *ast.BinaryExpr:
			return parent.OpPos
		case *ast.CallExpr:
			if info.Types[parent.Fun].IsType() || boxed(info, parent, e) { // a conversion
				return e.Pos()
			}
			if assign, ok := parents[i-1].(*ast.AssignStmt); ok && isName(parent.Fun, "append") {
				return assign.TokPos
			}
			return parent.Lparen
		case *ast.TypeAssertExpr:
			if at := commaOk(parent, parents[:i]); at.IsValid() {
				return at
			}
			return parent.X.End()
		case *ast.CompositeLit:
			return parent.Lbrace
		case *ast.KeyValueExpr:
			if lit, ok := parents[i-1].(*ast.CompositeLit); ok {
				if _, ok := underlying(info.TypeOf(lit)).(*types.Struct); !ok {
					return lit.Lbrace
				}
			}
			return parent.Pos()
		case *ast.CaseClause:
			if s, ok := parents[i-2].(*ast.SwitchStmt); ok && s.Tag == nil {
				return s.Switch
			}
			return parent.Case
		case *ast.SwitchStmt:
			return parent.Switch
		case *ast.AssignStmt:
			return parent.TokPos
		case *ast.IncDecStmt:
			return parent.TokPos
		case *ast.SendStmt:
			return parent.Arrow
		case *ast.ValueSpec:
			return parent.Pos()
		case *ast.ReturnStmt:
			return parent.Return
		case *ast.RangeStmt:
			return parent.Range
		}
		break
	}
	return e.Pos()
}

// boxed reports whether a call converts an argument to an interface.
func boxed(info *types.Info, call *ast.CallExpr, arg ast.Expr) bool {
	if isName(call.Fun, "panic") {
		return true
	}
	t := info.TypeOf(arg)
	sig, ok := underlying(info.TypeOf(call.Fun)).(*types.Signature)
	if !ok || t == nil || types.IsInterface(t) {
		return false
	}
	for i, a := range call.Args {
		if ast.Unparen(a) != arg {
			continue
		}
		if last := sig.Params().Len() - 1; sig.Variadic() && i >= last {
			slice, ok := sig.Params().At(last).Type().(*types.Slice)
			return ok && !call.Ellipsis.IsValid() && types.IsInterface(slice.Elem())
		}
		return i < sig.Params().Len() && types.IsInterface(sig.Params().At(i).Type())
	}
	return false
}

func isName(e ast.Expr, name string) bool {
	id, ok := ast.Unparen(e).(*ast.Ident)
	return ok && id.Name == name
}

// addRanges finds the loads of elements that range clauses make. These loads have no position, but
// the blocks that begin with them are in the order of the statements. If some statements are
// unreachable, the numbers differ, and the loads are left out.
func (s *Spots) addRanges(fn *ssa.Function) {
	var loads []ssa.Instruction
	for _, b := range fn.Blocks {
		if b.Comment != "rangeindex.body" {
			continue
		}
		for _, ins := range b.Instrs {
			load, ok := ins.(*ssa.UnOp)
			if !ok || load.Op != token.MUL {
				continue
			}
			if _, ok := load.X.(*ssa.IndexAddr); ok && !load.Pos().IsValid() {
				loads = append(loads, load)
				break
			}
		}
	}
	if len(loads) == 0 || fn.Syntax() == nil {
		return
	}
	var clauses []*ast.RangeStmt
	ast.Inspect(fn.Syntax(), func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncLit:
			return n == fn.Syntax()
		case *ast.RangeStmt:
			if n.Value == nil || isName(n.Value, "_") {
				break
			}
			switch t := underlying(s.info.TypeOf(n.X)).(type) {
			case *types.Slice:
				clauses = append(clauses, n)
			case *types.Pointer:
				if _, ok := underlying(t.Elem()).(*types.Array); ok {
					clauses = append(clauses, n)
				}
			}
		}
		return true
	})
	if len(clauses) != len(loads) {
		return
	}
	for i, clause := range clauses {
		s.ranges[loads[i]] = &Spot{Name: NameOf(clause.X), Read: clause.Range}
	}
}

// Of returns the Spot of an instruction, or nil if it has none.
func (s *Spots) Of(ins ssa.Instruction) *Spot {
	if found := s.ranges[ins]; found != nil {
		return found
	}
	pos := ins.Pos()
	if load, ok := ins.(*ssa.UnOp); ok && !pos.IsValid() {
		pos = s.implicit(load)
	}
	if !pos.IsValid() {
		return nil
	}
	return s.at[pos]
}

// implicit returns the position of the selector expression that a load of an embedded pointer
// belongs to.
func (s *Spots) implicit(load *ssa.UnOp) token.Pos {
	var v ssa.Value = load
	for v.Referrers() != nil && len(*v.Referrers()) == 1 {
		switch next := (*v.Referrers())[0].(type) {
		case *ssa.FieldAddr:
			if found := s.at[next.Pos()]; found != nil && found.field {
				return next.Pos()
			}
			v = next
		case *ssa.UnOp:
			if next.Pos().IsValid() {
				return next.Pos()
			}
			v = next
		default:
			return token.NoPos
		}
	}
	return token.NoPos
}

// underlying returns the type under t, or nil if t is not known.
func underlying(t types.Type) types.Type {
	if t == nil {
		return nil
	}
	return t.Underlying()
}

// maxName is the maximum length of names in bytes, as in reports.
const maxName = 160

// NameOf returns an expression as reports write it.
func NameOf(e ast.Expr) string {
	s := strings.Join(strings.Fields(types.ExprString(ast.Unparen(e))), " ")
	if len(s) <= maxName {
		return s
	}
	cut := maxName
	for cut > 0 && !utf8.RuneStart(s[cut]) {
		cut--
	}
	return s[:cut] + "…"
}
