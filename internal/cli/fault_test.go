//go:build unix

package cli_test

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/heisen-go/heisen/internal/processes"
)

// busyProgram makes events until a file appears, at most for a minute, and races.
const busyProgram = `package main

import (
	"fmt"
	"os"
	"strconv"
	"sync"
	"time"
)

var (
	mu sync.Mutex
	n  int
	m  int
)

func busy(done func()) {
	defer done()
	for begin := time.Now(); time.Since(begin) < time.Minute; {
		for range 10_000 {
			mu.Lock()
			n++
			mu.Unlock()
		}
		if _, err := os.Stat("stop"); err == nil {
			break
		}
	}
}

func main() {
	var wg sync.WaitGroup
	for range 2 {
		wg.Add(1)
		go busy(wg.Done)
	}
	os.WriteFile("ready", fmt.Appendln(nil, os.Getpid(), os.Getppid()), 0o666)
	wg.Wait()
	done := make(chan bool)
	go func() {
		m++
		done <- true
	}()
	m++
	<-done
	os.WriteFile("ended", nil, 0o666)
	if len(os.Args) > 1 {
		status, _ := strconv.Atoi(os.Args[1])
		os.Exit(status)
	}
}
`

// appears waits for a file.
func appears(t *testing.T, file string) {
	t.Helper()
	for deadline := time.Now().Add(3 * time.Minute); ; time.Sleep(5 * time.Millisecond) {
		if _, err := os.Stat(file); err == nil {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("%s does not appear", file)
		}
	}
}

// Flags of heisen run with which a program sends all its events, and with which it detects races
// itself.
var (
	sendsAll = []string{"-filter", "none", "-detect", "hybrid,fasttrack"}
	detects  = []string{"-detect", "fasttrack"}
)

// startBusy starts heisen run on busyProgram and returns once both run. The processes are heisen
// first. The first of args is the status with which the program ends.
func startBusy(t *testing.T, flags []string, args ...string) (dir string, cmd *exec.Cmd, stderr *bytes.Buffer, both []processes.Process) {
	t.Helper()
	dir = writeFiles(t, map[string]string{"go.mod": "module example.com/m\n\ngo 1.25\n", "main.go": busyProgram})
	cmd = exec.Command("heisen", slices.Concat([]string{"run"}, flags, []string{"."}, args)...)
	cmd.Dir, cmd.WaitDelay = dir, 10*time.Second
	stderr = new(bytes.Buffer)
	cmd.Stderr = stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		for _, p := range both {
			p.Signal(syscall.SIGKILL)
		}
	})
	appears(t, filepath.Join(dir, "ready"))
	return dir, cmd, stderr, processes.Tree(processes.Find(cmd.Process.Pid))[:2]
}

func stop(t *testing.T, dir string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(dir, "stop"), nil, 0o666); err != nil {
		t.Fatal(err)
	}
}

// TestStopped stops heisen, the program, and both for a while: the verdict is the same.
func TestStopped(t *testing.T) {
	for _, name := range []string{"heisen", "program", "both", "heisen/detects", "program/detects", "both/detects"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			flags := sendsAll
			name, alone := strings.CutSuffix(name, "/detects")
			if alone {
				flags = detects
			}
			dir, cmd, stderr, both := startBusy(t, flags)
			stopped := map[string][]processes.Process{"heisen": both[:1], "program": both[1:], "both": both}[name]
			for range 3 {
				for _, p := range stopped {
					p.Signal(syscall.SIGSTOP)
				}
				time.Sleep(100 * time.Millisecond)
				for _, p := range stopped {
					p.Signal(syscall.SIGCONT)
				}
				time.Sleep(10 * time.Millisecond)
			}
			stop(t, dir)
			cmd.Wait()
			if status := cmd.ProcessState.ExitCode(); status != 66 || !strings.Contains(stderr.String(), "m++") {
				t.Errorf("exit status %d\n%s", status, stderr)
			}
		})
	}
}

// TestProgramKilled kills the program: heisen says so, and ends with its status, or with that of races
// that it had found.
func TestProgramKilled(t *testing.T) {
	for _, flags := range [][]string{sendsAll, detects} {
		_, cmd, stderr, both := startBusy(t, flags)
		both[1].Signal(syscall.SIGKILL)
		cmd.Wait()
		if status := cmd.ProcessState.ExitCode(); status != 128+9 || !strings.Contains(stderr.String(), "the recording is incomplete") {
			t.Errorf("%v: exit status %d\n%s", flags, status, stderr)
		}
	}
}

// TestHeisenKilled kills heisen: the program goes on, says that it is no longer recorded or prints its
// races itself, and ends. A stopped heisen takes nothing more, but the connection does, and the program
// waits for the verdict if it has found a race or ends with status 0.
func TestHeisenKilled(t *testing.T) {
	for _, test := range []struct {
		name          string
		stopped       bool
		flags, status []string
		afterEnd      bool
	}{
		{name: "running", flags: sendsAll},
		{name: "stopped", flags: sendsAll, stopped: true},
		{name: "at end", flags: sendsAll, stopped: true, afterEnd: true},
		{name: "running/detects", flags: detects},
		{name: "stopped/detects", flags: detects, stopped: true},
		{name: "at end/detects", flags: detects, stopped: true, afterEnd: true},
		{name: "at end with status 3/detects", flags: detects, stopped: true, afterEnd: true, status: []string{"3"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			dir, cmd, stderr, both := startBusy(t, test.flags, test.status...)
			if test.stopped { // it is waiting for heisen
				both[0].Signal(syscall.SIGSTOP)
				time.Sleep(100 * time.Millisecond)
			}
			end := func() {
				stop(t, dir)
				if !test.afterEnd || !slices.Equal(test.flags, sendsAll) { // else its last events may wait for heisen
					appears(t, filepath.Join(dir, "ended"))
				}
				time.Sleep(100 * time.Millisecond)
			}
			if test.afterEnd {
				end()
			}
			both[0].Signal(syscall.SIGKILL)
			time.Sleep(10 * time.Millisecond)
			if !test.afterEnd {
				end()
			}
			cmd.Wait() // until the program has closed standard error
			for deadline := time.Now().Add(time.Minute); both[1].Running(); time.Sleep(time.Millisecond) {
				if time.Now().After(deadline) {
					t.Fatal("the program does not end")
				}
			}
			if !strings.Contains(stderr.String(), "heisen: the analyzer is gone") {
				t.Errorf("it says %q", stderr)
			}
			if slices.Equal(test.flags, detects) && !strings.Contains(stderr.String(), "WARNING: DATA RACE") {
				t.Errorf("it reports no race: %q", stderr)
			}
		})
	}
}
