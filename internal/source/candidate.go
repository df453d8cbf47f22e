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
type role uint16

const (
	reads role = 1 << iota
	writes
	atomics
	locks
	messages
)

// Parts of what is looked for: how a goroutine uses a message. No candidate has them.
const (
	sending   role = 1 << (iota + 6) // it sends to a channel
	receiving                        // it receives from a channel, or waits for something else
)

// Parts of what is done with a lock.
const (
	acquiring role = 1 << (iota + 8)
	releasing
	exclusive
	shared
)

// stopping is a part of what is looked for: what would stop a goroutine that timers wake again and again. It is a channel of a select
// statement that is not that of a timer. No candidate has it.
const stopping role = 1 << 12

// waitingRole returns what is looked for where a goroutine waits in an operation.
func waitingRole(op heisen.Op) role {
	switch op {
	case heisen.Send:
		return roleOf(op) | sending
	case heisen.Receive:
		return roleOf(op) | receiving
	}
	return roleOf(op)
}

// fits reports whether the use of a message that is looked for may be that of a candidate. A case of a select
// may be any.
func (c *candidate) fits(want role) bool {
	switch {
	case c.choice:
		return true
	case want&sending != 0:
		return c.verb == Send
	case want&receiving != 0:
		return c.verb != Send && c.verb != Close
	}
	return true
}

// has reports whether a candidate has the parts of a role that are wanted, if any are.
func (c *candidate) has(want role) bool { return c.role&want == want }

func roleOf(op heisen.Op) role {
	switch op {
	case heisen.Read:
		return reads
	case heisen.Write:
		return writes
	case heisen.AtomicRead, heisen.AtomicWrite, heisen.AtomicUpdate:
		return atomics
	case heisen.Acquire:
		return locks | acquiring | exclusive
	case heisen.AcquireShared:
		return locks | acquiring | shared
	case heisen.Release:
		return locks | releasing | exclusive
	case heisen.ReleaseShared:
		return locks | releasing | shared
	case heisen.Send, heisen.Receive:
		return messages
	case heisen.Change, heisen.Observe:
		return messages | locks
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
	verb      string // what is done to it, if that synchronizes and Op does not say it
	rank      int
	keys      []string // its storage, then the storages around it
	identity  []string // its identity, then those around it
	typ       string   // its type, if known
	size      uint64   // of its type in bytes; 0 if not known
	choice    bool     // whether it is one of several that a select statement chooses from
	timed     bool     // whether it is the channel of a timer, as far as the source tells
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

// fitting returns the candidates for an access in a role, the likeliest first. They stand on the line and, if the
// function is known, in a function literal of its depth: another expression of the statement is the one of
// another access. A variable is at least as large as the access; a program reports the access to a part of it
// where another part cannot race. It sorts by rank, and puts outer expressions before the expressions in them.
func (f *finder) fitting(want role, size uint64, function string) []candidate {
	depth := literalDepth(function)
	out := slices.DeleteFunc(f.found, func(c candidate) bool {
		return c.role&want == 0 || c.rank == rankNone || !c.onLine || function != "" && c.depth != depth ||
			want&stopping != 0 && (!c.choice || c.timed)
	})
	out = prefer(out, func(c candidate) bool { return c.size == 0 || c.size >= size })
	out = prefer(out, func(c candidate) bool { return c.fits(want) })
	out = prefer(out, func(c candidate) bool { return c.has(want & (acquiring | releasing)) })
	out = prefer(out, func(c candidate) bool { return c.has(want & (exclusive | shared)) }) // Lock of a RLocker acquires for reading
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
	literalPart = regexp.MustCompile(`^(func)?[0-9]+(-range[0-9]+)*$`)
	wrapperPart = regexp.MustCompile(`^(gowrap|deferwrap)[0-9]+$`)
	initName    = regexp.MustCompile(`\.init\.[0-9]+`)
)

// literalDepth returns how many function literals lie around the code of a function. It counts them
// in the name that the compiler gave the function: main.f.func1.2 is a literal in a literal in
// main.f. Functions named init have numbers, too. In the name of a copy, the functions into which it was inlined come
// first: main.g.func1.f.2 is a literal in f.
func literalDepth(function string) (depth int) {
	if open, end := strings.IndexByte(function, '['), strings.LastIndexByte(function, ']'); 0 <= open && open < end {
		function = function[:open] + function[end+1:] // type arguments
	}
	function = initName.ReplaceAllString(function[strings.LastIndexByte(function, '/')+1:], ".init")
	for part := range strings.SplitSeq(function, ".") {
		switch {
		case literalPart.MatchString(part):
			depth++
		case !wrapperPart.MatchString(part):
			depth = 0
		}
	}
	return depth
}

// addedToName is what the compiler adds to the name of a function for the literals in it, and for its own wrappers of calls.
var addedToName = regexp.MustCompile(`(\.func\d+|\.gowrap\d+|\.deferwrap\d+|-range\d+|\.\d+)+$`)

// Declared returns the name of the declared function that a function is in: its own, or that of the function around a literal.
func Declared(function string) string { return addedToName.ReplaceAllString(function, "") }

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
	case *ast.SliceExpr: // of the same elements
		return f.storage(e.X)
	case *ast.CompositeLit:
		if t := f.literalType(e); t != nil {
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

// literalType returns the type of the value that a literal makes, nil if it is not known. An element of a literal
// may leave out its type, and the & before it.
func (f *finder) literalType(e *ast.CompositeLit) types.Type {
	t := f.typeOf(e)
	if p, ok := under(t).(*types.Pointer); ok && e.Type == nil {
		return p.Elem()
	}
	return t
}

// literalText returns how a literal is shown. It is empty for one without a type that has a name.
func (f *finder) literalText(e *ast.CompositeLit) string {
	if e.Type != nil {
		return types.ExprString(e)
	}
	switch t := f.literalType(e).(type) {
	case *types.Named, *types.Alias:
		return typeText(t) + "{…}"
	}
	return ""
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

func (f *finder) addPart(e ast.Expr, elements string, r role, limit int) {
	e = ast.Unparen(e)
	for elements != "" { // the elements of a slice expression are those of what is sliced
		s, ok := e.(*ast.SliceExpr)
		if !ok {
			break
		}
		e = ast.Unparen(s.X)
	}
	rank := f.rank(e)
	switch {
	case elements != "":
		rank = rankShared
	case r&(locks|messages|atomics) != 0:
		rank = max(rank, rankUnknown) // such objects are meant to be shared
	}
	if e == nil || rank == rankNone {
		return
	}
	text := types.ExprString(e)
	if lit, ok := e.(*ast.CompositeLit); ok {
		text = f.literalText(lit)
	}
	if text == "" {
		return
	}
	keys := f.storage(e)
	identity := f.identityOf(e)
	if elements != "" {
		keys, identity = []string{keys[0] + elements}, []string{part(identity[0], elements)}
	}
	c := candidate{
		text:      shorten(text),
		statement: f.statement,
		role:      r,
		verb:      f.verb,
		rank:      min(rank, limit),
		keys:      keys,
		identity:  identity,
		choice:    f.choosing,
		timed:     f.choosing && f.sendsTime(e),
		onLine:    f.onLine(e.Pos(), e.End()) || f.within != nil && f.onLine(f.within.Pos(), f.within.End()) || r&writes != 0 && f.operator.IsValid() && f.onLine(f.operator, f.operator),
		depth:     f.depth,
		nesting:   f.nesting,
	}
	switch t := f.typeOf(e); {
	case t == nil:
	case elements == "":
		c.typ, c.size = typeText(t), sizeOf(t)
	default: // the access may be to many elements
		c.typ = elementText(t)
	}
	f.found = append(f.found, c)
}

// elementText describes the type of what is accessed in the elements of a value of type t: the elements of a
// slice, or what the runtime keeps for a map or a channel.
func elementText(t types.Type) string {
	if s, ok := under(t).(*types.Slice); ok {
		return typeText(s.Elem())
	}
	return "in " + typeText(t)
}

func (f *finder) onLine(from, to token.Pos) bool {
	first, last := f.lineOf(from), f.lineOf(to)
	return slices.ContainsFunc(f.lines, func(n int) bool { return first <= n && n <= last })
}

func (f *finder) lineOf(pos token.Pos) int { return f.fset.PositionFor(pos, false).Line }
