// Package lock has the locks that package heal places in programs: locks for programs in production, which heisen
// does not run. It imports nothing outside of the standard library.
//
// A Lock is held in one of three modes, and through a Held, which stands for one call of a function and one
// variable. A function acquires the lock as often as it accesses the variable, and releases it once:
//
//	var accounts lock.Lock // the lock of Account.balance
//
//	func (a *Account) Withdraw(n int) bool {
//		var h lock.Held
//		defer h.Release()
//		h.Acquire(&accounts, lock.Update, 1)
//		if a.balance < n {
//			return false
//		}
//		h.Acquire(&accounts, lock.Exclusive, 2)
//		a.balance -= n
//		return true
//	}
//
// A lock may belong to a variable of all objects of a type, as here, or be a field of each object.
//
// # Reasons
//
// A function holds a lock for reasons: for its latest access to the variable, which may be the first of an atomic
// pair, and for holds that keep locks in order. It holds the lock in the strongest mode of its reasons. Acquire and
// Hold add a reason, Degrade and Unhold weaken it or take it back. These are the operations of a Placement of
// package heal: an Acquisition is a call of Acquire or Hold, and a Release one of Degrade or Unhold.
//
// # Calls
//
// A goroutine that holds a lock may acquire it again, if the function that it calls knows what its caller holds.
// There are no goroutine identifiers, so the caller passes its Held on, and the callee begins with Inner:
//
//	func (a *Account) log(outer *lock.Held) {
//		h := outer.Inner()
//		defer h.Release()
//		h.Acquire(&accounts, lock.Shared, 1)
//		fmt.Println(a.balance)
//	}
//
// Otherwise the callee waits for its caller, for ever.
//
// # Waiting
//
// A goroutine that waits for another one while it holds an inserted lock could wait for ever, if the other one needs
// the lock. Pause before an operation that may block lets others take the lock away, and Resume after it
// acquires the lock again if somebody has. So nothing is atomic across a wait if another goroutine must come in
// between, as in section 9 of Weeratunge, Zhang and Jagannathan, Accentuating the Positive (OOPSLA 2011). LockOther and RLockOther do
// the same around a lock of the program. A loop that looks again and again at what another goroutine changes waits, too:
// Yield in each iteration lets those have the lock that wait for it.
//
// # Guarantees
//
// Readers go before writers: whoever wants a lock in the mode Shared does not wait for those who wait for it. So
// readers that follow each other without a gap can keep a writer waiting. A lock is safe for concurrent use; a Held
// belongs to one goroutine. Memory is allocated only when a goroutine is the first to wait for a lock or to pause it.
package lock
