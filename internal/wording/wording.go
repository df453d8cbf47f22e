// Package wording says what findings are called, what they mean in a sentence, and which of them to
// look at first. All reports use the same words.
package wording

import (
	"cmp"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/internal/source"
	"github.com/heisen-go/heisen/report"
)

// confirmed reports whether executions have shown the bug.
func confirmed(f *report.Finding) bool { return f.Trials != nil && f.Trials.Confirmed > 0 }

// Title returns what a finding is called, such as "Data race".
func Title(f *report.Finding) string {
	switch {
	case f.Kind == heisen.Deadlock && f.Certainty() != report.Confirmed:
		return "Potential deadlock"
	case f.Kind == heisen.Race && f.Supposed():
		return KindTitle(heisen.PotentialRace)
	case f.Kind == heisen.Atomicity && f.Potential():
		return "Potential atomicity violation"
	}
	return KindTitle(f.Kind)
}

// Subject returns what a finding is called, and what it is about if that has a name, else where it is.
func Subject(f *report.Finding) string {
	switch what := What(f); {
	case what != "":
		return Title(f) + ": " + what
	case len(f.Accesses) > 0 && f.Accesses[0].Site != "":
		return Title(f) + " at " + Place(f.Accesses[0].Site)
	}
	return Title(f)
}

// About returns what a finding is called and what it is about, else where it is, else what it says, as a part of a
// sentence.
func About(f *report.Finding) string {
	title := strings.ToLower(Title(f))
	switch {
	case What(f) != "":
		return title + " of " + What(f)
	case len(f.Accesses) > 0 && f.Accesses[0].Site != "":
		return title + " at " + f.Accesses[0].Site
	case f.Message != "":
		return title + " (" + f.Message + ")"
	}
	return title
}

// KindTitle returns what findings of a kind are called.
func KindTitle(kind heisen.Kind) string {
	switch kind {
	case heisen.Race:
		return "Data race"
	case heisen.Atomicity:
		return "Atomicity violation"
	case heisen.Deadlock:
		return "Deadlock"
	case heisen.PotentialRace:
		return "Potential data race"
	case heisen.Discipline:
		return "Locking discipline"
	case heisen.Leak:
		return "Goroutine leak"
	case heisen.Unstoppable:
		return "Unstoppable goroutine"
	case heisen.Misuse:
		return "Misuse"
	case heisen.Failure:
		return "Failing execution"
	case "":
		return "Finding"
	}
	return strings.ToUpper(string(kind[:1])) + string(kind[1:])
}

// Certain reports whether a finding is a bug that has happened, or one that certainly can happen: a
// race, a violation of a section. Others are suspicions.
func Certain(f *report.Finding) bool {
	if len(f.Unseen) > 0 && !confirmed(f) {
		return false
	}
	switch f.Kind {
	case heisen.PotentialRace, heisen.Discipline:
		return confirmed(f)
	case heisen.Deadlock:
		return f.Certainty() != report.Suspected
	case heisen.Atomicity:
		return !f.Potential()
	}
	return true
}

// IsAddress reports whether the name of an object is only its address, which says nothing outside of the execution.
func IsAddress(object string) bool { return strings.HasPrefix(object, "0x") }

// What returns what a finding is about: its locks, its variable, its object if that has a name, or the test that fails, unless the
// message says which one.
func What(f *report.Finding) string {
	switch {
	case len(f.Cycle) > 0:
		return strings.Join(f.Cycle, " → ")
	case f.Expression() != "":
		return f.Expression()
	case f.Kind == heisen.Failure:
		return failingTest(f)
	case len(f.Accesses) > 0 && !IsAddress(f.Accesses[len(f.Accesses)-1].Object):
		return f.Accesses[len(f.Accesses)-1].Object
	}
	return ""
}

// failingTest returns the test of the goroutine that has failed, or of the first one that is blocked. It is empty if there is none, or the
// message has it.
func failingTest(f *report.Finding) string {
	if strings.HasPrefix(f.Message, "test failed: ") {
		return ""
	}
	for i := range f.Accesses {
		if test := f.Accesses[i].Test; test != "" {
			return test
		}
	}
	for i := range f.Blocked {
		if test := f.Blocked[i].Test; test != "" {
			return test
		}
	}
	return ""
}

// NoObject is the object 0, in hexadecimal: several channels, or a transaction without a name.
const NoObject = "0x0"

// Place returns a site without folders.
func Place(site string) string { return site[strings.LastIndexByte(site, '/')+1:] }

// Op returns an operation as the verb of a sentence, such as "writes".
func Op(op string) string {
	switch op {
	case "read":
		return "reads"
	case "write":
		return "writes"
	case "atomic-read":
		return "atomically reads"
	case "atomic-write":
		return "atomically writes"
	case "atomic-update":
		return "atomically updates"
	case "acquire":
		return "locks"
	case "acquire-shared":
		return "read-locks"
	case "release":
		return "unlocks"
	case "release-shared":
		return "read-unlocks"
	case "fork":
		return "starts"
	case "join":
		return "waits for"
	case "close":
		return "closes"
	case "wait for":
		return "waits for"
	case "signal":
		return "signals"
	case "broadcast to":
		return "broadcasts to"
	case "count down":
		return "counts down"
	case "add to":
		return "adds to"
	case "call Do of":
		return "calls Do of"
	case "get from":
		return "gets from"
	case "put into":
		return "puts into"
	case "return from Wait of":
		return "returns from Wait of"
	case "change":
		return "changes"
	case "look at":
		return "looks at"
	case "try to send":
		return "tries to send to"
	case "try to receive":
		return "tries to receive from"
	case "fail to send":
		return "fails to send to"
	case "fail to receive":
		return "fails to receive from"
	case "fail to lock":
		return "fails to lock"
	case "send":
		return "sends to"
	case "receive":
		return "receives from"
	case "enter":
		return "begins"
	case "exit", "end":
		return "ends"
	case "begin":
		return "starts to run"
	case "hide":
		return "enters hidden code"
	case "reveal":
		return "leaves hidden code"
	case "call":
		return "calls"
	}
	return strings.ReplaceAll(op, "-", " ")
}

// StartOf returns the stack at the go statement that has started the goroutine of an access; none if it is not known.
func StartOf(f *report.Finding, a *report.Access) []report.Frame {
	for i := range f.Goroutines {
		if g := &f.Goroutines[i]; g.Thread == a.Thread {
			return g.Stack
		}
	}
	return nil
}

// Does returns what the goroutine of an access of a finding does there, and to which variable if it is known, as a part of a sentence.
func Does(f *report.Finding, a *report.Access) string {
	stops := f.Kind == heisen.Leak || f.Kind == heisen.Deadlock
	switch {
	case stops && a.Expression() == "":
		return "waits"
	case stops:
		return "waits for " + a.Expression()
	case f.Kind == heisen.Unstoppable:
		return "goes on by its timer"
	case f.Kind == heisen.Misuse:
		method, _, _ := strings.Cut(f.Message, " of a test")
		return "calls " + strings.Replace(method, "A method", "a method", 1)
	case f.Kind != heisen.Failure:
		return strings.TrimSpace(Op(a.Op) + " " + a.Expression())
	}
	switch a.Op {
	case "panic":
		return "panics"
	case "exit":
		return "exits"
	case "fatal error":
		return "meets a fatal error"
	}
	return Op(a.Op)
}

// WaitReason returns for what the goroutine of a leak waits, in the words of the runtime; an empty text if the finding does not say.
func WaitReason(f *report.Finding) string {
	_, reason, _ := strings.Cut(f.Message, " waits for ever: ")
	return reason
}

// SiteOf returns where a finding without accesses stands, such as a failed test. The messages that it has printed have lines of files whose
// folders the steps of the schedule tell, or find, which looks for a file of a package; otherwise it stands where the first goroutine is
// blocked, or where the last step was made. It returns an empty text if nothing is known.
func SiteOf(f *report.Finding, find func(pkg, name string) (file string, ok bool)) string {
	for _, line := range f.Printed {
		at := printedPlace.FindString(line)
		if at == "" {
			continue
		}
		name, number, _ := strings.Cut(at, ":")
		for i := range f.Witness {
			if file, _, ok := strings.Cut(f.Witness[i].Site, ".go:"); ok && path.Base(file)+".go" == name {
				return path.Dir(file) + "/" + at
			}
		}
		if file, ok := find(f.Package, name); ok {
			return file + ":" + number
		}
	}
	for i := range f.Blocked {
		if at := waitsAt(&f.Blocked[i]); at.File != "" {
			return fmt.Sprintf("%s:%d", at.File, at.Line)
		}
	}
	if n := len(f.Witness); n > 0 {
		return f.Witness[n-1].Site
	}
	return ""
}

// waitsAt returns where a goroutine is blocked: the innermost frame outside of package testing, else UserFrame.
func waitsAt(b *report.Blocked) report.Frame {
	for _, f := range b.Stack {
		if f.File != "" && !source.Synchronizes(f.Func) && !strings.HasPrefix(f.Func, "testing.") {
			return f
		}
	}
	return UserFrame(b.Stack)
}

// printedPlace matches the place before a message of a test.
var printedPlace = regexp.MustCompile(`^[^:/ ]+\.go:[0-9]+`)

// name returns the expression of an access, else the name of its object.
func name(a *report.Access) string { return cmp.Or(a.Expression(), a.Object) }

// Names of locks of which it is not known which ones they are.
const (
	LostLock  = "(address unknown)"
	ManyLocks = "one of many locks"
)

// IsKnown reports whether the name of a lock says which one it is.
func IsKnown(lock string) bool { return lock != LostLock && lock != ManyLocks }

// LockName returns the expression of a lock, else its name.
func LockName(l *report.Lock) string { return cmp.Or(l.Variable, l.Lock) }

// rank says how soon to look at a finding: the smallest first.
func rank(f *report.Finding) int {
	harmful := f.Trials != nil && f.Trials.Harmful
	switch {
	case harmful:
		return 0
	case confirmed(f):
		return 1
	case !Certain(f):
		return 4
	case f.Kind == heisen.Race || f.Kind == heisen.Deadlock:
		return 2
	}
	return 3
}

// Reason says why to look at a finding as soon as InOrder places it.
func Reason(f *report.Finding) string {
	switch rank(f) {
	case 0:
		return "it happened, and the program failed"
	case 1:
		return "it happened in controlled executions"
	case 2, 3:
		return "it is certain"
	}
	return "it may be a bug: no execution has shown it"
}

// InOrder returns the indexes of findings in the order in which to look at them: what has done harm,
// what has happened, what is certain, what is suspected. Equals stay in their order.
func InOrder(all []report.Finding) []int {
	order := make([]int, len(all))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(i, j int) int { return cmp.Compare(rank(&all[i]), rank(&all[j])) })
	return order
}

// Group is what findings of one package and one variable, or of the same locks, have in common.
type Group struct {
	What, Package string
	Findings      []int // indexes
}

// Groups returns the findings by variable and package, in the order of InOrder. Those about nothing
// that has a name are in no group.
func Groups(all []report.Finding) (groups []Group) {
	known := map[[2]string]int{} // index of the group
	for _, i := range InOrder(all) {
		f := &all[i]
		if f.Expression() == "" && len(f.Cycle) == 0 {
			continue
		}
		what, pkg := What(f), Package(f)
		k, ok := known[[2]string{what, pkg}]
		if !ok {
			k = len(groups)
			known[[2]string{what, pkg}] = k
			groups = append(groups, Group{What: what, Package: pkg})
		}
		groups[k].Findings = append(groups[k].Findings, i)
	}
	return groups
}

// Package returns the import path of the package that a finding is in: that of the innermost function
// of the latest access, as far as it is known, else the tested package.
func Package(f *report.Finding) string {
	for i := len(f.Accesses) - 1; i >= 0; i-- {
		if p := PackageOf(UserFrame(f.Accesses[i].Stack).Func); p != "" && p != "main" {
			return p
		}
	}
	if f.Package == "" && len(f.Accesses) > 0 {
		return PackageOf(UserFrame(f.Accesses[0].Stack).Func) // main, whose path is not known
	}
	return f.Package
}

// PackageOf returns the import path in the name of a function, such as "net/http" in
// "net/http.(*Server).Serve".
func PackageOf(function string) string {
	slash := strings.LastIndexByte(function, '/')
	dot := strings.IndexByte(function[slash+1:], '.')
	if dot < 0 {
		return ""
	}
	return function[:slash+1+dot]
}

// UserFrame returns the innermost frame of a stack outside of the packages that implement
// synchronization, else the innermost one.
func UserFrame(stack []report.Frame) report.Frame {
	for _, f := range stack {
		if f.File != "" && !source.Synchronizes(f.Func) {
			return f
		}
	}
	if len(stack) > 0 {
		return stack[0]
	}
	return report.Frame{}
}
