package cli

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync/atomic"

	"github.com/heisen-go/heisen/internal/private"
	"github.com/heisen-go/heisen/internal/recorder"
)

// passes lets the go command reuse results of tests that passed, as it does without heisen. The go command knows a result by the test
// binary, its arguments, and the environment variables and files that the test has looked at. Under heisen, a verdict also depends on
// heisen's own flags and files. So each test binary looks at a variable (see recorder.Passes) that has another value if these are different,
// or if the last run with them had something to say besides tests that fail: that must be said again.
type passes struct {
	file  string // of the value; it is missing while a run may have something to say
	value string
}

// reusePasses returns the passes of the command's flags, or nil if results cannot be reused.
func (inv *invocation) reusePasses() *passes {
	exe, err := os.Executable()
	if err != nil {
		return nil
	}
	info, err := os.Stat(exe)
	if err != nil {
		return nil
	}
	folder, err := filepath.Abs(".")
	if err != nil {
		return nil
	}
	h := sha256.New()
	fmt.Fprintf(h, "%q %q %d %v %q\n", folder, exe, info.Size(), info.ModTime().UnixNano(), os.Getenv("GORACE"))
	inv.flags.Visit(func(f *flag.Flag) {
		fmt.Fprintf(h, "%q %q\n", f.Name, f.Value)
		if text, err := os.ReadFile(f.Value.String()); err == nil { // such as a baseline
			fmt.Fprintf(h, "%x\n", sha256.Sum256(text))
		}
	})
	cache, err := private.Cache("heisen")
	if err != nil {
		return nil
	}
	all := filepath.Join(cache, "passes")
	if err := private.Folder(all); err != nil {
		return nil
	}
	private.RemoveUnused(all, "*")
	p := &passes{file: filepath.Join(all, hex.EncodeToString(h.Sum(nil)[:16]))}
	if value, err := os.ReadFile(p.file); err == nil && os.Remove(p.file) == nil {
		p.value = string(value)
	} else {
		p.value = rand.Text()
	}
	return p
}

// env returns the environment variable for the go command, and nothing if p is nil.
func (p *passes) env() []string {
	if p == nil {
		return nil
	}
	return []string{recorder.Passes(p.value)}
}

// end is called when a run has ended. The results of tests that passed in it can be reused if the run had nothing to say besides tests
// that fail.
func (p *passes) end(silent bool) {
	if p != nil && silent {
		os.WriteFile(p.file, []byte(p.value), 0o600) // if it cannot be written, nothing is reused
	}
}

// written knows whether anything was written.
type written struct {
	to  io.Writer
	any atomic.Bool
}

func (w *written) Write(p []byte) (int, error) {
	w.any.Store(true)
	return w.to.Write(p)
}
