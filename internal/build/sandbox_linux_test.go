package build

import (
	"os"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"unsafe"

	"github.com/heisen-go/heisen/internal/recorder"
)

// sandboxEnv makes the test binary run its arguments in a sandbox.
const sandboxEnv = "RUN_SANDBOXED"

// runSandboxed becomes the program in the arguments, if the environment asks for that. It may not call close_range and unshare,
// as in some sandboxes.
func runSandboxed() {
	if os.Getenv(sandboxEnv) == "" {
		return
	}
	runtime.LockOSThread()
	type instruction struct {
		code   uint16
		ifTrue uint8
		_      uint8 // if not
		k      uint32
	}
	const load, equal, ret, allow, refuse = 0x20, 0x15, 0x06, 0x7fff0000, 0x00050000
	filter := []instruction{
		{code: load}, // the number of the system call
		{code: equal, ifTrue: 2, k: 436},
		{code: equal, ifTrue: 1, k: syscall.SYS_UNSHARE},
		{code: ret, k: allow},
		{code: ret, k: refuse | uint32(syscall.EPERM)},
	}
	program := struct {
		n    uint16
		code *instruction
	}{uint16(len(filter)), &filter[0]}
	const setNoNewPrivs, setSeccomp, modeFilter = 38, 22, 2
	if _, _, errno := syscall.RawSyscall6(syscall.SYS_PRCTL, setNoNewPrivs, 1, 0, 0, 0, 0); errno != 0 {
		panic(errno)
	}
	if _, _, errno := syscall.RawSyscall6(syscall.SYS_PRCTL, setSeccomp, modeFilter, uintptr(unsafe.Pointer(&program)), 0, 0, 0); errno != 0 {
		panic(errno)
	}
	os.Unsetenv(sandboxEnv)
	panic(syscall.Exec(os.Args[1], os.Args[1:], os.Environ()))
}

// TestSandbox: where no thread can have descriptors of its own, a program is recorded until it closes
// the recorder's. No other file gets a byte of the recording, and the end is noticed. A program that
// detects races itself prints them then.
func TestSandbox(t *testing.T) {
	for _, test := range []struct {
		name     string
		finished bool
		stdout   string
	}{
		{"syscall-exit", true, ""},
		{"exec-fails", true, ""},
		{"close-all", false, ""},
		{"replace-all", false, ""},
		{"connect", false, "the peer gets \"hello\"\n"},
	} {
		for _, mode := range []recorder.Mode{recorder.Everything, recorder.Races} {
			rec := record(t, run{exe: os.Args[0], args: []string{program(t), test.name}, env: []string{sandboxEnv + "=1"}, mode: mode})
			status := 0
			if !test.finished && mode == recorder.Races {
				status = 66
			}
			if rec.programs != 1 || rec.status != status || rec.stdout != test.stdout || rec.finished != test.finished {
				t.Errorf("%s: %d programs, status %d, output %q, finished %v: %s", test.name, rec.programs, rec.status, rec.stdout, rec.finished, rec.stderr)
			}
			if said := strings.Contains(rec.stderr, "the analyzer is gone"); said == test.finished {
				t.Errorf("%s: it says %q", test.name, rec.stderr)
			}
			if test.finished && len(rec.races) == 0 {
				t.Errorf("%s: no race found", test.name)
			}
		}
	}
}
