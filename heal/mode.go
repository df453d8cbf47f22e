package heal

import "github.com/heisen-go/heisen/heal/lock"

// Mode is how an inserted lock is held. Modes are ordered: a later one permits its holder more, and the
// others less. A lock.Mode is the same for the locks of package lock, and has the same numbers.
type Mode uint8

const (
	// Free is a lock that is not held.
	Free = Mode(lock.Free)
	// Shared permits its holder to read. Any number of threads may hold a lock Shared at a time.
	Shared = Mode(lock.Shared)
	// Update permits its holder to read, and to go on to Exclusive while it holds the lock. One thread may
	// hold a lock in this mode, beside any number that hold it Shared. Without this mode, two threads that
	// hold a lock Shared and both need it Exclusive would wait for each other.
	Update = Mode(lock.Update)
	// Exclusive permits its holder to read and write. No other thread holds the lock in any mode.
	Exclusive = Mode(lock.Exclusive)
)

// String returns the name of the mode in lower case.
func (m Mode) String() string { return lock.Mode(m).String() }

// Valid reports whether m is one of the constants.
func (m Mode) Valid() bool { return m <= Exclusive }

// Excludes reports whether a thread that wants a lock in mode m has to wait while another one holds it in
// mode held.
func (m Mode) Excludes(held Mode) bool {
	switch {
	case m == Free || held == Free:
		return false
	case m == Exclusive || held == Exclusive:
		return true
	}
	return m == Update && held == Update
}
