package source

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/heisen-go/heisen"
)

// newTestCache returns a cache that is closed with the test.
func newTestCache(t testing.TB) *Cache {
	c := NewCache(DefaultMemory)
	t.Cleanup(c.Close)
	return c
}

// addFile makes a text the package of the latest lookup, as a file that stands alone.
func addFile(c *Cache, name string, text []byte) {
	c.last = newPackage()
	c.last.parse(name, text)
	c.last.check()
}

var wantOps = map[string]heisen.Op{
	"read": heisen.Read, "write": heisen.Write, "atomic": heisen.AtomicUpdate,
	"lock": heisen.Acquire, "send": heisen.Send, "receive": heisen.Receive,
}

var wantKey = regexp.MustCompile(`\b(read|write|atomic|lock|send|receive)=`)

// TestVariables compares the variables that fit each access in testdata/src with the comment on its
// line. An empty comment means that no op has a variable. A variable is shown only if no other fits.
func TestVariables(t *testing.T) {
	for _, name := range []string{"access.go", "names.go", "sync.go"} {
		path := filepath.Join("testdata", "src", name)
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		sources := newTestCache(t)
		syntax := parse(t, path)
		checked := 0
		for i, line := range strings.Split(string(text), "\n") {
			_, want, ok := strings.Cut(line, "// want")
			if !ok {
				continue
			}
			frame := heisen.Frame{Func: functionAt(syntax, i+1), File: path, Line: i + 1}
			keys := wantKey.FindAllStringSubmatchIndex(want, -1)
			wanted := map[string]string{}
			for j, key := range keys {
				end := len(want)
				if j+1 < len(keys) {
					end = keys[j+1][0]
				}
				wanted[want[key[2]:key[3]]] = strings.TrimSpace(want[key[1]:end])
			}
			for op := range wantOps {
				expected, ok := wanted[op]
				if !ok && len(wanted) > 0 {
					continue
				}
				e := sources.At(frame, wantOps[op], 0)
				var texts []string
				for _, c := range prefer(e.candidates, func(c candidate) bool { return c.rank > rankRemote }) {
					if !slices.Contains(texts, c.text) {
						texts = append(texts, c.text)
					}
				}
				if got := strings.Join(texts, " | "); got != expected {
					t.Errorf("%s:%d: %s of %q, want %q", name, i+1, op, got, expected)
				}
				if got := e.Variable(); len(texts) == 1 && got != texts[0] || len(texts) != 1 && got != "" {
					t.Errorf("%s:%d: %s is shown as %q, and %q fit", name, i+1, op, got, texts)
				}
				checked++
			}
		}
		if checked < 10 {
			t.Errorf("%s: %d expectations, the comments were not found", name, checked)
		}
	}
}

// parsed is a file and where its parts are.
type parsed struct {
	fset *token.FileSet
	file *ast.File
}

func parse(t *testing.T, path string) parsed {
	t.Helper()
	fset := token.NewFileSet()
	file, err := parser.ParseFile(fset, path, nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	return parsed{fset, file}
}

// functionAt returns a function name with as many literals as there are around the innermost code of a line.
func functionAt(p parsed, line int) string {
	name := "src.f"
	at := func(pos token.Pos) int { return p.fset.Position(pos).Line }
	ast.Inspect(p.file, func(n ast.Node) bool {
		lit, ok := n.(*ast.FuncLit)
		if !ok {
			return true
		}
		from, to := at(lit.Body.Lbrace), at(lit.Body.Rbrace)
		if from < line && line < to || from == line && line == to {
			name += ".func1"
		}
		return true
	})
	return name
}

// TestChoice checks that the variable shown is the one that both sides mention, and that none is shown
// if more than one fits.
func TestChoice(t *testing.T) {
	const src = `package p

type T struct{ a, b, c int; sub struct{ n int }; list []int }

func f(t *T, u *T, m map[int]int, q []T, w *int, v *V) {
	t.a = t.b + t.c
	t.c = t.a
	u.sub = struct{ n int }{t.b}
	m[t.sub.n] = t.c
	t.list[0] = t.b
	print(t.a, len(u.list), u.list[3])
	q[0].b = 1
	*w = t.a
	t.list, u.c = nil, 1
	v.a, t.a = 1, 2
	print(t.sub.n, u.sub == t.sub)
	print(t.a, u.a, v.a)
	func() { t.a++; u.b++ }()
	v.t = &T{b: 1}
	print(v.t.list[0])
}

type V struct{ a int; t *T }
`
	type side struct {
		line int
		op   heisen.Op
		want string
	}
	const r, w = heisen.Read, heisen.Write
	for _, test := range [][]side{
		{{6, r, "t.c"}, {7, w, "t.c"}},
		{{6, r, "t.b"}, {12, w, "q[0].b"}},
		{{8, w, "u.sub"}, {9, r, "t.sub.n"}},            // a struct and a field of it
		{{10, w, "t.list[0]"}, {11, r, "u.list[3]"}},    // elements, not len
		{{9, r, "t.c"}, {7, w, "t.c"}, {6, r, "t.c"}},   // three steps
		{{14, w, "u.c"}, {10, r, "t.b"}, {13, w, "*w"}}, // an alias: the type fits
		{{8, w, "u.sub"}, {16, r, ""}},                  // the struct of two values, and a field of it
		{{15, w, "t.a"}, {7, r, "t.a"}},                 // not the field a of another type
		{{6, w, "t.a"}, {99, r, ""}},                    // a side without source
		{{1, r, ""}, {2, w, ""}},                        // no source on either
		{{6, r, ""}},                                    // nothing tells t.b from t.c
		{{6, w, "t.a"}, {17, r, ""}},                    // the field of two values
		{{18, w, ""}, {18, r, ""}},                      // two variables on both sides
		{{18, w, "t.a"}, {18, r, "t.a"}, {6, w, "t.a"}}, // a third access tells them apart
		{{19, w, "T{…}"}, {7, r, "t.a"}},                // a field of what is published
		{{19, w, "v.t"}, {20, r, "v.t"}},                // the pointer that is published
	} {
		s := newTestCache(t)
		addFile(s, "p.go", []byte(src))
		excerpts := make([]*Excerpt, len(test))
		for i, side := range test {
			function := "p.f"
			if side.line == 18 {
				function = "p.f.func1"
			}
			excerpts[i] = s.At(heisen.Frame{Func: function, File: "p.go", Line: side.line}, side.op, 0)
		}
		for i, c := range Choose(excerpts) {
			if got := c.Variable; got != test[i].want {
				t.Errorf("%v: side %d is %q, want %q", test, i, got, test[i].want)
			}
		}
	}
}

// TestSize checks that an access is not to a variable that is smaller.
func TestSize(t *testing.T) {
	const src = `package p

import "image"

type T struct { name string; n int; wide [3]int32; next *T; bad B; at image.Point }

type B struct { b B }

func f(t *T) {
	print(t.name, t.n)
	print(t.n, t.wide, t.next)
	print(t.bad, t.n)
	print(t.at, t.n)
}
`
	s := newTestCache(t)
	addFile(s, "p.go", []byte(src))
	for _, test := range []struct {
		line int
		size uint64
		want string
	}{
		{10, 0, ""}, {10, 1, ""}, {10, 8, ""}, {10, 16, "t.name"},
		{10, 99, ""}, // something else, but perhaps a trace is wrong about the size
		{11, 12, "t.wide"}, {11, 8, ""}, {12, 16, "t.bad"}, {13, 16, "t.at"},
	} {
		if got := s.At(heisen.Frame{Func: "p.f", File: "p.go", Line: test.line}, heisen.Read, test.size).Variable(); got != test.want {
			t.Errorf("line %d, %d bytes: %q, want %q", test.line, test.size, got, test.want)
		}
	}
}

// TestStatements checks the text shown for a line.
func TestStatements(t *testing.T) {
	const src = `package p

var x, y int // two

func f(a []int) (n int) {
	if x > 1 && // both
		y > 2 {
		x = /* odd */ 3
	}
	for i := range a { x += i }
	go func() {
		y++

	}()
	switch x {
	case 1,
		2:
	}
	x++; y = 2
	return g(
		x,
		func() int { return y },
		y)
}

func g(int, func() int, int) int { return 0 }
`
	for line, want := range map[int]string{
		3: "x, y int", 4: "", 6: "if x > 1 && y > 2", 7: "if x > 1 && y > 2", 8: "x = 3",
		10: "x += i", 11: "go func() {…}()", 12: "y++", 13: "go func() {…}()", 15: "switch x", 17: "case 1, 2",
		19: "x++; y = 2", 21: "return g( x, func() int {…}, y)",
	} {
		s := newTestCache(t)
		addFile(s, "p.go", []byte(src))
		op := heisen.Read
		if line == 19 {
			op = heisen.Write
		}
		if got := s.At(heisen.Frame{File: "p.go", Line: line}, op, 0).Statement; got != want {
			t.Errorf("line %d: %q, want %q", line, got, want)
		}
	}
}

// TestNoSource checks that a file that cannot be read gives an empty excerpt.
func TestNoSource(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
		return path
	}
	if err := os.Mkdir(filepath.Join(dir, "dir.go"), 0o777); err != nil {
		t.Fatal(err)
	}
	broken := write("broken.go", "package p\nfunc f( {\n\tx = 1\n")
	excluded := write("excluded.go", "//go:build never\n\npackage p\n\nvar v = w\n")
	write("other.go", "package p\n\nvar w int\n")
	huge := filepath.Join(dir, "huge.go")
	if f, err := os.Create(huge); err != nil || f.Truncate(maxFileSize+1) != nil || f.Close() != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		file            string
		line            int
		text, statement string
	}{
		{filepath.Join(dir, "missing.go"), 1, "", ""},
		{filepath.Join(dir, "dir.go"), 1, "", ""},
		{write("parser.y", "package p"), 1, "", ""},
		{"", 1, "", ""},
		{huge, 1, "", ""},
		{broken, 3, "x = 1", ""},
		{broken, 0, "", ""},
		{broken, -1, "", ""},
		{broken, 100, "", ""},
		{excluded, 5, "var v = w", "v = w"},
	} {
		s := newTestCache(t)
		for range 2 { // the second time from the cache
			e := s.At(heisen.Frame{File: test.file, Line: test.line}, heisen.Write, 0)
			if e.Line != test.text || e.Statement != test.statement {
				t.Errorf("%s:%d: %q and %q, want %q and %q", test.file, test.line, e.Line, e.Statement, test.text, test.statement)
			}
		}
	}
	var none *Cache
	if e := none.At(heisen.Frame{File: broken, Line: 3}, heisen.Write, 0); e.Line != "" || e.Variable() != "" {
		t.Errorf("the nil Cache knows %q", e.Line)
	}
}

// TestPackageTypes checks that declarations in other files of the package are
// known: w is a variable there and max a function.
func TestPackageTypes(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "a.go")
	for name, text := range map[string]string{
		"a.go":      "package p\n\nfunc f(k int) {\n\tw[k] = compute(k)\n}\n",
		"b.go":      "package p\n\nvar w map[int]int\n\nfunc compute(int) int { return 0 }\n",
		"c_test.go": "package p_test\n\nvar w []int\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	sources := newTestCache(t)
	for _, file := range []string{path, filepath.ToSlash(path)} { // the second is how the compiler names it
		if got := sources.At(heisen.Frame{File: file, Line: 4}, heisen.Write, 0).Variable(); got != "w" {
			t.Errorf("%s: write of %q, want the map w", file, got)
		}
	}
	if other := filepath.ToSlash(filepath.Join(dir, "b.go")); !sources.last.has(other) {
		t.Errorf("the package lacks %s", other)
	}
}

func TestLiteralDepth(t *testing.T) {
	for name, want := range map[string]int{
		"main.f": 0, "main.f.func1": 1, "main.f.func1.2": 2, "main.(*T).m.func1.gowrap2": 1,
		"main.init.0": 0, "main.glob..func1": 1, "main.f[...].func2": 1, "main.f-range1": 0,
		"example.com/x.v2/func1.f": 0, "main.init.0.func3": 1, "": 0,
		// Copies, into which others were inlined.
		"main.g.f.func3": 1, "main.g.func1.f.1": 1, "main.g.func1.f.1.2": 2, "main.g.g.func1.func2": 2, "main.g.func1.f[...].3-range2": 1,
		"main.g.func1-range1": 1, "main.g.func1-range1.3": 2, "main.g.func1.Keys[...].2.g.func1-range1.3": 2, "main.F[go.shape.func(a/b.T) c/d.E].func1": 1,
		"main.g.func2.deferwrap1": 1, "main.g.func1.(*T).m.gowrap1": 0,
	} {
		if got := literalDepth(name); got != want {
			t.Errorf("literalDepth(%q) = %d, want %d", name, got, want)
		}
	}
}

// FuzzCache: no text and no line makes a lookup fail.
func FuzzCache(f *testing.F) {
	for _, name := range []string{"testdata/src/access.go", "testdata/src/sync.go", "../../report/testdata/bank/bank.go"} {
		text, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(text, 30)
	}
	f.Fuzz(func(t *testing.T, text []byte, line int) {
		s := newTestCache(t)
		addFile(s, "/nowhere/fuzz.go", text)
		for op := range heisen.Op(heisen.NumOps) {
			e := s.At(heisen.Frame{Func: "p.f.func1", File: "/nowhere/fuzz.go", Line: line}, op, 0)
			if len(e.Variable()) > maxText+len("…") || len(e.Statement) > maxText+len("…") {
				t.Errorf("the variable %q or the statement %q is too long", e.Variable(), e.Statement)
			}
		}
	})
}
