package section

// Interleaving describes three accesses to a variable: one by a thread at the entry of an atomic
// section, one by another thread, and one by the first thread at the end. Each is Reads or Writes. An
// atomic read-modify-write counts as Writes.
type Interleaving struct {
	First, Remote, Last Modes
}

// unserializable is table 1 of the paper: the interleavings that are not equivalent to any serial order
// of the section and the other access. The reasons are those of Lu et al., AVIO (ASPLOS 2006).
var unserializable = map[Interleaving]string{
	{Reads, Writes, Reads}:  "the two reads see different values",
	{Writes, Writes, Reads}: "the read does not see what its own thread wrote",
	{Writes, Reads, Writes}: "the other thread sees a value that was to be overwritten",
	{Reads, Writes, Writes}: "the write relies on a value that the other thread has changed",
}

// Serializable reports whether the three accesses have the same effect as with the remote access before
// or after both others. Four of the eight interleavings have; table 1 of the paper lists the others.
func (i Interleaving) Serializable() bool { return unserializable[i] == "" }

// Description explains why the interleaving is not serializable. It is empty for a serializable one.
func (i Interleaving) Description() string { return unserializable[i] }

// String returns the three modes, such as "read-write-read".
func (i Interleaving) String() string {
	return i.First.mode() + "-" + i.Remote.mode() + "-" + i.Last.mode()
}

// mode is the name of a single mode.
func (m Modes) mode() string {
	switch m {
	case Reads:
		return "read"
	case Writes:
		return "write"
	}
	return "?"
}

// Allowed returns what others may do between two accesses of a thread to a variable, with the modes
// first and last, so that the interleaving stays serializable. It is the complement of table 1, from
// which section 4.2 of the paper derives the sets of ends.
func Allowed(first, last Modes) Modes {
	var allowed Modes
	for _, remote := range []Modes{Reads, Writes} {
		if (Interleaving{first, remote, last}).Serializable() {
			allowed |= remote
		}
	}
	return allowed
}
