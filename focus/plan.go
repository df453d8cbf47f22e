package focus

import (
	"crypto/sha256"
	"encoding/hex"
	"maps"
	"slices"
)

// Plan says what has been proved of a program: which variables cannot race, which functions keep to the
// owners of the variables that they access, and which functions are atomic. It is tied to the source files
// of which it was proved. The zero Plan is empty and says nothing, so that everything is checked.
//
// What the proofs must guarantee, so that a Filter misses nothing, is stated at Protection and
// Properties. A Plan may be read by several goroutines at a time.
type Plan struct {
	Variables map[Variable]Protection
	Functions map[Function]Properties
	// Files has the files that the proofs rest on, as slash-separated paths relative to a folder that
	// whoever uses the plan knows, such as that of go.mod.
	Files map[string]File
}

// File is what a Plan says about a source file.
type File struct {
	// Hash identifies the content that the plan is about.
	Hash Hash
	// Reads has lines on which all reads are reads of safe variables, so that none needs to be recorded,
	// and Writes is the same for writes. A read or write here is what the compiler reports to a race
	// detector; inlined code stands on the lines where it was written. There may be further such lines.
	Reads, Writes Lines
}

// Protection is what a Plan says about a variable. A variable that a Plan does not have is unsafe.
//
// If Unsafe is false, then in every execution of the program, for each object that has the variable:
//
//   - Local: at most one goroutine accesses it.
//   - ReadOnly: nobody writes it from the first access by a second goroutine on, and what was written
//     before happens before all accesses by others.
//   - Guarded: from the first access by a second goroutine on, that access included, whoever accesses it
//     holds the lock of the Guard. It is the same lock for all accesses to the object. Writers hold
//     it exclusively, and readers too unless the Guard is Shared. Earlier accesses without the lock
//     happen before all accesses by others.
//   - Unique: if two goroutines access it, everything that the first does with it happens before
//     everything that the second does with it.
//   - Self: all accesses are atomic operations or operations of a lock.
//
// A variable whose owner is Unknown is always unsafe.
type Protection struct {
	Owner Owner
	// Unsafe says that it was not proved that all accesses conform with the owner: the variable is
	// race-unsafe.
	Unsafe bool
}

// Properties is what a Plan says about a function. Of a function that a Plan does not have, nothing is
// known.
//
// An execution of a function is trusted if the function is typed, and requires no lock or was called by a
// trusted execution. If a function is typed, then in every trusted execution of it:
//
//   - Whenever it accesses a variable whose owner is Guarded, it holds the lock as Protection says, or
//     no goroutine but the present one has accessed the object so far.
//   - Whenever it calls a typed function, the locks are held that this requires.
//
// The statements are about the code of the function itself, inlined calls not included, and nothing but
// the text of Files may be needed to prove them.
type Properties struct {
	// Typed says that all accesses in the function to guarded variables conform with the owners.
	Typed bool
	// Atomic says that every execution of the function is equivalent to one that other goroutines do
	// not interleave with.
	Atomic bool
	// Requires has the locks that must be held when the function is called. A Guard with SameObject
	// is a lock in the receiver.
	Requires []Guard
	// Files are the files of the plan on which the statements rest, beginning with that of the
	// function. If there are none, they rest on all.
	Files []string
}

// Hash identifies the content of a file.
type Hash [sha256.Size]byte

// HashOf returns the hash of a file with the given content.
func HashOf(content []byte) Hash { return sha256.Sum256(content) }

// String returns the hash as hexadecimal digits.
func (h Hash) String() string { return hex.EncodeToString(h[:]) }

// Safe reports whether the plan says of v that no accesses to it race.
func (p *Plan) Safe(v Variable) bool {
	if p == nil {
		return false
	}
	protection, ok := p.Variables[v]
	return ok && !protection.Unsafe && protection.Owner.Kind != Unknown
}

// Stale returns the files of the plan that have changed, in order: those of which hash returns another
// hash, or none because they are gone. hash must not be nil. A file that has been added is not among
// them; whoever uses the plan has to look for source files that are not in Files.
func (p *Plan) Stale(hash func(file string) (h Hash, ok bool)) []string {
	if p == nil || hash == nil {
		return nil
	}
	var stale []string
	for file, want := range p.Files {
		if h, ok := hash(file); !ok || h != want.Hash {
			stale = append(stale, file)
		}
	}
	slices.Sort(stale)
	return stale
}

// Without returns what is left of the plan after files have changed, which may be files that the plan
// does not have. Functions that rest on these files are not typed. If there is any such file, no function
// is known to be atomic, all variables are unsafe, and no line is known to have only reads or writes of safe
// ones, because any code may make an object shared or leave a lock out. The owners of variables remain, so that a Filter can still leave out accesses by typed
// functions. The plan itself does not change.
func (p *Plan) Without(files ...string) *Plan {
	if p == nil {
		return &Plan{}
	}
	left := &Plan{Variables: maps.Clone(p.Variables), Functions: maps.Clone(p.Functions), Files: maps.Clone(p.Files)}
	if len(files) == 0 {
		return left
	}
	changed := make(map[string]bool, len(files))
	for _, file := range files {
		changed[file] = true
		delete(left.Files, file)
	}
	for path, file := range left.Files {
		left.Files[path] = File{Hash: file.Hash}
	}
	for v, protection := range left.Variables {
		protection.Unsafe = true
		left.Variables[v] = protection
	}
	for f, properties := range left.Functions {
		// Whether a function is atomic depends on which accesses of other functions race.
		properties.Atomic = false
		if len(properties.Files) == 0 || slices.ContainsFunc(properties.Files, func(file string) bool { return changed[file] }) {
			properties = Properties{Requires: properties.Requires}
		}
		left.Functions[f] = properties
	}
	return left
}
