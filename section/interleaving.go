package section

// Interleaving is the accesses that a violation of an atomic section is about: the
// thread's own at the entry, that of another thread, the thread's own at the end. Each
// is Reads or Writes; an atomic read-modify-write counts as Writes.
type Interleaving struct {
	First, Remote, Last Modes
}

// unserializable is table 1 of the paper: the interleavings that no serial order of
// the section and the other access explains. (Lu et al., AVIO, give the reasons.)
var unserializable = map[Interleaving]string{
	{Reads, Writes, Reads}:  "the two reads see different values",
	{Writes, Writes, Reads}: "the read does not see what its own thread wrote",
	{Writes, Reads, Writes}: "the other thread sees a value that was to be overwritten",
	{Reads, Writes, Writes}: "the write relies on a value that the other thread has changed",
}

// Serializable reports whether the three accesses have the effect that they have when
// the remote one comes before or after both others. Of the eight interleavings all have
// but the four of table 1.
func (i Interleaving) Serializable() bool { return unserializable[i] == "" }

// Description says what is wrong with an interleaving that is not serializable; it is
// empty for others.
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

// Allowed returns what others may do between two accesses of a thread to a variable,
// in the modes first and last, so that all stays serializable: the complement of
// table 1, as section 4.2 derives the sets of ends from it.
func Allowed(first, last Modes) Modes {
	var allowed Modes
	for _, remote := range []Modes{Reads, Writes} {
		if (Interleaving{first, remote, last}).Serializable() {
			allowed |= remote
		}
	}
	return allowed
}
