//go:build heisen_inject

package runtime

import (
	"internal/abi"
	"unsafe"
)

// The race detector's interface to programs and the standard library, and what is added to that.

// The functions that a program built with the race build tag may call; Go's own
// race tests do.

func RaceRead(addr unsafe.Pointer)  { race_Read(addr) }
func RaceWrite(addr unsafe.Pointer) { race_Write(addr) }

func RaceReadRange(addr unsafe.Pointer, len int)  { race_ReadRange(addr, len) }
func RaceWriteRange(addr unsafe.Pointer, len int) { race_WriteRange(addr, len) }

func RaceAcquire(addr unsafe.Pointer)      { race_Acquire(addr) }
func RaceRelease(addr unsafe.Pointer)      { race_Release(addr) }
func RaceReleaseMerge(addr unsafe.Pointer) { race_ReleaseMerge(addr) }

// RaceDisable makes the recorder ignore the synchronisation of this goroutine
// until RaceEnable; the two nest. Accesses are still recorded.
//
//go:nosplit
func RaceDisable() { getg().raceignore++ }

// RaceEnable ends the effect of the latest RaceDisable.
//
//go:nosplit
func RaceEnable() { getg().raceignore-- }

// RaceErrors is 0: findings are counted by the process that receives the events.
func RaceErrors() int { return 0 }

// Package internal/race, by which the standard library annotates itself.

//go:linkname race_Read internal/race.Read
//go:nosplit
func race_Read(addr unsafe.Pointer) {
	heisenAccessFrom(heisenOpRead, uintptr(addr), 1, getcallerfp())
}

//go:linkname race_Write internal/race.Write
//go:nosplit
func race_Write(addr unsafe.Pointer) {
	heisenAccessFrom(heisenOpWrite, uintptr(addr), 1, getcallerfp())
}

//go:linkname race_ReadRange internal/race.ReadRange
//go:nosplit
func race_ReadRange(addr unsafe.Pointer, len int) {
	heisenAccessFrom(heisenOpRead, uintptr(addr), uintptr(len), getcallerfp())
}

//go:linkname race_WriteRange internal/race.WriteRange
//go:nosplit
func race_WriteRange(addr unsafe.Pointer, len int) {
	heisenAccessFrom(heisenOpWrite, uintptr(addr), uintptr(len), getcallerfp())
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

// heisenTask records that the current goroutine begins a task, or, without a
// name, ends the latest. Package testing is patched to call it.
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
	} else {
		heisenBeginTask(h, name[:min(len(name), heisenMaxTask)])
	}
}

// What sync.Pool and package syscall call where they order what has little to do
// with each other: everybody who uses a pool, a read after all writes to anything.

//go:linkname race_AcquireByChance internal/race.AcquireByChance
//go:nosplit
func race_AcquireByChance(addr unsafe.Pointer) {
	heisenSyncG(getg(), heisenOpChanceReceive, uintptr(addr), getcallerfp())
}

// race_HandingOut is told that package testing begins, or ends, to hand out iterations of a parallel benchmark. To
// races that orders nothing; a recording has it, for what may happen otherwise depends on it.
//
//go:linkname race_HandingOut internal/race.HandingOut
//go:nosplit
func race_HandingOut(begins bool) {
	switch {
	case !heisenShadow.racesOnly:
	case begins:
		RaceDisable()
	default:
		RaceEnable()
	}
}

// What the patched sync.Mutex and sync.RWMutex call, so that the recording shows
// locks and not mere messages.

// race_Locking comes before a lock is taken, where a goroutine may wait.
//
//go:linkname race_Locking internal/race.Locking
func race_Locking(lock unsafe.Pointer) {
	if heisenSched.on && getg().raceignore == 0 {
		heisenPointAt(heisenStrategiesLock, lock, heisenLocationLocks, getcallerfp())
	}
	if heisen.noisy {
		heisenNoiseAt(getcallerfp())
	}
}

// race_Synchronizing comes before what the goroutine synchronises by other than locks
// and atomic operations.
//
//go:linkname race_Synchronizing internal/race.Synchronizing
func race_Synchronizing(on unsafe.Pointer) {
	if heisenSched.on {
		heisenPoint(on)
	}
}

// race_Input comes after something was read from outside of the program: the next that
// there is in a file, or, if that is -1, what is anywhere. It orders the read after all
// writes to anything.
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

//go:linkname race_Locked internal/race.Locked
//go:nosplit
func race_Locked(lock unsafe.Pointer) {
	heisenSyncG(getg(), heisenOpAcquire, uintptr(lock), getcallerfp())
}

//go:linkname race_TryLocked internal/race.TryLocked
//go:nosplit
func race_TryLocked(lock unsafe.Pointer) {
	heisenSyncG(getg(), heisenOpTryAcquire, uintptr(lock), getcallerfp())
}

//go:linkname race_Unlocking internal/race.Unlocking
//go:nosplit
func race_Unlocking(lock unsafe.Pointer) {
	heisenSyncG(getg(), heisenOpRelease, uintptr(lock), getcallerfp())
}

//go:linkname race_RLocked internal/race.RLocked
//go:nosplit
func race_RLocked(lock unsafe.Pointer) {
	heisenSyncG(getg(), heisenOpAcquireShared, uintptr(lock), getcallerfp())
}

//go:linkname race_TryRLocked internal/race.TryRLocked
//go:nosplit
func race_TryRLocked(lock unsafe.Pointer) {
	heisenSyncG(getg(), heisenOpTryAcquireShared, uintptr(lock), getcallerfp())
}

//go:linkname race_RUnlocking internal/race.RUnlocking
//go:nosplit
func race_RUnlocking(lock unsafe.Pointer) {
	heisenSyncG(getg(), heisenOpReleaseShared, uintptr(lock), getcallerfp())
}
