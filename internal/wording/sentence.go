package wording

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/internal/plural"
	"github.com/heisen-go/heisen/report"
)

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
	if f.Certainty() == report.Confirmed {
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

// others describes accesses in between. what was accessed last is mentioned already.
func others(accesses []report.Access, what *report.Access) string {
	var parts []string
	for i := range accesses {
		a := &accesses[i]
		parts = append(parts, fmt.Sprintf("%s %s %s at %s", a.Goroutine, Op(a.Op), again(a, what), Place(a.Site)))
	}
	return strings.Join(parts, " and ")
}

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
