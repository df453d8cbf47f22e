package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/heisen-go/heisen/focus"
	"github.com/heisen-go/heisen/internal/build"
	"github.com/heisen-go/heisen/internal/unhook"
)

// focusFlag defines -focus.
func (inv *invocation) focusFlag() {
	inv.flags.StringVar(&inv.plan, "focus", "", "do not record accesses that a `plan` of "+inv.tool.Name+" infer proves safe; if the source has\nchanged since, everything is recorded")
}

// focusDetectors are the detectors that a plan helps. All but blocks need no accesses to variables that do not race:
// what orders these is recorded, and serial finds the same first violation by that; for reduction such accesses are
// movers. Blocks needs them, and is told which functions are atomic.
var focusDetectors = []string{fasttrackName, "hb", "eraser", "hybrid", "lockorder", serialName, blocksName, reductionName, atomraceName, leakName, unstoppableName}

// errFocusHeal: a section can be violated although its variable does not race.
var errFocusHeal = misuse("-focus: healing needs all accesses, and a plan leaves out those that do not race")

// canFocus returns an error if there is a plan and a detector needs all accesses.
func (w *observation) canFocus(inv *invocation) error {
	if inv.plan == "" {
		return nil
	}
	if len(inv.hide) > 0 {
		return misuse("-focus and -hide exclude each other: hidden calls may wait for accesses that a plan leaves out")
	}
	for _, name := range w.detect.chosen {
		if !slices.Contains(focusDetectors, name) {
			return misuse("-focus: the detector %s needs all accesses, and a plan leaves out those that do not race", name)
		}
		inv.needsAll = inv.needsAll || name == blocksName
	}
	if w.overlaps.heal != "" {
		return errFocusHeal
	}
	if w.live != nil && len(w.live.Sections) > 0 {
		return misuse("-focus: atomic sections need all accesses, and a plan leaves out those that do not race; use -sections none")
	}
	return nil
}

// toolexec is a first argument in the place of a command. The go command runs its tools by it, see
// unhook.Link. The arguments that follow are the plan, pairs NAME=FOLDER of unhook.Source, and after -- the
// tool and its arguments.
const toolexec = "-toolexec"

// runTool does the work of the first argument toolexec.
func (tool Tool) runTool(ctx context.Context, args []string, std Streams) int {
	source := unhook.Source{Folders: map[string]string{}}
	end := slices.Index(args, "--")
	if end < 1 {
		fmt.Fprintf(std.Err, "%s: %s is for the go command\n", tool.Name, toolexec)
		return Misused
	}
	source.Plan = args[0]
	for _, pair := range args[1:end] {
		i := strings.LastIndexByte(pair, '=')
		if i < 0 {
			fmt.Fprintf(std.Err, "%s: %s: no folder in %q\n", tool.Name, toolexec, pair)
			return Misused
		}
		source.Folders[pair[:i]] = pair[i+1:]
	}
	status, err := unhook.Link(ctx, source, args[end+1:], std.Out, std.Err)
	if err != nil {
		printError(std.Err, tool.Name+" -focus", err)
		return Failed
	}
	return status
}

// focusBuild makes b leave out what the plan proves, unless the plan is about another source.
func (inv *invocation) focusBuild(ctx context.Context, b *build.Builder) error {
	if inv.plan == "" {
		return nil
	}
	if _, given := inv.line.value("toolexec"); given {
		return misuse("-focus uses the go command's -toolexec")
	}
	if _, given := inGOFLAGS(b.Toolchain.Flags, "toolexec"); given {
		return misuse("-focus uses the go command's -toolexec, which GOFLAGS sets")
	}
	name, err := filepath.Abs(inv.plan)
	if err != nil {
		return err
	}
	text, err := os.ReadFile(name)
	if err != nil {
		return err
	}
	plan, err := focus.DecodePlan(bytes.NewReader(text))
	if err != nil {
		return fmt.Errorf("%s: %w", inv.plan, err)
	}
	module, err := b.MainModule(ctx, "")
	if err != nil {
		return fmt.Errorf("-focus: %w", err)
	}
	changed, err := inv.changedSince(ctx, b, filepath.FromSlash(module.Dir), plan)
	if err != nil {
		return err
	}
	if changed != "" {
		fmt.Fprintf(inv.Err, "%s: everything is recorded, because %s; make %s anew\n", inv.tool.Name, changed, inv.plan)
		return nil
	}
	inv.proved = plan
	if inv.needsAll {
		return nil
	}
	if err := inv.markProved(ctx, b, plan, unhook.Source{Folders: map[string]string{module.Dir: ".", module.Path: "."}}, filepath.FromSlash(module.Dir)); err != nil {
		return fmt.Errorf("-focus: %w", err)
	}
	if t := b.Toolchain; !unhook.Supports(t.GOOS, t.GOARCH) {
		fmt.Fprintf(inv.Err, "%s: for %s/%s, only functions in which nothing is left to record are spared\n", inv.tool.Name, t.GOOS, t.GOARCH)
		return nil
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	// With -trimpath, files have the path of the module in the place of its folder.
	return b.Toolexec(self, toolexec, name, module.Dir+"=.", module.Path+"=.", "--")
}

// markedFlags are the flags of the go command that decide how packages are compiled, besides those of listFlags.
var markedFlags = []string{"trimpath", "pgo", "buildmode", "ldflags", "linkshared", "installsuffix"}

// markProved makes b compile those functions without hooks all of whose hooks the plan removes. What would be left of the
// hooks otherwise, the computation of their arguments and what the compiler cannot keep in registers, is most of the cost of a
// program whose loops are proved.
func (inv *invocation) markProved(ctx context.Context, b *build.Builder, plan *focus.Plan, source unhook.Source, root string) error {
	for _, name := range []string{"cover", "covermode", "coverpkg", "coverprofile"} {
		_, given := inv.line.value(name)
		if _, inEnv := inGOFLAGS(b.Toolchain.Flags, name); given || inEnv {
			return nil // the source is changed before it is compiled
		}
	}
	flags := inv.line.listFlags()
	flags = slices.DeleteFunc(flags, func(flag string) bool { return strings.HasPrefix(flag, "-overlay=") })
	for _, name := range markedFlags {
		if value, given := inv.line.value(name); given {
			flags = append(flags, "-"+name+"="+value)
		}
	}
	packages := inv.line.packages()
	if len(packages) == 0 {
		packages = []string{"."}
	}
	folder, err := os.Getwd()
	if err != nil {
		return err
	}
	var listing *unhook.Listing
	err = b.Listing(ctx, "", unhook.ListingFlags, flags, inv.line.verb == "test", packages, func(r io.Reader) (err error) {
		listing, err = unhook.ReadListing(r, folder, source, plan)
		return err
	})
	if err != nil {
		return err
	}
	texts := map[string][]byte{}
	for name, file := range plan.Files {
		if len(file.Reads) == 0 && len(file.Writes) == 0 {
			continue
		}
		path := filepath.Join(root, filepath.FromSlash(name))
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		if focus.HashOf(text) != file.Hash {
			continue // it is changed just now
		}
		marked := unhook.Mark(text, func(line int, function string) unhook.Hooks {
			return listing.Of(name, line, function)
		})
		if marked != nil {
			texts[path] = marked
		}
	}
	if len(texts) == 0 {
		return nil
	}
	return b.Replace(texts)
}

// changedSince says how the source of the packages differs from the one that a plan is about; the empty
// string if it does not.
func (inv *invocation) changedSince(ctx context.Context, b *build.Builder, root string, plan *focus.Plan) (string, error) {
	var failed error
	stale := plan.Stale(func(file string) (h focus.Hash, ok bool) {
		if !filepath.IsLocal(filepath.FromSlash(file)) {
			return h, false
		}
		text, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(file)))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			failed = err
		}
		return focus.HashOf(text), err == nil
	})
	if failed != nil {
		return "", failed
	}
	if len(stale) > 0 {
		return fmt.Sprintf("%s has changed or is gone", stale[0]), nil
	}
	packages := inv.line.packages()
	if len(packages) == 0 {
		packages = []string{"."}
	}
	files, err := b.TestedFiles(ctx, "", inv.line.verb == "test", packages...)
	if err != nil {
		return "", err
	}
	for _, file := range files {
		name := relative(root, file)
		if _, known := plan.Files[name]; !known {
			return fmt.Sprintf("the plan does not know %s", name), nil
		}
	}
	return "", nil
}
