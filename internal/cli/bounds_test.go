package cli_test

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/internal/testaid/must"
	"github.com/heisen-go/heisen/trace"
)

// A hostile trace is small, and describes an execution that takes much time or memory.
type hostile struct {
	name string // of the file
	data func() []byte
}

const maxHostile = 1 << 20

// binaryOf returns a binary trace of events, as many as fit.
func binaryOf(events int, event func(i int) heisen.Record) func() []byte {
	return func() []byte {
		var out bytes.Buffer
		symbols := heisen.NewSymbols()
		symbols.AddSite(heisen.SiteInfo{Text: "1"})
		w := must.Make(trace.NewWriter(&out, symbols))
		for i := 0; i < events && out.Len() < maxHostile*7/8; i++ {
			r := event(i)
			r.Site = 1
			if err := w.Write([]heisen.Record{r}); err != nil {
				panic(err)
			}
		}
		if err := w.Close(); err != nil {
			panic(err)
		}
		return out.Bytes()
	}
}

// textOf returns a text trace of about a size, of which line i is line(i).
func textOf(size int, line func(i int) string) func() []byte {
	return func() []byte {
		var b bytes.Buffer
		for i := 0; b.Len() < size; i++ {
			b.WriteString(line(i))
			b.WriteByte('\n')
		}
		return b.Bytes()
	}
}

// zipped returns a compressed text trace of about a size before compression, of which line i is line(i).
func zipped(size int, line func(i int) string) func() []byte {
	return func() []byte {
		var out bytes.Buffer
		z := gzip.NewWriter(&out)
		for i := 0; size > 0; i++ {
			n, err := io.WriteString(z, line(i)+"\n")
			if err != nil {
				panic(err)
			}
			size -= n
		}
		if err := z.Close(); err != nil {
			panic(err)
		}
		return out.Bytes()
	}
}

func bomb202() []byte {
	data, err := os.ReadFile("testdata/hostile/bomb202.heisen")
	if err != nil {
		panic(err)
	}
	return data
}

func hostiles() []hostile {
	at := func(i int) heisen.Thread { return heisen.Thread(i & 1) }
	word := func(i int) heisen.Object { return heisen.Object(0x100000 + 8*i) }
	rng := rand.New(rand.NewPCG(1, 2))
	long := strings.Repeat("a", 500_000)
	const M = maxHostile - 100
	return []hostile{
		{"bomb202.heisen", bomb202},
		{"ranges.heisen", binaryOf(300_000, func(i int) heisen.Record {
			return heisen.Record{Op: heisen.Write, Thread: at(i), Object: heisen.Object(0x100000 + 0x10000*i), Len: 65535}
		})},
		{"scattered.heisen", binaryOf(300_000, func(i int) heisen.Record {
			return heisen.Record{Op: heisen.Write, Thread: at(i), Object: heisen.Object(0x100000 * (i + 1)), Len: 8}
		})},
		{"threads.heisen", binaryOf(100_000, func(i int) heisen.Record {
			return heisen.Record{Op: heisen.Write, Thread: heisen.Thread(i), Object: 0x100000, Len: 8}
		})},
		{"highthread.heisen", binaryOf(10, func(i int) heisen.Record {
			return heisen.Record{Op: heisen.Write, Thread: trace.MaxThreads - 1 - at(i), Object: 0x100000, Len: 8}
		})},
		{"forks.heisen", binaryOf(1_000_000, func(i int) heisen.Record {
			return heisen.Record{Op: heisen.Fork, Object: heisen.Object(i + 1)}
		})},
		{"locks.heisen", binaryOf(2_000_000, func(i int) heisen.Record {
			return heisen.Record{Op: []heisen.Op{heisen.Acquire, heisen.Release}[i&1], Thread: at(i / 2), Object: word(i / 2)}
		})},
		{"long.heisen", binaryOf(8_000_000, func(i int) heisen.Record {
			return heisen.Record{Op: heisen.Write, Thread: at(i), Object: 0x100000, Len: 8}
		})},
		{"atomics.heisen", binaryOf(1_000_000, func(i int) heisen.Record {
			return heisen.Record{Op: heisen.AtomicUpdate, Thread: at(i), Object: word(i), Len: 8}
		})},
		{"hides.heisen", binaryOf(200_000, func(i int) heisen.Record {
			return heisen.Record{Op: heisen.Hide, Thread: heisen.Thread(i & 3), Object: word(i)}
		})},
		{"allocs.heisen", binaryOf(1_000_000, func(i int) heisen.Record {
			return heisen.Record{Op: heisen.Alloc, Thread: at(i), Object: word(2 * i), Value: 1 << (8 + i%50)}
		})},
		{"addresses.std", textOf(M, func(i int) string {
			return fmt.Sprintf("T%d|w(0x%x)|1", i&1, 0x100000+uint64(rng.Int64N(1<<45))&^7)
		})},
		{"names.std", textOf(M, func(i int) string { return fmt.Sprintf("T%d|w65535(%x)", i&1, i) })},
		{"pairs.std", textOf(M/4, func(i int) string { return fmt.Sprintf("%d|w(x%d)|%d", rng.IntN(8), rng.IntN(50), i) })},
		{"sites.std", textOf(M/4, func(i int) string { return fmt.Sprintf("%d|w(x)|%d", i&7, i) })},
		{"blank.std.gz", zipped(200<<20, func(int) string { return strings.Repeat("\n", 1000) })},
		{"sameline.std.gz", zipped(60<<20, func(i int) string { return []string{"A|w(x)|1", "B|w(x)|2"}[i&1] })},
		{"longlines.std.gz", zipped(300<<20, func(i int) string { return fmt.Sprintf("A|w(x)|%s%d", long, i) })},
	}
}

// limited runs heisen with a limit on its address space, far above what it promises to use, and asserts that
// it ends as it promises: not by a signal or a crash of the runtime, with an error that says what is wrong
// or at which limit and place it has stopped, and within some MiB of memory.
func limited(t *testing.T, mib int64, file string, args ...string) (status int, out, errs string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "sh", append([]string{"-c", `ulimit -v 4000000; exec heisen "$@"`, "sh"}, args...)...)
	cmd.Dir = filepath.Dir(file)
	peak := filepath.Join(t.TempDir(), "peak")
	cmd.Env = append(os.Environ(), peakFile+"="+peak)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	var exit *exec.ExitError
	if err := cmd.Run(); err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	status, out, errs = cmd.ProcessState.ExitCode(), stdout.String(), stderr.String()
	short := errs[:min(len(errs), 2000)]
	if status != 0 && status != 1 && status != 66 || strings.Contains(errs, "goroutine ") {
		t.Errorf("heisen %v: status %d\n%s", args, status, short)
	}
	if used := peakOf(t, peak); used > mib {
		t.Errorf("heisen %v: used %d MiB, want at most %d", args, used, mib)
	}
	if status == 1 && !strings.Contains(errs, filepath.Base(file)) {
		t.Errorf("heisen %v does not say where\n%s", args, short)
	}
	return status, out, errs
}

// peakOf returns the most memory that a process has used, in MiB.
func peakOf(t *testing.T, file string) (mib int64) {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(text), "VmHWM:")
	if _, err := fmt.Sscan(rest, &mib); err != nil {
		t.Fatal(err)
	}
	return mib / 1024
}

// TestHostileTraces: all commands that read a trace keep the limits, whatever is in it.
func TestHostileTraces(t *testing.T) {
	all := "fasttrack,hb,eraser,hybrid,lockorder,serial,blocks,reduction,mcm,atomrace"
	for _, h := range hostiles() {
		t.Run(h.name, func(t *testing.T) {
			t.Parallel()
			file := filepath.Join(t.TempDir(), h.name)
			data := h.data()
			if err := os.WriteFile(file, data, 0o666); err != nil {
				t.Fatal(err)
			}
			if len(data) > maxHostile {
				t.Fatalf("the file has %d bytes", len(data))
			}
			limits := []string{"-max-memory", "100M", "-max-time", "300ms"}
			for _, command := range [][]string{
				append([]string{"analyze", "-transactions", "critical", "-detect", all}, limits...),
				append([]string{"analyze", "-filter", "tree", "-transactions", "marked", "-detect", all, "-report", "json"}, limits...),
				append([]string{"trace", "stat"}, limits...),
				append([]string{"trace", "validate"}, limits...),
				append([]string{"trace", "convert", "-o", "/dev/null"}, limits...),
				append([]string{"view", "-o", "/dev/null", "-events", "100"}, limits...),
			} {
				if testing.Short() && command[0] != "analyze" {
					continue
				}
				limited(t, 400, file, append(command, h.name)...)
			}
		})
	}
}

// TestDefaultLimits: without flags, a file of 202 bytes that describes writes of 1.3 GB ends at the limit of
// memory, and what was found before is reported.
func TestDefaultLimits(t *testing.T) {
	if testing.Short() {
		t.Skip("it fills the memory that heisen may use, and the race detector needs more")
	}
	file := filepath.Join(t.TempDir(), "bomb.std")
	text := "T0|w(x)|first\nT1|w(x)|second\n"
	for i := range 20_000 {
		text += fmt.Sprintf("T%d|w65535(0x%x)|3\n", i&1, 0x200000000000+i<<16)
	}
	if err := os.WriteFile(file, []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
	status, out, errs := limited(t, 1000, file, "analyze", "bomb.std")
	if status != 1 || !strings.Contains(errs, "bomb.std:") || !strings.Contains(errs, "stopped at the limit of 640 MiB of memory, which -max-memory can raise") {
		t.Errorf("status %d\n%s", status, errs)
	}
	if !strings.Contains(out, "Found 1 data race(s)") || !strings.Contains(out, "first") || !strings.Contains(out, "second") {
		t.Errorf("the race is not reported\n%s", out)
	}
	// With more memory than the machine has, the machine's is the limit.
	_, _, errs = limited(t, 3000, file, "analyze", "-max-memory", "100T", "-max-time", "1ms", "bomb.std")
	if !strings.Contains(errs, "of time, which -max-time can raise") {
		t.Errorf("no limit of time\n%s", errs)
	}
}

// TestFindingsLimit: there may be more findings than anybody reads.
func TestFindingsLimit(t *testing.T) {
	file := filepath.Join(t.TempDir(), "sites.std")
	if err := os.WriteFile(file, textOf(300_000, func(i int) string { return fmt.Sprintf("%d|w(x)|%d", i&7, i) })(), 0o666); err != nil {
		t.Fatal(err)
	}
	status, out, errs := limited(t, 1000, file, "analyze", "-detect", "hb", "sites.std")
	if status != 1 || !strings.Contains(errs, "stopped at the limit of 10000 findings") || !strings.Contains(out, "Found 10000 data race(s)") {
		t.Errorf("status %d\n%s", status, errs)
	}
}

// TestInterruptReports: what was found before a signal is reported, also if heisen waits for input, or for
// a detector, when it comes.
func TestInterruptReports(t *testing.T) {
	for _, c := range []struct {
		name    string
		signals int
		args    []string
	}{
		{"input", 1, []string{"-detect", "fasttrack"}},
		{"input, twice", 2, []string{"-detect", "fasttrack"}},
		{"window", 1, []string{"-detect", "mcm", "-window", "200"}},
		{"window, twice", 2, []string{"-detect", "mcm,fasttrack", "-window", "200"}},
		{"json", 1, []string{"-detect", "fasttrack,eraser", "-report", "json"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			cmd := exec.Command("heisen", append(append([]string{"analyze", "-max-time", "10m"}, c.args...), "-")...)
			in, err := cmd.StdinPipe()
			if err != nil {
				t.Fatal(err)
			}
			var out, errs bytes.Buffer
			cmd.Stdout, cmd.Stderr = &out, &errs
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			// When all is written, heisen has read all but what its buffers and the pipe hold.
			line := 0
			for written := 0; written < 800_000; line++ {
				n, err := io.WriteString(in, fmt.Sprintf("T%d|w(x%d)|%d\n", line%4, line%7, line%10))
				if err != nil {
					cmd.Wait()
					t.Fatal(err, errs.String())
				}
				written += n
			}
			for range c.signals {
				if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
					t.Fatal(err)
				}
			}
			err = cmd.Wait()
			if status := cmd.ProcessState.ExitCode(); status != 128+int(syscall.SIGTERM) || !strings.Contains(errs.String(), "interrupted") {
				t.Errorf("status %d, %v\n%s", status, err, errs.String())
			}
			if !strings.Contains(out.String(), "WARNING: DATA RACE") && !strings.Contains(out.String(), `"kind":"race"`) {
				t.Errorf("nothing is reported: %q", out.String())
			}
		})
	}
}
