package report

import (
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/heisen-go/heisen"
)

// The names of function literals. The compiler names a literal for the function in which it stands, and numbers it, such as
// main.f.func1, main.f.func1.2 and main.f-range1. If f is inlined into main.g, the literal in the copy is main.g.f.func3 for
// Go 1.26, with a number among those of g. For Go 1.27 it is main.f.func1, as in f itself.

// sameButLiterals reports whether two findings are the same but for the names of function literals. known was read, and the
// other one was made by a Resolver.
func sameButLiterals(known, f *Finding) bool {
	n := len(known.Accesses)
	switch {
	case known.Kind != f.Kind || n != len(f.Accesses) || n > maxPairedAccesses || !hasLiteral(known) && !isStuck(known):
		return false
	case known.Kind == heisen.Failure || n == 0: // its fingerprint is not made of places only
		return known.Package == f.Package && withoutNumbers(known.Message) == withoutNumbers(f.Message) && sameWaits(known.Blocked, f.Blocked) &&
			pairUp(known, f, nil, func([]int) bool { return true })
	}
	return pairUp(known, f, nil, func(pairs []int) bool { return confirms(known, f, pairs) })
}

// maxPairedAccesses bounds the orders that are tried. Few findings have as many accesses: a cycle of locks.
const maxPairedAccesses = 6

// hasLiteral reports whether an access, or a goroutine that is blocked, is in a function literal.
func hasLiteral(f *Finding) bool {
	in := func(stack []Frame) bool { return len(stack) > 0 && literalOf(stack[0].Func).outer != "" }
	return slices.ContainsFunc(f.Accesses, func(a Access) bool { return in(a.Stack) }) ||
		slices.ContainsFunc(f.Blocked, func(g Blocked) bool { return in(g.Stack) })
}

// pairUp tries the ways to pair the accesses of known, from the one at len(pairs) on, with those of f at the same places, until one
// is accepted. pairs has the indexes of the latter.
func pairUp(known, f *Finding, pairs []int, accept func(pairs []int) bool) bool {
	if len(pairs) == len(known.Accesses) {
		return accept(pairs)
	}
	for i := range f.Accesses {
		if !slices.Contains(pairs, i) && samePlace(&known.Accesses[len(pairs)], &f.Accesses[i]) && pairUp(known, f, append(pairs, i), accept) {
			return true
		}
	}
	return false
}

// samePlace reports whether two accesses can be the same but for the name of a function literal.
func samePlace(a, b *Access) bool {
	if a.Op != b.Op || len(a.Stack) == 0 || len(b.Stack) == 0 || a.Source != b.Source && a.Source != "" && b.Source != "" {
		return false
	}
	x, y := &a.Stack[0], &b.Stack[0]
	return path.Base(x.File) == path.Base(y.File) && sameCode(x.Func, y.Func)
}

// confirms reports whether the fingerprint of known is the one of its functions with the lines of f. pairs says which accesses of f
// are at the places of those of known.
func confirms(known, f *Finding, pairs []int) bool {
	symbols := heisen.NewSymbols()
	again := heisen.Finding{Kind: known.Kind, Accesses: make([]heisen.Access, len(pairs))}
	for i, at := range pairs {
		a, b := &known.Accesses[i], &f.Accesses[at]
		op, ok := opNamed(a.Op)
		if !ok || b.Start == 0 {
			return false
		}
		frame := heisen.Frame{Func: a.Stack[0].Func, Line: b.Stack[0].Line, Start: b.Start}
		again.Accesses[i] = heisen.Access{Op: op, Site: symbols.AddSite(heisen.SiteInfo{Frames: []heisen.Frame{frame}})}
	}
	return again.Fingerprint(symbols) == known.PairFingerprint()
}

// opNamed returns the Op with a name.
func opNamed(name string) (op heisen.Op, ok bool) {
	for op := range ^heisen.Op(0) {
		if op.String() == name {
			return op, true
		}
	}
	return 0, false
}

// isStuck reports whether a finding is a failure in which goroutines are blocked. Once, the names of what they wait for were part of its
// fingerprint.
func isStuck(f *Finding) bool {
	return f.Kind == heisen.Failure && len(f.Accesses) == 0 && len(f.Blocked) > 0
}

// sameWaits reports whether goroutines are blocked in the same ways: for each of one execution, there is one of the other that waits alike.
func sameWaits(a, b []Blocked) bool {
	covers := func(all, some []Blocked) bool {
		return !slices.ContainsFunc(some, func(g Blocked) bool {
			return !slices.ContainsFunc(all, func(other Blocked) bool { return waitsAlike(&g, &other) })
		})
	}
	return covers(a, b) && covers(b, a)
}

// waitsAlike reports whether two goroutines wait in the same function for the same reason, for what may be the same: the name of that may be
// known of one and not of the other, or be another one at the same line.
func waitsAlike(a, b *Blocked) bool {
	if len(a.Stack) == 0 || len(b.Stack) == 0 {
		return len(a.Stack) == len(b.Stack) && a.Reason == b.Reason
	}
	x, y := &a.Stack[0], &b.Stack[0]
	return a.Reason == b.Reason && codeOf(x.Func) == codeOf(y.Func) &&
		(a.Variable == b.Variable || a.Variable == "" || b.Variable == "" || x.Line == y.Line)
}

var digits = regexp.MustCompile(`0x[0-9a-f]+|[0-9]+`)

// withoutNumbers returns a message without addresses and numbers, such as those of goroutines.
func withoutNumbers(message string) string { return digits.ReplaceAllString(message, "#") }

// numbered matches the parts of a name that stand for a function literal, or for code that the compiler makes around a call.
var numbered = regexp.MustCompile(`^((func|gowrap|deferwrap)?\d+|func\d+-range\d+)$`)

// sameCode reports whether two names can be those of one function.
func sameCode(a, b string) bool {
	x, y := literalOf(a), literalOf(b)
	return a == b || x.outer != "" && x.outer == y.outer && (x.copied || y.copied || x.numbers == y.numbers)
}

// codeOf returns the name of a function, or of a function literal that of the function in which it stands.
func codeOf(function string) string {
	if l := literalOf(function); l.outer != "" {
		return l.outer
	}
	return function
}

// literal is what the name of a function literal says.
type literal struct {
	outer   string // the function in which it stands, without package and receiver; empty for names of other functions
	copied  bool   // the name is, or may be, that of a copy that Go 1.26 has inlined
	numbers string // the numbers of the literal and those around it
}

// literalOf returns what a name of a function says of a function literal.
func literalOf(function string) (l literal) {
	if open, end := strings.IndexByte(function, '['), strings.LastIndexByte(function, ']'); 0 <= open && open < end {
		function = function[:open] + function[end+1:] // type arguments
	}
	parts := strings.Split(function[strings.LastIndexByte(function, '/')+1:], ".")
	for i := len(parts) - 1; i > 0; i-- {
		outer, body, ranges := strings.Cut(parts[i], "-range")
		if numbered.MatchString(parts[i]) {
			l.numbers = digits.FindString(parts[i]) + "." + l.numbers
			continue
		}
		if !ranges && i == len(parts)-1 {
			return literal{}
		}
		l.outer, l.numbers = outer, body+":"+l.numbers
		l.copied = i > 1 && !(i == 2 && strings.HasPrefix(parts[1], "("))
		return l
	}
	return literal{}
}
