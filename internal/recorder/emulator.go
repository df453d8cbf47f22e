package recorder

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// emulators is the prefix of the names of QEMU's user mode emulators.
const emulators = "qemu-"

// openProgram opens the executable of process pid. Under an emulator, the process is the emulator
// and the program is its first argument, even if the kernel has started it for a program of another
// architecture. emulator is nil if there is none.
func openProgram(pid int) (exe, emulator *os.File, err error) {
	path := fmt.Sprintf("/proc/%d/exe", pid)
	exe, err = os.Open(path)
	if err != nil {
		return nil, nil, err
	}
	target, err := os.Readlink(path)
	if err != nil || !strings.HasPrefix(filepath.Base(target), emulators) {
		return exe, nil, nil
	}
	program, err := openEmulated(pid)
	if err != nil {
		return nil, nil, errors.Join(err, exe.Close())
	}
	return program, exe, nil
}

// openEmulated opens the first argument of process pid.
func openEmulated(pid int) (*os.File, error) {
	line, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
	if err != nil {
		return nil, err
	}
	_, args, _ := strings.Cut(string(line), "\x00")
	path, _, ok := strings.Cut(args, "\x00")
	if !ok {
		return nil, errors.New("an emulator without a program")
	}
	if !filepath.IsAbs(path) {
		path = filepath.Join(fmt.Sprintf("/proc/%d/cwd", pid), path)
	}
	return os.Open(path)
}
