//go:build unix

package processes

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"
)

// shells returns a command that is a shell with a child, which has a child. Each has the trap.
func shells(t *testing.T, ctx context.Context, trap string) *exec.Cmd {
	t.Helper()
	script := filepath.Join(t.TempDir(), "script")
	text := trap + "\necho $$\nif [ $1 -gt 1 ]; then sh \"$0\" $(($1-1)) & fi\nwhile :; do sleep 0.01; done\n"
	if err := os.WriteFile(script, []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
	return exec.CommandContext(ctx, "sh", script, "3")
}

func TestEnd(t *testing.T) {
	for _, test := range []struct {
		name, trap string
		grace      time.Duration
		hurry      bool
	}{
		{"asked", ":", time.Hour, false},
		{"deaf", "trap : TERM", time.Millisecond, false},
		{"hurried", "trap : TERM", time.Hour, true},
	} {
		t.Run(test.name, func(t *testing.T) {
			cmd := shells(t, t.Context(), test.trap)
			all := started(t, cmd)
			if tree := Tree(all[0]); len(tree) < 3 || tree[0] != all[0] {
				t.Errorf("the tree of %v is %v", all[0], tree)
			}
			hurry := make(chan struct{})
			if test.hurry {
				close(hurry)
			}
			go cmd.Wait()
			End(all[:1], test.grace, hurry, func(p Process) { p.Signal(Terminate) })
			for _, p := range all {
				if p.Running() {
					t.Errorf("%v is running", p)
				}
			}
		})
	}
}

// TestBindGo ends a command, and what it has started, with its context.
func TestBindGo(t *testing.T) {
	mark := filepath.Join(t.TempDir(), "removed")
	ctx, cancel := context.WithCancel(t.Context())
	cmd := shells(t, ctx, "trap 'touch "+mark+"; exit 3' INT")
	BindGo(cmd)
	all := started(t, cmd)
	cancel()
	var exit *exec.ExitError
	if err := cmd.Wait(); !errors.As(err, &exit) {
		t.Errorf("error %v", err)
	}
	for _, p := range all {
		if p.Running() {
			t.Errorf("%v is running", p)
		}
	}
	if _, err := os.Stat(mark); err != nil {
		t.Errorf("the command was not interrupted: %v", err)
	}
}

// TestOtherProcess: a number that another process has got is not the process.
func TestOtherProcess(t *testing.T) {
	self := Find(os.Getpid())
	if !self.Running() {
		t.Error("this process is not running")
	}
	self.start = "1"
	if self.Running() {
		t.Error("another process counts as this one")
	}
	if all := Tree(self); len(all) != 0 {
		t.Errorf("its tree is %v", all)
	}
	if Find(1 << 30).Running() {
		t.Error("there is no such process")
	}
}
