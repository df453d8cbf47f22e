package build

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
)

// TestEmptyRoot runs a program in a root folder that has nothing else, as a container that was built from scratch: it
// prints the race with the lines of the source. A user who may not change the root does that in a namespace.
func TestEmptyRoot(t *testing.T) {
	if target := installation(t); target.GOOS != "linux" || target.GOARCH != runtime.GOARCH {
		t.Skipf("%s/%s does not run here in another root", target.GOOS, target.GOARCH)
	}
	t.Setenv("CGO_ENABLED", "0")
	b, err := New(t.Context(), "", "")
	if err != nil {
		t.Fatal(err)
	}
	root := t.TempDir()
	if err := b.Build(t.Context(), "", filepath.Join(root, "bank"), nil, "../../examples/bank"); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), "/bank")
	cmd.Dir, cmd.Env = "/", []string{}
	cmd.SysProcAttr = &syscall.SysProcAttr{Chroot: root}
	if os.Geteuid() != 0 {
		cmd.SysProcAttr.Cloneflags = syscall.CLONE_NEWUSER
		cmd.SysProcAttr.UidMappings = []syscall.SysProcIDMap{{HostID: os.Getuid(), Size: 1}}
	}
	out, err := cmd.CombinedOutput()
	if errors.Is(err, syscall.EPERM) || errors.Is(err, syscall.ENOSPC) {
		t.Skipf("this system lets no user change the root: %v", err)
	}
	source, _ := filepath.Abs("../../examples/bank/main.go")
	if cmd.ProcessState.ExitCode() != 66 || !strings.Contains(string(out), "WARNING: DATA RACE") || !strings.Contains(string(out), fmt.Sprintf("%s:32", source)) {
		t.Errorf("%v\n%s", err, out)
	}
}
