package build

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestFlagsOfTestImports: packages that only tests import are compiled as others are. Go 1.27 does not match them by std, work and
// folders.
func TestFlagsOfTestImports(t *testing.T) {
	if testing.Short() {
		t.Skip("lists the commands of a build")
	}
	dir := t.TempDir()
	for name, text := range map[string]string{
		"go.mod":             "module example.com/m\n\ngo 1.26\n",
		"a/a.go":             "package a\n",
		"a/a_test.go":        "package a_test\n\nimport (\n\t\"testing\"\n\n\t_ \"crypto/tls\"\n\t_ \"example.com/m/internal/only\"\n)\n\nfunc Test(t *testing.T) {}\n",
		"internal/only/o.go": "package only\n",
	} {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	const field, own = "crypto/internal/fips140/edwards25519/field", "example.com/m/internal/only"
	for _, tt := range []struct {
		patterns   []string
		field, own string // their flags
	}{
		{nil, instrumentUnchecked, instrument},
		{[]string{MainModules}, "", instrumentUnchecked},
		{[]string{"./..."}, "", instrumentAlone},
		{[]string{"./internal/..."}, "", instrumentAlone},
		{[]string{"./internal/only"}, "", instrumentAlone},
		{[]string{"./a"}, "", atomicsOnly},
		{[]string{"example.com/m/a"}, "", atomicsOnly},
		{[]string{"all"}, instrumentUnchecked, instrument},
	} {
		b, err := New(t.Context(), dir, "", tt.patterns...)
		if err != nil {
			t.Fatal(err)
		}
		cmd := b.Command(t.Context(), "test", "-n", "-a", "-c", "-vet=off", "-o", filepath.Join(t.TempDir(), "m.test"), "./a")
		cmd.Dir = dir
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%v: %v\n%s", tt.patterns, err, out)
		}
		for path, want := range map[string]string{field: tt.field, own: tt.own} {
			line := regexp.MustCompile(`(?m)^.*compile.* -p ` + regexp.QuoteMeta(path) + ` .*$`).FindString(string(out))
			got := strings.Join(regexp.MustCompile(`-race|-d=\S+|-l `).FindAllString(line, -1), " ")
			if got = strings.TrimSpace(got); line == "" || got != want {
				t.Errorf("%v: %s is compiled with %q, want %q", tt.patterns, path, got, want)
			}
		}
	}
}
