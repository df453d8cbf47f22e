package cli

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/heisen-go/heisen"
)

// position is where an acquisition happens: the stack, innermost first, and in which function the lock that is held
// was taken.
type position struct {
	stack []string
	taken string
}

// TestOwnCycles: a cycle is left out only if no code of the program can come between its locks.
func TestOwnCycles(t *testing.T) {
	root := t.TempDir()
	for _, pkg := range []string{"sync", "internal/sync", "internal/poll", "syscall", "os", "os/exec", "log", "net/http", "database/sql", "text/template", "testing"} {
		if err := os.MkdirAll(filepath.Join(root, filepath.FromSlash(pkg)), 0o777); err != nil {
			t.Fatal(err)
		}
	}
	fork := position{[]string{"syscall.releaseForkLock", "syscall.forkExec", "os.startProcess", "os/exec.(*Cmd).Run", "main.main"}, "syscall.acquireForkLock"}
	user := position{[]string{"main.transfer", "main.main"}, "main.transfer"}
	for _, test := range []struct {
		name string
		at   []position
		own  bool
	}{
		{"commands", []position{fork, fork}, true},
		{"commands in a handler", []position{{[]string{"syscall.forkExec", "os/exec.(*Cmd).Run", "main.serve", "net/http.(*conn).serve"}, "syscall.forkExec"}, fork}, true},
		{"a helper of another package", []position{{[]string{"internal/poll.(*FD).Write", "os.(*File).Write", "main.main"}, "internal/poll.(*FD).writeLock"}, fork}, true},
		{"three threads", []position{fork, fork, fork}, true},
		{"the program's own", []position{user, user}, false},
		{"one of the program's", []position{fork, user}, false},
		{"a dependency's", []position{{[]string{"example.com/m.(*T).Do", "main.main"}, "example.com/m.(*T).Do"}, fork}, false},
		{"a callback", []position{{[]string{"main.(*writer).Write", "log.(*Logger).output", "log.Print", "main.main"}, "log.(*Logger).output"}, fork}, false},
		{"loggers that log to each other", []position{
			{[]string{"log.(*Logger).output", "log.(*Logger).Print", "main.(*writer).Write", "log.(*Logger).output", "main.main"}, "log.(*Logger).output"},
			{[]string{"log.(*Logger).output", "log.(*Logger).Print", "main.(*writer).Write", "log.(*Logger).output", "main.main"}, "log.(*Logger).output"},
		}, false},
		{"two calls, one within a lock that the other returned with", []position{{[]string{"database/sql.(*Tx).Commit", "main.main"}, "main.main"}, fork}, false},
		{"two of sync.Once", []position{
			{[]string{"sync.(*Once).doSlow", "sync.(*Once).Do", "main.a", "main.main"}, "sync.(*Once).doSlow"},
			{[]string{"sync.(*Once).doSlow", "sync.(*Once).Do", "main.b", "main.main"}, "sync.(*Once).doSlow"},
		}, false},
		{"a sync.Cond", []position{{[]string{"sync.(*Cond).Wait", "main.main"}, "main.main"}, fork}, false},
		{"held since another call", []position{{[]string{"os.(*File).Close", "main.main"}, "text/template.(*Template).Parse"}, fork}, false},
		{"nothing is known", []position{{nil, ""}, fork}, false},
	} {
		symbols := heisen.NewSymbols()
		site := func(function string) heisen.Site {
			return symbols.AddSite(heisen.SiteInfo{Frames: []heisen.Frame{{Func: function}}})
		}
		f := heisen.Finding{Kind: heisen.Deadlock}
		n := len(test.at)
		for i, p := range test.at {
			var at heisen.Site
			var c heisen.Cursor
			for k := len(p.stack) - 1; k >= 0; k-- {
				if at = site(p.stack[k]); k > 0 {
					c = symbols.Call(c, at)
				}
			}
			if p.taken != "" {
				c = symbols.Acquire(c, heisen.HeldLock{Lock: heisen.Object(100 + (i+n-1)%n), Site: site(p.taken)})
			}
			f.Accesses = append(f.Accesses, heisen.Access{Op: heisen.Acquire, Object: heisen.Object(100 + i), Site: at, Context: symbols.Context(c)})
		}
		if own := newStandardLibrary(root).own(symbols, f); own != test.own {
			t.Errorf("%s: %v, want %v", test.name, own, test.own)
		}
		if newStandardLibrary("").own(symbols, f) {
			t.Errorf("%s: left out although the standard library is not known", test.name)
		}
	}
}

// TestFindStandardLibrary: the files of a recording say where the standard library is, unless a module looks like it.
func TestFindStandardLibrary(t *testing.T) {
	for _, test := range []struct{ function, file, want string }{
		{"sync.(*Once).Do", "/usr/local/go/src/sync/once.go", "/usr/local/go/src"},
		{"internal/poll.(*FD).Write", "/opt/go1.26/src/internal/poll/fd.go", "/opt/go1.26/src"},
		{"work.f", "/home/u/src/work/f.go", ""},
		{"example.com/sync.f", "/home/u/src/example.com/sync/f.go", ""},
		{"sync.f", "/home/u/sync/f.go", ""},
	} {
		symbols := heisen.NewSymbols()
		symbols.AddSite(heisen.SiteInfo{Frames: []heisen.Frame{{Func: test.function, File: test.file}}})
		if got := findStandardLibrary(symbols); got != test.want {
			t.Errorf("%s: %q, want %q", test.file, got, test.want)
		}
	}
}
