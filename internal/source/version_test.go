package source

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/heisen-go/heisen"
)

// loops has loops whose variables goroutines use. A comment names the variables of the read on its line, with one
// variable for all iterations and, after a stroke, with variables for each.
const loops = `package p

import "sleep"

type row struct{ n, wait int }

func f(rows []row, all []*row, m map[string]int) {
	for _, tt := range rows {
		run(tt.n, func(t *tests.T) {
			go func() {
				sleep.For(tt.wait / 2) // tt.wait |
			}()
		})
	}
	for i := 0; i < 3; i++ {
		go func() {
			use(i) // i |
		}()
	}
	for i := 0; i < 3; i++ {
		go func() {
			i += 2
			use(i) // i | i
		}()
	}
	for k, v := range m {
		go func() {
			use(v +
				k) // k |
		}()
	}
	for _, r := range all {
		defer func() {
			use(r.n) // r.n r | r.n
		}()
	}
	var last row
	for _, last = range rows {
		go func() {
			use(last.n) // last.n | last.n
		}()
	}
	for i, j := 0, 9; i < j; i, j = i+1, j-1 {
		go func() {
			use(j) // j |
		}()
	}
}
`

// TestLoopVariables: before Go 1.22 the iterations of a loop share its variables, so that goroutines race on them.
func TestLoopVariables(t *testing.T) {
	for _, test := range []struct {
		name, module, constraint string
		shared                   bool
	}{
		{"old module", "module m\n\ngo 1.21\n", "", true},
		{"older module", "module m\n\ngo 1.9 // tested\n", "", true},
		{"new module", "module m\n\ngo 1.22.3\n", "", false},
		{"newer module", "module m\n\ngo 1.26\n", "", false},
		{"old file", "module m\n\ngo 1.26\n", "//go:build go1.21\n\n", true},
		{"no module", "", "", false},
		{"damaged module", "module m\n\ngo one\n", "", false},
	} {
		dir := t.TempDir()
		path := filepath.Join(dir, "sub", "p.go")
		if err := os.Mkdir(filepath.Join(dir, "sub"), 0o777); err != nil {
			t.Fatal(err)
		}
		write := func(name, text string) {
			if err := os.WriteFile(name, []byte(text), 0o666); err != nil {
				t.Fatal(err)
			}
		}
		write(path, test.constraint+loops)
		if test.module != "" {
			write(filepath.Join(dir, "go.mod"), test.module)
		}
		sources := newTestCache(t)
		for i, line := range strings.Split(test.constraint+loops, "\n") {
			_, comment, ok := strings.Cut(line, " // ")
			if !ok {
				continue
			}
			shared, own, _ := strings.Cut(comment, "|")
			want := strings.TrimSpace(own)
			if test.shared {
				want = strings.TrimSpace(shared)
			}
			function := "p.f.func1"
			if strings.Contains(line, "tt.wait") {
				function = "p.f.func1.2"
			}
			e := sources.At(heisen.Frame{Func: function, File: path, Line: i + 1}, heisen.Read, 0)
			var got []string
			for _, c := range e.candidates {
				got = append(got, c.text)
			}
			if strings.Join(got, " ") != want {
				t.Errorf("%s: %q has %q, want %q", test.name, strings.TrimSpace(line), got, want)
			}
			if strings.Contains(line, "sleep.For") && e.Statement != "sleep.For(tt.wait / 2)" {
				t.Errorf("%s: the statement is %q", test.name, e.Statement)
			}
		}
	}
}
