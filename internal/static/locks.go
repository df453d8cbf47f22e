package static

import "go/types"

// A LockOp is what a call does with a lock.
type LockOp uint8

// The operations on locks. An operation that tries says by its result whether it has acquired the lock.
const (
	NoLockOp LockOp = iota
	Lock
	RLock
	TryLock
	TryRLock
	Unlock
	RUnlock
)

// Acquires reports whether the operation acquires a lock, or tries to.
func (op LockOp) Acquires() bool { return op >= Lock && op <= TryRLock }

// Tries reports whether the operation may return without the lock.
func (op LockOp) Tries() bool { return op == TryLock || op == TryRLock }

// Releases reports whether the operation releases a lock.
func (op LockOp) Releases() bool { return op >= Unlock }

// Shared reports whether the operation is that of a reader.
func (op LockOp) Shared() bool { return op == RLock || op == TryRLock || op == RUnlock }

// A LockKind says what kind of lock the values of a type are.
type LockKind uint8

// The kinds of locks.
const (
	NotLock LockKind = iota
	Mutex
	RWMutex // has readers
)

// A lockType is a type of locks.
type lockType struct {
	kind    LockKind // NotLock: its values lead to locks
	methods map[string]LockOp
}

// exclusive and withReaders are the methods of most locks.
var (
	exclusive   = map[string]LockOp{"Lock": Lock, "TryLock": TryLock, "Unlock": Unlock}
	withReaders = map[string]LockOp{
		"Lock": Lock, "TryLock": TryLock, "Unlock": Unlock, "RLock": RLock, "TryRLock": TryRLock, "RUnlock": RUnlock,
	}
)

// lockTypes has all types of locks. To teach the analyses another one, add it.
var lockTypes = map[string]lockType{
	"sync.Locker":  {methods: exclusive},
	"sync.Mutex":   {Mutex, exclusive},
	"sync.RWMutex": {RWMutex, withReaders},
}

// KindOf returns the kind of lock that values of a type are.
func KindOf(t types.Type) LockKind { return lockTypes[typeName(types.Unalias(t))].kind }

// LockOpOf returns what a function does with the lock that is its receiver. NoLockOp stands for nothing.
func LockOpOf(fn *types.Func) LockOp {
	if fn == nil || fn.Signature().Recv() == nil {
		return NoLockOp
	}
	return lockTypes[typeName(named(fn.Signature().Recv().Type()))].methods[fn.Name()]
}

// LooksLikeLockOp returns what a method does with its receiver if that is a lock, judged by its name: a method Lock,
// RLock, Unlock or RUnlock that has neither parameters nor results. Types that are no locks may have such methods.
func LooksLikeLockOp(fn *types.Func) LockOp {
	if fn == nil || fn.Signature().Recv() == nil || fn.Signature().Params().Len()+fn.Signature().Results().Len() > 0 {
		return NoLockOp
	}
	return withReaders[fn.Name()]
}

// ReleasesWhileWaiting reports whether a function releases a lock, which its receiver knows, until it returns.
func ReleasesWhileWaiting(fn *types.Func) bool {
	return fn != nil && fn.FullName() == "(*sync.Cond).Wait"
}
