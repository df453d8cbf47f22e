package static

import (
	"cmp"
	"go/ast"
	"slices"
	"strings"
	"testing"
)

// TestCallGraph: each call at the end of a line with a comment may call the functions that the comment names, and the calls
// of all other lines call none.
func TestCallGraph(t *testing.T) {
	const source = `package p

import (
	"fmt"
	"os"
	"slices"
	"sort"
	"sync"
	"time"
)

type shape interface{ area() int }
type square struct{}
type circle struct{}

func (square) area() int      { return 1 }
func (circle) area() int      { return 2 }
func (circle) String() string { return "" }

func direct()          {}
func generic[T any](T) {}
func value()           {}
func other()           {}
func less(a, b int) bool { return a < b }
func compare(a, b int) int { return a - b }

func calls(s shape, f func(), v any, list []int, wg *sync.WaitGroup, once *sync.Once) {
	direct()           // direct
	(direct)()         // direct
	generic(1)         // generic
	generic[int](1)    // generic
	go direct()        // direct
	defer direct()     // direct
	func() {}()        // literal
	s.area()           // square.area circle.area
	square{}.area()    // square.area
	square.area(square{}) // square.area
	f()                // value other literal literal
	_ = len(list)
	_ = any(s)
	fmt.Println(circle{}) // circle.String
	fmt.Println(v)        // circle.String
	fmt.Println(1, "a")
	sort.Slice(list, func(i, j int) bool { return less(i, j) }) // literal
	slices.SortFunc(list, compare)                              // compare
	once.Do(value)     // value
	wg.Go(other)
	time.AfterFunc(1, func() {})
	os.Exit(1)
}

var kept = func() {}
`
	p, calls := expectCalls(t, source, "calls", 22)
	for _, c := range calls {
		line := lineOf(p, c, source)
		if c.Started != strings.Contains(line, "go direct") || c.Deferred != strings.Contains(line, "defer") {
			t.Errorf("%s: started %v, deferred %v", line, c.Started, c.Deferred)
		}
		if inPlace := strings.Contains(line, "sort.Slice"); inPlace != (len(c.InPlace) == 1) {
			t.Errorf("%s: %d functions are called in place", line, len(c.InPlace))
		}
	}
}

// lineOf returns the line of a call.
func lineOf(p *Program, c *Call, source string) string {
	return strings.Split(source, "\n")[p.Fset.Position(c.Expr.Pos()).Line-1]
}

// expectCalls checks that each call of a function may call the functions that a comment at the end of its line names, and none if
// there is no comment. It returns the program, and the calls, of which there must be n.
func expectCalls(t *testing.T, source, function string, n int) (p *Program, out []*Call) {
	t.Helper()
	p = load(t, source)
	g := NewCallGraph(p)
	for _, fn := range p.Functions {
		if fn.Name() != function {
			continue
		}
		for _, c := range g.Calls(fn) {
			out = append(out, c)
			var got []string
			for _, callee := range g.May(c.Targets) {
				got = append(got, shortName(callee))
			}
			_, comment, _ := strings.Cut(lineOf(p, c, source), "// ")
			want := strings.Fields(comment)
			slices.Sort(got)
			slices.Sort(want)
			if !slices.Equal(got, want) {
				t.Errorf("%s\nmay call %q", strings.TrimSpace(lineOf(p, c, source)), got)
			}
		}
	}
	if len(out) != n {
		t.Errorf("%d calls", len(out))
	}
	return p, out
}

// TestFunctionValues: the call of a function value may call the functions that are used as values of its type.
func TestFunctionValues(t *testing.T) {
	const source = `package p

type number = int
type callback func(int)
type adder interface{ add(int) }
type sum struct{}
type product struct{}
type list[T any] []T

func (*sum) add(int)    {}
func (product) add(int) {}
func (list[T]) add(T)   {}

func plain(int)         {}
func aliased(number)    {}
func word(string)       {}
func bytes(byte) uint8  { return 0 }
func several(...int)    {}
func sliced([]int)      {}
func generic[T any](T)  {}
func unused(int)        {}
func takes(func(int))   {}

var kept = []any{plain, aliased, word, bytes, several, sliced, generic[int], takes, (*sum).add, list[int].add, func(int) {}}

func calls[T any](f func(int), c callback, s func(string), b func(uint8) byte, v func(...int), l func([]int), a adder,
	m func(*sum, int), t func(T), g func(func(number))) {
	f(1)               // plain aliased generic literal literal sum.add product.add list.add
	c(1)               // plain aliased generic literal literal sum.add product.add list.add
	s("")              // word generic list.add
	b(1)               // bytes generic list.add
	v(1)               // several generic list.add
	l(nil)             // sliced generic list.add
	m(nil, 1)          // sum.add generic list.add
	g(f)               // takes generic list.add
	_ = a.add
	passed := func(int) {}
	passed(1)          // literal
	f = passed
	var zero T
	t(zero)            // plain aliased word bytes several sliced generic takes literal literal sum.add product.add list.add
}
`
	expectCalls(t, source, "calls", 10)
}

// shortName returns the name of a function with that of its receiver's type.
func shortName(fn *Function) string {
	switch recv := fn.Recv(); {
	case fn.Decl == nil || fn.Node != ast.Node(fn.Decl):
		return "literal"
	case recv != nil:
		name := ""
		ast.Inspect(recv.List[0].Type, func(n ast.Node) bool {
			if id, ok := n.(*ast.Ident); ok && name == "" {
				name = id.Name
			}
			return true
		})
		return name + "." + fn.Name()
	}
	return fn.Name()
}

// TestReach: calls are followed in the same goroutine, and what calls a function is known from the function, too.
func TestReach(t *testing.T) {
	p := load(t, `package p

func a(f func()) { b(); f() }
func b()         { go c() }
func c()         { a(d) }
func d()         { d() }
func e()         { a(nil); a(func() { b() }) }
`)
	g := NewCallGraph(p)
	byName := map[string]*Function{}
	for _, fn := range p.Functions {
		byName[cmp.Or(shortName(fn))] = fn
	}
	names := func(from string) string {
		var out []string
		for fn := range g.ReachFrom([]*Function{byName[from]}) {
			out = append(out, shortName(fn))
		}
		slices.Sort(out)
		return strings.Join(out, " ")
	}
	for from, want := range map[string]string{"a": "a b d literal", "b": "b", "c": "a b c d literal", "d": "d", "e": "a b d e literal"} {
		if got := names(from); got != want {
			t.Errorf("%s reaches %s, want %s", from, got, want)
		}
	}
	sets := make([]map[string]bool, g.Len())
	sets[byName["d"].Number] = map[string]bool{"x": true}
	Upwards(g, sets)
	for name, fn := range byName {
		if want := strings.Contains("a c d e", name) && name != "literal"; sets[fn.Number]["x"] != want {
			t.Errorf("%s calls d: %v", name, !want)
		}
	}
}

// TestCallbacks: what code outside of the module may call because of what it is given: methods that it looks for in values of
// any type and in errors, and with reflection any exported method.
func TestCallbacks(t *testing.T) {
	const source = `package p

import (
	"errors"
	"fmt"
	"html/template"
	"io"
	"reflect"
)

type failure struct{}

func (failure) Error() string   { return "" }
func (failure) Is(error) bool   { return true }
func (failure) As(any) bool     { return true }
func (failure) String() string  { return "" }
func (failure) Unwrap() error   { return nil }

type named struct{}

func (named) Area() int         { return 1 }
func (named) String() string    { return "" }

func calls(err error, r io.Reader, v reflect.Value, t *template.Template, x any) {
	errors.Is(err, io.EOF)  // failure.Error failure.Is failure.As failure.Unwrap
	errors.As(err, x)       // failure.Error failure.Is failure.As failure.Unwrap failure.String named.String
	fmt.Sprint(r)           // failure.Error failure.Is failure.As failure.Unwrap failure.String named.String
	io.ReadAll(r)
	fmt.Sprint(named{})     // named.String
	v.Call(nil)             // failure.Error failure.Is failure.As failure.Unwrap failure.String named.String named.Area
	t.Execute(nil, named{}) // failure.Error failure.Is failure.As failure.Unwrap failure.String named.String named.Area
}
`
	p := load(t, source)
	g := NewCallGraph(p)
	lines := strings.Split(source, "\n")
	for _, fn := range p.Functions {
		for _, c := range g.Calls(fn) {
			var got []string
			for _, callee := range g.May(c.Targets) {
				got = append(got, shortName(callee))
			}
			line := lines[p.Fset.Position(c.Expr.Pos()).Line-1]
			_, comment, _ := strings.Cut(line, "// ")
			want := strings.Fields(comment)
			slices.Sort(got)
			slices.Sort(want)
			if got = slices.Compact(got); !slices.Equal(got, want) {
				t.Errorf("%s\nmay call %q", strings.TrimSpace(line), got)
			}
		}
	}
}
