package dpor

import "slices"

// Mode says how a step uses an object.
type Mode uint8

const (
	// Write does not commute with any other use of the object.
	Write Mode = iota
	// Read commutes with Read.
	Read
	// Raise commutes with Raise: it adds to a counter.
	Raise
	// Lower commutes with Lower: it subtracts from a counter.
	Lower
)

// Use is an object and the mode in which a step uses it.
type Use struct {
	Object uint64
	Mode   Mode
}

// Everything stands for all objects. A step that uses it commutes with no other step.
const Everything = ^uint64(0)

// Step is a step of a task.
type Step struct {
	Task uint32
	// Since is how many steps there were when the task arrived at this one. The last of them was its own
	// last step, or the one by which another task created or woke it.
	Since int
	// Joined is, for a step that waits for the end of a task, how many steps there were when that task
	// ended. Otherwise it is 0.
	Joined int
	// Uses are the objects that the step uses.
	Uses []Use
	// Blocking means that there are states in which the task waits before this step.
	Blocking bool
}

// conflict reports whether two steps do not commute.
func conflict(a, b []Use) bool {
	for _, x := range a {
		for _, y := range b {
			if x.Object == Everything || y.Object == Everything {
				return true
			}
			if x.Object == y.Object && (x.Mode != y.Mode || x.Mode == Write) {
				return true
			}
		}
	}
	return false
}

// merge returns the uses of a and b.
func merge(a, b []Use) []Use {
	for _, x := range b {
		if !slices.Contains(a, x) {
			a = append(a, x)
		}
	}
	return a
}
