package unhook

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/heisen-go/heisen/focus"
)

// ErrUsage is wrapped by errors about a command line that Link does not know.
var ErrUsage = errors.New("not the command line of a tool")

// Source says where the files of a plan are.
type Source struct {
	Plan string // the plan's file
	// Folders has the slash-separated paths that begin the names of source files as the compiler records
	// them, with the folder that each stands for, relative to the one of the plan's paths. A folder of "."
	// is that one itself.
	Folders map[string]string
}

// locate returns the plan's path of a file that the compiler has recorded.
func (s Source) locate(file string) (string, bool) {
	for dir := path.Dir(file); ; dir = path.Dir(dir) {
		if folder, ok := s.Folders[dir]; ok {
			return path.Join(folder, strings.TrimPrefix(file[len(dir):], "/")), true
		}
		if dir == path.Dir(dir) {
			return "", false
		}
	}
}

// hash identifies what Link would do with a program.
func (s Source) hash(plan []byte) focus.Hash {
	for _, name := range slices.Sorted(maps.Keys(s.Folders)) {
		plan = fmt.Appendf(plan, "\n%q %q", name, s.Folders[name])
	}
	return focus.HashOf(plan)
}

// Link runs a tool of the go command, as args says: its path and its arguments. The linker's output
// loses the hooks on the lines that the plan lists. The other tools do what they always do. Link is for the
// go command's -toolexec. It adds a hash of the plan to the version that the linker tells the go command, so
// that the go command's cache is right.
//
// It returns the exit status of the tool. An error is about Link itself.
func Link(ctx context.Context, source Source, args []string, stdout, stderr io.Writer) (status int, err error) {
	if len(args) == 0 {
		return 0, fmt.Errorf("%w: %q", ErrUsage, args)
	}
	run := func(args []string, stdout io.Writer) (int, error) {
		cmd := exec.CommandContext(ctx, args[0], args[1:]...)
		cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, stdout, stderr
		err := cmd.Run()
		var failed *exec.ExitError
		if errors.As(err, &failed) {
			return failed.ExitCode(), nil
		}
		return 0, err
	}
	if name := strings.TrimSuffix(filepath.Base(args[0]), ".exe"); name != "link" {
		return run(args, stdout)
	}
	text, err := os.ReadFile(source.Plan)
	if err != nil {
		return 0, err
	}
	if len(args) == 2 && args[1] == "-V=full" {
		var version bytes.Buffer
		status, err = run(args, &version)
		fmt.Fprintf(stdout, "%s without hooks %v\n", strings.TrimSpace(version.String()), source.hash(text))
		return status, err
	}
	output, err := outputOf(args)
	if err != nil {
		return 0, err
	}
	p, err := focus.DecodePlan(bytes.NewReader(text))
	if err != nil {
		return 0, fmt.Errorf("%s: %w", source.Plan, err)
	}
	if status, err = run(withSymbols(args), stdout); err != nil || status != 0 {
		return status, err
	}
	_, err = Program(output, source.Needless(p))
	return 0, err
}

// Needless returns which accesses a plan says need no checking.
func (s Source) Needless(plan *focus.Plan) Needless {
	return func(file string, line int, write bool) bool {
		name, _ := s.locate(file)
		f := plan.Files[name]
		if write {
			return f.Writes.Contains(line)
		}
		return f.Reads.Contains(line)
	}
}

// outputOf returns the value of the linker's flag -o.
func outputOf(args []string) (string, error) {
	for i, arg := range args {
		if arg == "-o" && i+1 < len(args) { // the form that the go command uses
			return args[i+1], nil
		}
	}
	return "", fmt.Errorf("%w: the linker has no -o: %q", ErrUsage, args)
}

// withSymbols replaces the flag that leaves out the symbol table, which go test sets, by one that leaves out
// debugging information only.
func withSymbols(args []string) []string {
	all := append([]string(nil), args...)
	for i, arg := range all {
		if arg == "-s" || arg == "--s" || arg == "-s=true" {
			all[i] = "-w"
		}
	}
	return all
}
