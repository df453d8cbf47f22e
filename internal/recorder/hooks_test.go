package recorder

import (
	"regexp"
	"strings"
	"testing"
)

// TestHooks: a goroutine that stops at an access stops in one of the functions of heisenInitHooks, or the garbage
// collector would not scan the frame around it conservatively. The hooks in assembly have no frames; they jump to
// functions that have.
func TestHooks(t *testing.T) {
	files, err := Sources("internal/runtime/syscall/linux", Native)
	if err != nil {
		t.Fatal(err)
	}
	_, list, ok := strings.Cut(string(files["schedpoints.go"]), "func heisenInitHooks() {")
	list, _, closed := strings.Cut(list, "\n}\n")
	if !ok || !closed {
		t.Fatal("no heisenInitHooks")
	}
	access := regexp.MustCompile(`runtime·(heisen\w+)<ABIInternal>\)`) // the last argument of ACCESS: where it goes on in general
	found := 0
	for name, text := range files {
		if !strings.HasPrefix(name, "fasthooks_") {
			continue
		}
		for line := range strings.Lines(string(text)) {
			if !strings.Contains(line, "ACCESS(") || strings.HasPrefix(line, "#define") {
				continue
			}
			m := access.FindStringSubmatch(line)
			if m == nil {
				t.Fatalf("%s: %s", name, line)
			}
			found++
			if !strings.Contains(list, "("+m[1]+")") {
				t.Errorf("%s: an access goes on in %s, which heisenInitHooks does not list", name, m[1])
			}
		}
	}
	if found < 2 {
		t.Errorf("%d accesses found", found)
	}
}
