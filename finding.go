package heisen

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
)

// Kind is the kind of bug that a [Finding] reports.
type Kind string

const (
	// Race is two conflicting accesses that nothing orders, see Op.Conflicts.
	Race Kind = "race"

	// Atomicity is an atomic section or transaction that other threads interleaved with, or can
	// interleave with, in a way that no serial execution has.
	Atomicity Kind = "atomicity"

	// Deadlock is a cycle of threads each of which waits for the next, or may come to wait.
	Deadlock Kind = "deadlock"

	// Discipline is a violation of the locking discipline: threads share a variable, at least one
	// of them writes it, and no lock was held at all accesses. The accesses need not race, because
	// something else may order them.
	Discipline Kind = "discipline"

	// PotentialRace is two conflicting accesses that share no lock and that no message orders. They
	// may race in another schedule, unless the program's data or control flow rules that schedule
	// out.
	PotentialRace Kind = "potential-race"

	// Leak is a thread that waits for ever. Its access is the operation that does not complete.
	Leak Kind = "leak"

	// Unstoppable is a thread that timers wake again and again, and that nothing can stop any more. Its access is
	// the operation in which it waits.
	Unstoppable Kind = "unstoppable"

	// Misuse is a call that a package forbids where it was made, such as one of FailNow of package testing
	// by a goroutine that does not run the test. Its access is the call.
	Misuse Kind = "misuse"

	// Failure is an execution that failed, for example by a panic, when nothing more specific is
	// known. It has no accesses.
	Failure Kind = "failure"
)

// Access is an event that a [Finding] is about: as a rule an access to a variable, in a deadlock
// the acquisition of a lock.
type Access struct {
	Op      Op
	Thread  Thread
	Object  Object
	Size    uint64  // bytes touched, at least 1 for an access
	Site    Site    // where in the program
	Context Context // calls and held locks
	Labels  Labels  // of the goroutine at that time, as far as known
	Index   uint64  // position in the stream, from 1; 0 if the detector does not know it
}

// String returns the access as text that needs no Symbols, such as "write by thread 1 at site 7,
// event 12".
func (a Access) String() string {
	s := fmt.Sprintf("%v by thread %d", a.Op, a.Thread)
	if a.Site != 0 {
		s += fmt.Sprintf(" at site %d", a.Site)
	}
	if a.Index != 0 {
		s += fmt.Sprintf(", event %d", a.Index)
	}
	return s
}

// AccessOf returns the Access that r describes. index is the position of r in the stream, from 1,
// or 0 if it is not known.
func AccessOf(r *Record, index uint64) Access {
	return Access{
		Op: r.Op, Thread: r.Thread, Object: r.Object, Size: r.Size(),
		Site: r.Site, Context: r.Context, Index: index,
	}
}

// Finding is a bug that a [Detector] reports. Its numbers (threads, objects, sites, contexts) are
// those of the stream; the stream's [Symbols] say what they stand for. Package report prints
// findings with their stacks.
type Finding struct {
	Detector string   // name of the detector, as the command's -detect flag has it
	Kind     Kind     // kind of bug: a constant above, or a custom detector's own word; not empty
	Object   Object   // the variable, lock or section that the bug is about
	Message  string   // what is wrong, in one line without places, such as "write races with earlier read"
	Accesses []Access // in the order of the stream, the later last; of a deadlock, see its detector
	Locks    []Object // further locks that matter, besides those held at the accesses; see the detector
	Witness  []Record // a schedule that shows the bug, if the detector has one
	Last     int      // number of records at the end of Witness that are next at the same time; in a deadlock they wait
	Before   uint64   // number of events of the stream that precede the Witness, in the order of the stream

	Positions []uint64 // of the records of Witness in the stream, from 1; nil if the detector does not know them
}

// Sink receives findings. A detector calls it as soon as it finds something, on the goroutine that
// called the detector.
type Sink func(Finding)

// String returns the finding as text that needs no [Symbols]: one line that says what is wrong,
// and, if the finding has accesses, a second one that lists them.
//
//	fasttrack: race on 0xc000012340: write races with earlier read
//	read by thread 0 at site 2; write by thread 1 at site 7, event 12
func (f Finding) String() string {
	var b strings.Builder
	if f.Detector != "" {
		fmt.Fprintf(&b, "%s: ", f.Detector)
	}
	fmt.Fprint(&b, f.Kind)
	if f.Object != 0 {
		fmt.Fprintf(&b, " on %#x", uint64(f.Object))
	}
	if f.Message != "" {
		fmt.Fprintf(&b, ": %s", f.Message)
	}
	for i, a := range f.Accesses {
		separator := "; "
		if i == 0 {
			separator = "\n"
		}
		fmt.Fprint(&b, separator, a)
	}
	return b.String()
}

// Fingerprint identifies the finding across runs, machines and schedules. It consists of 16
// hexadecimal digits. Findings of the same kind between the same program locations have the same
// fingerprint, whichever access came first and whatever the addresses were, also if they are about
// different variables. Two races of variables that are accessed in the same lines therefore become
// one report. If symbols is nil, site numbers take the place of locations.
//
// A location is a function and a line counted from the function's first line if that is known, and
// otherwise a file name and a line. A fingerprint therefore survives changes of the program outside
// of the functions concerned. It changes if
//
//   - lines are added or removed between the start of the function and the access;
//   - the function or its package is renamed;
//   - the access is in a function literal, and a function literal above it in the same function is
//     added or removed.
func (f *Finding) Fingerprint(symbols *Symbols) string {
	places := make([]string, len(f.Accesses))
	for i, a := range f.Accesses {
		place := fmt.Sprintf("site %d", a.Site)
		if symbols != nil {
			place = symbols.Site(a.Site).fingerprint()
		}
		places[i] = a.Op.String() + " " + place
	}
	slices.Sort(places)
	sum := sha256.Sum256([]byte(string(f.Kind) + "\n" + strings.Join(places, "\n")))
	return hex.EncodeToString(sum[:8])
}
