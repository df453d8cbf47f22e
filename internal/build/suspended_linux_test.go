package build

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/heisen-go/heisen/internal/core/strategies"
	"github.com/heisen-go/heisen/internal/recorder"
)

// TestSuspended: time in which no thread of a program gets a processor does not count for its system calls, so a run with
// pauses is the same as one without. Where the system does not tell whether a thread sleeps, a pause looks like a system
// call that takes long.
func TestSuspended(t *testing.T) {
	r := run{exe: program(t), args: []string{"det-calls"}, schedule: &recorder.Schedule{Strategy: strategies.Config{Seed: 1}}}
	usual := record(t, r)
	if usual.status != 0 || usual.err != nil || !usual.execution.Replayable() {
		t.Fatalf("status %d, error %v, %+v", usual.status, usual.err, usual.execution.Influences)
	}
	var err error
	r.whilst = func(cmd *exec.Cmd, out *syncer) {
		out.waitFor("1")
		err = suspend(cmd.Process.Pid)
	}
	got := record(t, r).outcome()
	if errors.Is(err, syscall.EPERM) {
		t.Skip("this process may not trace another one:", err)
	}
	if err != nil {
		t.Fatal(err)
	}
	if want := usual.outcome(); got != want {
		t.Error(cmp.Diff(want, got))
	}
}

// suspend stops all threads of a process, again and again. Each time, its monitor thread, which looks what the others do, goes on
// before them, as it may on a busy machine, and looks twice.
func suspend(pid int) error {
	runtime.LockOSThread() // the thread that traces others
	defer runtime.UnlockOSThread()
	for range 12 {
		threads, err := threadsOf(pid)
		if err != nil {
			return err
		}
		for _, id := range threads {
			if err := stop(id); err != nil {
				return fmt.Errorf("stop thread %d: %w", id, err)
			}
		}
		time.Sleep(100 * time.Millisecond)
		const monitor = 1 // the runtime starts it first
		errs := []error{syscall.PtraceDetach(threads[monitor])}
		time.Sleep(15 * time.Millisecond)
		for _, id := range slices.Delete(threads, monitor, monitor+1) {
			errs = append(errs, syscall.PtraceDetach(id))
		}
		if err := errors.Join(errs...); err != nil {
			return err
		}
		time.Sleep(12 * time.Millisecond)
	}
	return nil
}

// threadsOf returns the threads of a process, the oldest first.
func threadsOf(pid int) (threads []int, err error) {
	entries, err := os.ReadDir(fmt.Sprintf("/proc/%d/task", pid))
	for _, e := range entries {
		id, err := strconv.Atoi(e.Name())
		if err != nil {
			return nil, err
		}
		threads = append(threads, id)
	}
	slices.Sort(threads)
	return threads, err
}

// stop stops a thread until syscall.PtraceDetach.
func stop(thread int) error {
	if err := syscall.PtraceAttach(thread); err != nil {
		return err
	}
	_, err := syscall.Wait4(thread, nil, syscall.WALL, nil)
	return err
}
