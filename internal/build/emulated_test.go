package build

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"testing"

	"github.com/heisen-go/heisen/internal/testaid/tier"
)

// emulators run programs for other processors under Linux, by GOARCH.
var emulators = map[string]string{"arm64": "qemu-aarch64-static", "riscv64": "qemu-riscv64-static"}

// emulate has the processors that TestEmulated tries.
var emulate = flag.String("emulate", "arm64", "comma-separated `processors` that are emulated")

// TestEmulated runs tests of this package again with programs for other processors under emulation. The
// emulator has the memory order of this machine, so it does not show bugs of weaker order.
func TestEmulated(t *testing.T) {
	tier.Need(t, tier.Nightly)
	for goarch := range strings.SplitSeq(*emulate, ",") {
		t.Run(goarch, func(t *testing.T) { testEmulated(t, goarch) })
	}
}

func testEmulated(t *testing.T, goarch string) {
	if _, err := exec.LookPath(emulators[goarch]); err != nil || runtime.GOARCH == goarch {
		t.Skipf("nothing is emulated on %s: %v", runtime.GOARCH, err)
	}
	// Programs that start others are left out: the kernel does not know the emulator for those.
	tests := []string{
		"Verdicts", "Unrecorded", "Goroutines", "Locks", "Chance", "Atomics", "Stacks", "DeepRecursion", "Copy",
		"ManyGoroutines", "Ends", "ExitAmidEvents", "Killed", "Idle", "Schedulers", "Spans", "Skipped",
		"Replay", "StopsAtCopies", "Meetings", "Points", "PointsOfTurns", "DirectedDeadlock",
	}
	if goarch == "riscv64" { // others look at the places of synchronization, which need frame pointers
		tests = []string{
			"Verdicts", "Unrecorded", "Goroutines", "Spans", "Skipped", "ManyGoroutines", "Killed", "Schedulers",
			"Replay", "StopsAtCopies", "Meetings", "Points", "PointsOfTurns",
		}
	}
	cmd := exec.CommandContext(t.Context(), os.Args[0],
		"-test.run=^Test("+strings.Join(tests, "|")+")$", "-test.v", "-test.short", "-replays=1")
	cmd.Env = append(os.Environ(), "GOOS=linux", "GOARCH="+goarch)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Errorf("%v\n%s", err, out)
	}
	for _, name := range tests {
		if !strings.Contains(string(out), "--- PASS: Test"+name+" (") {
			t.Errorf("Test%s has not passed", name)
		}
	}
}

// runnable returns what runs a program that was built for a port: the program, or a script.
func runnable(exe string, port *Toolchain) (string, error) {
	switch {
	case port.GOOS == "windows":
		return underWine(exe)
	case port.GOARCH != runtime.GOARCH:
		return emulated(exe, port.GOARCH)
	}
	return exe, nil
}

// emulated returns a script that runs the program at exe, for a processor. It bounds the address space, because the
// emulator keeps track of every reserved page and the recorder reserves gigabytes.
func emulated(exe, goarch string) (script string, err error) {
	path, err := exec.LookPath(emulators[goarch])
	if err != nil {
		return "", err
	}
	script = exe + ".sh"
	const kilobytes = 32 << 20
	text := fmt.Sprintf("#!/bin/sh\nulimit -v %d\nexec %s %s \"$@\"\n", kilobytes, path, exe)
	return script, os.WriteFile(script, []byte(text), 0o777)
}
