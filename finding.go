package heisen

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
)

// Kind is the kind of bug a Finding is about.
type Kind string

const (
	Race      Kind = "race"      // unordered conflicting accesses
	Atomicity Kind = "atomicity" // a section whose steps were or can be torn apart
	Deadlock  Kind = "deadlock"  // a cycle of waiting threads

	// Discipline is a violation of the locking discipline: threads share a
	// variable and write it, and no one lock was held at all accesses. It
	// claims no race, for the accesses may be ordered by other means.
	Discipline Kind = "discipline"

	// PotentialRace is two conflicting accesses that no common lock and no
	// message keeps apart. Another schedule may make a race of them; it claims
	// none, for what the accesses depend on may forbid that schedule.
	PotentialRace Kind = "potential-race"

	// Failure is an execution that ended in a way in which the program is not to end,
	// such as by a panic, where more is not known. It has no accesses.
	Failure Kind = "failure"
)

// Access is one side of a Finding.
type Access struct {
	Op      Op
	Thread  Thread
	Object  Object
	Size    uint64  // bytes touched, at least 1 for an access
	Site    Site    // where
	Context Context // calls and held locks, for Symbols to resolve
	Index   uint64  // position in the stream, from 1; 0 if the detector did not keep it
}

// AccessOf returns the Access that r describes. index is r's position in the
// stream, from 1, or 0.
func AccessOf(r *Record, index uint64) Access {
	return Access{
		Op: r.Op, Thread: r.Thread, Object: r.Object, Size: r.Size(),
		Site: r.Site, Context: r.Context, Index: index,
	}
}

// Finding is what a Detector has found. Its numbers (threads, objects, sites,
// contexts) are those of the stream; the stream's Symbols says what they stand
// for.
type Finding struct {
	Detector string   // name of the detector, as the -detect flag takes it
	Kind     Kind     // what kind of bug
	Object   Object   // the variable, lock or section concerned
	Message  string   // one line for people, without the places
	Accesses []Access // the two or more accesses, in stream order, the later last; of a deadlock see its detector
	Locks    []Object // locks concerned besides those held at the accesses; see the detector
	Witness  []Record // a schedule that shows the bug, if the detector has one
	Before   uint64   // how many events of the stream come before the Witness, in the stream's order
}

// Sink receives findings as they are found, on the detector's goroutine.
type Sink func(Finding)

// Fingerprint identifies the finding across runs, machines and schedules: equal
// for findings of the same kind between the same program locations, whichever
// access came first and whatever the addresses were. It is 16 hexadecimal
// digits. symbols may be nil; then site numbers take the place of locations.
//
// A location is a function and a line counted from the function's first, as far
// as that is known, so that a fingerprint outlives changes of the program outside
// of the functions concerned; otherwise a file's name and a line. It does not
// outlive that a line is added to or taken from the function above the access,
// that the function or its package is renamed, nor, for a function literal, that
// one is added to or taken from the same function above it.
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
