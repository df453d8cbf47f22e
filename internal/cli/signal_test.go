//go:build unix

package cli_test

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/heisen-go/heisen/internal/cli"
	"github.com/heisen-go/heisen/internal/processes"
)

// target is a process that gets a signal.
type target string

const (
	toHeisen  target = "heisen"
	toGroup   target = "the group of heisen" // as a terminal does
	toGo      target = "the go command"
	toProgram target = "the program"
)

// hearHangup ends that the hangup signal is ignored, as it is under nohup: processes inherit that, and
// heisen respects it.
func hearHangup() {
	if signal.Ignored(syscall.SIGHUP) {
		signal.Notify(make(chan os.Signal, 1), syscall.SIGHUP)
	}
}

// signalled starts heisen in a folder, sends a signal as soon as a file appears there, and returns
// heisen's exit status and what was printed. The file may have the process number of the program;
// the go command is its parent.
func signalled(t *testing.T, dir string, env []string, file string, to target, signal syscall.Signal, args ...string) (status int, stdout, stderr string) {
	t.Helper()
	return signalledAt(t, dir, env, file, to, signal, func() {}, args...)
}

// signalledAt is signalled. It calls at before it sends the signal.
func signalledAt(t *testing.T, dir string, env []string, file string, to target, signal syscall.Signal, at func(), args ...string) (status int, stdout, stderr string) {
	t.Helper()
	hearHangup()
	cmd := exec.Command("heisen", args...)
	cmd.Dir = dir
	cmd.Env = append(cmd.Environ(), env...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: to == toGroup}
	cmd.WaitDelay = time.Second // for processes that inherited the pipes
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	var text []byte
	for deadline := time.Now().Add(3 * time.Minute); ; time.Sleep(5 * time.Millisecond) {
		var err error
		if text, err = os.ReadFile(filepath.Join(dir, file)); err == nil {
			break
		}
		if time.Now().After(deadline) {
			cmd.Process.Kill()
			cmd.Wait()
			t.Fatalf("%s does not appear\n%s", file, errs.String())
		}
	}
	tree := processes.Tree(processes.Find(cmd.Process.Pid))
	pid := cmd.Process.Pid
	switch to {
	case toGroup:
		pid = -pid
	case toGo, toProgram:
		var parent int
		if _, err := fmt.Sscan(string(text), &pid, &parent); err != nil {
			t.Fatal(err)
		}
		if to == toGo {
			pid = parent
		}
	}
	at()
	if err := syscall.Kill(pid, signal); err != nil {
		t.Fatal(err)
	}
	cmd.Wait()
	for _, p := range tree {
		if p.Running() && to != toProgram { // what that leaves behind is not heisen's
			t.Errorf("process %d is left of %v", p.ID, tree)
			p.Signal(syscall.SIGKILL)
		}
	}
	return cmd.ProcessState.ExitCode(), out.String(), errs.String()
}

const waiting = `package %s

import (
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"sync"
	"syscall"
	"time"
	%s
)

var n int

func count(done func()) {
	defer done()
	n++
}

func %s {
	signals := make(chan os.Signal, 1)
	if os.Getenv("CATCH") != "" {
		signal.Notify(signals, syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP, syscall.SIGQUIT)
	}
	var wg sync.WaitGroup
	for range 2 {
		if os.Getenv("CLEAN") == "" {
			wg.Add(1)
			go count(wg.Done)
		}
	}
	wg.Wait()
	if err := exec.Command("sleep", "60").Start(); err != nil {
		panic(err)
	}
	if err := os.WriteFile("starting", fmt.Appendln(nil, os.Getpid(), os.Getppid()), 0o666); err != nil {
		panic(err)
	}
	if err := os.Rename("starting", "ready"); err != nil {
		panic(err)
	}
	for begin := time.Now(); time.Since(begin) < time.Minute; {
		select {
		case s := <-signals:
			fmt.Println("got", s)
			if os.Getenv("CATCH") == "ends" {
				os.Exit(0)
			}
		case <-time.After(time.Second):
		}
	}
	panic("nobody asked")
}
`

// waitingFiles is a program that races and waits for a signal, and a test that does.
func waitingFiles(t *testing.T) (dir string) {
	return writeFiles(t, map[string]string{
		"go.mod":       "module example.com/m\n\ngo 1.25\n",
		"main.go":      fmt.Sprintf(waiting, "main", "", "main()"),
		"main_test.go": strings.Replace(fmt.Sprintf(waiting, "main_test", `"testing"`, "TestWait(t *testing.T)"), "\n\nvar n", "\n\nvar _ testing.TB\n\nvar n", 1),
	})
}

// TestSignals: a signal to heisen ends everything that it has started, and the findings so far are
// reported. A signal to the go command or to the program ends heisen as well.
func TestSignals(t *testing.T) {
	const hup, sigint, quit, term, kill = syscall.SIGHUP, syscall.SIGINT, syscall.SIGQUIT, syscall.SIGTERM, syscall.SIGKILL
	for _, test := range []struct {
		args   string
		to     target
		env    string
		signal syscall.Signal
		status int
		stdout string // of a program
	}{
		{"run .", toHeisen, "", term, 66, ""},
		{"run .", toHeisen, "", sigint, 66, ""},
		{"run .", toHeisen, "", hup, 66, ""},
		{"run .", toHeisen, "", quit, 66, ""},
		{"run .", toGroup, "", sigint, 66, ""},
		{"run .", toHeisen, "CLEAN=1", term, 128 + 15, ""},
		{"run .", toHeisen, "CLEAN=1", sigint, 128 + 2, ""},
		{"run .", toHeisen, "CATCH=ends", term, 66, "got terminated\n"},
		{"run .", toHeisen, "CATCH=goes on", hup, 66, "got hangup\n"},
		{"run .", toProgram, "", term, 128 + 15, ""},
		{"run .", toProgram, "", kill, 128 + 9, ""},
		{"test .", toHeisen, "", term, 66, ""},
		{"test .", toHeisen, "", sigint, 66, ""},
		{"test .", toHeisen, "", hup, 66, ""},
		{"test .", toHeisen, "", quit, 66, ""},
		{"test .", toGroup, "", sigint, 66, ""},
		{"test .", toHeisen, "CATCH=goes on", sigint, 66, ""},
		{"test .", toHeisen, "CLEAN=1", term, 128 + 15, ""},
		{"test .", toGo, "", term, 66, ""},
		{"test .", toGo, "CLEAN=1", kill, 128 + 9, ""},
		{"test .", toProgram, "", term, 66, ""},
		{"test .", toProgram, "", kill, 1, ""},
		{"record -o t.heisen run .", toHeisen, "", term, 128 + 15, ""},
		{"record -o t.heisen test .", toHeisen, "", sigint, 128 + 2, ""},
	} {
		t.Run(fmt.Sprint(test.args, "/", test.to, "/", test.signal, "/", test.env), func(t *testing.T) {
			t.Parallel()
			dir, tmp := waitingFiles(t), t.TempDir()
			status, stdout, stderr := signalled(t, dir, []string{"TMPDIR=" + tmp, test.env}, "ready", test.to, test.signal, strings.Fields(test.args)...)
			if ofProgram := !strings.Contains(test.args, "test"); status != test.status || ofProgram && stdout != test.stdout {
				t.Errorf("exit status %d and output %q, want %d and %q\n%s", status, stdout, test.status, test.stdout, stderr)
			}
			// One race on one variable with two pairs of accesses, unless the program ended before it had named its places.
			races, pairs, want := strings.Count(stderr, "WARNING: DATA RACE\n"), strings.Count(stderr, "\n    also write"), 1
			if strings.Contains(stderr, "some places have no names") {
				races, pairs = pairs+races-1, 1
			}
			if test.env == "CLEAN=1" || strings.HasPrefix(test.args, "record") {
				want = 0
			}
			if races != want || pairs != want {
				t.Errorf("%d races and %d further pairs reported, want %d:\n%s", races, pairs, want, stderr)
			}
			if incomplete := strings.Contains(stderr, "the recording is incomplete"); incomplete != (test.to == toProgram && test.signal == kill) {
				t.Errorf("incomplete %v:\n%s", incomplete, stderr)
			}
			if left, err := os.ReadDir(tmp); test.to != toGo && (err != nil || len(left) > 0) { // killed, it leaves its folder
				t.Errorf("left behind: %v, %v", left, err)
			}
			if strings.HasPrefix(test.args, "record") {
				if status, stdout, stderr := heisenCommand("analyze", filepath.Join(dir, "t.heisen")); status != cli.Findings {
					t.Errorf("the trace: status %d\n%s%s", status, stdout, stderr)
				}
			}
		})
	}
}

// TestInterruptBuild: before the program runs, a signal ends heisen, and nothing
// stays behind. The go command is one that never answers.
func TestInterruptBuild(t *testing.T) {
	for _, signal := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT} {
		dir := writeFiles(t, map[string]string{"go": "#!/bin/sh\ntouch asked\nexec sleep 60\n"})
		tmp := t.TempDir()
		env := []string{"PATH=" + dir + ":" + os.Getenv("PATH"), "TMPDIR=" + tmp}
		status, stdout, stderr := signalled(t, dir, env, "asked", toHeisen, signal, "run", ".")
		if status != 128+int(signal) || stdout != "" || stderr != "heisen run: interrupted\n" {
			t.Errorf("%v: exit status %d, output %q, errors %q", signal, status, stdout, stderr)
		}
		left, err := os.ReadDir(tmp)
		if err != nil || len(left) > 0 {
			t.Errorf("%v: left behind: %v, %v", signal, left, err)
		}
	}
}

// TestInterruptFuzz: what was confirmed before a signal is reported with a schedule, although it has
// not been tried with all seeds.
func TestInterruptFuzz(t *testing.T) {
	dir := writeFiles(t, map[string]string{"go.mod": "module example.com/m\n\ngo 1.25\n", "main.go": `package main

import (
	"os"
	"sync"
)

var n int

func count(done func()) {
	defer done()
	n++
}

func main() {
	var wg sync.WaitGroup
	for range 2 {
		wg.Add(1)
		go count(wg.Done)
	}
	wg.Wait()
	f, err := os.OpenFile("runs", os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o666)
	if err != nil {
		panic(err)
	}
	f.Write([]byte("."))
	info, err := f.Stat()
	f.Close()
	if err == nil && info.Size() >= 40 {
		os.WriteFile("ready", nil, 0o666)
	}
}
`})
	t.Chdir(dir)
	for _, to := range []target{toHeisen, toGroup} {
		status, _, stderr := signalled(t, dir, nil, "ready", to, syscall.SIGTERM, "fuzz", "-seeds", "1:1000000", "run", ".")
		if status != 66 || !strings.Contains(stderr, "heisen replay heisen-fuzz/") || !strings.Contains(stderr, "heisen fuzz: interrupted\n") {
			t.Errorf("%s: exit status %d\n%s", to, status, stderr)
		}
		schedules, err := filepath.Glob("heisen-fuzz/*.schedule")
		if err != nil || len(schedules) == 0 {
			t.Fatalf("%s: schedules %v, %v", to, schedules, err)
		}
		if status, stdout, stderr := heisenCommand("replay", schedules[0]); status != 66 {
			t.Errorf("%s: replay: status %d\n%s%s", to, status, stdout, stderr)
		}
		for _, name := range append(schedules, "ready", "runs") {
			if err := os.Remove(name); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// TestInterruptLive: after a signal, heisen does not wait until a detector has finished what it is doing
// with the events of a program, and reports what was found so far. The program makes more events than fit
// into the window, and so few more that they do not have to wait for the detector.
func TestInterruptLive(t *testing.T) {
	var begin time.Time
	for _, detect := range []string{"fasttrack,mcm", "mcm,fasttrack,leak"} {
		dir := writeFiles(t, map[string]string{"go.mod": "module example.com/m\n\ngo 1.25\n", "main.go": hardForMcm})
		args := []string{"run", "-pkgs", "work", "-detect", detect, "-window", "400000", "-budget", "20000", ".", "15000", "stay"}
		started := func() { begin = time.Now() }
		status, _, stderr := signalledAt(t, dir, nil, "ready", toHeisen, syscall.SIGTERM, started, args...)
		took := time.Since(begin)
		if status != 66 || !toldByFastTrack.MatchString(stderr) {
			t.Errorf("%s: exit status %d\n%s", detect, status, stderr)
		}
		if !strings.Contains(stderr, "heisen: example.com/m: interrupted: detectors were given its first ") {
			t.Errorf("%s: it does not say that detectors were interrupted\n%s", detect, stderr)
		}
		if took > 10*time.Second {
			t.Errorf("%s: it took %v", detect, took)
		}
	}
}
