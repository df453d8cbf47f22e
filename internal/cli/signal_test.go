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
)

// signalled starts heisen run in a folder, sends it a signal as soon as a file
// appears there, and returns its exit status and what was printed.
func signalled(t *testing.T, dir string, env []string, file string, signal os.Signal) (status int, stdout, stderr string) {
	t.Helper()
	cmd := exec.Command("heisen", "run", ".")
	cmd.Dir = dir
	cmd.Env = append(cmd.Environ(), env...)
	cmd.WaitDelay = time.Second // for processes that inherited the pipes
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	for deadline := time.Now().Add(2 * time.Minute); ; time.Sleep(5 * time.Millisecond) {
		if _, err := os.Stat(filepath.Join(dir, file)); err == nil {
			break
		}
		if time.Now().After(deadline) {
			cmd.Process.Kill()
			cmd.Wait()
			t.Fatalf("%s does not appear\n%s", file, errs.String())
		}
	}
	if err := cmd.Process.Signal(signal); err != nil {
		t.Fatal(err)
	}
	cmd.Wait()
	return cmd.ProcessState.ExitCode(), out.String(), errs.String()
}

func writeFiles(t *testing.T, files map[string]string) (dir string) {
	t.Helper()
	dir = t.TempDir()
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o777); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

const waitingProgram = `package main

import (
	"fmt"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"
)

var n int

func count(done func()) {
	defer done()
	n++
}

func main() {
	signals := make(chan os.Signal, 1)
	if os.Getenv("CATCH") != "" {
		signal.Notify(signals, syscall.SIGTERM, os.Interrupt)
	}
	var wg sync.WaitGroup
	for range 2 {
		wg.Add(1)
		go count(wg.Done)
	}
	wg.Wait()
	if err := os.WriteFile("ready", nil, 0o666); err != nil {
		panic(err)
	}
	select {
	case s := <-signals:
		fmt.Println("got", s)
	case <-time.After(time.Minute):
		panic("no signal")
	}
}
`

// TestTerminate: a request to terminate reaches the program. heisen stays until
// it has ended, reports, and ends as the program did.
func TestTerminate(t *testing.T) {
	for _, test := range []struct {
		name, env string
		status    int
		stdout    string
	}{
		{"caught", "CATCH=1", 66, "got terminated\n"},
		{"not caught", "CATCH=", 128 + int(syscall.SIGTERM), ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			dir := writeFiles(t, map[string]string{"go.mod": "module example.com/m\n\ngo 1.25\n", "main.go": waitingProgram})
			status, stdout, stderr := signalled(t, dir, []string{test.env}, "ready", syscall.SIGTERM)
			if status != test.status || stdout != test.stdout {
				t.Errorf("exit status %d and output %q, want %d and %q", status, stdout, test.status, test.stdout)
			}
			if strings.Count(stderr, "WARNING: DATA RACE\n") != 2 || !strings.Contains(stderr, "Found 2 data race(s)\n") {
				t.Errorf("report:\n%s", stderr)
			}
		})
	}
}

// TestInterruptBuild: before the program runs, a signal ends heisen, and no temporary files remain.
// The go command in this test never answers.
func TestInterruptBuild(t *testing.T) {
	for _, signal := range []os.Signal{os.Interrupt, syscall.SIGTERM} {
		dir := writeFiles(t, map[string]string{"go": "#!/bin/sh\ntouch asked\nexec sleep 60\n"})
		tmp := t.TempDir()
		env := []string{"PATH=" + dir + ":" + os.Getenv("PATH"), "TMPDIR=" + tmp}
		status, stdout, stderr := signalled(t, dir, env, "asked", signal)
		if status != 1 || stdout != "" || stderr != "heisen run: interrupted\n" {
			t.Errorf("%v: exit status %d, output %q, errors %q", signal, status, stdout, stderr)
		}
		left, err := os.ReadDir(tmp)
		if err != nil || len(left) > 0 {
			t.Errorf("%v: left behind: %v, %v", signal, left, err)
		}
	}
}
