package repository

import (
	"os"
	"path/filepath"
	"testing"
)

func TestFind(t *testing.T) {
	top := t.TempDir()
	for _, dir := range []string{"repo/.git", "repo/a/b", "plain/m/sub", "none/x"} {
		if err := os.MkdirAll(filepath.Join(top, dir), 0o777); err != nil {
			t.Fatal(err)
		}
	}
	for _, file := range []string{"repo/a/go.mod", "plain/go.mod", "plain/m/go.mod"} {
		if err := os.WriteFile(filepath.Join(top, file), nil, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(filepath.Join(top, "repo"), filepath.Join(top, "link")); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct{ from, file, want string }{
		{"repo/a/b", "repo/a/b/x.go", "a/b/x.go"},
		{"repo", "repo/x.go", "x.go"},
		{"repo", "repository/x.go", ""},
		{"repo", "x.go", ""},
		{"link/a", "repo/a/x.go", "a/x.go"},
		{"link/a", "link/a/x.go", "a/x.go"},
		{"plain/m/sub", "plain/m/x.go", "m/x.go"},
		{"none/x", "none/x/..y/z.go", "..y/z.go"},
	} {
		got, ok := Find(filepath.Join(top, test.from)).Rel(filepath.Join(top, test.file))
		if got != test.want || ok != (test.want != "") {
			t.Errorf("%s from %s is %q, %v, want %q", test.file, test.from, got, ok, test.want)
		}
	}
	for _, name := range []string{"", "x.go", "example.com/m/x.go"} {
		if got, ok := Find(top).Rel(name); ok {
			t.Errorf("%q is in the repository, as %q", name, got)
		}
	}
	if got, ok := (Root{}).Rel("/x.go"); ok {
		t.Errorf("the zero Root contains %q", got)
	}
}

func TestInPackage(t *testing.T) {
	top := t.TempDir()
	for _, name := range []string{"repo/a/b/x.go", "repo/b/x.go", "repo/y.go", "z.go"} {
		file := filepath.Join(top, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, nil, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	root := At(filepath.Join(top, "repo"))
	for _, test := range []struct{ pkg, name, want string }{
		{"example.com/m/a/b", "x.go", "repo/a/b/x.go"},
		{"example.com/m/b", "x.go", "repo/b/x.go"},
		{"example.com/m", "y.go", "repo/y.go"},
		{"example.com/m/a/b", "y.go", "repo/y.go"},
		{"example.com/m", "x.go", ""},
		{"..", "z.go", ""},
		{"", "y.go", "repo/y.go"},
	} {
		got, ok := root.InPackage(test.pkg, test.name)
		if ok != (test.want != "") || ok && got != filepath.Join(top, test.want) {
			t.Errorf("%s in %q is %q, %v, want %q", test.name, test.pkg, got, ok, test.want)
		}
	}
}
