package processes

import (
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"testing"
	"time"
)

// generationsEnv makes the test binary a process that prints its number, starts others below it, and waits.
const generationsEnv = "HEISEN_TEST_GENERATIONS"

func TestMain(m *testing.M) {
	generations, err := strconv.Atoi(os.Getenv(generationsEnv))
	if err != nil {
		os.Exit(m.Run())
	}
	fmt.Println(os.Getpid())
	if generations > 1 {
		family(generations - 1).Start()
	}
	time.Sleep(time.Hour)
}

// family returns a command that starts others, one below the other.
func family(generations int) *exec.Cmd {
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), fmt.Sprint(generationsEnv, "=", generations))
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	return cmd
}

// start starts a family of three and returns it.
func start(t *testing.T) (first *exec.Cmd, all []Process) {
	t.Helper()
	first = family(3)
	first.Stdout = nil
	return first, started(t, first)
}

// TestEnds: a tree has all processes below its root, and all of them can be ended.
func TestEnds(t *testing.T) {
	for name, end := range map[string]func(first *exec.Cmd, all []Process){
		"end":  func(_ *exec.Cmd, all []Process) { End(all[:1], 0, nil, func(Process) {}) },
		"kill": func(first *exec.Cmd, _ []Process) { KillGroup(first) },
	} {
		first, all := start(t)
		if got := Tree(all[0]); !slices.Equal(got, all) {
			t.Errorf("%s: the tree of %v is %v", name, all[0], got)
		}
		go first.Wait()
		end(first, all)
		for _, p := range all {
			for until := time.Now().Add(time.Minute); p.Running(); time.Sleep(time.Millisecond) {
				if time.Now().After(until) {
					t.Fatalf("%s: %v is running", name, p)
				}
			}
		}
	}
}

// TestOther: a number that another process has got is not the process.
func TestOther(t *testing.T) {
	self := Find(os.Getpid())
	if !self.Running() || self.start == "" {
		t.Errorf("this process is %v", self)
	}
	self.start = "1"
	if self.Running() {
		t.Error("another process counts as this one")
	}
	if Find(1 << 30).Running() {
		t.Error("there is no such process")
	}
}
