package controlled

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/heisen-go/heisen/racefuzz"
)

// TestAnchor: targets are on the lines where their functions are now.
func TestAnchor(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	write("a.go", "package a\n\nfunc (s *Shop[T]) Add() {\n\tgo func() {\n\t\tn++\n\t}()\n}\n\nfunc gone() {\n}\n")
	write("b.go", "package a\n\nfunc stays() {\n\tn++\n}\n")
	s := &racefuzz.Schedule{}
	for place, function := range map[string]string{
		"a.go:5": "example.org/x.y/a.(*Shop[...]).Add.func1", "a.go:9": "example.org/x.y/a.gone", "b.go:4": "example.org/x.y/a.stays",
		"b.go:3": "example.org/x.y/a.unknown", "../c.go:7": "example.org/x.y/a.stays",
	} {
		s.Targets = append(s.Targets, racefuzz.Target{Place: place, Func: function})
	}
	check := func(want map[string]string) {
		t.Helper()
		for _, at := range s.Targets {
			if at.Place != want[at.Func] && at.Place != "../c.go:7" {
				t.Errorf("%s is at %s, want %s", at.Func, at.Place, want[at.Func])
			}
		}
	}
	Anchor(s, dir)
	check(map[string]string{
		"example.org/x.y/a.(*Shop[...]).Add.func1": "a.go:+2", "example.org/x.y/a.gone": "a.go:+0", "example.org/x.y/a.stays": "b.go:+1",
		"example.org/x.y/a.unknown": "b.go:3",
	})
	write("a.go", "package a\n\n// A comment.\nvar n int\n")
	write("b.go", "package a\n\nfunc (s *Shop[T]) Add() {\n\tgo func() {\n\t\tn++\n\t}()\n}\n\nfunc stays() {\n\tn++\n}\n")
	Settle(s, dir)
	check(map[string]string{
		"example.org/x.y/a.(*Shop[...]).Add.func1": "b.go:5", "example.org/x.y/a.gone": "a.go:1073741824", "example.org/x.y/a.stays": "b.go:10",
		"example.org/x.y/a.unknown": "b.go:3",
	})
}
