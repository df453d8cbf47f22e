package build

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/internal/races"
	"github.com/heisen-go/heisen/internal/recorder"
	"github.com/heisen-go/heisen/internal/testaid/must"
	"github.com/heisen-go/heisen/vclock"
)

// prog is the source of the program that the tests record.
const prog = "testdata/prog"

// built is the instrumented program. The first test that needs it builds it.
var built struct {
	once sync.Once
	dir  string
	exe  string // the program, or what runs it
	err  error
}

func TestMain(m *testing.M) {
	runSandboxed()
	os.Setenv("CGO_ENABLED", "0") // where C is linked the runtime finds no deadlocks
	status := m.Run()
	os.RemoveAll(built.dir)
	os.RemoveAll(aloneDir)
	os.Exit(status)
}

// prebuilt has the programs if they were built elsewhere, where there is a go command.
var prebuilt = flag.String("prebuilt", "", "`folder` with instrumented programs for Windows; if empty, they are built")

// The names of programs in that folder.
const (
	prebuiltProg = "prog.exe"
	prebuiltBank = "bank.exe"
)

// program returns the path of the instrumented program, or of a script that runs it.
func program(t *testing.T) string {
	t.Helper()
	if *prebuilt != "" {
		return filepath.Join(*prebuilt, prebuiltProg)
	}
	built.once.Do(func() {
		if built.dir, built.err = os.MkdirTemp("", "heisen-test-"); built.err != nil {
			return
		}
		built.exe = filepath.Join(built.dir, "prog")
		if built.err = buildProgram(context.Background(), built.exe); built.err == nil {
			built.exe, built.err = runnable(built.exe, installation(t))
		}
	})
	if built.err != nil {
		t.Fatal(built.err)
	}
	return built.exe
}

// buildProgram builds the program for the toolchain and platform in the environment. The overlay
// has its usual place, so the go command's cache has the standard library except in the first run.
func buildProgram(ctx context.Context, output string) error {
	b, err := New(ctx, prog, "", MainModules) // the tests count accesses
	if err != nil {
		return err
	}
	return b.Build(ctx, prog, output, nil, ".")
}

// testBinary builds the tests of the package in a folder.
func testBinary(t *testing.T, dir string) string {
	t.Helper()
	b, err := New(t.Context(), dir, "")
	if err != nil {
		t.Fatal(err)
	}
	exe := filepath.Join(dir, "x.test")
	cmd := b.Command(t.Context(), "test", "-c", "-vet=off", "-o", exe, ".")
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return exe
}

// recording is the result of a run of the program.
type recording struct {
	syms     *heisen.Symbols
	events   []heisen.Record
	err      error // of the stream
	finished bool
	skipped  uint64
	races    []heisen.Finding
	found    []heisen.Finding // races, by the program itself
	losses   recorder.RaceLosses
	programs int // that connected

	execution *recorder.Execution // of a deterministic run
	meetings  []recorder.Meeting

	status         int
	stdout, stderr string
}

// run says how to run a program.
type run struct {
	exe      string
	args     []string
	env      []string
	answer   int32 // the exit status that it gets in the answer
	mode     recorder.Mode
	schedule *recorder.Schedule
	live     *recorder.Live
	whilst   func(cmd *exec.Cmd, out *syncer) // called when it has started
}

// syncer is a buffer for concurrent reads and writes.
type syncer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (s *syncer) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.Write(p)
}

func (s *syncer) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.String()
}

// waitFor returns when s has the text in it.
func (s *syncer) waitFor(text string) {
	for !strings.Contains(s.String(), text) {
		time.Sleep(time.Millisecond)
	}
}

// record runs the program and records it. If the program starts others, it is the recording of the
// first.
func record(t *testing.T, r run) *recording {
	t.Helper()
	listener, err := recorder.Listen()
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, r.exe, r.args...)
	cmd.Env = append(append(environ(), listener.Env()), r.env...)
	var stdout, stderr syncer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}

	var first recording
	var programs sync.WaitGroup
	accepted := make(chan error)
	go func() {
		for {
			p, err := listener.Accept()
			if err != nil {
				accepted <- err
				return
			}
			rec := &first
			if first.programs++; first.programs > 1 {
				rec = &recording{}
			}
			programs.Add(1)
			go func() {
				defer programs.Done()
				rec.receive(p, r)
			}()
		}
	}()
	if r.whilst != nil {
		r.whilst(cmd, &stdout)
	}
	err = cmd.Wait()
	listener.Stop()
	<-accepted
	programs.Wait()

	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	if ctx.Err() != nil {
		t.Fatalf("%v hangs: %s", r.args, stderr.String())
	}
	first.status = cmd.ProcessState.ExitCode()
	first.stdout, first.stderr = stdout.String(), stderr.String()
	return &first
}

// environ returns the environment of this process for a program, without what only heisen reads.
func environ() []string {
	return slices.DeleteFunc(os.Environ(), func(v string) bool { return strings.HasPrefix(v, "HEISEN_PORTABLE=") })
}

// receive consumes the stream of one program.
func (rec *recording) receive(p *recorder.Program, r run) {
	defer p.Close(r.answer)
	stream, err := p.Open(recorder.Want{Mode: r.mode, Schedule: r.schedule, Live: r.live})
	if err != nil {
		rec.err = err
		return
	}
	rec.syms, rec.execution = stream.Symbols(), stream.Execution()
	stream.OnMeeting(func(m recorder.Meeting) { rec.meetings = append(rec.meetings, m) })
	stream.OnOverlap(func(o recorder.Overlap) {
		rec.found = append(rec.found, races.Unordered("fasttrack", o.Accesses[0].Object, o.Accesses[0], o.Accesses[1]))
	})
	keep := collect(func(r *heisen.Record) { rec.events = append(rec.events, *r) })
	races := must.Make(vclock.NewFastTrack(vclock.WithSink(func(f heisen.Finding) { rec.races = append(rec.races, f) })))
	_, rec.err = heisen.Run(context.Background(), stream, keep, races)
	if r.mode == recorder.Races {
		rec.races = rec.found
	}
	rec.finished, rec.skipped, rec.losses = stream.Finished(), stream.Skipped(), stream.RaceLosses()
}

// collect is a detector that passes events to a function.
type collect func(*heisen.Record)

func (c collect) Handle(e heisen.Event) { c(heisen.AsRecord(e)) }
func (c collect) Flush() error          { return nil }

// marks matches the names of lines in the program.
var marks = regexp.MustCompile(`// at: ([a-z0-9-]+)$`)

// lines returns the named lines of closer.go.
func lines(t *testing.T) map[string]int {
	t.Helper()
	named := linesOf(t, "closer.go")
	if len(named) < 30 {
		t.Fatalf("only %d lines have names", len(named))
	}
	return named
}

// linesOf returns the named lines of a file of the program.
func linesOf(t *testing.T, file string) map[string]int {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(prog, file))
	if err != nil {
		t.Fatal(err)
	}
	named := map[string]int{}
	for i, line := range strings.Split(string(text), "\n") {
		if m := marks.FindStringSubmatch(line); m != nil {
			named[m[1]] = i + 1
		}
	}
	return named
}

// place formats a frame: lines of closer.go by their names, others by their function.
func place(named map[string]int, f heisen.Frame) string {
	if filepath.Base(f.File) == "closer.go" {
		for name, line := range named {
			if line == f.Line {
				return name
			}
		}
	}
	return f.Func
}

// at returns the events that are at a named line, without those of the given ops.
func (rec *recording) at(t *testing.T, name string, ops ...heisen.Op) (events []heisen.Record) {
	t.Helper()
	named := lines(t)
	if named[name] == 0 {
		t.Fatalf("no line is called %s", name)
	}
	for _, r := range rec.events {
		frames := rec.syms.Site(r.Site).Frames
		if len(frames) > 0 && place(named, frames[0]) == name {
			for _, op := range ops {
				if r.Op == op {
					events = append(events, r)
				}
			}
		}
	}
	return events
}

// stack formats the calls of an event, innermost first, up to the function that is one of the
// programs.
func (rec *recording) stack(t *testing.T, r heisen.Record) string {
	named := lines(t)
	var places []string
	for _, f := range rec.syms.Stack(r.Site, r.Context) {
		p := place(named, f)
		if strings.HasPrefix(p, "main.closer.") || f.Func == "main.main" {
			break
		}
		places = append(places, p)
	}
	return strings.Join(places, " < ")
}

// locks formats the locks held at an event by the places where they were acquired.
func (rec *recording) locks(t *testing.T, r heisen.Record) string {
	named := lines(t)
	var held []string
	for _, h := range rec.syms.Locks(r.Context) {
		name := "?"
		if frames := rec.syms.Site(h.Site).Frames; len(frames) > 0 {
			name = place(named, frames[0])
		}
		if h.Shared {
			name += " (shared)"
		}
		held = append(held, name)
	}
	return strings.Join(held, ", ")
}

// describe formats a race for the message of a failure.
func (rec *recording) describe(f heisen.Finding) string {
	var b strings.Builder
	for _, a := range f.Accesses {
		fmt.Fprintf(&b, "%v of %#x by %s\n", a.Op, uint64(a.Object), rec.syms.Thread(a.Thread).Name)
		for _, frame := range rec.syms.Stack(a.Site, a.Context) {
			fmt.Fprintf(&b, "\t%s %s:%d\n", frame.Func, frame.File, frame.Line)
		}
	}
	return b.String()
}
