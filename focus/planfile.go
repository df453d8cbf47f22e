package focus

import (
	"bufio"
	"cmp"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/internal/words"
)

// ErrPlan is wrapped by all errors about invalid plans, whether they come from a file or not.
var ErrPlan = errors.New("invalid plan")

// planHeader is the first line of a plan file. The number is the version of the format.
const (
	planWords  = "heisen plan"
	planHeader = planWords + " 1"
)

// DecodePlan reads a plan file, which is text that version control compares by lines:
//
//	heisen plan 1
//
//	file bank.go 9eaf0edaa44a896c825d7f245d790322f3c76d1117fbedb34087c134b955fba8
//		reads 7-9 12
//		writes 12
//
//	variable example.com/bank.Account.balance unsafe guarded field mu
//	variable example.com/bank.Account.name safe read-only
//	variable example.com/bank.total safe guarded variable example.com/bank.mu shared
//
//	function example.com/bank.(*Account).add typed
//		requires field mu
//		uses bank.go
//	function example.com/bank.(*Account).Deposit typed atomic
//
// The first line has the format and its version. The lines that follow have any order, except that
// reads and writes belong to the file before them, and requires and uses to the function before them:
//
//	file PATH HASH                            Files
//	reads RANGE...                            File.Reads, a range of lines is NUMBER or NUMBER-NUMBER
//	writes RANGE...                           File.Writes
//	variable NAME safe|unsafe OWNER           Variables
//	function NAME typed|untyped [atomic]      Functions
//	requires LOCK                             Requires, in the order of the lines
//	uses PATH                                 Properties.Files, in the order of the lines
//
// OWNER is unknown, local, read-only, handed-over, synchronization, or guarded LOCK. LOCK is "field
// PATH" for a Guard with SameObject and otherwise "variable NAME"; the word shared may follow. Words are
// separated by blanks; a word that contains blanks or begins with # or " is quoted as in Go. Blank
// lines are ignored, and so is a # where a word could begin, with what follows it on the line.
//
// If anything in the file is invalid, or if Check refuses the plan, DecodePlan returns no plan and an
// error that wraps ErrPlan; it names the first invalid line if there is one. An error of r is returned
// with the line. Cost and memory are proportional to the file. If r is nil, the error wraps
// heisen.ErrOption.
func DecodePlan(r io.Reader) (*Plan, error) {
	if r == nil {
		return nil, fmt.Errorf("focus.DecodePlan: %w: the reader is nil", heisen.ErrOption)
	}
	d := planDecoder{plan: &Plan{Variables: map[Variable]Protection{}, Functions: map[Function]Properties{}, Files: map[string]File{}}}
	line := 0
	for in := bufio.NewReader(r); ; {
		text, err := in.ReadString('\n')
		if err != nil && err != io.EOF {
			return nil, fmt.Errorf("reading a plan: line %d: %w", line+1, err)
		}
		if text != "" || line == 0 {
			line++
			if err := d.line(line, strings.TrimSpace(text)); err != nil {
				return nil, fmt.Errorf("%w: line %d: %w", ErrPlan, line, err)
			}
		}
		if err == io.EOF {
			break
		}
	}
	if err := d.plan.Check(); err != nil {
		return nil, err
	}
	return d.plan, nil
}

type planDecoder struct {
	plan       *Plan
	path       string   // of the file that reads and writes belong to
	function   Function // that requires and uses belong to
	inFile     bool     // there is a path
	inFunction bool     // there is a function
}

func (d *planDecoder) line(number int, text string) error {
	if number == 1 {
		version, ok := strings.CutPrefix(text, planWords+" ")
		switch {
		case text == planHeader:
			return nil
		case ok:
			return fmt.Errorf("unknown version %q of the format, want 1", version)
		}
		return fmt.Errorf("the first line must be %q", planHeader)
	}
	if text == "" || text[0] == '#' {
		return nil
	}
	parts, _, err := words.Split(text)
	if err != nil {
		return err
	}
	what, arguments := parts[0], parts[1:]
	switch what {
	case "file":
		return d.startFile(arguments)
	case "reads", "writes":
		return d.lines(what, arguments)
	case "variable":
		return d.variable(arguments)
	case "function":
		return d.startFunction(arguments)
	case "requires", "uses":
		return d.needs(what, arguments)
	}
	return fmt.Errorf("%q is none of file, reads, writes, variable, function, requires, uses", what)
}

func (d *planDecoder) lines(what string, ranges []string) error {
	if !d.inFile {
		return fmt.Errorf("%q comes before the first file", what)
	}
	file := d.plan.Files[d.path]
	lines := &file.Reads
	if what == "writes" {
		lines = &file.Writes
	}
	if *lines != nil {
		return fmt.Errorf("%q appears twice for %q", what, d.path)
	}
	if len(ranges) == 0 {
		return fmt.Errorf("%s needs at least one range of lines", what)
	}
	var err error
	*lines, err = parseLines(ranges)
	d.plan.Files[d.path] = file
	return err
}

func (d *planDecoder) needs(what string, arguments []string) error {
	if !d.inFunction {
		return fmt.Errorf("%q comes before the first function", what)
	}
	p := d.plan.Functions[d.function]
	if what == "uses" {
		if len(arguments) != 1 {
			return errors.New("want the form: uses PATH")
		}
		p.Files = append(p.Files, arguments[0])
	} else {
		g, err := parseGuard(arguments)
		if err != nil {
			return err
		}
		p.Requires = append(p.Requires, g)
	}
	d.plan.Functions[d.function] = p
	return nil
}

func (d *planDecoder) startFile(words []string) error {
	var h Hash
	if len(words) != 2 || len(words[1]) != 2*len(h) || strings.ToLower(words[1]) != words[1] {
		return fmt.Errorf("want the form: file PATH HASH, with %d hexadecimal digits", 2*len(h))
	}
	if _, err := hex.Decode(h[:], []byte(words[1])); err != nil {
		return err
	}
	if _, twice := d.plan.Files[words[0]]; twice {
		return fmt.Errorf("the file %q appears twice", words[0])
	}
	d.plan.Files[words[0]] = File{Hash: h}
	d.path, d.inFile = words[0], true
	return nil
}

func (d *planDecoder) variable(words []string) error {
	if len(words) < 3 || words[1] != "safe" && words[1] != "unsafe" {
		return errors.New("want the form: variable NAME safe|unsafe OWNER")
	}
	v, err := ParseVariable(words[0])
	if err != nil {
		return err
	}
	if _, twice := d.plan.Variables[v]; twice {
		return fmt.Errorf("the variable %q appears twice", v)
	}
	p := Protection{Unsafe: words[1] == "unsafe"}
	kind := slices.Index(kindWords[:], words[2])
	switch {
	case kind < 0:
		return fmt.Errorf("%q is none of %s", words[2], strings.Join(kindWords[:], ", "))
	case Kind(kind) == Guarded:
		if p.Owner.Guard, err = parseGuard(words[3:]); err != nil {
			return err
		}
	case len(words) > 3:
		return fmt.Errorf("unexpected %q", words[3])
	}
	p.Owner.Kind = Kind(kind)
	d.plan.Variables[v] = p
	return nil
}

func (d *planDecoder) startFunction(words []string) error {
	if len(words) < 2 || len(words) > 3 || words[1] != "typed" && words[1] != "untyped" || len(words) == 3 && words[2] != "atomic" {
		return errors.New("want the form: function NAME typed|untyped [atomic]")
	}
	f := Function(words[0])
	if _, twice := d.plan.Functions[f]; twice {
		return fmt.Errorf("the function %q appears twice", f)
	}
	d.plan.Functions[f] = Properties{Typed: words[1] == "typed", Atomic: len(words) == 3}
	d.function, d.inFunction = f, true
	return nil
}

func parseGuard(words []string) (g Guard, err error) {
	if len(words) < 2 || len(words) > 3 || len(words) == 3 && words[2] != "shared" {
		return g, errors.New("want a lock of the form: field|variable NAME [shared]")
	}
	g.Shared = len(words) == 3
	switch words[0] {
	case "field":
		g.SameObject, g.Path = true, words[1]
	case "variable":
		g.Variable, err = ParseVariable(words[1])
	default:
		err = fmt.Errorf("%q is neither field nor variable", words[0])
	}
	return g, err
}

// kindWords has the kinds as words of a plan file.
var kindWords = func() (words [len(kindNames)]string) {
	for k, name := range kindNames {
		words[k] = strings.ReplaceAll(name, " ", "-")
	}
	return words
}()

// Check returns an error that wraps ErrPlan if the plan contradicts itself or cannot be written: names
// are malformed, lines are out of order, a variable is guarded and has no guard, a variable of unknown owner is
// safe, or a function uses a file that the plan does not have.
func (p *Plan) Check() error {
	if p == nil {
		return heisen.ErrZero
	}
	var errs []error
	for path, file := range p.Files {
		if path == "" {
			errs = append(errs, errors.New("a file has no name"))
		}
		if err := cmp.Or(file.Reads.check(), file.Writes.check()); err != nil {
			errs = append(errs, fmt.Errorf("file %q: %w", path, err))
		}
	}
	for v, protection := range p.Variables {
		if err := protection.check(v); err != nil {
			errs = append(errs, fmt.Errorf("variable %v: %w", v, err))
		}
	}
	for f, properties := range p.Functions {
		if f == "" {
			errs = append(errs, errors.New("a function has no name"))
		}
		for _, g := range properties.Requires {
			if err := g.check(); err != nil {
				errs = append(errs, fmt.Errorf("function %s: %w", f, err))
			}
		}
		for _, file := range properties.Files {
			if _, ok := p.Files[file]; !ok {
				errs = append(errs, fmt.Errorf("function %s: the plan has no file %q", f, file))
			}
		}
	}
	if len(errs) == 0 {
		return nil
	}
	// The maps have no order. The first error alone is enough for people.
	return fmt.Errorf("%w: %w", ErrPlan, slices.MinFunc(errs, func(a, b error) int { return cmp.Compare(a.Error(), b.Error()) }))
}

func (p Protection) check(v Variable) error {
	if _, err := ParseVariable(v.String()); err != nil {
		return err
	}
	switch o := p.Owner; {
	case !o.Kind.Valid():
		return fmt.Errorf("unknown kind %d of owner", o.Kind)
	case o.Kind == Guarded:
		return o.Guard.check()
	case o.Guard != Guard{}:
		return fmt.Errorf("it has a guard and is %v", o.Kind)
	case o.Kind == Unknown && !p.Unsafe:
		return errors.New("its owner is unknown, and it is safe")
	}
	return nil
}

func (g Guard) check() error {
	switch {
	case g.SameObject && g.Path == "":
		return errors.New("a lock in the same object has no path")
	case g.SameObject && !g.Variable.IsZero():
		return errors.New("a lock in the same object is a variable too")
	case !g.SameObject && g.Path != "":
		return errors.New("a lock in another object has a path")
	case !g.SameObject:
		_, err := ParseVariable(g.Variable.String())
		return err
	}
	return nil
}

// Encode writes the plan as a file that DecodePlan reads. The file depends only on the content of the
// plan: everything is sorted by name. If Check refuses the plan, Encode writes nothing and returns
// that error. Otherwise the error is that of w. If w is nil, it wraps heisen.ErrOption.
func (p *Plan) Encode(w io.Writer) error {
	if p == nil {
		return heisen.ErrZero
	}
	if w == nil {
		return fmt.Errorf("focus.Plan.Encode: %w: the writer is nil", heisen.ErrOption)
	}
	if err := p.Check(); err != nil {
		return err
	}
	out := bufio.NewWriter(w)
	fmt.Fprintln(out, planHeader)
	blank(out, len(p.Files))
	for _, path := range slices.Sorted(maps.Keys(p.Files)) {
		file := p.Files[path]
		fmt.Fprintf(out, "file %s %v\n", words.Quote(path), file.Hash)
		if len(file.Reads) > 0 {
			fmt.Fprintf(out, "\treads %v\n", file.Reads)
		}
		if len(file.Writes) > 0 {
			fmt.Fprintf(out, "\twrites %v\n", file.Writes)
		}
	}
	blank(out, len(p.Variables))
	for _, v := range slices.SortedFunc(maps.Keys(p.Variables), func(a, b Variable) int { return cmp.Compare(a.String(), b.String()) }) {
		protection := p.Variables[v]
		fmt.Fprintf(out, "variable %s %s %s", words.Quote(v.String()), either(protection.Unsafe, "unsafe", "safe"), kindWords[protection.Owner.Kind])
		if protection.Owner.Kind == Guarded {
			fmt.Fprintf(out, " %s", protection.Owner.Guard.words())
		}
		fmt.Fprintln(out)
	}
	blank(out, len(p.Functions))
	for _, f := range slices.Sorted(maps.Keys(p.Functions)) {
		properties := p.Functions[f]
		fmt.Fprintf(out, "function %s %s%s\n", words.Quote(string(f)), either(properties.Typed, "typed", "untyped"), either(properties.Atomic, " atomic", ""))
		for _, g := range properties.Requires {
			fmt.Fprintf(out, "\trequires %s\n", g.words())
		}
		for _, file := range properties.Files {
			fmt.Fprintf(out, "\tuses %s\n", words.Quote(file))
		}
	}
	if err := out.Flush(); err != nil {
		return fmt.Errorf("writing a plan: %w", err)
	}
	return nil
}

// blank separates the parts of a file.
func blank(w io.Writer, lines int) {
	if lines > 0 {
		fmt.Fprintln(w)
	}
}

func either(first bool, a, b string) string {
	if first {
		return a
	}
	return b
}

// words returns the guard as words of a plan file.
func (g Guard) words() string {
	shared := either(g.Shared, " shared", "")
	if g.SameObject {
		return "field " + words.Quote(g.Path) + shared
	}
	return "variable " + words.Quote(g.Variable.String()) + shared
}
