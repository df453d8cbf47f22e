// Package selftest finds out whether a Go installation that heisen was not tested with can be instrumented. It builds small
// programs with that installation, of which it is known what heisen has to say about them, and runs them in the modes in which
// heisen runs programs.
package selftest

import (
	"bytes"
	"context"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/internal/build"
	"github.com/heisen-go/heisen/internal/core/strategies"
	"github.com/heisen-go/heisen/internal/private"
	"github.com/heisen-go/heisen/internal/recorder"
	"github.com/heisen-go/heisen/vclock"
)

// source has the programs. Their names end in .txt, so that they are no packages of this module.
//
//go:embed program
var source embed.FS

// Error says that a program with a known verdict has another one.
type Error struct {
	Version string // of Go
	Program string // what was tried
	Err     error
}

func (e *Error) Error() string {
	return fmt.Sprintf("%s fails the self-test %q: %v", e.Version, e.Program, e.Err)
}

func (e *Error) Unwrap() error { return e.Err }

// Ensure runs the self-test with the Go installation of b, unless it has passed before with that installation and this heisen.
// begins is called before it runs, which may take minutes, because the standard library is compiled. The error is an *Error if a
// verdict is wrong, or the programs do not build.
func Ensure(ctx context.Context, b *build.Builder, begins func()) error {
	passed, err := record(b)
	if err != nil {
		return err
	}
	if _, err := os.Stat(passed); err == nil {
		private.Use(passed)
		return nil
	}
	begins()
	if err := Run(ctx, b); err != nil {
		return err
	}
	return private.Put(passed, []byte(b.Toolchain.Version+"\n"))
}

// record returns the name of the file that says that the self-test has passed. The overlay is made of the installation's source
// and the recorder's, and its name is a hash of both.
func record(b *build.Builder) (string, error) {
	cache, err := private.Cache("heisen")
	if err != nil {
		return "", fmt.Errorf("cache: %w", err)
	}
	hash := sha256.New()
	fmt.Fprintln(hash, b.Toolchain.Version, b.Toolchain.Root, filepath.Dir(b.Overlay()))
	err = fs.WalkDir(source, ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := source.ReadFile(path)
		hash.Write(text)
		return err
	})
	return filepath.Join(cache, "selftest-"+hex.EncodeToString(hash.Sum(nil)[:8])), err
}

// Run runs the self-test with the Go installation of b. The error is as for Ensure.
func Run(ctx context.Context, b *build.Builder) error {
	temp, err := private.NewTemporary()
	if err != nil {
		return err
	}
	defer temp.Remove()
	failed := func(what string, err error) error {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		return &Error{b.Toolchain.Version, what, err}
	}
	p, err := compile(ctx, b.Elsewhere(), temp.Path)
	if err != nil {
		return failed("programs that build", errors.New(err.Error())) // not an error of the user's program
	}
	for _, test := range tests {
		if test.connects && !Whole() {
			continue
		}
		if err := test.run(ctx, p); err != nil {
			return failed(test.name, err)
		}
	}
	return nil
}

// Whole reports whether all of the self-test can run on this machine. Elsewhere, programs do not connect to heisen, and
// what needs that is left out.
func Whole() bool { return build.Connects(runtime.GOOS) }

// programs are the executables of the self-test.
type programs struct{ main, tests string }

// compile writes the source to a folder and builds it there.
func compile(ctx context.Context, b *build.Builder, folder string) (p programs, err error) {
	if err := copySource(folder); err != nil {
		return p, err
	}
	named := func(name string) string { return filepath.Join(folder, b.Toolchain.Executable(name)) }
	p = programs{named("selftest"), named("selftest.test")}
	if err := b.Build(ctx, folder, p.main, nil, "."); err != nil {
		return p, err
	}
	cmd := b.Command(ctx, "test", "-c", "-vet=off", "-o", p.tests, "./tested")
	cmd.Dir = folder
	if out, err := cmd.CombinedOutput(); err != nil {
		return p, fmt.Errorf("%w: %s", err, bytes.TrimSpace(out))
	}
	return p, nil
}

// copySource writes the source to a folder.
func copySource(folder string) error {
	err := os.WriteFile(filepath.Join(folder, "go.mod"), []byte("module example.com/selftest\n\ngo 1.26\n"), 0o600)
	if err != nil {
		return err
	}
	return fs.WalkDir(source, "program", func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		to := filepath.Join(folder, strings.TrimPrefix(strings.TrimSuffix(path, ".txt"), "program"))
		if d.IsDir() {
			return os.MkdirAll(to, 0o700)
		}
		text, err := source.ReadFile(path)
		if err != nil {
			return err
		}
		return os.WriteFile(to, text, 0o600)
	})
}

// tests are what is tried, the simplest first.
var tests = []struct {
	name     string
	run      func(context.Context, programs) error
	connects bool // the programs connect to heisen
}{
	{"races in running programs", reportsRaces, false},
	{"no races in running programs", reportsNone, false},
	{"a race in a test", failsTest, false},
	{"races in recordings", recordsRaces, true},
	{"the same schedule twice", replays, true},
	{"goroutines that wait for ever", findsLeaks, true},
	{"pointers of goroutines that are stopped", keepsPointers, true},
}

// correct are the programs without a race.
var correct = []string{"locks", "channels", "atomics", "groups", "pools", "timers", "reuse", "noleak", "pointers"}

var racy = []string{"race-variable", "race-map", "race-slice"}

const (
	raceStatus = 66
	raceReport = "DATA RACE"
	patience   = time.Minute // for a program; most take milliseconds
)

func reportsRaces(ctx context.Context, p programs) error {
	for _, name := range racy {
		if r := start(ctx, p.main, nil, nil, name); r.status != raceStatus || !strings.Contains(r.printed, raceReport) {
			return fmt.Errorf("%s: no race was reported: %v", name, r)
		}
	}
	return nil
}

func reportsNone(ctx context.Context, p programs) error {
	for _, name := range correct {
		if r := start(ctx, p.main, nil, nil, name); r.status != 0 {
			return fmt.Errorf("%s: it must pass: %v", name, r)
		}
	}
	return nil
}

func failsTest(ctx context.Context, p programs) error {
	r := start(ctx, p.tests, nil, nil, "-test.v")
	if r.status == 0 || !strings.Contains(r.printed, raceReport) || !strings.Contains(r.printed, "--- FAIL: TestRace ") || !strings.Contains(r.printed, "--- PASS: TestNoRace ") {
		return fmt.Errorf("TestRace must fail, and TestNoRace pass: %v", r)
	}
	return nil
}

func recordsRaces(ctx context.Context, p programs) error {
	for _, name := range append([]string{"race-variable", "race-slice"}, correct...) {
		r := start(ctx, p.main, &recorder.Want{Mode: recorder.EverythingAndRaces}, nil, name)
		has := strings.HasPrefix(name, "race-")
		if r.err != nil || r.status != 0 || (r.recorded > 0) != has || (r.found > 0) != has {
			return fmt.Errorf("%s: races: %d of the recording, %d of the program: %v", name, r.recorded, r.found, r)
		}
	}
	return nil
}

func replays(ctx context.Context, p programs) error {
	outputs := map[string]bool{}
	for seed := range uint64(4) {
		want := func() *recorder.Want {
			return &recorder.Want{Mode: recorder.FindingsOnly, Schedule: &recorder.Schedule{Strategy: strategies.Config{Seed: seed}}}
		}
		first, again := start(ctx, p.main, want(), nil, "choices"), start(ctx, p.main, want(), nil, "choices")
		if first.err != nil || first.status != 0 || !first.execution.Replayable() {
			return fmt.Errorf("choices with seed %d: %v", seed, first)
		}
		if first.printed != again.printed || first.execution.Hash != again.execution.Hash || first.execution.Steps != again.execution.Steps {
			return fmt.Errorf("choices with seed %d: two executions of one schedule differ: %v, and %v", seed, first, again)
		}
		outputs[first.printed] = true
	}
	if len(outputs) == 1 {
		return errors.New("choices: all seeds give one order")
	}
	return nil
}

func findsLeaks(ctx context.Context, p programs) error {
	for name, leaked := range map[string]int{"leak": 1, "noleak": 0} {
		r := start(ctx, p.main, &recorder.Want{Mode: recorder.FindingsOnly, Schedule: &recorder.Schedule{ToEnd: true}}, nil, name)
		if r.err != nil || r.status != 0 || len(r.execution.Leaked) != leaked {
			return fmt.Errorf("%s: %d goroutines wait for ever: %v", name, len(r.execution.Leaked), r)
		}
	}
	return nil
}

func keepsPointers(ctx context.Context, p programs) error {
	environment := []string{"GODEBUG=clobberfree=1", recorder.CollectEnv + "=1"}
	for _, name := range []string{"pointers", "atomics", "pools"} {
		for seed := range uint64(3) {
			r := start(ctx, p.main, &recorder.Want{Mode: recorder.FindingsOnly, Schedule: &recorder.Schedule{Strategy: strategies.Config{Seed: seed}}}, environment, name)
			if r.err != nil || r.status != 0 {
				return fmt.Errorf("%s with seed %d: %v", name, seed, r)
			}
		}
	}
	return nil
}

// result is what a program has done.
type result struct {
	status    int
	printed   string
	recorded  int // races in the recording
	found     int // races that the program has found itself
	execution recorder.Execution
	err       error
}

func (r result) String() string {
	text := fmt.Sprintf("status %d", r.status)
	if r.err != nil {
		text += fmt.Sprintf(", %v", r.err)
	}
	if lines := strings.TrimSpace(r.printed); lines != "" {
		text += ", it printed:\n" + lines
	}
	return text
}

// start runs a program. If want is not nil, the program is recorded.
func start(ctx context.Context, path string, want *recorder.Want, environment []string, args ...string) (r result) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, path, args...)
	cmd.Env = append(recorder.Environ(os.Environ()), environment...)
	var printed bytes.Buffer
	cmd.Stdout, cmd.Stderr = &printed, &printed
	end := func() {}
	if want != nil {
		listener, err := recorder.Listen()
		if err != nil {
			return result{err: err}
		}
		defer listener.Close()
		cmd.Env = append(cmd.Env, listener.Env())
		received := make(chan struct{})
		go func() {
			defer close(received)
			r.receive(ctx, listener, *want)
		}()
		end = func() {
			listener.Stop() // the program may have ended without connecting
			<-received
		}
	}
	err := cmd.Run()
	end()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		r.err = errors.Join(r.err, err)
	}
	r.err = errors.Join(r.err, ctx.Err())
	r.printed, r.status = printed.String(), -1
	if cmd.ProcessState != nil {
		r.status = cmd.ProcessState.ExitCode()
	}
	return r
}

// receive consumes the stream of the program that connects.
func (r *result) receive(ctx context.Context, listener *recorder.Listener, want recorder.Want) {
	program, err := listener.Accept()
	if err != nil {
		r.err = err
		return
	}
	defer program.Close(0)
	stream, err := program.Open(want)
	if err != nil {
		r.err = err
		return
	}
	stream.OnOverlap(func(recorder.Overlap) { r.found++ })
	detector, err := vclock.NewFastTrack(vclock.WithSink(func(heisen.Finding) { r.recorded++ }))
	if err == nil {
		_, err = heisen.Run(ctx, stream, detector)
	}
	r.err, r.execution = err, *stream.Execution()
}
