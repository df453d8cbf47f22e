//go:build unix

package cli_test

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/heisen-go/heisen/internal/processes"
)

// TestKilledLeavesNothing: what a heisen that was killed has left among the temporary files, the next one
// removes, but not while a program in it still runs.
func TestKilledLeavesNothing(t *testing.T) {
	for _, command := range []string{"run .", "test .", "record -o t.heisen run ."} {
		t.Run(command, func(t *testing.T) {
			t.Parallel()
			dir, tmp := waitingFiles(t), t.TempDir()
			cmd := exec.Command("heisen", strings.Fields(command)...)
			cmd.Dir, cmd.Env = dir, append(os.Environ(), "TMPDIR="+tmp)
			var errs bytes.Buffer
			cmd.Stderr, cmd.WaitDelay = &errs, time.Second
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			for deadline := time.Now().Add(3 * time.Minute); ; time.Sleep(5 * time.Millisecond) {
				if _, err := os.Stat(filepath.Join(dir, "ready")); err == nil {
					break
				}
				if time.Now().After(deadline) {
					cmd.Process.Kill()
					cmd.Wait()
					t.Fatalf("the program does not start\n%s", errs.String())
				}
			}
			below := processes.Tree(processes.Find(cmd.Process.Pid))
			if err := cmd.Process.Signal(syscall.SIGKILL); err != nil {
				t.Fatal(err)
			}
			cmd.Wait()
			ours := func() []string {
				left, err := filepath.Glob(filepath.Join(tmp, "heisen-*"))
				if err != nil {
					t.Fatal(err)
				}
				return left
			}
			if len(ours()) == 0 {
				t.Fatal("nothing is left, so there is nothing to remove")
			}
			for _, p := range below {
				if p.Running() {
					p.Signal(syscall.SIGKILL)
				}
			}
			for _, p := range below {
				for deadline := time.Now().Add(10 * time.Second); p.Running() && time.Now().Before(deadline); {
					time.Sleep(5 * time.Millisecond)
				}
			}
			next := exec.Command("heisen", "run", ".")
			next.Dir = writeFiles(t, map[string]string{"go.mod": "module example.com/m\n\ngo 1.25\n", "main.go": "package main\n\nfunc main() {}\n"})
			next.Env = append(os.Environ(), "TMPDIR="+tmp)
			if out, err := next.CombinedOutput(); err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
			if left := ours(); len(left) > 0 {
				t.Errorf("the next heisen leaves %v", left)
			}
		})
	}
}
