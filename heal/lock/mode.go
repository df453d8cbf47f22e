package lock

// Mode is how a lock is held. Modes are ordered: a later one permits its holder more, and the others less.
type Mode uint8

const (
	// Free is a lock that is not held.
	Free Mode = iota
	// Shared permits its holder to read. Any number of goroutines may hold a lock Shared at a time.
	Shared
	// Update permits its holder to read, and to go on to Exclusive while it holds the lock. One goroutine may
	// hold a lock in this mode, beside any number that hold it Shared. Without this mode, two goroutines that
	// hold a lock Shared and both need it Exclusive would wait for each other.
	Update
	// Exclusive permits its holder to read and write. No other goroutine holds the lock in any mode.
	Exclusive
)

var modeNames = [...]string{"free", "shared", "update", "exclusive"}

// String returns the name of the mode in lower case.
func (m Mode) String() string {
	if int(m) < len(modeNames) {
		return modeNames[m]
	}
	return "invalid"
}
