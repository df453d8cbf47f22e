package cli

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"

	"github.com/heisen-go/heisen/internal/build"
	"github.com/heisen-go/heisen/internal/printable"
	"github.com/heisen-go/heisen/internal/private"
	"github.com/heisen-go/heisen/internal/recorder"
)

// goCommand returns the command that runs the tests or the program of inv.line, and a function that
// removes its temporary files.
func (inv *invocation) goCommand() (cmd *exec.Cmd, remove func(), err error) {
	if inv.line.verb == "run" {
		return inv.programCommand()
	}
	cmd, err = inv.goTestCommand()
	return cmd, func() {}, err
}

// newBuilder prepares a build of the packages of inv.line.
func (inv *invocation) newBuilder(ctx context.Context) (*build.Builder, error) {
	b, err := build.NewWith(ctx, "", "", inv.line.listFlags(), inv.pkgs...)
	err = inv.tryRelease(ctx, b, err)
	if err == nil {
		inv.standard = filepath.Join(b.Toolchain.Root, "src")
		err = inv.checkPort(b.Toolchain)
	}
	if file, given := inv.line.value("overlay"); err == nil && given && file != "" {
		err = b.AddOverlay(file)
	}
	if err == nil {
		err = b.CheckFolders(ctx, "", inv.line.packages()...)
	}
	if err == nil {
		var leftOut []string
		leftOut, err = b.RaceFiles(ctx, "", inv.line.verb == "test", inv.line.packages()...)
		inv.sayLeftOut(leftOut)
	}
	if err == nil {
		b.NameLinked(ctx, "", inv.line.verb == "test", inv.line.packages()...)
	}
	if err == nil {
		err = inv.hidePackages(ctx, b)
	}
	if err == nil && inv.calls && len(inv.hide) > 0 {
		err = misuse("-transactions: calls cannot be followed through packages that -hide hides")
	}
	gcflags := inv.line.values("gcflags")
	if err == nil && inv.calls {
		var module build.Module
		if module, err = b.MainModule(ctx, ""); err == nil {
			inv.module = module.Path
			// An expanded function has no entry.
			gcflags = append([]string{module.Path + "/...=-l"}, gcflags...)
		}
	}
	if inv.unchecked {
		gcflags = append([]string{"all=-d=checkptr=0"}, gcflags...)
	}
	if err == nil && len(gcflags) > 0 {
		err = b.AddGcflags(ctx, "", inv.line.packages(), gcflags...)
	}
	if err == nil {
		err = inv.focusBuild(ctx, b)
	}
	if err == nil {
		inv.builder.Store(b)
	}
	return b, err
}

// goTestCommand returns the go test of inv.line, with the recorder injected.
func (inv *invocation) goTestCommand() (*exec.Cmd, error) {
	ctx, stop := inv.interruptible()
	defer stop()
	b, err := inv.newBuilder(ctx)
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if err != nil {
		return nil, err
	}
	inv.runsGo = true
	set := func(name string) (string, bool) {
		value, given := inv.line.value(name)
		if !given {
			value, given = inGOFLAGS(b.Toolchain.Flags, name)
		}
		return value, given
	}
	// Vet would fail on the packages of the overlay.
	args := append([]string{"-vet=off"}, inv.line.tagFlags()...)
	if vet, given := inv.line.value("vet"); given && vet != "off" {
		fmt.Fprintf(inv.Err, "%s: go vet does not run, because it does not know the files that %[1]s adds; run it by itself\n", inv.tool.Name)
	}
	if _, given := set("count"); !given && inv.passes == nil { // a cached result has no events
		args = append(args, "-count=1")
	}
	if value, _ := set("json"); value != "" {
		inv.events, _ = strconv.ParseBool(value)
	}
	return inv.attach(b.Command(inv.ctx, "test", append(args, inv.line.forTest()...)...)), nil
}

// programCommand builds the program of inv.line. It returns the command that runs it, and a
// function that removes it.
func (inv *invocation) programCommand() (cmd *exec.Cmd, remove func(), err error) {
	packages := inv.line.packages()
	if len(packages) == 0 {
		packages = []string{"."}
	}
	list, _ := inv.line.value("exec")
	_, wrong := build.Words(list)
	switch {
	case wrong != nil:
		return nil, nil, misuse("-exec %s: %v", list, wrong)
	case inv.line.isTrue("n"):
		return nil, nil, misuse("with -n nothing would run")
	case strings.Contains(packages[0], "@") && !strings.HasPrefix(packages[0], ".") && !filepath.IsAbs(packages[0]):
		return nil, nil, misuse("%s: %s builds only packages of the main module and its dependencies, which have no version here", packages[0], inv.tool.Name)
	}
	folder, err := private.NewTemporary()
	if err != nil {
		return nil, nil, err
	}
	remove = func() { folder.Remove() }
	words, err := inv.buildProgram(folder.Path, packages)
	if err != nil {
		remove()
		return nil, nil, err
	}
	words = append(words, inv.line.program()...)
	return inv.attach(exec.CommandContext(inv.ctx, words[0], words[1:]...)), remove, nil
}

// buildProgram builds a package, or the files of one, in a folder. It returns the words of the command that runs the program,
// as -exec does.
func (inv *invocation) buildProgram(folder string, packages []string) (words []string, err error) {
	done := inv.building()
	defer func() { done(err == nil) }()
	ctx, stop := inv.interruptible()
	defer stop()
	var program string
	b, err := inv.newBuilder(ctx)
	if err == nil {
		program = filepath.Join(folder, b.Toolchain.Executable(programName(packages[0])))
		packages, err = onePackage(ctx, b, packages)
	}
	if err == nil {
		b.Printed = inv.Err
		flags := append(inv.line.tagFlags(), texts(inv.line.goFlags(append(handled, "exec")...))...)
		err = b.Build(ctx, "", program, flags, packages...)
	}
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if err != nil {
		return nil, err
	}
	if !build.IsProgram(program) {
		return nil, fmt.Errorf("%s is not a main package", packages[0])
	}
	words, err = inv.runner(b.Toolchain)
	return append(words, program), err
}

// onePackage returns the main package that a pattern matches. It is an error if there are several.
func onePackage(ctx context.Context, b *build.Builder, packages []string) ([]string, error) {
	if !strings.Contains(packages[0], "...") {
		return packages, nil
	}
	matches, err := b.Programs(ctx, "", packages[0])
	switch {
	case err != nil:
		return nil, err
	case len(matches) == 0:
		return nil, fmt.Errorf("no main package matches %s", packages[0])
	case len(matches) > 1:
		return nil, fmt.Errorf("%s matches several programs: %s", packages[0], strings.Join(matches, ", "))
	}
	return matches, nil
}

// runner returns the words of -exec. Without the flag, as for go run, a program for another
// platform is run by go_GOOS_GOARCH_exec if there is such a command.
func (inv *invocation) runner(t *build.Toolchain) ([]string, error) {
	list, given := inv.line.value("exec")
	if !given {
		list, given = inGOFLAGS(t.Flags, "exec")
	}
	if given {
		return build.Words(list)
	}
	if t.GOOS == runtime.GOOS && t.GOARCH == runtime.GOARCH {
		return nil, nil
	}
	if path, err := exec.LookPath("go_" + t.GOOS + "_" + t.GOARCH + "_exec"); err == nil {
		return []string{path}, nil
	}
	return nil, nil
}

// programName returns the name that go build would give the program.
func programName(pkg string) string {
	name := filepath.Base(pkg)
	if abs, err := filepath.Abs(pkg); err == nil && (name == "." || name == "..") {
		name = filepath.Base(abs)
	}
	return strings.TrimSuffix(name, ".go")
}

func (inv *invocation) attach(cmd *exec.Cmd) *exec.Cmd {
	cmd.Stdin, cmd.Stdout, cmd.Stderr = inv.In, inv.raw.Out, inv.raw.Err
	return cmd
}

// hidePackages builds the packages of -hide as hidden ones.
func (inv *invocation) hidePackages(ctx context.Context, b *build.Builder) error {
	if len(inv.hide) == 0 {
		return nil
	}
	if inv.line.verb == "test" && !inv.pairs {
		// The external tests of a package are compiled as the package is.
		tested, err := b.Tested(ctx, "", inv.hide, inv.line.packages())
		if err != nil {
			return err
		}
		inv.pairs = tested
	}
	packages, err := b.Hide(ctx, "", inv.pairs, inv.hide...)
	inv.unrecorded = packages
	if err == nil && inv.pairs {
		inv.hidden = &recorder.Hidden{Packages: packages}
	}
	return err
}

// patterns is the value of a -pkgs or -hide flag.
type patterns []string

func (p *patterns) String() string { return strings.Join(*p, ",") }

func (p *patterns) Set(list string) error {
	*p = nil
	for _, pattern := range strings.Split(list, ",") {
		if pattern = strings.TrimSpace(pattern); pattern == "" {
			return misuse("an empty pattern")
		}
		*p = append(*p, pattern)
	}
	return nil
}

// maxLeftOut is how many files sayLeftOut names.
const maxLeftOut = 3

// sayLeftOut says which files the tag race leaves out.
func (inv *invocation) sayLeftOut(files []string) {
	if len(files) == 0 {
		return
	}
	folder, _ := os.Getwd()
	var names []string
	for _, file := range files[:min(len(files), maxLeftOut)] {
		if rel, err := filepath.Rel(folder, file); err == nil {
			file = rel
		}
		names = append(names, printable.Text(file))
	}
	list := strings.Join(names, ", ")
	if more := len(files) - len(names); more > 0 {
		list += fmt.Sprintf(", and %d more", more)
	}
	fmt.Fprintf(inv.Err, "%s: the build tag race leaves out %s; -norace-files takes in what it leaves out\n", inv.tool.Name, list)
}

// pkgsFlag defines -pkgs and -norace-files.
func (inv *invocation) pkgsFlag() {
	inv.flags.BoolVar(&inv.line.noRaceFiles, "norace-files", false, "choose the files of the main module as without the build tag race: with those\nthat have the constraint !race, and without those that have race")
	inv.flags.Var(&inv.pkgs, "pkgs", "record accesses only in packages that match one of the `patterns`; work is\nthe main module (default: all packages; for fuzz\n-predict, work)")
}

// buildFlags defines -pkgs, -norace-files and -hide.
func (inv *invocation) buildFlags() {
	inv.pkgsFlag()
	inv.flags.Var(&inv.hide, "hide", "do not record accesses in packages that match one of the `patterns`, only their\nsynchronization, and calls of their functions by other packages")
	// Scripts may still have these.
	const obsolete = "no effect any more: the synchronization of hidden packages is recorded"
	inv.flags.Bool("hide.once", false, obsolete)
	inv.flags.Int("hide.limit", 0, obsolete)
}
