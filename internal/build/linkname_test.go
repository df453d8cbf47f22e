package build

import (
	"os"
	"path/filepath"
	"testing"
)

// TestLinksSynchronization: what counts is a declaration without a body, bound to a function that may
// synchronize.
func TestLinksSynchronization(t *testing.T) {
	file := filepath.Join(t.TempDir(), "a.go")
	for _, test := range []struct {
		text string
		want bool
	}{
		{"func f()\n//go:linkname f runtime.procPin\n", true},
		{"//go:linkname f sync.runtime_Semacquire\nfunc f(*uint32)\n", true},
		{"//go:linkname f internal/runtime/atomic.Xchg\nfunc f(*uint32, uint32) uint32\n", true},
		{"//go:linkname f inAssembly\nfunc f()\n", true},
		{"//go:linkname f runtime.nanotime\nfunc f() int64\n", false},
		{"//go:linkname f sync/atomic.AddInt32\nfunc f(*int32, int32) int32\n", false},
		{"//go:linkname f reflect.typedmemmove\nfunc f()\n", false},
		{"//go:linkname f runtime.procPin\nfunc f() {}\n", false}, // the package has it
		{"//go:linkname f\nfunc f()\n", false},
		{"//go:linkname v runtime.procPin\nvar v int\n", false},
		{"// Not //go:linkname f runtime.procPin\nfunc f()\n", false},
		{"func f()\n", false},
		{"func f( //go:linkname f runtime.procPin\n", false}, // the build says what is wrong
	} {
		if err := os.WriteFile(file, []byte("package a\n\n"+test.text), 0o666); err != nil {
			t.Fatal(err)
		}
		if got := linksSynchronization(file); got != test.want {
			t.Errorf("%q: %t", test.text, got)
		}
	}
	if linksSynchronization(file + "x") {
		t.Error("a file that does not exist synchronizes")
	}
}
