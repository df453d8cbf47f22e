package source

import (
	"cmp"
	"go/ast"
	"go/token"
	"go/types"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/heisen-go/heisen"
)

// role is a set of things that a statement does with an expression.
type role uint8

const (
	reads role = 1 << iota
	writes
	atomics
	locks
	messages
)

func roleOf(op heisen.Op) role {
	switch op {
	case heisen.Read:
		return reads
	case heisen.Write:
		return writes
	case heisen.AtomicRead, heisen.AtomicWrite, heisen.AtomicUpdate:
		return atomics
	case heisen.Acquire, heisen.AcquireShared, heisen.Release, heisen.ReleaseShared:
		return locks
	case heisen.Send, heisen.Receive:
		return messages
	}
	return 0
}

// Ranks say how likely the compiler instruments an access to an expression.
const (
	rankNone     = iota // never
	rankRemote          // constructed here, or perhaps a constant
	rankUnknown         // not known
	rankCaptured        // a local variable that goroutines share
	rankShared          // through a pointer, an element, a package-level variable
)

// candidate is an expression that an access may be an access to.
type candidate struct {
	text      string // the expression
	statement string // the statement it stands in
	role      role
	rank      int
	keys      []string // its storage, then the storages around it
	typ       string   // its type, if known
	size      uint64   // of its type in bytes; 0 if not known
	onLine    bool     // whether it stands on the line, not only its statement
	depth     int      // function literals around it
	nesting   int      // expressions around it
}

// maxText bounds an expression or a statement that is shown, in bytes.
const maxText = 160

func shorten(s string) string {
	s = strings.Join(strings.Fields(s), " ")
	if len(s) <= maxText {
		return s
	}
	cut := maxText
	for cut > 0 && !utf8.RuneStart(s[cut]) {
		cut--
	}
	return s[:cut] + "…"
}

// fitting returns the candidates for an access in a function literal of the given depth, the likeliest
// first. If there are candidates on the line, it drops those elsewhere in the statement. If there are
// candidates in a literal of that depth, it drops the others. A variable is at least as large as the
// access; a program reports the access to a part of it where another part cannot race. It sorts by
// rank, and puts outer expressions before the expressions in them.
func (f *finder) fitting(op heisen.Op, size uint64, depth int) []candidate {
	want := roleOf(op)
	out := slices.DeleteFunc(f.found, func(c candidate) bool {
		return c.role&want == 0 || c.rank == rankNone
	})
	out = prefer(out, func(c candidate) bool { return c.size == 0 || c.size >= size })
	out = prefer(out, func(c candidate) bool { return c.onLine })
	out = prefer(out, func(c candidate) bool { return c.depth == depth })
	slices.SortStableFunc(out, func(a, b candidate) int {
		return cmp.Or(b.rank-a.rank, a.nesting-b.nesting)
	})
	return out
}

// prefer returns the good candidates, or all if none is good.
func prefer(all []candidate, good func(candidate) bool) []candidate {
	var out []candidate
	for _, c := range all {
		if good(c) {
			out = append(out, c)
		}
	}
	if len(out) == 0 {
		return all
	}
	return out
}

var (
	literalName = regexp.MustCompile(`\.(func[0-9]+|[0-9]+)`)
	initName    = regexp.MustCompile(`\.init\.[0-9]+`)
)

// literalDepth returns how many function literals lie around the code of a function. It counts them
// in the name that the compiler gave the function: main.f.func1.2 is a literal in a literal in
// main.f. Functions named init have numbers, too.
func literalDepth(function string) int {
	function = function[strings.LastIndexByte(function, '/')+1:]
	function = initName.ReplaceAllString(function, ".init")
	return len(literalName.FindAllString(function, -1))
}

// storage returns the key of e, then the keys of the variables around it. Two expressions that
// surely or likely denote the same storage have equal keys. Fields of the same name in different
// values of a type share a key.
func (f *finder) storage(e ast.Expr) []string {
	switch e := e.(type) {
	case *ast.ParenExpr:
		return f.storage(e.X)
	case *ast.Ident:
		return []string{f.objectKey(e)}
	case *ast.SelectorExpr:
		key := f.objectKey(e.Sel)
		if f.packageName(e.X) != "" {
			return []string{key}
		}
		t := f.typeOf(e.X)
		if p, ok := under(t).(*types.Pointer); ok {
			return []string{key, "*" + typeText(p.Elem())}
		}
		if t == nil {
			return []string{key}
		}
		return append([]string{key}, f.storage(e.X)...)
	case *ast.IndexExpr:
		base := f.storage(e.X)
		switch under(f.typeOf(e.X)).(type) {
		case *types.Array:
			return append([]string{base[0] + "[]"}, base...)
		}
		return []string{base[0] + "[]"}
	case *ast.StarExpr:
		if p, ok := under(f.typeOf(e.X)).(*types.Pointer); ok {
			return []string{"*" + typeText(p.Elem())}
		}
		return []string{"*" + f.storage(e.X)[0]}
	case *ast.CompositeLit:
		if t := f.typeOf(e); t != nil {
			return []string{"*" + typeText(t)}
		}
	}
	return []string{types.ExprString(e)}
}

// objectKey identifies the object that a name denotes by its declaration.
func (f *finder) objectKey(name *ast.Ident) string {
	obj := f.pkg.info.ObjectOf(name)
	if obj == nil || !obj.Pos().IsValid() {
		return "name " + name.Name
	}
	return name.Name + " " + f.fset.PositionFor(obj.Pos(), false).String()
}

func typeText(t types.Type) string {
	return types.TypeString(t, func(*types.Package) string { return "" })
}

// rank returns the rank of an expression.
func (f *finder) rank(e ast.Expr) int {
	switch e := e.(type) {
	case *ast.ParenExpr:
		return f.rank(e.X)
	case *ast.Ident:
		switch obj := f.pkg.info.ObjectOf(e).(type) {
		case nil:
			return rankUnknown
		case *types.Var:
			switch {
			case obj.Parent() == f.pkg.types.Scope():
				return rankShared
			case f.pkg.captured[obj]:
				return rankCaptured
			}
		}
		return rankNone
	case *ast.SelectorExpr:
		if f.packageName(e.X) != "" {
			return rankRemote
		}
		switch s := f.pkg.info.Selections[e]; {
		case s == nil:
			return rankCaptured
		case s.Kind() != types.FieldVal:
			return rankNone
		case s.Indirect():
			return rankShared
		}
		return f.rank(e.X)
	case *ast.IndexExpr:
		switch under(f.typeOf(e.X)).(type) {
		case *types.Array:
			return f.rank(e.X)
		case *types.Basic: // the bytes of a string never change
			return rankRemote
		case *types.Signature:
			return rankNone
		}
		return rankShared
	case *ast.StarExpr:
		return rankShared
	case *ast.CompositeLit, *ast.CallExpr:
		return rankRemote
	}
	return rankNone
}

// typeOf returns the type of e, or nil if it is not known.
func (f *finder) typeOf(e ast.Expr) types.Type {
	if t := f.pkg.info.TypeOf(e); t != types.Typ[types.Invalid] {
		return t
	}
	return nil
}

// packageName returns the import path if e names a package.
func (f *finder) packageName(e ast.Expr) string {
	if id, ok := e.(*ast.Ident); ok {
		if name, ok := f.pkg.info.Uses[id].(*types.PkgName); ok {
			return name.Imported().Path()
		}
	}
	return ""
}

// add adds e as a candidate in a role, with the given rank at most.
func (f *finder) add(e ast.Expr, r role, limit int) {
	f.addPart(e, "", r, limit)
}

// addElements adds the elements of a slice, map or channel as a candidate, which is shown as e. They
// can be shared even if e is not.
func (f *finder) addElements(e ast.Expr, r role) {
	if _, ok := under(f.typeOf(e)).(*types.Array); ok {
		f.add(e, r, rankShared)
		return
	}
	f.addPart(e, "[]", r, rankShared)
}

func (f *finder) addPart(e ast.Expr, part string, r role, limit int) {
	e = ast.Unparen(e)
	rank := f.rank(e)
	switch {
	case part != "":
		rank = rankShared
	case r&(locks|messages|atomics) != 0:
		rank = max(rank, rankUnknown) // such objects are meant to be shared
	}
	if e == nil || rank == rankNone {
		return
	}
	keys := f.storage(e)
	if part != "" {
		keys = []string{keys[0] + part}
	}
	c := candidate{
		text:      shorten(types.ExprString(e)),
		statement: f.statement,
		role:      r,
		rank:      min(rank, limit),
		keys:      keys,
		onLine:    f.onLine(e.Pos(), e.End()) || r&writes != 0 && f.operator.IsValid() && f.onLine(f.operator, f.operator),
		depth:     f.depth,
		nesting:   f.nesting,
	}
	if t := f.typeOf(e); t != nil && part == "" {
		c.typ, c.size = typeText(t), sizeOf(t)
	}
	f.found = append(f.found, c)
}

func (f *finder) onLine(from, to token.Pos) bool {
	return f.lineOf(from) <= f.line && f.line <= f.lineOf(to)
}

func (f *finder) lineOf(pos token.Pos) int { return f.fset.PositionFor(pos, false).Line }
