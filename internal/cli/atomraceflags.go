package cli

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/internal/findingsfile"
	"github.com/heisen-go/heisen/internal/infer"
	"github.com/heisen-go/heisen/internal/kept"
	"github.com/heisen-go/heisen/internal/observed"
	"github.com/heisen-go/heisen/internal/overlap"
	"github.com/heisen-go/heisen/internal/races"
	"github.com/heisen-go/heisen/internal/recorder"
	"github.com/heisen-go/heisen/report"
	"github.com/heisen-go/heisen/section"
)

// atomraceFlags has the values of the flags of atomrace.
type atomraceFlags struct {
	sections string // file
	noise    string // heuristic
	from     string // file of findings
	heal     string // file of findings or sections, or healAuto
	strength int
	wait     time.Duration
	seed     uint64
	budget   time.Duration

	relative []section.Section // as they stand in the file
	read     []section.Section // with absolute names of files
	dir      string            // of the file
	inferred bool              // the sections come from the source of the tests
}

// atomraceFlags defines -sections and the flags that say where goroutines are made
// to wait.
func (inv *invocation) atomraceFlags() *atomraceFlags {
	o := &atomraceFlags{}
	o.sectionsFlag(inv)
	inv.flags.StringVar(&o.noise, "noise", "none", "atomrace: make goroutines wait during accesses chosen by a `heuristic`: none, random,\nloc (at the places in -from) or var (wherever the variables in -from are accessed)")
	inv.flags.StringVar(&o.from, "from", "", "atomrace: `file` of findings for -noise: those of this tool as JSON, SARIF, what go test -race\nhas printed, or lines with two places such as a.go:12 b.go:34")
	inv.flags.IntVar(&o.strength, "noise-strength", 50, "atomrace: how many of a thousand accesses wait")
	inv.flags.DurationVar(&o.wait, "noise-wait", 50*time.Microsecond, "atomrace: how long an access waits; 0 to only yield to other goroutines")
	inv.flags.Uint64Var(&o.seed, "noise-seed", 1, "atomrace: seed of the choice of accesses")
	inv.flags.DurationVar(&o.budget, "noise-budget", 20*time.Second, "atomrace: bound on the time of all waits of a program together")
	return o
}

// sectionsFlag defines -sections.
func (o *atomraceFlags) sectionsFlag(inv *invocation) {
	inv.flags.StringVar(&o.sections, "sections", "", "atomrace: check the atomic sections in `file`; mcm: predict their violations.\nTests without it have inferred sections for atomrace; none: no sections")
}

// live returns what programs themselves look for, or nil if no chosen detector works inside
// programs.
func (o *atomraceFlags) live(inv *invocation, d *detection) (*recorder.Live, error) {
	watched, predicted := slices.Contains(d.chosen, atomraceName), slices.Contains(d.chosen, mcmName)
	if !watched {
		for _, name := range []string{"sections", "noise", "from", "heal"} {
			f := inv.flags.Lookup(name)
			switch {
			case f == nil: // not a flag of this subcommand
			case f.Value.String() == f.DefValue || name == "sections" && predicted:
			case name == "sections":
				return nil, misuse("-%s is for the detectors %s and %s: -detect %[2]s", name, atomraceName, mcmName)
			default:
				return nil, misuse("-%s is for the detector %s: -detect %[2]s", name, atomraceName)
			}
		}
	}
	if o.sections != "" && o.sections != noSections {
		if err := o.readSections(); err != nil {
			return nil, err
		}
		if predicted {
			d.sections = o.read
		}
	}
	if !watched {
		return nil, nil
	}
	heal, _, err := o.healed(inv, inv.testedSource())
	if err != nil {
		return nil, err
	}
	unfit, err := o.unfit(inv, inv.testedSource())
	if err != nil {
		return nil, err
	}
	l := &recorder.Live{
		Sections: o.read, Noise: recorder.Noise{For: o.wait, Seed: o.seed, Budget: o.budget},
		Heal: heal, HealFound: o.heal == healAuto, Unfit: unfit,
	}
	switch {
	case o.strength < 0 || o.strength > 1000:
		return nil, misuse("-noise-strength %d is not between 0 and 1000", o.strength)
	case o.wait < 0 || o.budget < 0:
		return nil, misuse("a negative time")
	case o.noise == "none":
		return l, nil
	case (o.noise == "loc" || o.noise == "var") && o.from == "":
		return nil, misuse("-noise %s needs findings: -from file", o.noise)
	}
	l.Noise.Strength = o.strength
	switch o.noise {
	case "random":
	case "loc":
		l.Noise.At, err = locationsOf(o.from)
	case "var":
		l.Noise.At, err = variablesOf(inv, inv.testedSource(), o.from)
	default:
		return nil, misuse("unknown noise %q; there are none, random, loc, var", o.noise)
	}
	return l, err
}

// atomraceName is the detector that works inside running programs.
const atomraceName = "atomrace"

// readSections reads the sections file.
func (o *atomraceFlags) readSections() error {
	f, err := os.Open(o.sections)
	if err != nil {
		return err
	}
	defer f.Close()
	if o.relative, err = section.Decode(f); err != nil {
		return fmt.Errorf("%s: %w", o.sections, err)
	}
	if o.dir, err = absolute(filepath.Dir(o.sections)); err != nil {
		return err
	}
	o.read = o.absolute(o.relative)
	return nil
}

// absolute returns the sections with absolute names of files.
func (o *atomraceFlags) absolute(sections []section.Section) []section.Section {
	full := func(l section.Location) section.Location {
		if file := filepath.FromSlash(l.File); !filepath.IsAbs(file) {
			l.File = filepath.ToSlash(filepath.Join(o.dir, file))
		}
		return l
	}
	sections = slices.Clone(sections)
	for i := range sections {
		s := &sections[i]
		s.Entry, s.Ends = full(s.Entry), slices.Clone(s.Ends)
		for j := range s.Ends {
			e := &s.Ends[j]
			e.At, e.In = full(e.At), slices.Clone(e.In)
			for k := range e.In {
				e.In[k].File = full(section.Location{File: e.In[k].File}).File
			}
		}
	}
	return sections
}

// findingsIn reads a file of findings, which any tool may have written. If there is no such file, the name may be a list of fingerprints of
// findings that are kept.
func findingsIn(name string) ([]report.Finding, error) {
	found, err := findingsfile.Read(name)
	if !errors.Is(err, fs.ErrNotExist) || !fingerprints.MatchString(name) {
		return found, err
	}
	folder, err := kept.Open(".")
	if err != nil {
		return nil, err
	}
	for fingerprint := range strings.SplitSeq(name, ",") {
		same, err := folder.Find(fingerprint)
		if err != nil {
			return nil, fmt.Errorf("there is no file %s, and %w", name, err)
		}
		for i := range same {
			found = append(found, same[i].EachPair()...)
		}
	}
	return found, nil
}

// fingerprints matches a list of them.
var fingerprints = regexp.MustCompile(`^[0-9a-f]{16}(,[0-9a-f]{16})*$`)

// modesOf returns the modes of an access with an operation: both, if it is not known.
func modesOf(op string) []section.Modes {
	switch {
	case op == "":
		return []section.Modes{section.Reads, section.Writes}
	case strings.Contains(op, "write") || strings.Contains(op, "update"):
		return []section.Modes{section.Writes}
	}
	return []section.Modes{section.Reads}
}

// locationsOf returns the locations of the accesses in a file of findings.
func locationsOf(name string) ([]section.Location, error) {
	findings, err := findingsIn(name)
	if err != nil {
		return nil, err
	}
	locations := []section.Location{}
	for i := range findings {
		for _, a := range findings[i].Accesses {
			if len(a.Stack) == 0 {
				continue
			}
			for _, mode := range modesOf(a.Op) {
				at := section.Location{File: a.Stack[0].File, Line: a.Stack[0].Line, Mode: mode}
				if !slices.Contains(locations, at) {
					locations = append(locations, at)
				}
			}
		}
	}
	if len(locations) == 0 {
		return nil, fmt.Errorf("%s: the findings have no stacks", name)
	}
	return locations, nil
}

// testedSource returns the source of the packages of the command line, with their tests.
func (inv *invocation) testedSource() infer.Source {
	return infer.Source{Packages: inv.line.packages(), Tests: true, Tags: inv.line.tags()}
}

// variablesOf returns the locations at which the source accesses the variables in a file of findings.
func variablesOf(inv *invocation, source infer.Source, name string) ([]section.Location, error) {
	findings, err := findingsIn(name)
	if err != nil {
		return nil, err
	}
	var of []infer.Access
	for i := range findings {
		for _, a := range findings[i].Accesses {
			if len(a.Stack) == 0 {
				continue
			}
			access := infer.Access{File: a.Stack[0].File, Line: a.Stack[0].Line, Expr: a.Variable}
			if !slices.Contains(of, access) {
				of = append(of, access)
			}
		}
	}
	if len(of) == 0 {
		return nil, fmt.Errorf("%s: the findings name no variables", name)
	}
	return usesOf(inv, source, name, of)
}

// usesOf returns the locations at which the source accesses variables that a file names.
func usesOf(inv *invocation, source infer.Source, name string, of []infer.Access) ([]section.Location, error) {
	done := inv.progress("looking for variables", time.Second)
	defer done()
	ctx, stop := inv.interruptible()
	defer stop()
	locations, err := infer.Uses(ctx, source, of...)
	if len(locations) == 0 {
		return nil, fmt.Errorf("%s: %w", name, cmp.Or(err, errors.New("none of the variables is accessed in these packages")))
	}
	if errors.Is(err, infer.ErrNoVariable) {
		err = nil // a variable of another package
	}
	return locations, err
}

// overlapFinding returns an overlap that a program reports, as a finding.
func overlapFinding(found recorder.Overlap) heisen.Finding {
	if found.Unordered {
		return races.Unordered(fasttrackName, found.Accesses[0].Object, found.Accesses[0], found.Accesses[1])
	}
	f := overlap.Race(found.Accesses[0], found.Accesses[1])
	if found.Section >= 0 {
		f = overlap.Violation(found.Accesses)
	}
	f.Detector = atomraceName
	return f
}

// end returns the end of a section at which a program has found a violation.
func (o *atomraceFlags) end(violation recorder.Overlap) *section.End {
	n := violation.End
	for i := range violation.Section {
		n -= len(o.read[i].Ends)
	}
	return &o.read[violation.Section].Ends[n]
}

// observe calls report with each overlap that a program reports, and with the finding. It leaves
// out violations of sections whose variable is another one than the accessed one.
func (o *atomraceFlags) observe(stream *recorder.Stream, found *findings, report func(recorder.Overlap, heisen.Finding)) {
	type key struct {
		section    int
		entry, end heisen.Site
		context    heisen.Context // of the end
	}
	known := map[key]bool{}
	locator := section.LocateIn(stream.Symbols(), string(filepath.Separator))
	stream.OnOverlap(func(overlap recorder.Overlap) {
		f := observed.Attributed(overlapFinding(overlap), stream.Symbols())
		if overlap.Section >= len(o.read) {
			return
		}
		if overlap.Section >= 0 {
			s, last := &o.read[overlap.Section], f.Accesses[len(f.Accesses)-1]
			k := key{overlap.Section, f.Accesses[0].Site, last.Site, last.Context}
			concerned, ok := known[k]
			if !ok {
				concerned = locator.Inside(o.end(overlap), last) && (s.Variable == "" || found.isAbout(f, stream.Symbols(), s))
				known[k] = concerned
			}
			if !concerned {
				return
			}
		}
		report(overlap, f)
	})
}
