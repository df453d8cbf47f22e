package recorder

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// TestEmulator asks a program that runs under something named like an emulator and that no kernel
// can start: the shell runs scripts without a first line that names it.
func TestEmulator(t *testing.T) {
	shell, err := os.ReadFile("/bin/sh")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	emulator, program := filepath.Join(dir, emulators+"shell"), filepath.Join(dir, "program")
	if err := os.WriteFile(emulator, shell, 0o777); err != nil {
		t.Fatal(err)
	}
	script := `[ "$HEISEN_SYMBOLIZE" ] || { echo; read line; }` + alike
	if err := os.WriteFile(program, []byte(script), 0o666); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{program, "program"} {
		cmd := exec.Command(emulator, path, "argument")
		cmd.Dir = dir
		in, err := cmd.StdinPipe()
		if err != nil {
			t.Fatal(err)
		}
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		// A process that has hardly begun may have no arguments yet; those that are asked have
		// sent something before.
		if _, err := out.Read(make([]byte, 1)); err != nil {
			t.Fatal(err)
		}
		p, err := newProcessSymbolizer(cmd.Process.Pid)
		in.Close()
		cmd.Wait()
		if err != nil {
			t.Fatal(err)
		}
		askAlike(t, p)
	}
}

// TestEmulatorAlone: an emulator without a program, or that has ended, cannot be asked.
func TestEmulatorAlone(t *testing.T) {
	shell, err := os.ReadFile("/bin/sh")
	if err != nil {
		t.Fatal(err)
	}
	emulator := filepath.Join(t.TempDir(), emulators+"shell")
	if err := os.WriteFile(emulator, shell, 0o777); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{nil, {"-c", "read line"}} {
		cmd := exec.Command(emulator, args...)
		in, err := cmd.StdinPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		if p, err := newProcessSymbolizer(cmd.Process.Pid); err == nil {
			t.Errorf("arguments %q: the program is %s", args, p.exe.Name())
			p.close()
		}
		in.Close()
		cmd.Wait()
	}
}
