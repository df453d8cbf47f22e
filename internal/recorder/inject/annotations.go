//go:build heisen_inject

package runtime

import (
	"internal/abi"
	"unsafe"
)

// The functions that programs with the race build tag and the standard library call, including
// those that patches of the standard library add. They run on the goroutine's stack; those that may
// be called from nosplit code are nosplit.

// The functions for programs that are built with the race tag. Go's own race tests call them.

func RaceRead(addr unsafe.Pointer)  { race_Read(addr) }
func RaceWrite(addr unsafe.Pointer) { race_Write(addr) }

func RaceReadRange(addr unsafe.Pointer, len int)  { race_ReadRange(addr, len) }
func RaceWriteRange(addr unsafe.Pointer, len int) { race_WriteRange(addr, len) }

func RaceAcquire(addr unsafe.Pointer)      { race_Acquire(addr) }
func RaceRelease(addr unsafe.Pointer)      { race_Release(addr) }
func RaceReleaseMerge(addr unsafe.Pointer) { race_ReleaseMerge(addr) }

// RaceDisable makes the recorder ignore this goroutine's synchronization until RaceEnable. The two
// nest. Accesses are still recorded.
//
//go:nosplit
func RaceDisable() { getg().raceignore++ }

// RaceEnable ends the effect of the last RaceDisable.
//
//go:nosplit
func RaceEnable() { getg().raceignore-- }

// Package internal/race, with which the standard library annotates itself.

//go:linkname race_Read internal/race.Read
//go:nosplit
func race_Read(addr unsafe.Pointer) {
	heisenAccessFrom(heisenOpRead, addr, 1, getcallerfp())
}

//go:linkname race_Write internal/race.Write
//go:nosplit
func race_Write(addr unsafe.Pointer) {
	heisenAccessFrom(heisenOpWrite, addr, 1, getcallerfp())
}

//go:linkname race_ReadRange internal/race.ReadRange
//go:nosplit
func race_ReadRange(addr unsafe.Pointer, len int) {
	heisenAccessFrom(heisenOpRead, addr, uintptr(len), getcallerfp())
}

//go:linkname race_WriteRange internal/race.WriteRange
//go:nosplit
func race_WriteRange(addr unsafe.Pointer, len int) {
	heisenAccessFrom(heisenOpWrite, addr, uintptr(len), getcallerfp())
}

//go:linkname race_ReadPC internal/race.ReadPC
func race_ReadPC(addr unsafe.Pointer, callerpc, pc uintptr) { racereadpc(addr, callerpc, pc) }

//go:linkname race_WritePC internal/race.WritePC
func race_WritePC(addr unsafe.Pointer, callerpc, pc uintptr) { racewritepc(addr, callerpc, pc) }

//go:linkname race_ReadObjectPC internal/race.ReadObjectPC
func race_ReadObjectPC(t *abi.Type, addr unsafe.Pointer, callerpc, pc uintptr) {
	raceReadObjectPC(t, addr, callerpc, pc)
}

//go:linkname race_WriteObjectPC internal/race.WriteObjectPC
func race_WriteObjectPC(t *abi.Type, addr unsafe.Pointer, callerpc, pc uintptr) {
	raceWriteObjectPC(t, addr, callerpc, pc)
}

// race_MapKey is called before an access to a map that concerns one key. Sections are on the part of
// the map with this key.
//
//go:linkname race_MapKey internal/race.MapKey
func race_MapKey(m unsafe.Pointer, hasher func(unsafe.Pointer, uintptr) uintptr, key unsafe.Pointer) {
	if !heisenOverlaps.sections && (!heisenSched.on || heisenSched.locations.count == 0) {
		return
	}
	if h := (*heisenG)(unsafe.Pointer(getg().racectx)); h != nil {
		h.keyed, h.key = uintptr(m), uint64(hasher(key, 0))|1
	}
}

//go:linkname race_Acquire internal/race.Acquire
//go:nosplit
func race_Acquire(addr unsafe.Pointer) { raceacquire(addr) }

//go:linkname race_Release internal/race.Release
//go:nosplit
func race_Release(addr unsafe.Pointer) { racerelease(addr) }

//go:linkname race_ReleaseMerge internal/race.ReleaseMerge
//go:nosplit
func race_ReleaseMerge(addr unsafe.Pointer) { racereleasemerge(addr) }

//go:linkname race_Disable internal/race.Disable
//go:nosplit
func race_Disable() { RaceDisable() }

//go:linkname race_Enable internal/race.Enable
//go:nosplit
func race_Enable() { RaceEnable() }

//go:linkname race_Errors internal/race.Errors
func race_Errors() int { return RaceErrors() }

// heisenTask records that the current goroutine begins a task, or, without a name, ends the last
// one. Package testing is patched to call it.
//
//go:linkname heisenTask internal/race.Task
//go:nosplit
func heisenTask(name string) {
	h := (*heisenG)(unsafe.Pointer(getg().racectx))
	if !heisen.on || h == nil {
		return
	}
	if name == "" {
		heisenEndTask(h)
		return
	}
	if heisenSched.on {
		// The timer of go test's -timeout opens the descriptors of the poller before the first test. A
		// deterministic run has none, and a test may count descriptors.
		netpollGenericInit()
	}
	heisenBeginTask(h, name[:min(len(name), heisenMaxTask)])
}

// sync.Pool and package syscall call this where they order operations that are hardly related: all
// users of a pool, and a read after all writes to anything.

//go:linkname race_AcquireByChance internal/race.AcquireByChance
//go:nosplit
func race_AcquireByChance(addr unsafe.Pointer) {
	heisenSyncG(getg(), heisenOpChanceReceive, uintptr(addr), getcallerfp())
}

// heisenAfterC is called after C code, and on Windows after system calls. Package runtime orders all of these with each other;
// system calls are hardly related.
//
//go:nosplit
func heisenAfterC(c unsafe.Pointer) {
	op := uint64(heisenOpReceive)
	if heisenCallsSystem(c) {
		op = heisenOpChanceReceive
	}
	heisenSyncG(getg(), op, uintptr(unsafe.Pointer(&racecgosync)), getcallerfp())
}

// race_Send and race_Receive are called where atomic operations already order what is before and after.
// They serve detectors that take messages for an order, but not atomic operations. A program that
// detects races itself does not need them.

//go:linkname race_Send internal/race.Send
//go:nosplit
func race_Send(message unsafe.Pointer) {
	if !heisen.quiet {
		racereleasemerge(message)
	} else if heisen.locks {
		heisenTellLocks(heisenOpSend, uintptr(message))
	}
}

//go:linkname race_Receive internal/race.Receive
//go:nosplit
func race_Receive(message unsafe.Pointer) {
	if !heisen.quiet {
		raceacquire(message)
	} else if heisen.locks {
		heisenTellLocks(heisenOpReceive, uintptr(message))
	}
}

// race_HandingOut is called when package testing begins, or ends, to distribute the iterations of a
// parallel benchmark. This orders nothing for race detection. A recording has it, because
// predictions depend on it.
//
//go:linkname race_HandingOut internal/race.HandingOut
//go:nosplit
func race_HandingOut(begins bool) {
	switch {
	case heisen.mode != heisenModeFollow:
	case begins:
		RaceDisable()
	default:
		RaceEnable()
	}
}

// The patched sync.Mutex and sync.RWMutex call these, so that the recording has locks rather than
// messages.

// race_Locking is called before a lock is acquired, where the goroutine may wait.
//
//go:linkname race_Locking internal/race.Locking
func race_Locking(lock unsafe.Pointer) {
	heisenLocking(lock, heisenStrategiesModeWrite, false, getcallerfp())
}

// race_Sharing is race_Locking for a lock that others may hold as well.
//
//go:linkname race_Sharing internal/race.Sharing
func race_Sharing(lock unsafe.Pointer) {
	heisenLocking(lock, heisenStrategiesModeRead, false, getcallerfp())
}

// race_Trying is race_Locking where the goroutine goes on without the lock rather than wait.
//
//go:linkname race_Trying internal/race.Trying
func race_Trying(lock unsafe.Pointer) {
	heisenLocking(lock, heisenStrategiesModeWrite, true, getcallerfp())
}

func heisenLocking(lock unsafe.Pointer, mode uint64, tries bool, fp uintptr) {
	if heisenSched.on && getg().raceignore == 0 {
		heisenPointAt(heisenStrategiesLock, lock, heisenLocationLocks, fp)
		heisenUse(uint64(uintptr(lock)), mode)
	}
	if heisen.noisy {
		heisenNoiseAt(fp)
	}
	heisenSynchronizesOn(lock)
	if heisenHealing.on && !tries {
		heisenHealAhead(lock)
	}
}

// heisenUnlocking is a point before a lock is released, in programs that may try to lock: others must see it held.
//
//go:nosplit
func heisenUnlocking(lock unsafe.Pointer) {
	if heisenSched.on && heisenSched.tries && getg().raceignore == 0 {
		heisenPointAt(heisenStrategiesSync, lock, 0, 0)
	}
}

// heisenTriesLocks reports whether the program has code that tries to lock. The linker keeps only functions that
// something refers to.
func heisenTriesLocks() bool {
	m := &firstmoduledata
	for i := range len(m.ftab) - 1 { // the last one marks the end
		switch funcname(funcInfo{(*_func)(unsafe.Pointer(&m.pclntable[m.ftab[i].funcoff])), m}) {
		case "internal/sync.(*Mutex).TryLock", "sync.(*RWMutex).TryLock", "sync.(*RWMutex).TryRLock":
			return true
		}
	}
	return false
}

// race_Synchronizing is called before a synchronization by other means than locks and atomic
// operations.
//
//go:linkname race_Synchronizing internal/race.Synchronizing
func race_Synchronizing(on unsafe.Pointer) {
	if heisenSched.on {
		heisenPoint(on)
	}
	heisenSynchronizesOn(on)
}

// heisenSynchronizesOn notes what the current goroutine may have to wait for.
//
//go:nosplit
func heisenSynchronizesOn(on unsafe.Pointer) {
	if h := (*heisenG)(unsafe.Pointer(getg().racectx)); (heisen.leaks || heisenHealing.on) && h != nil {
		h.task.on = uint64(uintptr(on))
	}
}

// race_Awaiting is called where the current goroutine is about to wait for something, after it has synchronized by other
// means since race_Synchronizing.
//
//go:linkname race_Awaiting internal/race.Awaiting
func race_Awaiting(on unsafe.Pointer) {
	if h := (*heisenG)(unsafe.Pointer(getg().racectx)); (heisen.leaks || heisenSched.on) && h != nil {
		h.task.on = uint64(uintptr(on))
	}
}

// race_Counting is race_Synchronizing for a WaitGroup to which delta is added.
//
//go:linkname race_Counting internal/race.Counting
func race_Counting(group unsafe.Pointer, delta int) {
	if heisenSched.on {
		mode := uint64(heisenStrategiesModeRaise)
		if delta < 0 {
			mode = heisenStrategiesModeLower
		}
		heisenPointAt(heisenStrategiesSync, group, 0, 0)
		heisenUse(uint64(uintptr(group)), mode)
	}
}

// race_BeginStep is called before an operation that takes one step by definition, whatever it is made of, and
// race_EndStep after it. In between the only points are at targets. The point before it is about the object on, if there
// is one.
//
//go:linkname race_BeginStep internal/race.BeginStep
func race_BeginStep(on unsafe.Pointer) {
	h := (*heisenG)(unsafe.Pointer(getg().racectx))
	if !heisenSched.on || h == nil {
		return
	}
	if on != nil {
		heisenPointAt(heisenStrategiesSync, on, 0, 0)
	}
	h.task.within++
}

//go:linkname race_EndStep internal/race.EndStep
func race_EndStep() {
	if h := (*heisenG)(unsafe.Pointer(getg().racectx)); heisenSched.on && h != nil {
		h.task.within--
	}
}

// race_Input is called after something was read from outside of the program: the next part of file,
// or, if file is -1, anything. It orders the read after all writes to anything.
//
//go:linkname race_Input internal/race.Input
//go:nosplit
func race_Input(addr unsafe.Pointer, file int) {
	heisenOutside(heisenByInput)
	race_AcquireByChance(addr)
	if file >= 0 {
		heisenRecordFile(uintptr(file))
	}
}

// race_Locked is called after a lock was acquired. If it returns true, the goroutine is to release it, and to acquire it
// anew: another one goes first.
//
//go:linkname race_Locked internal/race.Locked
//go:nosplit
func race_Locked(lock unsafe.Pointer) (again bool) {
	heisenSyncG(getg(), heisenOpAcquire, uintptr(lock), getcallerfp())
	return heisenHealing.on && heisenHealStandsBack(uintptr(lock))
}

// race_WriteLocked is race_Locked for a lock that others may hold for reading.
//
//go:linkname race_WriteLocked internal/race.WriteLocked
//go:nosplit
func race_WriteLocked(lock unsafe.Pointer) (again bool) {
	if h := (*heisenG)(unsafe.Pointer(getg().racectx)); heisen.locks && h != nil {
		h.readWrite = true
	}
	heisenSyncG(getg(), heisenOpAcquire, uintptr(lock), getcallerfp())
	return heisenHealing.on && heisenHealStandsBack(uintptr(lock))
}

//go:linkname race_TryLocked internal/race.TryLocked
//go:nosplit
func race_TryLocked(lock unsafe.Pointer) {
	heisenSyncG(getg(), heisenOpTryAcquire, uintptr(lock), getcallerfp())
}

//go:linkname race_Unlocking internal/race.Unlocking
//go:nosplit
func race_Unlocking(lock unsafe.Pointer) {
	heisenUnlocking(lock)
	if heisenReleaseAgain(uintptr(lock)) {
		return
	}
	heisenSyncG(getg(), heisenOpRelease, uintptr(lock), getcallerfp())
}

// race_RLocked is race_Locked for a lock that others may hold as well.
//
//go:linkname race_RLocked internal/race.RLocked
//go:nosplit
func race_RLocked(lock unsafe.Pointer) (again bool) {
	heisenSyncG(getg(), heisenOpAcquireShared, uintptr(lock), getcallerfp())
	return heisenHealing.on && heisenHealStandsBack(uintptr(lock))
}

//go:linkname race_TryRLocked internal/race.TryRLocked
//go:nosplit
func race_TryRLocked(lock unsafe.Pointer) {
	heisenSyncG(getg(), heisenOpTryAcquireShared, uintptr(lock), getcallerfp())
}

//go:linkname race_RUnlocking internal/race.RUnlocking
//go:nosplit
func race_RUnlocking(lock unsafe.Pointer) {
	heisenUnlocking(lock)
	heisenSyncG(getg(), heisenOpReleaseShared, uintptr(lock), getcallerfp())
}
