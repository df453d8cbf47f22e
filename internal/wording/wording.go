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
	"github.com/heisen-go/heisen/internal/plural"
	"github.com/heisen-go/heisen/internal/source"
	"github.com/heisen-go/heisen/report"
)

// confirmed reports whether executions have shown the bug.
func confirmed(f *report.Finding) bool { return f.Trials != nil && f.Trials.Confirmed > 0 }

// Title returns what a finding is called, such as "Data race".
func Title(f *report.Finding) string {
	switch {
	case f.Kind == heisen.Deadlock && !confirmed(f):
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
		return confirmed(f) || len(f.Witness) > 0
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

// Sentence returns what a finding means, in a few sentences. It begins with a capital letter, unless that is a name.
func Sentence(f *report.Finding) string {
	text := meaning(f)
	if strings.HasPrefix(text, "goroutine ") || strings.HasPrefix(text, "main goroutine") || strings.HasPrefix(text, "cleanup ") || f.Message != "" && strings.HasPrefix(text, f.Message) {
		text = capital(text)
	}
	switch n := len(f.Following); n {
	case 0:
	case 1:
		text += " One more race belongs to it, on what is reached only through it."
	default:
		text += fmt.Sprintf(" %d more races belong to it, on what is reached only through it.", n)
	}
	if why := f.Reservation(); why != "" {
		text = strings.TrimSuffix(text, ".") + ". Not certain: " + why + "."
	}
	return text
}

// capital returns a text with a capital letter at its start.
func capital(s string) string {
	if s != "" && 'a' <= s[0] && s[0] <= 'z' {
		return strings.ToUpper(s[:1]) + s[1:]
	}
	return s
}

// meaning is Sentence without the reservation.
func meaning(f *report.Finding) string {
	n := len(f.Accesses)
	switch {
	case (f.Kind == heisen.Race || f.Kind == heisen.PotentialRace) && n == 2:
		return sentenceOfRace(f)
	case len(f.Cycle) > 0:
		return sentenceOfDeadlock(f)
	case f.Unproved() && n >= 3:
		return sentenceOfUnproved(f)
	case f.Kind == heisen.Atomicity && n >= 3 && isBegin(f.Accesses[0].Op):
		return sentenceOfTransaction(f)
	case f.Kind == heisen.Atomicity && n >= 3:
		return sentenceOfSection(f)
	case f.Kind == heisen.Unstoppable && n == 1:
		return fmt.Sprintf("%s goes on at %s each time that a timer fires, and nothing can reach the channel or context that would stop it.", f.Accesses[0].Goroutine, Place(f.Accesses[0].Site))
	case f.Kind == heisen.Leak && n == 1:
		return sentenceOfLeak(f)
	case f.Kind == heisen.Misuse && n == 1:
		return fmt.Sprintf("%s, by %s at %s.", f.Message, f.Accesses[0].Goroutine, Place(f.Accesses[0].Site))
	case f.Kind == heisen.Failure:
		return sentenceOfFailure(f)
	}
	return f.Message
}

// sentenceOfLeak says for what a goroutine waits, and why that does not happen if it is known.
func sentenceOfLeak(f *report.Finding) string {
	a := &f.Accesses[0]
	what := a.Expression()
	switch reason, _, _ := strings.Cut(WaitReason(f), " ("); reason {
	case "chan send":
		what = "to send to " + cmp.Or(what, "a channel")
	case "chan receive":
		what = "to receive from " + cmp.Or(what, "a channel")
	case "select":
		what = "in a select statement"
	case "sync.Cond.Wait":
		what = "for " + cmp.Or(what, "a Cond") + " to be signaled"
	default:
		what = "for " + cmp.Or(what, "something that can no longer happen")
	}
	return fmt.Sprintf("%s waits for ever at %s, %s.%s", a.Goroutine, Place(a.Site), what, whyNot(f.Wait))
}

// whyNot says why a goroutine goes on waiting, as further sentences. w may be nil.
func whyNot(w *report.Wait) (text string) {
	if w == nil {
		return ""
	}
	if w.Missing != "" {
		text = " No other goroutine has " + w.Missing + "."
	}
	for i := range w.Users {
		if u := &w.Users[i]; u.Holds {
			text += " " + capital(u.Goroutine)
			if u.Ended {
				text += ", which has ended,"
			}
			text += " holds it"
			if u.Site != "" {
				text += ", acquired at " + Place(u.Site)
			}
			text += "."
		}
	}
	return text
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

// Bounds on what a sentence says of a failure.
const (
	maxWaiting = 4 // goroutines
	maxPrinted = 3 // lines
)

// sentenceOfFailure says in which way a program has failed, and for what its goroutines wait, or what it has printed about that.
func sentenceOfFailure(f *report.Finding) string {
	text := f.Message
	if len(f.Accesses) == 1 {
		text += ", at " + Place(f.Accesses[0].Site)
	}
	if n := min(len(f.Printed), maxPrinted); n > 0 {
		return text + ". The program printed: " + strings.Join(f.Printed[len(f.Printed)-n:], "; ")
	}
	if len(f.Accesses) > 0 || len(f.Blocked) == 0 {
		return text
	}
	var parts []string
	for i := range f.Blocked[:min(len(f.Blocked), maxWaiting)] {
		b := &f.Blocked[i]
		at := waitsAt(b)
		part := fmt.Sprintf("%s waits (%s)", b.Goroutine, strings.Trim(b.Reason+", "+b.Variable, ", "))
		if at.File != "" {
			part += fmt.Sprintf(" at %s:%d", Place(at.File), at.Line)
		}
		parts = append(parts, part)
	}
	if more := len(f.Blocked) - maxWaiting; more > 0 {
		parts = append(parts, plural.Of(more, "more goroutine")+plural.Form(more, " waits", " wait"))
	}
	return text + ". " + capital(strings.Join(parts, "; ")) + "."
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

func sentenceOfRace(f *report.Finding) string {
	first, second := &f.Accesses[0], &f.Accesses[1]
	between := "Nothing orders the two: there is no happens-before edge between them"
	if f.Kind == heisen.PotentialRace && !confirmed(f) {
		between = "No lock is common to the two and no message orders them"
	}
	what := name(second)
	if IsAddress(what) {
		what = "memory"
	}
	return fmt.Sprintf("%s %s %s at %s, and %s %s it at %s. %s%s.", first.Goroutine, Op(first.Op), what, Place(first.Site),
		second.Goroutine, Op(second.Op), Place(second.Site), between, locks(first, second))
}

func sentenceOfDeadlock(f *report.Finding) string {
	waits, end := "can come to wait for", "If all of them do so at the same time, none can go on."
	if confirmed(f) {
		waits, end = "waits for", "Each waits for the next, so none can go on."
	}
	var parts []string
	for i := range f.Accesses {
		a := &f.Accesses[i]
		parts = append(parts, fmt.Sprintf("%s%s %s %s at %s", a.Goroutine, holding(a), waits, name(a), Place(a.Site)))
	}
	return strings.Join(parts, "; ") + ". " + end
}

func sentenceOfSection(f *report.Finding) string {
	n := len(f.Accesses)
	first, last := &f.Accesses[0], &f.Accesses[n-1]
	between := "In between, "
	if !Certain(f) {
		between = "This can come in between: "
	}
	return fmt.Sprintf("%s %s %s at %s and %s %s at %s. %s%s.", first.Goroutine, Op(first.Op), name(first), Place(first.Site),
		Op(last.Op), again(last, first), Place(last.Site), between, others(f.Accesses[1:n-1], last))
}

// again returns what an access after another one is about: "it" if both are about the same variable.
func again(a, before *report.Access) string {
	if a.Object == before.Object {
		return "it"
	}
	return name(a)
}

// isBegin reports whether an operation begins a transaction.
func isBegin(op string) bool {
	switch op {
	case "enter", "call", "acquire", "acquire-shared":
		return true
	}
	return false
}

func sentenceOfTransaction(f *report.Finding) string {
	begin := &f.Accesses[0]
	var inside []report.Access
	for _, a := range f.Accesses[1:] {
		if a.Goroutine != begin.Goroutine {
			inside = append(inside, a)
		}
	}
	is := "is interrupted"
	if !Certain(f) {
		is = "can be interrupted"
	}
	text := fmt.Sprintf("The transaction that %s begins at %s %s in a way that no serial execution has", begin.Goroutine, Place(begin.Site), is)
	if len(inside) == 0 {
		return text + "."
	}
	var parts []string
	for i := range inside {
		a := &inside[i]
		parts = append(parts, strings.TrimSpace(fmt.Sprintf("%s %s %s at %s", a.Goroutine, Op(a.Op), name(a), Place(a.Site))))
	}
	return text + ". In between, " + strings.Join(parts, " and ") + "."
}

// sentenceOfUnproved says why a transaction is not proved to be atomic.
func sentenceOfUnproved(f *report.Finding) string {
	begin := &f.Accesses[0]
	var parts []string
	for i := range f.Accesses[1:] {
		before, a := &f.Accesses[i], &f.Accesses[i+1]
		if a.Thread != begin.Thread {
			parts = append(parts, fmt.Sprintf("what it does at %s apart from what %s does at %s", Place(before.Site), a.Goroutine, Place(a.Site)))
		}
	}
	text := fmt.Sprintf("The transaction that %s begins at %s is not proved to be atomic.", begin.Goroutine, Place(begin.Site))
	if len(parts) > 0 {
		text += " No lock or message keeps " + strings.Join(parts, ", or ") + "."
	}
	return text
}

// name returns the expression of an access, else the name of its object.
func name(a *report.Access) string { return cmp.Or(a.Expression(), a.Object) }

// others describes accesses in between. what was accessed last is mentioned already.
func others(accesses []report.Access, what *report.Access) string {
	var parts []string
	for i := range accesses {
		a := &accesses[i]
		parts = append(parts, fmt.Sprintf("%s %s %s at %s", a.Goroutine, Op(a.Op), again(a, what), Place(a.Site)))
	}
	return strings.Join(parts, " and ")
}

// Names of locks of which it is not known which ones they are.
const (
	LostLock  = "(address unknown)"
	ManyLocks = "one of many locks"
)

// IsKnown reports whether the name of a lock says which one it is.
func IsKnown(lock string) bool { return lock != LostLock && lock != ManyLocks }

// LockName returns the expression of a lock, else its name.
func LockName(l *report.Lock) string { return cmp.Or(l.Variable, l.Lock) }

func holding(a *report.Access) string {
	if len(a.Locks) == 0 {
		return ""
	}
	var names []string
	for i := range a.Locks {
		names = append(names, LockName(&a.Locks[i]))
	}
	return " holds " + strings.Join(names, ", ") + " and"
}

// locks says which locks the two accesses of a race hold, if that is known.
func locks(a, b *report.Access) string {
	switch {
	case a.LocksUnknown || b.LocksUnknown:
		return ""
	case len(a.Locks) == 0 && len(b.Locks) == 0:
		return ", and neither holds a lock"
	case len(a.Locks) == 0 || len(b.Locks) == 0:
		return ", and only one of them holds a lock"
	}
	lost := func(l report.Lock) bool { return !IsKnown(l.Lock) }
	if slices.ContainsFunc(a.Locks, lost) || slices.ContainsFunc(b.Locks, lost) {
		return ", and it is not known whether the locks that they hold are the same"
	}
	shared := func(l report.Lock) bool {
		return slices.ContainsFunc(b.Locks, func(m report.Lock) bool { return m.Lock == l.Lock })
	}
	if slices.ContainsFunc(a.Locks, shared) { // one of them holds it for reading
		return ""
	}
	if len(a.Locks) == 1 && len(b.Locks) == 1 && LockName(&a.Locks[0]) == LockName(&b.Locks[0]) {
		return ", and what each of them holds as " + LockName(&a.Locks[0]) + " is not the same lock"
	}
	return ", and the locks that they hold are different ones"
}

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
