package build

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/internal/recorder"
)

// underLimit returns the arguments of a shell that runs a program with so many descriptors.
func underLimit(descriptors int, args ...string) run {
	return run{exe: "/bin/sh", args: append([]string{"-c", fmt.Sprintf(`ulimit -n %d; exec "$0" "$@"`, descriptors)}, args...)}
}

// bumps returns the number of writes that the program counts.
func (rec *recording) bumps() (n int) {
	for _, r := range rec.events {
		if frames := rec.syms.Site(r.Site).Frames; r.Op == heisen.Write && len(frames) > 0 && frames[0].Func == "main.bump" {
			n++
		}
	}
	return n
}

// TestDescriptors: whatever a program does with descriptors, its recording is complete, and no
// other file gets a byte of it. With 20 descriptors the recorder's would be among the program's.
func TestDescriptors(t *testing.T) { keepsRecording(t, program(t), 1024, 20) }

func keepsRecording(t *testing.T, exe string, limits ...int) {
	if recorder.Used() != recorder.Native {
		t.Skip("the connection is among the program's descriptors: TestSandbox has what happens then")
	}
	for _, limit := range limits {
		for _, name := range []string{"close-all", "replace-all", "connect", "close-amid-events"} {
			for _, mode := range []recorder.Mode{recorder.Everything, recorder.Races} {
				t.Run(fmt.Sprint(name, "/", limit, "/", mode), func(t *testing.T) {
					t.Parallel()
					r := underLimit(limit, exe, name)
					r.mode, r.answer = mode, 66
					rec := record(t, r)
					if rec.err != nil || !rec.finished || rec.status != 66 || rec.stderr != "" {
						t.Errorf("error %v, finished %v, status %d: %s", rec.err, rec.finished, rec.status, rec.stderr)
					}
					if len(rec.races) == 0 {
						t.Error("no race found")
					}
					want := ""
					if name == "connect" {
						want = "the peer gets \"hello\"\n"
					}
					if rec.stdout != want {
						t.Errorf("output %q, want %q", rec.stdout, want)
					}
					if n := rec.bumps(); name == "close-amid-events" && mode == recorder.Everything && n != 80_000 {
						t.Errorf("%d of 80000 writes were recorded", n)
					}
				})
			}
		}
	}
}

// TestNothingInherited: neither the program nor what it starts has a descriptor or an environment
// variable of heisen's.
func TestNothingInherited(t *testing.T) {
	for name, foreign := range map[string]string{"descriptors": "socket:", "environment": "HEISEN_"} {
		rec := record(t, run{exe: program(t), args: []string{name}, env: []string{"HEISEN_SYMBOLIZE=1", "HEISEN_CHILD_SOCKET=/nowhere"}})
		if rec.status != 0 || len(rec.stdout) < 100 {
			t.Errorf("%s: status %d, output %q, errors %q", name, rec.status, rec.stdout, rec.stderr)
		}
		for line := range strings.Lines(rec.stdout) {
			if strings.Contains(line, foreign) && !slices.Contains(os.Environ(), strings.TrimSuffix(line, "\n")) {
				t.Errorf("%s of heisen: %s", name, line)
			}
		}
	}
}

// TestSymbolizeInEnvironment: a program that nobody asks for symbols runs.
func TestSymbolizeInEnvironment(t *testing.T) {
	for _, value := range []string{"1", "0", "x", "99999999"} {
		rec := record(t, run{exe: program(t), args: []string{"exit-3"}, env: []string{"HEISEN_SYMBOLIZE=" + value}})
		if rec.status != 3 || rec.programs != 1 {
			t.Errorf("HEISEN_SYMBOLIZE=%s: status %d, %d programs", value, rec.status, rec.programs)
		}
	}
}

// TestOtherEnds: programs that end, or become another one, in unusual ways.
func TestOtherEnds(t *testing.T) {
	for _, test := range []struct {
		name     string
		status   int
		programs int
		finished bool
		stdout   string
	}{
		{"exec", 0, 1, true, "another program\n"},
		{"exec-self", 3, 2, true, ""},
		{"exec-fails", 66, 1, true, ""},
		{"syscall-exit", 0, 1, true, ""},
		{"goexit-main", 3, 1, true, ""},
		{"all-threads", 66, 1, true, ""},
		{"crash", -1, 1, true, ""},
		{"exit-group", 0, 1, false, ""},
		{"kill-child", 66, 2, true, ""},
		{"bare-child", 66, 2, true, "exit status 66\n"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			rec := record(t, run{exe: program(t), args: []string{test.name}, answer: 66})
			var lost *recorder.LostError
			if rec.err != nil && (test.finished || !errors.As(rec.err, &lost)) || rec.finished != test.finished {
				t.Errorf("error %v, finished %v", rec.err, rec.finished)
			}
			if rec.status != test.status || rec.programs != test.programs || rec.stdout != test.stdout {
				t.Errorf("status %d, %d programs, output %q: %s", rec.status, rec.programs, rec.stdout, rec.stderr)
			}
			if child := strings.HasSuffix(test.name, "child"); len(rec.races) == 0 && !child && test.finished {
				t.Error("no race found")
			}
		})
	}
}

// TestAddressSpace: where address space is limited, races are found as elsewhere, or the program
// says why it is not recorded, and goes on.
func TestAddressSpace(t *testing.T) {
	exe, name := program(t), "close-all"
	if recorder.Used() != recorder.Native {
		name = "exec-fails" // the recording of the other one ends before it does
	}
	for _, kilobytes := range []int{32_000_000, 8_000_000, 4_000_000, 2_000_000, 1_500_000, 1_000_000} {
		for _, mode := range []recorder.Mode{recorder.Everything, recorder.Races} {
			t.Run(fmt.Sprint(kilobytes, "/", mode), func(t *testing.T) {
				t.Parallel()
				rec := record(t, run{exe: "/bin/sh", args: []string{"-c", fmt.Sprintf(`ulimit -v %d; exec "$0" "$@"`, kilobytes), exe, name}, mode: mode, answer: 66})
				var refused *recorder.RefusedError
				t.Log(rec.err)
				switch {
				case errors.As(rec.err, &refused) && rec.status == 0:
				case rec.err != nil || !rec.finished || len(rec.races) == 0 || rec.status != 66:
					t.Errorf("error %v, finished %v, %d races, status %d: %s", rec.err, rec.finished, len(rec.races), rec.status, rec.stderr)
				}
				if kilobytes >= 1_500_000 && rec.err != nil {
					t.Errorf("error %v", rec.err)
				}
			})
		}
	}
}
