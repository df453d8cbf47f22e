package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/internal/plural"
	"github.com/heisen-go/heisen/internal/printable"
)

// Finding is a heisen.Finding in words. Its JSON form is public: new versions may add fields but
// neither rename nor remove any.
type Finding struct {
	Detector    string      `json:"detector"`    // name, as the -detect flag takes it, of the one that Count is about
	Kind        heisen.Kind `json:"kind"`        // race, potential-race, discipline, atomicity, deadlock, leak, unstoppable, misuse, failure, or a custom detector's
	Fingerprint string      `json:"fingerprint"` // equal across runs and machines; of a race or leak whose variable has an Identity, that of the variable
	Count       uint64      `json:"count"`       // how often it was found, from 1, in either order and with any of Pairs
	Message     string      `json:"message"`     // one line, without the places

	// Detectors are others that have found it, too.
	Detectors []string `json:"detectors,omitempty"`

	Package  string   `json:"package,omitempty"`  // import path of the package whose tests ran, or of the program; of a trace, that of the accesses
	Variable string   `json:"variable,omitempty"` // of the latest access of which it is known
	Accesses []Access `json:"accesses"`           // in stream order, the later last; those of a deadlock in the order of Cycle

	// Identity names the declaration of the variable of a race or potential race, or of what the goroutine of a leak waits for; a failure that is
	// one of these has theirs. It is the same whatever the expressions of the accesses are: a field of a
	// type, such as "example.org/shop/metrics.Counter.failures", a package-level variable, a local variable of a function, or the elements
	// of one of these. It is empty if that is not known, as without source files. Pair is then empty, too, and otherwise the
	// fingerprint of the two places of Accesses, as heisen.Finding.Fingerprint returns it.
	Identity string `json:"identity,omitempty"`
	Pair     string `json:"pair,omitempty"`
	// Inside is the fingerprint of the places of the Accesses, if the finding is about the calls that have led there; otherwise it is empty.
	Inside string `json:"-"`
	// Pairs are further pairs of accesses to the variable that race, each once. Those of a leak are further places where goroutines wait for
	// ever to do the same with the variable, one access each.
	Pairs []Pair `json:"pairs,omitempty"`

	// Cycle names the locks of a deadlock among locks, from the one that the goroutine of the first
	// access holds. A goroutine that holds a lock wants the next one. The last name is the first
	// one again.
	Cycle []string `json:"cycle,omitempty"`
	// Locks are locks that the finding is about besides those held at the accesses. For a violation
	// of the locking discipline, they were held at all earlier accesses.
	Locks []Lock `json:"locks,omitempty"`

	// Unserializable lists the unserializable interleavings of a violated atomic section: the modes
	// of the access at the section's entry, of the access by another goroutine, and of the access at
	// the section's end, such as "read-write-read". The entry is the first of Accesses, the end is
	// the last, and the accesses of other goroutines stand between. The list is empty if the section
	// forbids accesses that would be serializable.
	Unserializable []string `json:"unserializable,omitempty"`

	// Allocations says where the objects of the accesses were allocated, as far as that is known:
	// each object once, in the order of the accesses. The heisen command sets it, from the
	// allocations among the events. A Resolver and a Collector do not see the events and leave it
	// empty.
	Allocations []Allocation `json:"allocations,omitempty"`

	// Goroutines are the goroutines of the accesses and the ancestors that started them, each once.
	Goroutines []Goroutine `json:"goroutines,omitempty"`

	// Printed are lines that the program has printed about a failure: the messages of a test that has failed, or the last lines before
	// an exit.
	Printed []string `json:"printed,omitempty"`

	// Reverse is set for a race that was also seen in the other order.
	Reverse *Order `json:"reverse,omitempty"`

	// Unseen is what may order the accesses without being seen, such as "assembly in package p". It is empty
	// if all synchronization of the program is known, or the finding does not depend on that. The heisen
	// command sets it.
	Unseen []string `json:"unseen,omitempty"`

	// Wait says more about the goroutine of a leak, if the execution had a schedule.
	Wait *Wait `json:"wait,omitempty"`
	// Blocked lists the goroutines that had not ended when the program stopped making progress.
	Blocked []Blocked `json:"blocked,omitempty"`

	// Following are races that follow from this one: what they race on can be reached only by the pointer that this one is
	// about. They are no findings of their own. Roots are the fingerprints of races from which this one follows, if it is one
	// nevertheless, because only it is known to do harm.
	Following []Following `json:"following,omitempty"`
	Roots     []string    `json:"roots,omitempty"`

	// Flaky are tests that failed in some executions because of the finding, and passed in others.
	Flaky []FlakyTest `json:"flaky,omitempty"`

	History *History `json:"history,omitempty"` // what earlier runs know of it, if they are remembered

	Trials  *Trials `json:"trials,omitempty"`  // executions that tried to reproduce the bug
	Witness []Step  `json:"witness,omitempty"` // a schedule that shows the bug; see Step.Pending
	Replay  string  `json:"replay,omitempty"`  // the command that repeats it
}

// String returns the finding on one line: its kind, the message with the variable, the places of
// the accesses in stream order, and the fingerprint.
func (f Finding) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %s", f.Kind, f.headline())
	for i := range f.Accesses {
		separator := ","
		if i == 0 {
			separator = ":"
		}
		fmt.Fprintf(&b, "%s %s", separator, step(&f.Accesses[i]))
	}
	fmt.Fprintf(&b, " [%s]", f.Fingerprint)
	return printable.Text(b.String())
}

// headline returns the message with the variable or the locks that it is about.
func (f *Finding) headline() string {
	switch {
	case len(f.Cycle) > 0:
		return f.Message + ": " + strings.Join(f.Cycle, " -> ")
	case f.Expression() != "":
		return f.Expression() + ": " + f.Message
	}
	return f.Message
}

// Expression returns the Variable, or the expressions of which it is one, such as "x or y". It is empty if neither is known.
func (f *Finding) Expression() string {
	if f.Variable == "" && f.Kind != heisen.Deadlock { // which has several
		for _, a := range slices.Backward(f.Accesses) {
			if len(a.Alternatives) > 0 {
				return orWords(a.Alternatives)
			}
		}
	}
	return f.Variable
}

// orWords lists expressions of which it is one.
func orWords(names []string) string { return strings.Join(names, " or ") }

// Expression returns the accessed expression, or those of which it is one, such as "x or y". It is empty if it is not known.
func (a *Access) Expression() string {
	return cmp.Or(a.Variable, orWords(a.Alternatives))
}

// Expression is that of an Access.
func (s *Step) Expression() string {
	return cmp.Or(s.Variable, orWords(s.Alternatives))
}

// Reservation says why what happened, or can happen, may be no bug: what may order the accesses without
// being seen. It returns the empty string if there is nothing of the kind.
func (f *Finding) Reservation() string {
	if len(f.Unseen) == 0 {
		return ""
	}
	return strings.Join(f.Unseen, ", ") + " may order the accesses, which is not seen"
}

// Supposed reports whether the finding is a prediction that is only suspected: executions have tried it and did not confirm it, or
// nobody has tried it, and it supposes that all synchronization is known, while it is not.
func (f *Finding) Supposed() bool {
	switch {
	case len(f.Witness) == 0:
		return false
	case f.Trials != nil:
		return f.Trials.Confirmed == 0
	}
	return len(f.Unseen) > 0
}

// Potential reports whether a finding is Supposed, or an atomicity violation of a detector of which some are impossible, unless
// executions have confirmed it.
func (f *Finding) Potential() bool {
	if f.Trials != nil && f.Trials.Confirmed > 0 {
		return false
	}
	return f.Supposed() || f.Kind == heisen.Atomicity && (f.Detector == "blocks" || f.static()) || f.Unproved()
}

// static reports whether the finding comes from an analyzer of source.
func (f *Finding) static() bool { return f.Detector == "lostupdate" || f.Detector == "stalecheck" }

// Unproved reports whether the finding is about a transaction that is not proved to be atomic, as those of detector reduction are.
// Behind each of its accesses stands that of another goroutine from which neither a lock nor a message keeps it apart, whatever
// came first.
func (f *Finding) Unproved() bool {
	return f.Kind == heisen.Atomicity && f.Detector == "reduction"
}

// By names the detectors that have found it, such as "fasttrack" or "fasttrack and hb".
func (f *Finding) By() string {
	all := append([]string{f.Detector}, f.Detectors...)
	last := len(all) - 1
	if last == 0 {
		return all[0]
	}
	return strings.Join(all[:last], ", ") + " and " + all[last]
}

// Times says how often the finding was found, such as "5 times, 2 of them in the other order". It
// returns the empty string for a finding that was found once.
func (f *Finding) Times() string {
	switch {
	case f.Count <= 1:
		return ""
	case f.Reverse != nil && f.Reverse.Count > 0:
		return fmt.Sprintf("%d times, %d of them in the other order", f.Count, f.Reverse.Count)
	}
	return fmt.Sprintf("%d times", f.Count)
}

// Following is a race that follows from a Finding.
type Following struct {
	Fingerprint string   `json:"fingerprint"`
	Variable    string   `json:"variable,omitempty"`
	Places      []string `json:"places"` // of the accesses, each with what it does
}

// Pair is a further pair of accesses of a race.
type Pair struct {
	Fingerprint string       `json:"fingerprint"` // of the two places, as heisen.Finding.Fingerprint returns it
	Count       uint64       `json:"count"`       // how many of the Finding's Count; 0 if that is not known
	Message     string       `json:"message"`
	Variable    string       `json:"variable,omitempty"`
	Accesses    []Access     `json:"accesses"` // in stream order, the later last
	Goroutines  []Goroutine  `json:"goroutines,omitempty"`
	Allocations []Allocation `json:"allocations,omitempty"`
	Trials      *Trials      `json:"trials,omitempty"`
	Replay      string       `json:"replay,omitempty"`
}

// Order describes a race whose accesses came in the other order than in the Finding it belongs to.
type Order struct {
	Count      uint64      `json:"count"` // how many of the Finding's Count
	Message    string      `json:"message"`
	Variable   string      `json:"variable,omitempty"`
	Accesses   []Access    `json:"accesses"` // in stream order, the later last
	Goroutines []Goroutine `json:"goroutines,omitempty"`

	Allocations []Allocation `json:"allocations,omitempty"`
}

// Order returns the order of f's accesses, for the Reverse of a finding with the same fingerprint.
func (f *Finding) Order() *Order {
	return &Order{
		Count: f.Count, Message: f.Message, Variable: f.Variable, Accesses: f.Accesses,
		Goroutines: f.Goroutines, Allocations: f.Allocations,
	}
}

// Access is one side of a Finding.
type Access struct {
	Op        string        `json:"op"`
	Thread    heisen.Thread `json:"thread"`
	Goroutine string        `json:"goroutine"`        // the thread's name
	Test      string        `json:"test,omitempty"`   // test that the goroutine ran, or that the goroutine that started it ran
	Labels    []Label       `json:"labels,omitempty"` // of the goroutine at that time, by key, as package runtime/pprof sets them; empty if not known
	Object    string        `json:"object"`           // name, or address in hexadecimal
	Size      uint64        `json:"size,omitempty"`   // in bytes
	Index     uint64        `json:"index,omitempty"`  // position in the stream, from 1

	Site     string `json:"site"`               // as in the file of a text trace, else file:line
	Source   string `json:"source,omitempty"`   // the statement there, on one line
	Variable string `json:"variable,omitempty"` // the accessed expression in the statement; empty if more than one may be it
	// Alternatives are the expressions of which one is accessed, if there are two or three; then Variable is empty.
	Alternatives []string `json:"alternatives,omitempty"`
	Stack        []Frame  `json:"stack"` // innermost first
	Locks        []Lock   `json:"locks"` // held there, in order of acquisition
	// Start is the line on which the innermost function begins; 0 if it is not known, as after ReadJSON.
	Start int `json:"-"`
	// LocksUnknown is set if it is not known which locks are held, because the stream has no
	// contexts.
	LocksUnknown bool `json:"locks_unknown,omitempty"`
}

// Label is a label of a goroutine.
type Label struct {
	Key   string `json:"key"`
	Value string `json:"value"`
}

// Allocation says where an object was allocated.
type Allocation struct {
	Object    string        `json:"object"`         // as in the access
	Offset    uint64        `json:"offset"`         // of the object in the allocated memory, in bytes
	Size      uint64        `json:"size"`           // of the allocated memory, in bytes
	Thread    heisen.Thread `json:"thread"`         // that allocated it
	Goroutine string        `json:"goroutine"`      // the thread's name
	Test      string        `json:"test,omitempty"` // as in Access
	Site      string        `json:"site"`           // as in the file of a text trace, else file:line
	Stack     []Frame       `json:"stack"`          // innermost first
}

// Frame is one function of a stack.
type Frame struct {
	Func string `json:"func"`
	File string `json:"file"`
	Line int    `json:"line"`
}

// Lock is a lock that a goroutine holds or held.
type Lock struct {
	Lock     string `json:"lock"`               // name, or address in hexadecimal
	Mode     string `json:"mode"`               // "read" or "write"; empty if not known
	Site     string `json:"site"`               // where it was acquired; empty if not known
	Variable string `json:"variable,omitempty"` // the lock's expression there, if known
}

// Goroutine says where a goroutine was started.
type Goroutine struct {
	Thread heisen.Thread  `json:"thread"`
	Name   string         `json:"name"`
	Parent *heisen.Thread `json:"parent,omitempty"` // the goroutine that started it, if known
	Stack  []Frame        `json:"stack,omitempty"`  // of the parent at the go statement
}

// Blocked is a goroutine that does not make progress.
type Blocked struct {
	Thread    heisen.Thread `json:"thread"`
	Goroutine string        `json:"goroutine"`        // the thread's name
	Test      string        `json:"test,omitempty"`   // as in Access
	Labels    []Label       `json:"labels,omitempty"` // as in Access
	Reason    string        `json:"reason"`           // what it waits for, in the runtime's words
	Object    string        `json:"object,omitempty"` // the lock or channel, if known: name, or address in hexadecimal
	Variable  string        `json:"variable,omitempty"`
	Stack     []Frame       `json:"stack"` // innermost first
	Start     int           `json:"-"`     // as in Access
	Locks     []Lock        `json:"locks"` // held, in order of acquisition, as far as known

	Wait *Wait `json:"wait,omitempty"` // in an execution with a schedule
}

// Wait says since when a goroutine waits in an execution with a schedule, and who might have ended that.
type Wait struct {
	// Step is the number of the schedule's choices before it began to wait, and Virtual the virtual
	// time that had passed since the start of the program, in nanoseconds.
	Step    uint64        `json:"step"`
	Virtual time.Duration `json:"virtual_ns"`
	// Missing says what no other goroutine has done, but would have woken this one, such as "sent to it or closed it". It is empty
	// if that is not known.
	Missing string `json:"missing,omitempty"`
	// Users are other goroutines that hold the lock for which it waits, or have used the channel,
	// WaitGroup or Cond, the latest first, up to some. It is null if they are not known.
	Users []User `json:"users"`
}

// User is a goroutine that has used what another one waits for.
type User struct {
	Thread    heisen.Thread `json:"thread"`
	Goroutine string        `json:"goroutine"`        // the thread's name
	Test      string        `json:"test,omitempty"`   // as in Access
	Site      string        `json:"site,omitempty"`   // of its latest use, or where it has acquired the lock; empty if not known
	Source    string        `json:"source,omitempty"` // the statement of the use, on one line
	Holds     bool          `json:"holds,omitempty"`  // it holds the lock
	Tried     bool          `json:"tried,omitempty"`  // it could not use it, and went on
	Ended     bool          `json:"ended,omitempty"`  // it has ended
}

// Step is one event of a witness schedule.
type Step struct {
	Op string `json:"op"`
	// Verb is what the step does in words, if Op does not say it: a channel is closed by a send, and an operation on
	// a channel with a buffer consists of several.
	Verb   string        `json:"verb,omitempty"`
	Thread heisen.Thread `json:"thread"`
	Name   string        `json:"goroutine"`
	Object string        `json:"object"`
	// Variable is the expression of the object there, if known.
	Variable string `json:"variable,omitempty"`
	// Alternatives are as in Access.
	Alternatives []string `json:"alternatives,omitempty"`

	Site string `json:"site"`
	// Call and Caller are set for a step of the standard library: the function that the program has called, and where.
	Call   string `json:"call,omitempty"`
	Caller string `json:"caller,omitempty"`

	Value *uint64 `json:"value,omitempty"` // read or written, if known
	// Pending is set for the events at the end that are next at the same time: the two accesses of
	// a race, in either order; in a deadlock the acquisitions, which wait for ever.
	Pending bool `json:"pending,omitempty"`
}

// Trials summarizes executions with controlled schedules that tried to reproduce a suspected bug. A
// confirmed bug has really happened.
type Trials struct {
	Suspect    string `json:"suspect"`    // fingerprint of the suspected bug, equal where the same bug was tried
	Strategy   string `json:"strategy"`   // that chose which goroutine runs next; commas separate two, and a bug that any execution may show has "several"
	Executions int    `json:"executions"` // how many
	Confirmed  int    `json:"confirmed"`  // in how many the bug happened
	// Harmful is set if an execution with the bug ended in a failure: a panic, a failed test, a
	// deadlock.
	Harmful bool     `json:"harmful"`
	Endings []Ending `json:"endings"` // the worst first
	// Follow is the result of following the predicted schedule, if there is one: "followed" if it
	// led to the bug; "diverged" if the program took another way, because it saw other values, the
	// time or other input; "missed" if the schedule was followed without the bug.
	Follow string `json:"follow,omitempty"`
	// Replayed is set if repeating the schedule gave the same execution.
	Replayed bool `json:"replayed,omitempty"`
	// Again is set if repeating the schedule showed the bug in another execution.
	Again bool `json:"again,omitempty"`
	// Choices counts the deviations of that schedule from the default, which switches goroutines
	// only where it must: preemptions, and choices among several waiting goroutines.
	Choices int `json:"choices,omitempty"`
	// HeldBack says, where the deviations are too many to be read, which goroutine could go on in that execution and did not,
	// and how long.
	HeldBack string `json:"held_back,omitempty"`
	// Outside lists what the executions depended on besides the schedule, such as the network. With
	// it, the same schedule may give another execution.
	Outside []string `json:"outside,omitempty"`
}

// Ending is a way in which some of the executions ended.
type Ending struct {
	Outcome   string `json:"outcome"`           // passed, panic, test failed, deadlock, fatal error, exit, signal, hang
	Message   string `json:"message,omitempty"` // the program's own message
	Confirmed bool   `json:"confirmed"`         // whether the bug happened in these executions
	// First is the index in the finding's Accesses of the access that came first in a confirmed
	// race. An index that does not exist is ignored.
	First *int `json:"first,omitempty"`
	Count int  `json:"count"` // how many executions ended in this way
	// Anyway is set for a failure with the bug that is not due to it: executions without the bug fail in the same way, or the default
	// schedule does, and nothing shows that the bug decides it.
	Anyway bool `json:"anyway,omitempty"`
	// Leaks says how many of these executions left goroutines that wait for ever, which are findings of their own.
	Leaks int    `json:"leaks,omitempty"`
	Seed  uint64 `json:"seed"` // the seed of one of these executions
	// Timing is set for a failure if in all these executions a goroutine was held back while a timer
	// fired. The program may only rely on a goroutine being faster than that.
	Timing bool `json:"timing,omitempty"`
	// Schedule is a file that repeats one of the executions; see Finding.Replay.
	Schedule string `json:"schedule,omitempty"`
}

// FlakyTest is a test that failed in some executions and passed in others.
type FlakyTest struct {
	Package    string `json:"package"` // import path
	Test       string `json:"test"`
	Executions int    `json:"executions"` // that have ended with the test passed or failed
	Failed     int    `json:"failed"`     // those of them that failed because of the finding
}

// String returns the test and how often it failed.
func (t FlakyTest) String() string {
	return fmt.Sprintf("%s.%s failed in %s", t.Package, t.Test, plural.Part(t.Failed, t.Executions, "execution"))
}

// History is what earlier runs know of a finding.
type History struct {
	// State is new if no earlier run has found it, known if the one before has, and back if that has not, but an earlier one.
	State string `json:"state"`
	First string `json:"first,omitempty"` // the day when it was found first, such as 2026-11-02; not of a new one
	Gone  string `json:"gone,omitempty"`  // of one that is back, the day of the first run that had not found it any more
}
