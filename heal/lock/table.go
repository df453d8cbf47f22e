package lock

import "unsafe"

// tableBits says how many locks a Table has: two to the power of it.
const tableBits = 7

// Table has the locks of a variable that each object has, such as a field of a struct type. Objects share its locks by
// their addresses, so it needs no memory for each object. Objects that have the same lock exclude each other; so a
// goroutine that holds the lock of one object must not acquire that of another one in the same Table. The zero value is
// ready to use. A Table takes 8 KiB and must not be copied once it has been used.
type Table struct {
	locks [1 << tableBits]struct {
		Lock
		_ [64 - unsafe.Sizeof(Lock{})]byte // a cache line each
	}
}

// Of returns the lock of an object in a Table: the same one for the same address, also of no object. It is safe for
// concurrent use. A nil Table has no locks.
func Of[T any](t *Table, object *T) *Lock {
	if t == nil {
		return nil
	}
	const golden = 0x9E3779B97F4A7C15 // spreads addresses (Knuth, multiplicative hashing)
	return &t.locks[uint64(uintptr(unsafe.Pointer(object)))*golden>>(64-tableBits)].Lock
}
