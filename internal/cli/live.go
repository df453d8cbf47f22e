package cli

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/internal/build"
	"github.com/heisen-go/heisen/internal/report"
	"github.com/heisen-go/heisen/internal/rt"
	"github.com/heisen-go/heisen/trace"
)

// test is heisen test: the tests run under go test, each test binary sends its
// events here.
func (inv *invocation) test() (int, error) {
	watch := inv.watchFlags()
	if err := inv.parse(); err != nil {
		return Misused, err
	}
	cmd, err := inv.testCommand()
	if err != nil {
		return Failed, err
	}
	return watch.run(inv, cmd)
}

// runProgram is heisen run.
func (inv *invocation) runProgram() (int, error) {
	watch := inv.watchFlags()
	if err := inv.parse(); err != nil {
		return Misused, err
	}
	cmd, remove, err := inv.programCommand()
	if err != nil {
		return Failed, err
	}
	defer remove()
	return watch.run(inv, cmd)
}

// watch is the flags of heisen test and heisen run.
type watch struct {
	detect *detection
	json   *bool
}

func (inv *invocation) watchFlags() watch {
	return watch{
		detect: inv.detectFlag(),
		json:   inv.flags.Bool("json", false, "print findings as JSON, one a line, on standard output when the program has ended"),
	}
}

// run runs a command and reports what the detectors find in the programs below
// it.
func (w watch) run(inv *invocation, cmd *exec.Cmd) (int, error) {
	text := inv.Err
	if *w.json {
		text = nil
	}
	found := newFindings(text)
	s, err := newSession(inv.Err, func(_ int, stream *rt.Stream) (int32, error) {
		collector, done := found.collect(stream.Symbols())
		_, err := heisen.Run(inv.ctx, stream, w.detect.build(collector.Add)...)
		done()
		if collector.Len() > 0 {
			return Findings, err
		}
		return Clean, err
	})
	if err != nil {
		return Failed, err
	}
	status, err := s.run(cmd)
	if *w.json {
		err = errors.Join(err, found.write(inv.Out, report.Encode))
	}
	found.summary(inv.Err)
	switch {
	case inv.name == "test" && status == Failed && found.count() > 0:
		status = Findings // go test has only one status for all that fails
	case status == Clean && err != nil:
		status = Failed
	case status == Clean && found.count() > 0:
		status = Findings
	}
	return status, err
}

// record is heisen record: the events go to a file, unanalysed.
func (inv *invocation) record() (int, error) {
	out := inv.flags.String("o", "", "write the trace to `file`; further processes get numbered names beside it")
	if err := inv.flags.Parse(inv.args); err != nil {
		return Misused, recordUsage(err)
	}
	inv.args = inv.flags.Args()
	if *out == "" {
		return Misused, misuse("no -o file")
	}
	if len(inv.args) == 0 {
		return Misused, misuse("neither test nor run")
	}
	verb := inv.args[0]
	inv.args = inv.args[1:]
	for _, a := range inv.args {
		if strings.HasPrefix(a, "-") {
			return Misused, misuse("flag %s: those of the program or of go test come after --", a)
		}
	}
	var cmd *exec.Cmd
	var err error
	switch verb {
	case "test":
		cmd, err = inv.testCommand()
	case "run":
		var remove func()
		cmd, remove, err = inv.programCommand()
		if remove != nil {
			defer remove()
		}
	default:
		return Misused, misuse("%q is neither test nor run", verb)
	}
	if err != nil {
		return Failed, err
	}
	s, err := newSession(inv.Err, func(number int, stream *rt.Stream) (int32, error) {
		return Clean, inv.writeTrace(numbered(*out, number), stream)
	})
	if err != nil {
		return Failed, err
	}
	status, err := s.run(cmd)
	if err == nil && s.seen == 0 {
		err = errors.New("no instrumented program ran, nothing was recorded")
	}
	if status == Clean && err != nil {
		status = Failed
	}
	return status, err
}

func recordUsage(err error) error {
	if strings.Contains(err.Error(), "help requested") {
		return err
	}
	return misuse("%v", err)
}

// numbered returns the file name for the n-th process, from 0: the name itself,
// then name-2.ext and so on.
func numbered(name string, n int) string {
	if n == 0 {
		return name
	}
	ext := filepath.Ext(name)
	return fmt.Sprintf("%s-%d%s", strings.TrimSuffix(name, ext), n+1, ext)
}

// writeTrace writes a stream to a new file. Whatever ends the stream, the file is
// a complete trace of what came.
func (inv *invocation) writeTrace(name string, stream *rt.Stream) error {
	f, err := os.Create(name)
	if err != nil {
		return err
	}
	w, err := trace.NewWriter(f, stream.Symbols())
	if err != nil {
		f.Close()
		return err
	}
	events, err := heisen.Run(inv.ctx, stream, w)
	err = errors.Join(err, w.Close(), f.Close())
	fmt.Fprintf(inv.Err, "heisen: %s: %d events\n", name, events)
	return err
}

// builder prepares the go command in the working directory.
func (inv *invocation) builder() (*build.Builder, error) {
	return build.New(inv.ctx, "", "")
}

// excluded are flags of the go command that would undo the instrumentation.
var excluded = []string{"race", "msan", "asan", "overlay", "gcflags", "c", "exec"}

// testCommand returns go test with the recorder injected.
func (inv *invocation) testCommand() (*exec.Cmd, error) {
	counted := false
	for _, arg := range inv.rest {
		if arg == "-args" || arg == "--args" {
			break
		}
		if !strings.HasPrefix(arg, "-") {
			continue
		}
		name, _, _ := strings.Cut(strings.TrimLeft(arg, "-"), "=")
		if slices.Contains(excluded, name) {
			return nil, misuse("the go test flag -%s cannot be combined with heisen", name)
		}
		counted = counted || name == "count" || name == "test.count"
	}
	b, err := inv.builder()
	if err != nil {
		return nil, err
	}
	// Vet would look at the overlay's packages, and fail. A cached result has no
	// events.
	args := []string{"-vet=off"}
	if !counted {
		args = append(args, "-count=1")
	}
	args = append(args, inv.args...)
	return inv.attach(b.Command(inv.ctx, "test", append(args, inv.rest...)...)), nil
}

// programCommand builds a program and returns the command that runs it, and a
// function that removes it.
func (inv *invocation) programCommand() (*exec.Cmd, func(), error) {
	b, err := inv.builder()
	if err != nil {
		return nil, nil, err
	}
	dir, err := os.MkdirTemp("", "heisen-run-")
	if err != nil {
		return nil, nil, err
	}
	remove := func() { os.RemoveAll(dir) }
	packages := inv.args
	if len(packages) == 0 {
		packages = []string{"."}
	}
	if len(packages) > 1 && !strings.HasSuffix(packages[0], ".go") {
		remove()
		return nil, nil, misuse("more than one package; arguments of the program come after --")
	}
	program := filepath.Join(dir, programName(packages[0]))
	done := inv.progress("building", time.Second)
	err = b.Build(inv.ctx, "", program, nil, packages...)
	done()
	if err != nil {
		remove()
		return nil, nil, err
	}
	if _, err := os.Stat(program); err != nil {
		remove()
		return nil, nil, fmt.Errorf("%s is not a main package", packages[0])
	}
	return inv.attach(exec.CommandContext(inv.ctx, program, inv.rest...)), remove, nil
}

// programName is what go build would call the program.
func programName(pkg string) string {
	name := filepath.Base(pkg)
	if abs, err := filepath.Abs(pkg); err == nil && (name == "." || name == "..") {
		name = filepath.Base(abs)
	}
	return strings.TrimSuffix(name, ".go")
}

func (inv *invocation) attach(cmd *exec.Cmd) *exec.Cmd {
	cmd.Stdin, cmd.Stdout, cmd.Stderr = inv.In, inv.Out, inv.Err
	return cmd
}
