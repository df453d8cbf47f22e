package cli

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/heisen-go/heisen/internal/infer"
	"github.com/heisen-go/heisen/internal/plural"
	"github.com/heisen-go/heisen/section"
)

// infer is heisen sections infer. It writes a sections file.
func (inv *invocation) infer() (int, error) {
	var source infer.Source
	var opts []infer.Option
	out := inv.flags.String("o", stdStream, "write the sections to `file`")
	verbose := inv.flags.Bool("v", false, "list the sections on standard error")
	locked := inv.flags.Bool("locked", false, "include sections during which a lock is held")
	inv.flags.BoolVar(&source.Tests, "tests", true, "analyze test files too, as go vet does")
	inv.flags.Func("tags", "comma-separated `list` of build tags", func(list string) error {
		source.Tags = strings.Split(list, ",")
		return nil
	})
	inv.flags.Func("patterns", "`list` of patterns, or all (default load-and-store,test-and-use)", func(list string) error {
		names := strings.Split(list, ",")
		if list == "all" {
			names = infer.PatternNames()
		}
		for _, name := range names {
			if !slices.Contains(infer.PatternNames(), name) {
				return fmt.Errorf("unknown pattern %q; there are %s", name, strings.Join(infer.PatternNames(), ", "))
			}
		}
		opts = append(opts, infer.WithPatterns(names...))
		return nil
	})
	if err := inv.parse(); err != nil {
		return Misused, err
	}
	if len(inv.rest) > 0 {
		return Misused, misuse("infer runs nothing, so there are no arguments after --")
	}
	if *locked {
		opts = append(opts, infer.WithLocked())
	}
	source.Packages = inv.args
	if err := isFolder(filepath.Dir(*out)); err != nil {
		return Failed, err // fail before the work
	}

	done := inv.progress("analyzing", time.Second)
	ctx, stop := inv.interruptible()
	defer stop()
	found, err := infer.Infer(ctx, source, opts...)
	done()
	if found == nil {
		return Failed, err
	}
	if found.Packages == 0 && err != nil {
		return Failed, err // do not overwrite a file with nothing
	}
	if err = errors.Join(err, inv.writeInferred(found, *out, *verbose)); err != nil {
		return Failed, err
	}
	return Clean, nil
}

// writeInferred writes a sections file, with the names of source files relative to its folder, and
// prints a summary on standard error.
func (inv *invocation) writeInferred(found *infer.Inferred, file string, verbose bool) error {
	dir := "."
	if file != stdStream {
		dir = filepath.Dir(file)
	}
	dir, err := absolute(dir)
	if err != nil {
		return err
	}
	here, err := absolute(".")
	if err != nil {
		return err
	}
	for _, note := range found.Notes {
		note.File = relative(here, note.File)
		fmt.Fprintf(inv.Err, "%s: %v\n", inv.tool.Name, note)
	}
	count := map[string]int{}
	for i := range found.Sections {
		s := &found.Sections[i]
		count[s.Pattern]++
		if verbose {
			fmt.Fprintln(inv.Err, listing(s, here))
		}
		s.Entry.File = relative(dir, s.Entry.File)
		for j := range s.Ends {
			e := &s.Ends[j]
			e.At.File = relative(dir, e.At.File)
			for k := range e.In {
				e.In[k].File = relative(dir, e.In[k].File)
			}
		}
	}
	if err := inv.writeSections(file, found.Sections); err != nil {
		return err
	}
	fmt.Fprintf(inv.Err, "%s: %s in %s%s\n", inv.tool.Name,
		plural.Of(len(found.Sections), "section"), plural.Of(found.Packages, "package"), details(count, found.Locked))
	return nil
}

// listing returns a section on one line, as text.
func listing(s *section.Section, dir string) string {
	var ends []string
	for _, e := range s.Ends {
		ends = append(ends, fmt.Sprintf("%s:%d", relative(dir, e.At.File), e.At.Line))
	}
	return fmt.Sprintf("%s:%d: %s of %s, ends at %s",
		relative(dir, s.Entry.File), s.Entry.Line, s.Pattern, s.Variable, strings.Join(slices.Compact(ends), ", "))
}

// details returns the number of sections of each pattern, and the number of sections left out.
func details(count map[string]int, locked int) string {
	var parts []string
	for _, name := range infer.PatternNames() {
		if n := count[name]; n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, name))
		}
	}
	out := ""
	if len(parts) > 0 {
		out = ": " + strings.Join(parts, ", ")
	}
	if locked > 0 {
		out += fmt.Sprintf("; %d left out because a lock is held", locked)
	}
	return out
}
