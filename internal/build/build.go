package build

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"unicode"

	"github.com/heisen-go/heisen/internal/private"
	"github.com/heisen-go/heisen/internal/racetag"
)

// Builder runs the go command with the recorder injected.
type Builder struct {
	Toolchain *Toolchain
	Printed   io.Writer // gets what successful builds print; nil to discard it

	overlay     string     // path of the overlay's description
	gcflags     []compiled // in the order of the go command
	mainModules []string
	folders     map[string][]string // see importPatterns
	listFlags   []string            // of go list
	tags        []string            // of the build, without race
	noRace      bool                // files of the main modules do not have the tag race
	toolexec    string              // of the go command; empty if none
	linker      string              // flags of the linker
	plain       bool                // nothing is instrumented; see NewField
}

// compiled says with which flags the packages that match a pattern are compiled.
type compiled struct{ pattern, flags string }

// MainModules is a pattern for New: the packages of the main module or modules, and what the build
// names, such as files or a package of another module.
const MainModules = "work"

// New prepares builds in the folder dir, the working directory if empty. The overlay is kept in
// cacheDir, by default a folder in the user's cache folder, and shared by all builds with the same
// Go installation. Other users must not be able to change it; see package private. Accesses are recorded in packages that match patterns, which are those of the go
// command's -gcflags; without patterns, in all packages, the standard library included, as with
// go build -race. Errors that wrap ErrUnsupported mean that this Go installation cannot be
// instrumented.
func New(ctx context.Context, dir, cacheDir string, patterns ...string) (*Builder, error) {
	return NewWith(ctx, dir, cacheDir, nil, patterns...)
}

// NewWith is New for builds with flags that decide which modules and files there are, such as -mod
// and -tags, among which racetag.Without may be.
func NewWith(ctx context.Context, dir, cacheDir string, flags []string, patterns ...string) (*Builder, error) {
	b, cacheDir, err := newBuilder(ctx, dir, cacheDir, flags, false)
	if err != nil {
		return nil, err
	}
	t := b.Toolchain
	o, err := newOverlay(t)
	if err != nil {
		return nil, fmt.Errorf("%s: %w: %w", t.Version, ErrMismatch, err)
	}
	if b.overlay, err = o.write(cacheDir, t.Root); err != nil {
		return nil, fmt.Errorf("overlay: %w", err)
	}
	return b, b.chooseFlags(ctx, dir, patterns)
}

// newBuilder finds the toolchain for builds in dir, and the cache. The builder that it returns has no overlay and no flags of
// the compiler.
func newBuilder(ctx context.Context, dir, cacheDir string, flags []string, plain bool) (*Builder, string, error) {
	if err := checkAddressSpace(); err != nil {
		return nil, "", err
	}
	t, err := FindToolchain(ctx, dir)
	if err != nil {
		return nil, "", err
	}
	private.RemoveAbandoned(os.TempDir())
	if cacheDir == "" {
		cacheDir, err = private.Cache("heisen")
	} else {
		err = private.Folder(cacheDir)
	}
	if err != nil {
		return nil, "", fmt.Errorf("cache: %w", err)
	}
	setApart(cacheDir)
	t.nameModules(cacheDir)
	if err := t.leaveModules(cacheDir); err != nil {
		return nil, "", fmt.Errorf("toolchain %s: %w", t.Version, err)
	}
	b := &Builder{Toolchain: t, plain: plain}
	given, rest := cutTags(flags)
	b.tags, b.noRace = b.allTags(given)
	b.listFlags = append(rest, "-tags="+strings.Join(b.chosen(given), ","))
	return b, cacheDir, nil
}

// setApart makes the folder of a cache a module of its own, so that patterns such as ./... do not match the Go files in it if it lies in the
// folder of a module. A cache that cannot be written works without.
func setApart(cache string) {
	file, err := os.OpenFile(filepath.Join(cache, "go.mod"), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return
	}
	defer file.Close()
	file.WriteString("module heisen.cache\n")
}

// Elsewhere returns a builder with the same Go installation and overlay, for modules in other folders, whatever Go release they
// ask for, and this machine. It records accesses in all packages.
func (b *Builder) Elsewhere() *Builder {
	t := *b.Toolchain
	t.Go = filepath.Join(t.Root, "bin", "go")
	t.env = append(slices.Clone(t.env), "GOTOOLCHAIN=local", "GOROOT="+t.Root, "GOWORK=off", "GOFLAGS=", "GOOS="+runtime.GOOS, "GOARCH="+runtime.GOARCH)
	t.Flags, t.GOOS, t.GOARCH = "", runtime.GOOS, runtime.GOARCH
	return &Builder{Toolchain: &t, overlay: b.overlay, gcflags: slices.Clone(everything)}
}

// How packages are compiled. Every package outside of the standard library must be compiled in one
// of these ways: without an atomic operation a happens-before edge would be missing, and there
// would be false alarms.
const (
	// Accesses, calls and atomic operations are reported, and pointer arithmetic is checked.
	instrument = "-race"
	// The same without the checks. For the standard library, they would cost much, and its functions
	// with go:nocheckptr are never inlined. In a program with packages that are not instrumented, no
	// package is checked: such a function of theirs would be checked where it is inlined.
	instrumentUnchecked = instrument + " -d=checkptr=0"
	// The same without inlining, for packages whose functions could be inlined into packages that
	// are compiled otherwise, where their accesses would be lost.
	instrumentAlone = instrumentUnchecked + " -l"
	// Only atomic operations are reported: the compiler makes them calls, and also other functions
	// that it would expand in place (package math/bits, for example).
	atomicsOnly = "-d=ssa/intrinsics/off"
)

// everything compiles all packages so that their accesses are reported.
var everything = []compiled{{"all", instrument}, {"std", instrumentUnchecked}}

// chooseFlags decides how each package is compiled. The go command takes the last pattern that
// matches a package.
func (b *Builder) chooseFlags(ctx context.Context, dir string, patterns []string) error {
	modules, err := b.list(ctx, dir, "-m")
	if err != nil {
		return err
	}
	if slices.Contains(modules, "std") || slices.Contains(modules, "cmd") {
		return fmt.Errorf("%w: the main module is the standard library itself", ErrUnsupported)
	}
	b.mainModules = modules
	if len(patterns) == 0 {
		b.gcflags = slices.Clone(everything)
		return nil
	}
	b.gcflags = append(b.gcflags, compiled{"all", atomicsOnly}, compiled{"std", ""})
	callers, err := atomicCallers(filepath.Join(b.Toolchain.Root, "src"), b.Toolchain.GOOS, b.Toolchain.GOARCH)
	if err != nil {
		return err
	}
	for _, pkg := range callers {
		b.gcflags = append(b.gcflags, compiled{pkg, atomicsOnly})
	}
	// For the packages that sync is made of, the compiler reports atomic operations only.
	for _, pkg := range []string{"sync", "sync/atomic", "internal/sync"} {
		b.gcflags = append(b.gcflags, compiled{pkg, instrumentUnchecked})
	}
	for _, pattern := range patterns {
		if pattern == "all" {
			b.gcflags = append(b.gcflags, everything...)
			continue
		}
		if pattern == MainModules {
			// The second is for what the build names.
			b.gcflags = append(b.gcflags, compiled{MainModules, instrumentUnchecked}, compiled{"", instrumentUnchecked})
			continue
		}
		how, err := b.patternFlags(ctx, dir, pattern)
		if err != nil {
			return err
		}
		b.gcflags = append(b.gcflags, compiled{pattern, how})
	}
	return nil
}

// patternFlags returns how the packages that match a pattern are compiled. A pattern that matches
// no package is an error; the go command would ignore it.
func (b *Builder) patternFlags(ctx context.Context, dir, pattern string) (flags string, err error) {
	if pattern == "" || pattern[0] == '-' || strings.ContainsFunc(pattern, func(r rune) bool { return r == '=' || !unicode.IsGraphic(r) || unicode.IsSpace(r) }) {
		return "", fmt.Errorf("%q is not a pattern of packages", pattern)
	}
	matches, err := b.list(ctx, dir, pattern)
	switch {
	case err != nil:
		return "", err
	case len(matches) == 0:
		return "", fmt.Errorf("no package matches %s", pattern)
	}
	b.addFolders(pattern, matches)
	if slices.Contains(matches, "runtime") { // it relies on inlining
		return instrumentUnchecked, nil
	}
	return instrumentAlone, nil
}

// Overlay returns the path of the overlay's description, for the go command's -overlay.
func (b *Builder) Overlay() string { return b.overlay }

// list returns the words that go list prints.
func (b *Builder) list(ctx context.Context, dir string, args ...string) ([]string, error) {
	lines, err := b.listLines(ctx, dir, args...)
	return strings.Fields(strings.Join(lines, " ")), err
}

// listLines returns the lines, without empty ones, that go list prints.
func (b *Builder) listLines(ctx context.Context, dir string, args ...string) (lines []string, err error) {
	all := slices.Concat([]string{"list"}, b.listFlags, args)
	out, err := b.Toolchain.command(ctx, dir, all...).Output()
	if err != nil {
		return nil, commandError("go "+strings.Join(all, " "), err)
	}
	return strings.FieldsFunc(string(out), func(r rune) bool { return r == '\n' || r == '\r' }), nil
}

// Programs returns the import paths of the main packages that match a pattern.
func (b *Builder) Programs(ctx context.Context, dir, pattern string) ([]string, error) {
	return b.list(ctx, dir, "-f", `{{if eq .Name "main"}}{{.ImportPath}}{{end}}`, pattern)
}

// InMainModule reports whether all packages that match a pattern belong to the main module, or to one
// of a workspace.
func (b *Builder) InMainModule(ctx context.Context, dir, pattern string) (bool, error) {
	own, err := b.list(ctx, dir, "-f", `{{with .Module}}{{.Main}}{{else}}false{{end}}`, "--", pattern)
	return len(own) > 0 && !slices.ContainsFunc(own, func(s string) bool { return s != "true" }), err
}

// MainFiles returns the source files of a program in packages of the main module, named as the compiler names them.
func (b *Builder) MainFiles(ctx context.Context, dir string, patterns ...string) ([]string, error) {
	format := `{{if or .Module (not .Standard)}}{{if or (not .Module) .Module.Main}}{{range .GoFiles}}{{$.Dir}}/{{.}}
{{end}}{{end}}{{end}}`
	files, err := b.listLines(ctx, dir, slices.Concat([]string{"-deps", "-f", format, "--"}, patterns)...)
	for i, file := range files {
		files[i] = filepath.ToSlash(file)
	}
	return files, err
}

// TestedFiles returns the Go source files of the packages that match patterns, and of those they import,
// in packages of the main modules, named as the compiler names them. With tests, these are also the files of tests.
func (b *Builder) TestedFiles(ctx context.Context, dir string, tests bool, patterns ...string) ([]string, error) {
	// The program that runs a package's tests is generated, and its path ends in .test.
	const format = `{{if or .Module (not .Standard)}}{{if or (not .Module) .Module.Main}}{{range .GoFiles}}{{$.ImportPath}}	{{$.Dir}}/{{.}}
{{end}}{{range .CgoFiles}}{{$.ImportPath}}	{{$.Dir}}/{{.}}
{{end}}{{end}}{{end}}`
	lines, err := b.listLines(ctx, dir, slices.Concat([]string{"-deps", fmt.Sprintf("-test=%t", tests), "-f", format, "--"}, patterns)...)
	var files []string
	for _, line := range lines {
		if pkg, file, _ := strings.Cut(line, "\t"); !strings.HasSuffix(pkg, ".test") {
			files = append(files, filepath.ToSlash(file))
		}
	}
	slices.Sort(files)
	return slices.Compact(files), err
}

// Module is a module: its path, and its folder as a slash-separated path.
type Module struct{ Path, Dir string }

// MainModule returns the main module. Outside of modules, and in a workspace of several, there is none, which is
// an error.
func (b *Builder) MainModule(ctx context.Context, dir string) (Module, error) {
	lines, err := b.listLines(ctx, dir, "-m", "-f", "{{.Path}}\t{{.Dir}}")
	if err != nil {
		return Module{}, err
	}
	if len(lines) != 1 {
		return Module{}, errors.New("one main module is needed: set GOWORK=off in a workspace")
	}
	path, folder, _ := strings.Cut(lines[0], "\t")
	if folder == "" {
		return Module{}, errors.New("a main module is needed")
	}
	return Module{path, filepath.ToSlash(folder)}, nil
}

// Toolexec makes the go command run its tools through a command, see go help build. A word that has both
// kinds of quotes is an error, because the go command cannot read it.
func (b *Builder) Toolexec(command ...string) error {
	list, err := joinWords(command)
	b.toolexec = list
	return err
}

// flags returns the build flags that inject the recorder.
func (b *Builder) flags(tags []string) []string {
	flags := []string{"-overlay=" + b.overlay, "-tags=" + strings.Join(tags, ",")}
	for _, c := range b.gcflags {
		if c.pattern == "" {
			flags = append(flags, "-gcflags="+c.flags)
			continue
		}
		for _, pattern := range append([]string{c.pattern}, b.importPatterns(c.pattern)...) {
			flags = append(flags, "-gcflags="+pattern+"="+c.flags)
		}
	}
	if b.toolexec != "" {
		flags = append(flags, "-toolexec="+b.toolexec)
	}
	return flags
}

// Command returns a go command with the recorder injected. verb is build or test; args are the
// flags and arguments after the injected flags.
//
// The build has the tag race: the recorder's parts of the standard library require it, and the
// program's own files use it for what must differ under a race detector, such as tests that count
// allocations.
func (b *Builder) Command(ctx context.Context, verb string, args ...string) *exec.Cmd {
	given, args := cutTags(args)
	tags, _ := b.allTags(given)
	ours := racetag.Name
	if b.plain {
		ours = fieldTag
	}
	tags = append([]string{ours}, tags...)
	all := append([]string{verb}, b.flags(tags)...)
	return b.Toolchain.command(ctx, "", append(all, b.linked(args)...)...)
}

// allTags returns the tags of a build besides race: those given or, if there are none, those of GOFLAGS. without is as for
// racetag.Split.
func (b *Builder) allTags(given []string) (tags []string, without bool) {
	if tags, without = racetag.Split(given); tags == nil {
		tags, _ = cutTags(strings.Fields(b.Toolchain.Flags))
	}
	return tags, without
}

// chosen returns the tags by which the files of the main modules are chosen.
func (b *Builder) chosen(given []string) []string {
	tags, without := b.allTags(given)
	if without || b.plain {
		return tags
	}
	return racetag.Add(tags)
}

// AddLinkerFlags adds flags of the linker to those of the user. They are separated by spaces.
func (b *Builder) AddLinkerFlags(flags string) { b.linker = join(b.linker, flags) }

// stackAsRace makes the linker accept functions that do not grow their stack as with go build -race. The runtime
// has the room, because of the tag race.
const stackAsRace = "-race"

// linked returns the arguments of a go command with the flags of the linker, and stackAsRace, added to each
// -ldflags, those in GOFLAGS included: of several that match a package, the go command takes the last one.
func (b *Builder) linked(args []string) (all []string) {
	add := func(given string) {
		if flags := join(given, b.linker); !b.plain {
			all = append(all, "-ldflags="+join(flags, stackAsRace))
		} else if flags != "" {
			all = append(all, "-ldflags="+flags)
		}
	}
	add("")
	words, _ := Words(b.Toolchain.Flags) // the go command reports what is wrong
	for _, word := range words {
		if value, ok := ldflags(word); ok {
			add(value)
		}
	}
	for i := 0; i < len(args); i++ {
		if args[i] == "-args" || args[i] == "--args" {
			return append(all, args[i:]...)
		}
		value, ok := ldflags(args[i])
		switch {
		case ok:
			add(value)
		case args[i] == "-ldflags" || args[i] == "--ldflags":
			if i++; i < len(args) {
				add(args[i])
			}
		default:
			all = append(all, args[i])
		}
	}
	return all
}

// ldflags returns the value of the flag -ldflags, if a word is that.
func ldflags(word string) (value string, ok bool) {
	word, ok = strings.CutPrefix(word, "-")
	if !ok {
		return "", false
	}
	return strings.CutPrefix(strings.TrimPrefix(word, "-"), "ldflags=")
}

// cutTags removes the -tags flag from the arguments of a go command. As for the go command itself,
// the last one counts.
func cutTags(args []string) (tags, rest []string) {
	for i := 0; i < len(args); i++ {
		name, value, ok := strings.Cut(strings.TrimPrefix(strings.TrimPrefix(args[i], "-"), "-"), "=")
		switch {
		case args[i] == "-args" || args[i] == "--args":
			return tags, append(rest, args[i:]...)
		case name != "tags" || !strings.HasPrefix(args[i], "-"):
			rest = append(rest, args[i])
			continue
		case !ok && i+1 < len(args):
			i++
			value = args[i]
		}
		tags = strings.FieldsFunc(value, func(r rune) bool { return r == ',' || r == ' ' })
	}
	return tags, rest
}

// Build compiles a package, or the files of one, to an executable at output. flags are further
// build flags. The error has what the compiler printed.
func (b *Builder) Build(ctx context.Context, dir, output string, flags []string, packages ...string) error {
	args := append([]string{"-o", output}, flags...)
	return b.compile(ctx, dir, "build", append(args, packages...))
}

// compile runs a go command that compiles.
func (b *Builder) compile(ctx context.Context, dir, verb string, args []string) error {
	cmd := b.Command(ctx, verb, args...)
	cmd.Dir = dir
	var printed bytes.Buffer
	cmd.Stdout, cmd.Stderr = &printed, &printed
	if err := cmd.Run(); err != nil {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if printed.Len() > 0 {
			return &Error{Output: strings.TrimSpace(printed.String())}
		}
		return fmt.Errorf("go %s: %w", verb, err)
	}
	if b.Printed != nil {
		b.Printed.Write(printed.Bytes())
	}
	return nil
}

// Error means that the go command refused a build or that it failed.
type Error struct {
	Output string // what the go command printed
}

func (e *Error) Error() string { return e.Output }
