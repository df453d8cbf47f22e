package build

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/heisen-go/heisen/internal/recorder"
	"github.com/heisen-go/heisen/internal/testaid/tier"
)

// limited is a program that runs alone, with a limit of address space.
func limited(kilobytes int, exe string, args ...string) alone {
	return alone{exe: "/bin/sh", args: append([]string{"-c", fmt.Sprintf(`ulimit -v %d; exec "$0" "$@"`, kilobytes), exe}, args...)}
}

// limits returns the program of testdata/alone/limits, and a plain build of it.
func limits(t *testing.T) (exe, plain string) {
	t.Helper()
	programs, err := alonePrograms()
	if err != nil {
		t.Fatal(err)
	}
	plain = filepath.Join(t.TempDir(), "plain")
	cmd := exec.Command("go", "build", "-o", plain, "./limits")
	cmd.Dir = "testdata/alone"
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return programs["limits"], plain
}

const (
	notLooked = "heisen: no address space for shadow memory; races are not looked for in this run\n"
	missed    = "heisen: address space is limited (ulimit -v), and races in part of the memory were missed\n"
	small     = "heisen: shadow memory is small on this system, and races in part of the memory were missed\n"
)

// TestLimitedAlone: whatever the limit, races are looked for, or the program says in one line that they are not, and its
// status is 1 unless it is another one anyway. Where the plain program does not start, this one need not.
func TestLimitedAlone(t *testing.T) {
	exe, plain := limits(t)
	found, unable := 0, 0
	for kilobytes := 800_000; kilobytes < 40_000_000; kilobytes += kilobytes / 8 {
		if limited(kilobytes, plain, "grow", "slices", "1").run(t).status != 0 {
			continue
		}
		racy, clean := limited(kilobytes, exe, "race").run(t), limited(kilobytes, exe, "none").run(t)
		switch {
		case strings.Contains(racy.stderr, "WARNING: DATA RACE"):
			found++
			complete := clean.status == 0 && clean.stderr == "" || kilobytes < 1_500_000 && clean.status == 1 && clean.stderr == missed
			if racy.status != 66 || !complete || clean.stdout != "done\n" {
				t.Errorf("%d KB: status %d, without a race %d: %s%s", kilobytes, racy.status, clean.status, clean.stdout, clean.stderr)
			}
		case kilobytes >= 1_500_000:
			t.Errorf("%d KB: no race, status %d: %s", kilobytes, racy.status, racy.stderr)
		case racy.status == 1:
			if unable++; racy.stderr != notLooked || racy.stdout != "done\n" || clean.status != 1 || clean.stderr != notLooked {
				t.Errorf("%d KB: status %d, without a race %d: %s%s", kilobytes, racy.status, clean.status, racy.stderr, clean.stderr)
			}
		default: // package runtime itself has not enough: instrumented, the executable is larger
			if kilobytes > 1_280_000 || !strings.Contains(racy.stderr, "fatal error: ") {
				t.Errorf("%d KB: status %d: %s", kilobytes, racy.status, racy.stderr)
			}
		}
	}
	if found == 0 || unable == 0 {
		t.Errorf("races found under %d limits, not looked for under %d", found, unable)
	}
}

// TestLimitedHeap: a heap may grow as under a limit without heisen, but for a few hundred megabytes. Races in a part of it
// that has no shadow memory are missed, which the program says. Other races are found.
func TestLimitedHeap(t *testing.T) {
	tier.Need(t, tier.CI)
	exe, plain := limits(t)
	for _, test := range []struct{ kilobytes, heap int }{{3_000_000, 1000}, {6_000_000, 3000}} {
		for _, shape := range []string{"one", "slices", "nodes", "append", "map", "blocks", "goroutines"} {
			for _, gogc := range []string{"100", "off"} {
				if gogc == "off" && (shape == "append" || shape == "map") || test.heap > 1000 && shape != "one" && shape != "slices" {
					continue // it would need more than it keeps; it would take more memory than tests should
				}
				name := fmt.Sprint(test.kilobytes, "/", shape, "/", gogc)
				heap := strconv.Itoa(test.heap)
				a := limited(test.kilobytes, plain, "grow", shape, heap)
				a.env = []string{"GOGC=" + gogc}
				if p := a.run(t); p.status != 0 {
					t.Errorf("%s: the plain program has status %d: %s", name, p.status, p.stderr)
				}
				a = limited(test.kilobytes, exe, "grow", shape, heap)
				a.env = []string{"GOGC=" + gogc}
				if p := a.run(t); p.status != 1 && p.status != 0 || p.status == 1 && p.stderr != missed || p.status == 0 && p.stderr != "" || p.stdout != "done\n" {
					t.Errorf("%s: status %d: %s%s", name, p.status, p.stdout, p.stderr)
				}
				a = limited(test.kilobytes, exe, "grow-race", shape, heap)
				a.env = []string{"GOGC=" + gogc}
				if p := a.run(t); p.status != 66 || !strings.Contains(p.stderr, "WARNING: DATA RACE") {
					t.Errorf("%s: status %d: %s", name, p.status, p.stderr)
				}
			}
		}
	}
	// Nothing is missed where there is room.
	if p := limited(6_000_000, exe, "grow", "slices", "300").run(t); p.status != 0 || p.stderr != "" {
		t.Errorf("status %d: %s", p.status, p.stderr)
	}
	// A heap for which there is no room even so: the program says what takes it.
	full := regexp.MustCompile(`^heisen: address space is limited \(ulimit -v\), and the heap cannot grow by \d+ MiB; tables of heisen take \d+ MiB\n`)
	for _, shape := range []string{"one", "slices", "blocks"} {
		if p := limited(3_000_000, exe, "grow", shape, "5000").run(t); p.status != 2 || !full.MatchString(p.stderr) ||
			!strings.Contains(p.stderr, "fatal error: out of memory") || strings.Contains(p.stderr, "collisions") {
			t.Errorf("%s: status %d: %s", shape, p.status, p.stderr)
		}
	}
}

// TestScarceMemory: where memory is limited, and addresses are not, a program that has tables goes on without shadow memory
// for the rest of its heap.
func TestScarceMemory(t *testing.T) {
	if recorder.Used() == recorder.Native {
		t.Skip("tables that are not touched need no memory here")
	}
	exe, _ := limits(t)
	scarce := func(kilobytes int, args ...string) ended {
		text := fmt.Sprintf(`ulimit -d %d; exec "$0" "$@"`, kilobytes)
		return alone{exe: "/bin/sh", args: append([]string{"-c", text, exe}, args...)}.run(t)
	}
	if p := scarce(600_000, "race"); p.status != 1 || p.stderr != notLooked || p.stdout != "done\n" {
		t.Errorf("without room for tables: status %d: %s%s", p.status, p.stdout, p.stderr)
	}
	if p := scarce(2_000_000, "race"); p.status != 66 || numReports(p.stderr) == 0 {
		t.Errorf("with room for tables: status %d: %s", p.status, p.stderr)
	}
	if p := scarce(2_000_000, "grow", "slices", "200"); p.status != 1 || p.stderr != small || p.stdout != "done\n" {
		t.Errorf("a heap: status %d: %s%s", p.status, p.stdout, p.stderr)
	}
}

// TestLimitedOrder: where part of the heap has no shadow memory, a program without a race gets no report: nothing that
// orders its accesses is lost, be it done while there was shadow memory, or where there was none.
func TestLimitedOrder(t *testing.T) {
	exe, _ := limits(t)
	for _, test := range []struct{ kilobytes, heap int }{
		{1_500_000, 10}, {1_500_000, 100}, {2_000_000, 500}, {3_000_000, 300}, {3_000_000, 1000}, {3_000_000, 1200}, {6_000_000, 3000},
	} {
		for range 3 {
			p := limited(test.kilobytes, exe, "ordered", strconv.Itoa(test.heap)).run(t)
			if p.stdout != "done\n" || p.status != 0 && p.status != 1 || p.status == 1 && p.stderr != missed {
				t.Errorf("%v: status %d: %s", test, p.status, p.stderr)
			}
		}
	}
}

// TestLargeData: a data segment that has no room for all of its shadow memory has it for a part, and costs little where it
// is sparse.
func TestLargeData(t *testing.T) {
	programs, err := alonePrograms()
	if err != nil {
		t.Fatal(err)
	}
	exe := programs["largedata"]
	p := alone{exe: exe, args: []string{"sparse"}}.run(t)
	complete := p.status == 0 && p.stderr == ""
	if recorder.Used() != recorder.Native { // shadow memory has a size that any system may allow
		complete = p.status == 1 && p.stderr == small
	}
	if peak, err := strconv.Atoi(strings.TrimSpace(p.stdout)); err != nil || peak > 4096*3*4/1024+48 || !complete {
		t.Errorf("%d MiB, status %d: %s", peak, p.status, p.stderr)
	}
	for _, kilobytes := range []int{2_200_000, 3_000_000, 4_000_000} {
		if p := limited(kilobytes, exe, "race").run(t); p.status != 66 || !strings.Contains(p.stderr, "WARNING: DATA RACE") {
			t.Errorf("%d KB: status %d: %s", kilobytes, p.status, p.stderr)
		}
		if p := limited(kilobytes, exe, "none").run(t); p.status != 1 || p.stderr != missed {
			t.Errorf("%d KB: status %d: %s", kilobytes, p.status, p.stderr)
		}
	}
}

// TestSparseHeap: shadow memory is used where the program uses its memory, not for whole objects. A page of the heap or
// of a data segment has cells of two pages, and the program itself a few tens of megabytes.
func TestSparseHeap(t *testing.T) {
	if _, err := os.Stat("/sys/kernel/mm/transparent_hugepage"); err != nil {
		t.Log("this kernel has no huge pages, which would be wasted")
	}
	programs, err := alonePrograms()
	if err != nil {
		t.Fatal(err)
	}
	for shape, most := range map[string]int{
		"make":     16384*2*4/1024 + 48, // a page of each, and of its cells
		"slices":   16384*2*4/1024 + 48, // the same
		"small":    16384*2*4/1024 + 48, // the same
		"records":  16384*2*4/1024 + 48, // the same
		"hint":     1400,                // package runtime itself touches most of it
		"reused":   800,                 // package runtime clears memory that it uses again
		"capacity": 3 + 48,
		"lines":    32*3 + 48,
		"stacks":   150,
	} {
		p := alone{exe: programs["limits"], args: []string{"sparse", shape}}.run(t)
		if peak, err := strconv.Atoi(strings.TrimSpace(p.stdout)); err != nil || peak > most {
			t.Errorf("%s: %d MiB of at most %d, status %d: %s", shape, peak, most, p.status, p.stderr)
		} else {
			t.Logf("%s: %d MiB of at most %d", shape, peak, most)
		}
	}
}
