package private

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
)

// makesEnv makes the test binary a process that makes a temporary folder with a file in a folder, prints
// its path, and does not remove it.
const makesEnv = "HEISEN_TEST_MAKES"

func TestMain(m *testing.M) {
	switch os.Getenv(makesEnv) {
	case "folder":
		folder, err := NewTemporary()
		if err == nil {
			err = errors.Join(os.Mkdir(filepath.Join(folder.Path, "sub"), 0o700), os.WriteFile(filepath.Join(folder.Path, "sub", "file"), nil, 0o600))
		}
		fmt.Printf("%q %v\n", folder.Path, err)
		io.Copy(io.Discard, os.Stdin) // until it is killed
		os.Exit(1)
	case "wait":
		fmt.Printf("%q %v\n", "runs", nil)
		io.Copy(io.Discard, os.Stdin)
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// process starts a test binary, and returns it with what it has printed.
func process(t *testing.T, exe, makes string) (cmd *exec.Cmd, path string) {
	t.Helper()
	cmd = exec.Command(exe)
	cmd.Env = append(os.Environ(), makesEnv+"="+makes)
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { in.Close() })
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	var failed string
	if _, err := fmt.Fscanf(out, "%q %s\n", &path, &failed); err != nil || failed != "<nil>" {
		t.Fatal(path, failed, err)
	}
	return cmd, path
}

func kill(t *testing.T, cmd *exec.Cmd) {
	t.Helper()
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	cmd.Wait()
}

func stands(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

// TestRemoveAbandoned: the folder of a process that was killed goes, and nothing else does.
func TestRemoveAbandoned(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	tmp := filepath.Join(t.TempDir(), "odd [name]*")
	mkdir(t, tmp, 0o700)
	t.Setenv("TMPDIR", tmp)
	own, err := NewTemporary()
	if err != nil {
		t.Fatal(err)
	}
	live, livePath := process(t, self, "folder")
	dead, deadPath := process(t, self, "folder")
	kill(t, dead)

	target := mkdir(t, filepath.Join(t.TempDir(), "target"), 0o700)
	others := []string{
		mkdir(t, filepath.Join(tmp, "heisen-temp-1234567"), 0o700),   // too short
		mkdir(t, filepath.Join(tmp, "heisen-temp-1234567g"), 0o700),  // no number
		mkdir(t, filepath.Join(tmp, "heisen-temp-123456789"), 0o700), // too long
		mkdir(t, filepath.Join(tmp, "heisen-cache-0-12345678"), 0o700),
		mkdir(t, filepath.Join(tmp, "heisen-12345678"), 0o700),
		write(t, filepath.Join(tmp, "heisen-temp-00000001"), ""),
		symlink(t, target, filepath.Join(tmp, "heisen-temp-00000002")),
	}
	if os.Geteuid() == 0 {
		foreign := mkdir(t, filepath.Join(tmp, "heisen-temp-00000003"), 0o700)
		if err := os.Chown(foreign, 12345, 12345); err != nil {
			t.Fatal(err)
		}
		others = append(others, foreign)
	}
	// One that somebody runs a program in.
	busy, busyPath := process(t, self, "folder")
	copied := filepath.Join(busyPath, "program")
	text, err := os.ReadFile(self)
	if err == nil {
		err = os.WriteFile(copied, text, 0o700)
	}
	if err != nil {
		t.Fatal(err)
	}
	program, _ := process(t, copied, "wait")
	kill(t, busy)

	RemoveAbandoned(tmp)
	if stands(deadPath) {
		t.Error("the folder of a killed process stays")
	}
	for _, path := range append(others, own.Path, filepath.Join(livePath, "sub", "file"), copied, target) {
		if !stands(path) {
			t.Errorf("%s is gone", path)
		}
	}
	kill(t, program)
	kill(t, live)
	RemoveAbandoned(tmp)
	if stands(busyPath) || stands(livePath) {
		t.Error("a folder stays that nobody uses any more")
	}
	if err := own.Remove(); err != nil || stands(own.Path) {
		t.Errorf("removing a folder: %v", err)
	}
	if err := (*Temporary)(nil).Remove(); err != nil {
		t.Error(err)
	}
}

// TestRemoveAbandonedAtOnce: while some make folders, and others remove what is abandoned, no folder is
// lost that somebody has.
func TestRemoveAbandonedAtOnce(t *testing.T) {
	tmp := t.TempDir()
	var makers, removers sync.WaitGroup
	stop := make(chan bool)
	for range 3 {
		removers.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
					RemoveAbandoned(tmp)
				}
			}
		})
	}
	for range 4 {
		makers.Go(func() {
			for range 50 {
				folder, err := NewTemporaryIn(tmp)
				if err != nil {
					t.Error(err)
					return
				}
				file := filepath.Join(folder.Path, "file")
				if err := os.WriteFile(file, nil, 0o600); err != nil || !stands(file) {
					t.Errorf("a folder in use was removed: %v", err)
				}
				if err := folder.Remove(); err != nil {
					t.Error(err)
				}
			}
		})
	}
	makers.Wait()
	close(stop)
	removers.Wait()
	if left, err := os.ReadDir(tmp); len(left) > 0 || err != nil {
		t.Errorf("%d folders are left: %v", len(left), err)
	}
}
