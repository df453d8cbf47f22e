package patch

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"go/token"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/internal/infer"
	"github.com/heisen-go/heisen/internal/textdiff"
	"github.com/heisen-go/heisen/report"
)

// Result is what Make has done about findings.
type Result struct {
	// Repaired has a line for each variable that a lock guards now, such as "counter.n: guarded by the new mutex mu
	// of counter".
	Repaired []string
	// Repairs are the same, with what is needed to try them.
	Repairs []Repair
	// Refused has the findings that are left.
	Refused []Refusal
	// Notes says what was not looked at, one line each.
	Notes []string

	root     string
	old, new map[string][]byte
}

// Refuse adds a finding that is left.
func (r *Result) Refuse(f *report.Finding, reason string) {
	refusal := Refusal{Fingerprint: f.Fingerprint, Reason: reason}
	if len(f.Accesses) > 0 && len(f.Accesses[0].Stack) > 0 {
		refusal.File, refusal.Line = f.Accesses[0].Stack[0].File, f.Accesses[0].Stack[0].Line
	}
	r.Refused = append(r.Refused, refusal)
}

// Refusal says why a finding is not repaired.
type Refusal struct {
	Fingerprint string
	File        string // absolute; empty if the finding has no place in the module
	Line        int
	Reason      string
}

// String returns the refusal on one line.
func (r Refusal) String() string {
	if r.File == "" {
		return fmt.Sprintf("%s is not repaired: %s", r.Fingerprint, r.Reason)
	}
	return fmt.Sprintf("%s:%d: %s is not repaired: %s", r.File, r.Line, r.Fingerprint, r.Reason)
}

// Changed returns the number of files that are changed.
func (r *Result) Changed() int { return len(r.new) }

// Files returns the changed files by their names in the module, with slashes.
func (r *Result) Files() map[string]string {
	out := map[string]string{}
	for name, text := range r.new {
		if rel, err := filepath.Rel(r.root, name); err == nil {
			out[filepath.ToSlash(rel)] = string(text)
		}
	}
	return out
}

// WriteDiff writes the changes in the unified format. The names of files are relative to the folder of the module.
func (r *Result) WriteDiff(w io.Writer) error {
	for _, name := range slices.Sorted(maps.Keys(r.new)) {
		rel, err := filepath.Rel(r.root, name)
		if err == nil && !filepath.IsLocal(rel) {
			err = fmt.Errorf("%s is not in %s", name, r.root)
		}
		if err == nil {
			err = textdiff.Write(w, filepath.ToSlash(rel), r.old[name], r.new[name])
		}
		if err != nil {
			return fmt.Errorf("write a diff: %w", err)
		}
	}
	return nil
}

// ErrSource is wrapped by errors of Make about source that does not compile.
var ErrSource = errors.New("the source cannot be analyzed")

// Make repairs findings of a module by locks. root is the folder of the module, and tags are the build tags besides
// race. Make changes no files. The same findings give the same patch, in whatever order they and the accesses of a race come.
//
// The cost is that of type-checking the module, two or three times for each variable with a finding.
func Make(ctx context.Context, root string, tags []string, findings []report.Finding) (*Result, error) {
	m := &maker{ctx: ctx, root: root, tags: tags, locks: map[string]int{}, result: &Result{root: root, old: map[string][]byte{}, new: map[string][]byte{}}}
	findings = inOrder(findings)
	if !slices.ContainsFunc(findings, func(f report.Finding) bool { return impossible(&f) == "" }) {
		for i := range findings {
			m.refuse(&findings[i], "", 0, impossible(&findings[i]))
		}
		return m.result, nil
	}
	if err := m.load(); err != nil {
		return nil, fmt.Errorf("make a patch: %w", err)
	}
	if len(m.p.Packages) == 0 {
		return nil, fmt.Errorf("make a patch: %w: there are no packages in %s", ErrSource, root)
	}
	var err error
	if m.warnings, err = copies(m.p.Packages); err != nil {
		return nil, fmt.Errorf("make a patch: %w", err)
	}
	for i := range findings {
		m.take(&findings[i])
	}
	for _, t := range m.outermostFirst(m.grouped()) {
		if err := m.repair(t); err != nil {
			return nil, fmt.Errorf("make a patch: %w", err)
		}
	}
	m.follow()
	m.elsewhere()
	m.findTests()
	return m.result, nil
}

// inOrder returns findings in an order that depends on their places only. Of a race, the accesses are so, too: which comes
// first depends on the schedule.
func inOrder(findings []report.Finding) []report.Finding {
	findings = slices.Clone(findings)
	for i := range findings {
		if f := &findings[i]; f.Kind == heisen.Race {
			f.Accesses = slices.Clone(f.Accesses)
			slices.SortStableFunc(f.Accesses, compareAccesses)
		}
	}
	slices.SortStableFunc(findings, func(a, b report.Finding) int {
		return cmp.Or(slices.CompareFunc(a.Accesses, b.Accesses, compareAccesses), cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Fingerprint, b.Fingerprint))
	})
	return findings
}

func compareAccesses(a, b report.Access) int {
	byPlace := slices.CompareFunc(a.Stack, b.Stack, func(x, y report.Frame) int {
		return cmp.Or(cmp.Compare(x.File, y.File), cmp.Compare(x.Line, y.Line), cmp.Compare(x.Func, y.Func))
	})
	return cmp.Or(byPlace, cmp.Compare(a.Op, b.Op), cmp.Compare(a.Variable, b.Variable))
}

// maker makes a patch.
type maker struct {
	ctx      context.Context
	root     string
	tags     []string
	p        *program
	texts    *texts
	result   *Result
	tasks    []*task
	warnings map[string]int

	guarded   []string       // the keys of the variables that are repaired
	locks     map[string]int // the indexes of the repairs that place locks, by lockKey
	following []*task        // nothing writes their variables once others know the objects
}

// task is a variable with findings.
type task struct {
	keys     []string
	group    string // variables of one group are to have one lock: fields of a type, or local variables of a function
	spans    []place
	findings []*report.Finding
	parts    []*task // the tasks of a group
}

// place is a sequence of two accesses that must be atomic, in the lines of the original source.
type place struct {
	file        string
	first, last int
	calls       bool // the accesses are in functions that are called there
}

// load loads the module as it is changed so far.
func (m *maker) load() error {
	all, err := infer.Source{Dir: m.root, Packages: []string{"./..."}, Tags: m.tags, Tests: true, Overlay: m.result.new}.Load(m.ctx)
	if m.ctx.Err() != nil {
		return m.ctx.Err()
	}
	if err != nil {
		return fmt.Errorf("%w: %w", ErrSource, err)
	}
	fset := token.NewFileSet()
	if len(all) > 0 {
		fset = all[0].Fset
	}
	m.p = newProgram(all, fset)
	read := map[string][]byte{}
	m.texts = &texts{fset: fset, changed: m.result.new, read: read}
	return nil
}

// take finds the variable of a finding.
func (m *maker) take(f *report.Finding) {
	if why := impossible(f); why != "" {
		m.refuse(f, "", 0, why)
		return
	}
	for i := range f.Accesses {
		a := &f.Accesses[i]
		if at := a.Stack[0]; m.p.fileNamed(at.File) == nil {
			why := "the access stands outside of the module"
			if i := slices.IndexFunc(a.Stack, func(frame report.Frame) bool { return m.p.fileNamed(frame.File) != nil }); i > 0 {
				why = fmt.Sprintf("%s accesses it, which is called here and is not of the module: a lock has to be held around such calls", a.Stack[i-1].Func)
				at = a.Stack[i]
			}
			m.refuse(f, at.File, at.Line, why)
			return
		}
	}
	targets, at, why := m.p.targetsOf(f.Accesses)
	if why == "" && len(targets) > 1 && f.Kind == heisen.Atomicity {
		at, why = &f.Accesses[0], "it is not known which variable is accessed there"
	}
	if why != "" {
		m.refuse(f, at.Stack[0].File, at.Stack[0].Line, why)
		return
	}
	for _, found := range targets {
		m.assign(f, found)
	}
}

// impossible returns why a finding is not repaired, whatever the program is. It is empty if it may be.
func impossible(f *report.Finding) string {
	switch {
	case f.Kind != heisen.Race && f.Kind != heisen.Atomicity:
		return fmt.Sprintf("a lock does not repair a %s", f.Kind)
	case len(f.Accesses) == 0:
		return "it has no accesses"
	case slices.ContainsFunc(f.Accesses, func(a report.Access) bool { return len(a.Stack) == 0 }):
		return "an access has no stack"
	}
	return ""
}

// assign adds a finding to the task of its variable.
func (m *maker) assign(f *report.Finding, found *target) {
	key := found.first().key
	i := slices.IndexFunc(m.tasks, func(t *task) bool { return t.keys[0] == key })
	if i < 0 {
		i = len(m.tasks)
		t := &task{keys: []string{key}}
		if found.isField() || found.fn != nil {
			t.group = key[:strings.LastIndex(key, ".")]
			t.group = strings.TrimRight(t.group, "'")
			if known := m.p.candidates(m.p.uses(found)); len(known) > 0 {
				t.group += " " + known[0].class.Name
			}
		}
		m.tasks = append(m.tasks, t)
	}
	t := m.tasks[i]
	t.findings = append(t.findings, f)
	if f.Kind == heisen.Atomicity {
		s, why := sequence(f)
		if why != "" {
			t.findings = t.findings[:len(t.findings)-1]
			m.refuse(f, f.Accesses[0].Stack[0].File, f.Accesses[0].Stack[0].Line, why)
			if len(t.findings) == 0 {
				m.tasks = slices.Delete(m.tasks, i, i+1)
			}
			return
		}
		t.spans = append(t.spans, s)
	}
}

// sequence returns the two places that must be atomic: in the innermost function that both accesses stand in or that has
// called both.
func sequence(f *report.Finding) (place, string) {
	first, last := f.Accesses[0].Stack, f.Accesses[len(f.Accesses)-1].Stack
	if len(f.Accesses) < 3 || f.Accesses[0].Thread != f.Accesses[len(f.Accesses)-1].Thread {
		return place{}, "it is no sequence of two accesses by one goroutine"
	}
	for n := 0; n < len(first) && n < len(last); n++ {
		a, b := first[len(first)-1-n], last[len(last)-1-n]
		if a == b {
			continue
		}
		if a.Func != b.Func || a.File != b.File {
			return place{}, "the two accesses have no function in common"
		}
		return place{a.File, a.Line, b.Line, n < len(first)-1 || n < len(last)-1}, ""
	}
	at := first[0]
	return place{at.File, at.Line, at.Line, false}, ""
}

// refuse adds a finding that is left, once.
func (m *maker) refuse(f *report.Finding, file string, line int, reason string) {
	if slices.ContainsFunc(m.result.Refused, func(r Refusal) bool { return r.Fingerprint == f.Fingerprint }) {
		return
	}
	m.result.Refused = append(m.result.Refused, Refusal{f.Fingerprint, file, line, reason})
}

// grouped puts variables of one group into one task, so that one mutex guards them. Tasks come in the order of the declarations.
func (m *maker) grouped() (out []*task) {
	slices.SortStableFunc(m.tasks, func(a, b *task) int {
		one, other := m.p.position(m.p.byKey(a.keys[0]).first().ident.Pos()), m.p.position(m.p.byKey(b.keys[0]).first().ident.Pos())
		return cmp.Or(cmp.Compare(one.Filename, other.Filename), cmp.Compare(one.Offset, other.Offset))
	})
	for _, t := range m.tasks {
		i := -1
		if t.group != "" && !t.calls() && !m.p.onlyMade(m.target(t)) {
			i = slices.IndexFunc(out, func(o *task) bool { return o.group == t.group && !o.calls() })
		}
		if i < 0 {
			one := *t
			one.parts = []*task{t}
			out = append(out, &one)
			continue
		}
		out[i].keys = append(slices.Clip(out[i].keys), t.keys...)
		out[i].spans = append(slices.Clip(out[i].spans), t.spans...)
		out[i].findings = append(slices.Clip(out[i].findings), t.findings...)
		out[i].parts = append(out[i].parts, t)
	}
	return out
}

// calls reports whether a sequence of calls is to be atomic.
func (t *task) calls() bool {
	return slices.ContainsFunc(t.spans, func(s place) bool { return s.calls })
}

// repair repairs a task, or says why it is not repaired.
func (m *maker) repair(t *task) error {
	target := m.target(t)
	if target == nil {
		return m.leave(t, &refusal{reason: "the variable is not found"})
	}
	if whole := m.p.holder(target); whole != nil && len(t.parts) <= 1 {
		target = whole
	}
	if len(t.parts) <= 1 && len(t.spans) == 0 && m.p.onlyMade(target) {
		m.following = append(m.following, t)
		return nil
	}
	var first *refusal
	for _, try := range m.attempts(t, target) {
		r, why := try()
		if why == nil {
			summary, lock := m.summary(r), m.lockKey(r.g, target)
			if r.covered {
				if m.covered(lock, t) {
					m.result.Repaired = append(m.result.Repaired, summary)
					return nil
				}
				why = &refusal{target.first().ident.Pos(), "all accesses hold a lock already, as far as the source shows"}
			} else if why = m.accept(r); why == nil {
				for _, v := range target.variables {
					m.guarded = append(m.guarded, v.key)
				}
				if _, known := m.locks[lock]; !known && !r.atomic {
					m.locks[lock] = len(m.result.Repairs)
				}
				m.repaired(Repair{Summary: summary, touched: r.touches()}, t)
				return nil
			}
		}
		if m.ctx.Err() != nil {
			return m.ctx.Err()
		}
		if first == nil && why != nil {
			first = why
		}
	}
	if len(t.parts) > 1 { // no lock for all of them: one for each
		for _, part := range t.parts {
			if err := m.repair(part); err != nil {
				return err
			}
		}
		return nil
	}
	if first == nil {
		first = &refusal{target.first().ident.Pos(), "no lock can be declared beside it"}
	}
	return m.leave(t, first)
}

// repaired notes a repair of the findings of a task.
func (m *maker) repaired(r Repair, t *task) {
	r.take(t)
	m.result.Repaired = append(m.result.Repaired, r.Summary)
	m.result.Repairs = append(m.result.Repairs, r)
}

// take adds the findings of a task.
func (r *Repair) take(t *task) {
	for _, f := range t.findings {
		if !slices.Contains(r.Findings, f.Fingerprint) {
			r.Findings = append(r.Findings, f.Fingerprint)
		}
	}
}

// leave refuses the findings of a task.
func (m *maker) leave(t *task, why *refusal) error {
	at := m.p.position(why.at)
	line := m.originalLine(at.Filename, at.Line)
	for _, f := range t.findings {
		m.refuse(f, at.Filename, line, why.reason)
	}
	return nil
}

// target finds the variables of a task in the source as it is now.
func (m *maker) target(t *task) *target {
	var out *target
	for _, key := range t.keys {
		found := m.p.byKey(key)
		if found == nil {
			return nil
		}
		if out == nil {
			out = found
		} else {
			out.variables = append(out.variables, found.variables...)
		}
	}
	return out
}

// summary says which lock guards a target now.
func (m *maker) summary(r *repair) string {
	what := r.t.names()
	if spec := m.p.typeSpec(r.t.first().ident); spec != nil && r.t.isField() {
		what = spec.Name.Name + "." + what
	}
	if r.atomic {
		return what + ": an atomic flag now"
	}
	if r.g.existing {
		return fmt.Sprintf("%s: %s guards it everywhere now", what, r.g.class.Name)
	}
	return fmt.Sprintf("%s: guarded by a new mutex, %s", what, r.g.name)
}

// accept applies a repair, and checks that the result compiles and copies no mutex.
func (m *maker) accept(r *repair) *refusal {
	e, why := r.write()
	if why != nil {
		return why
	}
	at := r.t.first().ident.Pos()
	changed, err := e.apply()
	if err != nil {
		return &refusal{at, err.Error()}
	}
	type state struct {
		new   map[string][]byte
		p     *program
		texts *texts
	}
	before := state{maps.Clone(m.result.new), m.p, m.texts}
	for name := range changed {
		if _, ok := m.result.old[name]; !ok {
			if m.result.old[name], err = os.ReadFile(name); err != nil {
				return &refusal{at, err.Error()}
			}
		}
	}
	maps.Copy(m.result.new, changed)
	err = m.load()
	var warnings map[string]int
	if err == nil {
		warnings, err = copies(m.p.Packages)
	}
	if err == nil && !containsAll(m.warnings, warnings) {
		err = errors.New("the mutex would be copied")
	}
	if err == nil {
		why = m.judge(before.p, m.p, r)
	}
	if err != nil || why != nil {
		m.result.new, m.p, m.texts = before.new, before.p, before.texts
		m.texts.changed = before.new
		if why != nil {
			return why
		}
		return &refusal{at, fmt.Sprintf("with a lock the source would not compile or copy it: %v", err)}
	}
	return nil
}
