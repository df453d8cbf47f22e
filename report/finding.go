package report

import "github.com/heisen-go/heisen"

// Finding is a finding whose numbers have been resolved. Its JSON form is the
// public one: fields may be added, never renamed or removed.
type Finding struct {
	Detector    string      `json:"detector"`    // as the -detect flag takes it
	Kind        heisen.Kind `json:"kind"`        // race, potential-race, discipline, atomicity, deadlock, or a custom detector's
	Fingerprint string      `json:"fingerprint"` // equal across runs and machines
	Count       uint64      `json:"count"`       // how often it was found, from 1, in either order
	Message     string      `json:"message"`     // one line, without the places

	Package  string   `json:"package,omitempty"`  // import path of the package whose tests ran
	Variable string   `json:"variable,omitempty"` // expression of the later access, if known
	Accesses []Access `json:"accesses"`           // in stream order, the later last; see Cycle

	// Cycle has the locks of a deadlock among locks: where one is held, the next
	// one is wanted; the last is the first again. Each access wants a lock that
	// the next one holds, and the last access, which is the latest, one that the
	// first holds.
	Cycle []string `json:"cycle,omitempty"`
	// Locks are concerned besides those held at the accesses: of a violation of
	// the locking discipline, those that were held at all accesses before.
	Locks []Lock `json:"locks,omitempty"`

	// Unserializable says, of a violated atomic section, how: for each way in which
	// others accessed the variable that no serial order explains, the modes of the
	// access at the section's entry, of the other, and of the access at its end, such
	// as "read-write-read". The entry is the first of Accesses, the end the last, those
	// of other goroutines stand between. It is empty if the section allows less than
	// would be serialisable.
	Unserializable []string `json:"unserializable,omitempty"`

	// Allocations say where the objects of the accesses were allocated, as far as that is
	// known: each object once, in the order of the accesses.
	Allocations []Allocation `json:"allocations,omitempty"`

	// Goroutines are those of the accesses and the ancestors that started
	// them, each once.
	Goroutines []Goroutine `json:"goroutines,omitempty"`

	// Reverse is set for a race that was also seen in the other order.
	Reverse *Order `json:"reverse,omitempty"`

	// Blocked are, of a program that did not go on, the goroutines that had not ended.
	Blocked []Blocked `json:"blocked,omitempty"`

	Trials  *Trials `json:"trials,omitempty"`  // executions that were to show the bug
	Witness []Step  `json:"witness,omitempty"` // a schedule that shows the bug
	Replay  string  `json:"replay,omitempty"`  // the command that repeats it
}

// Order is how a race looked when its accesses came in the other order than in
// the Finding that it belongs to.
type Order struct {
	Count      uint64      `json:"count"` // how many of the Finding's Count
	Message    string      `json:"message"`
	Variable   string      `json:"variable,omitempty"`
	Accesses   []Access    `json:"accesses"` // in stream order, the later last
	Goroutines []Goroutine `json:"goroutines,omitempty"`

	Allocations []Allocation `json:"allocations,omitempty"`
}

// Order returns f's own order, to be the Reverse of a finding with the same
// fingerprint.
func (f *Finding) Order() *Order {
	return &Order{Count: f.Count, Message: f.Message, Variable: f.Variable, Accesses: f.Accesses, Goroutines: f.Goroutines, Allocations: f.Allocations}
}

// Access is one side of a Finding.
type Access struct {
	Op        string        `json:"op"`
	Thread    heisen.Thread `json:"thread"`
	Goroutine string        `json:"goroutine"`       // the thread's name for people
	Test      string        `json:"test,omitempty"`  // that the goroutine, or what started it, ran
	Object    string        `json:"object"`          // name, or address in hexadecimal
	Size      uint64        `json:"size,omitempty"`  // bytes
	Index     uint64        `json:"index,omitempty"` // position in the stream, from 1

	Site     string  `json:"site"`               // as in the file of a text trace, else file:line
	Source   string  `json:"source,omitempty"`   // the statement there, on one line
	Variable string  `json:"variable,omitempty"` // the expression in it that is accessed
	Stack    []Frame `json:"stack"`              // innermost first
	Locks    []Lock  `json:"locks"`              // held there, in order of acquisition
}

// Allocation is where an object was allocated.
type Allocation struct {
	Object    string        `json:"object"`         // as in the access
	Offset    uint64        `json:"offset"`         // of that from the start of what was allocated, in bytes
	Size      uint64        `json:"size"`           // of what was allocated, in bytes
	Thread    heisen.Thread `json:"thread"`         // that allocated it
	Goroutine string        `json:"goroutine"`      // its name for people
	Test      string        `json:"test,omitempty"` // that it, or what started it, ran
	Site      string        `json:"site"`           // as in the file of a text trace, else file:line
	Stack     []Frame       `json:"stack"`          // innermost first
}

// Frame is one function of a stack.
type Frame struct {
	Func string `json:"func"`
	File string `json:"file"`
	Line int    `json:"line"`
}

// Lock is a lock that is held, or was.
type Lock struct {
	Lock     string `json:"lock"`               // name, or address in hexadecimal
	Mode     string `json:"mode"`               // "read" or "write", empty if not known
	Site     string `json:"site"`               // where it was acquired, empty if not known
	Variable string `json:"variable,omitempty"` // the lock's expression there, if known
}

// Goroutine says where a goroutine comes from.
type Goroutine struct {
	Thread heisen.Thread  `json:"thread"`
	Name   string         `json:"name"`
	Parent *heisen.Thread `json:"parent,omitempty"` // who started it, if known
	Stack  []Frame        `json:"stack,omitempty"`  // of the parent at the go statement
}

// Step is one event of a witness schedule.
type Step struct {
	Op     string        `json:"op"`
	Thread heisen.Thread `json:"thread"`
	Name   string        `json:"goroutine"`
	Object string        `json:"object"`
	// Variable is the expression of the object there, if known.
	Variable string  `json:"variable,omitempty"`
	Site     string  `json:"site"`
	Value    *uint64 `json:"value,omitempty"` // read or written, if known
}
