package source

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/heisen-go/heisen"
)

// identityFile has a comment with the identity of what is written on the line.
const identityFile = `package p

import "example.org/m/conf"

type counter struct {
	hits, misses int
	inner        struct{ hits int }
	rows         []row
	byName       map[string]int
	pair         [2]int
}

type other struct {
	hits int
	counter
}

type row struct{ n int }

type node[T any] struct{ value T }

var total int

var state struct{ hits int }

func (c *counter) add() {
	c.hits++ // counter.hits
	c.misses = 1 // counter.misses
	c.inner.hits = 1 // counter.inner.hits
	c.rows[c.hits].n = 1 // row.n
	c.rows[0] = row{} // counter.rows[0]
	c.rows[c.hits] = row{} // counter.rows[]
	c.byName["x"] = 1 // counter.byName[]
	c.pair[1] = 1 // counter.pair[1]
	*c = counter{} // *counter
}

func (o *other) add() {
	o.hits++ // other.hits
	o.counter.hits++ // counter.hits
	o.misses++ // counter.misses
}

func (n *node[T]) set(v T) {
	n.value = v // node.value
}

func use(p *counter, q *node[int]) {
	p.hits++ // counter.hits
	q.value = 2 // node.value
	total++ // total
	state.hits++ // state.hits
	conf.Total = 1 // example.org/m/conf.Total
	n := 0
	m := 0
	go func() {
		n++ // use.n
		m++ // use.m
	}()
	func() {
		n := 0
		go func() { n++ }() // use.n#2
		n = 2 // use.n#2
	}()
	type local struct{ hits int }
	l := &local{}
	l.hits = 1 // use.local.hits
	i := new(int)
	*i = 2 //
}

func (c counter) use() {
	n := 0
	go func() { n++ }() // (counter).use.n
	n = 1 // (counter).use.n
}
`

// TestIdentity: a variable is named for its declaration, whatever the expression and the line.
func TestIdentity(t *testing.T) {
	for name, change := range map[string]func(string) string{
		"as it is": func(s string) string { return s },
		"moved lines": func(s string) string {
			return strings.Replace(s, "\ntype counter", "\n\n\nvar before int\n\nfunc init() { n := before; _ = &n }\n\ntype counter", 1)
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			file := filepath.Join(dir, "p.go")
			text := change(identityFile)
			if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
			sources := NewCache(DefaultMemory)
			defer sources.Close()
			parsed, checked := parse(t, file), 0
			for i, line := range strings.Split(text, "\n") {
				_, want, ok := strings.Cut(line, " // ")
				if !ok && !strings.HasSuffix(line, " //") {
					continue
				}
				if want != "" && !strings.HasPrefix(want, "example.org/") {
					want = "example.org/m/p." + want
				}
				frame := heisen.Frame{File: file, Line: i + 1, Func: strings.Replace(functionAt(parsed, i+1), "src.", "example.org/m/p.", 1)}
				if got := SameVariable(Choose([]*Excerpt{sources.At(frame, heisen.Write, 0)})); got != want {
					t.Errorf("line %d, %s: %q, not %q", i+1, strings.TrimSpace(line), got, want)
				}
				checked++
			}
			if checked < 20 {
				t.Errorf("%d lines", checked)
			}
		})
	}
}

// TestIdentityOfPackage: the module of a folder tells the import path, whatever the function is called.
func TestIdentityOfPackage(t *testing.T) {
	for _, test := range []struct{ module, folder, clause, function, want string }{
		{"example.org/m", "cmd/x", "main", "main.f", "example.org/m/cmd/x.n"},
		{"example.org/m", "lib", "lib", "main.f", "example.org/m/lib.n"},
		{"example.org/m", "lib", "lib_test", "example.org/m/lib_test.f", "example.org/m/lib_test.n"},
		{"example.org/m", "vendor/other.org/lib", "lib", "other.org/lib.f", "other.org/lib.n"},
		{"std", "net/http", "http", "net/http.f", "net/http.n"},
		{"", "lib", "lib", "gopkg.in/lib%2ev3.f", "gopkg.in/lib.v3.n"},
	} {
		dir := t.TempDir()
		file := filepath.Join(dir, filepath.FromSlash(test.folder), "x.go")
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		files := map[string]string{file: "package " + test.clause + "\n\nvar n int\n\nfunc f() {\n\tn = 1\n}\n"}
		if test.module != "" {
			files[filepath.Join(dir, "go.mod")] = "module " + test.module + "\n"
		}
		for name, text := range files {
			if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		sources := NewCache(DefaultMemory)
		defer sources.Close()
		e := sources.At(heisen.Frame{Func: test.function, File: file, Line: 6}, heisen.Write, 0)
		if got := SameVariable(Choose([]*Excerpt{e})); got != test.want {
			t.Errorf("%v: %q", test, got)
		}
	}
}

// TestSameVariable: of a variable and a part of it, the part decides; a contradiction has no identity.
func TestSameVariable(t *testing.T) {
	field, whole, other, unknown := Choice{Identity: []string{"p.T.f", "p.*T"}}, Choice{Identity: []string{"p.*T"}}, Choice{Identity: []string{"p.U.f"}}, Choice{}
	for _, test := range []struct {
		choices []Choice
		want    string
	}{
		{[]Choice{field, field}, "p.T.f"}, {[]Choice{field, whole}, "p.T.f"}, {[]Choice{whole, field}, "p.T.f"}, {[]Choice{whole, whole}, "p.*T"},
		{[]Choice{unknown, field}, "p.T.f"}, {[]Choice{field, other}, ""}, {[]Choice{unknown, unknown}, ""},
	} {
		if got := SameVariable(test.choices); got != test.want {
			t.Errorf("%v: %q, not %q", test.choices, got, test.want)
		}
	}
}
