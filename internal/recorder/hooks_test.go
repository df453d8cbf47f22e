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
	target := regexp.MustCompile(`runtime·(heisen\w+)<ABIInternal>[,)]`) // an argument of ACCESS or PASS: where it goes on
	found := 0
	for name, text := range files {
		if !strings.HasPrefix(name, "fasthooks_") {
			continue
		}
		for line := range strings.Lines(string(text)) {
			if !strings.HasPrefix(line, "\tACCESS(") && !strings.HasPrefix(line, "\tPASS(") {
				continue
			}
			targets := target.FindAllStringSubmatch(line, -1)
			if len(targets) != 2 {
				t.Fatalf("%s: %s", name, line)
			}
			for _, m := range targets {
				found++
				if !strings.Contains(string(text), "TEXT runtime·"+m[1]+"<") && !strings.Contains(list, "("+m[1]+")") {
					t.Errorf("%s: an access goes on in %s, which heisenInitHooks does not list", name, m[1])
				}
			}
		}
	}
	if found < 8 {
		t.Errorf("%d functions found", found)
	}
}
