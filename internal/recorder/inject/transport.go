//go:build heisen_inject

package runtime

import (
	"internal/runtime/atomic"
	"unsafe"
)

// Sending what was recorded, over one stream socket to the analyzer that the environment names.
// Sends run on the system stack under heisen.sendLock and block when the analyzer is behind. The
// analyzer never waits for the program, so this cannot deadlock.

const (
	heisenSocketEnv = "HEISEN_SOCKET"
	// Lower descriptors stay free for the program. This one is in the table that every process has
	// from the start; a larger table takes the kernel milliseconds.
	heisenFD        = 60
	heisenPollEvery = 5 * 1000 * 1000 // ns
)

// Recording starts with the initialization of the runtime, before that of any package of the
// program.
func init() {
	defer func() { heisenAsking = false }()
	if gogetenv(heisenSymbolizeEnv) != "" {
		heisenSymbolize()
		exit(0)
	}
	heisenReadOptions(gogetenv(heisenOptionsEnv))
	path := gogetenv(heisenSocketEnv)
	if path == "" {
		heisenStartAlone()
		return
	}
	fd := heisenConnect(path)
	if fd < 0 {
		print("heisen: cannot reach the analyzer at ", path, " (error ", -fd, "); ",
			heisenSocketEnv, " is set by the heisen command only\n")
		exit(1)
	}
	heisen.fd = fd
	hello := [4]uint64{heisenVersion, uint64(firstmoduledata.text), uint64(firstmoduledata.etext - firstmoduledata.text), uint64(heisenGetpid())}
	heisenSend(heisenMsgHello, 0, 0, unsafe.Pointer(&hello), unsafe.Sizeof(hello))
	// The analyzer looks at this process before it may end. An analyzer that does not want the
	// recording closes the connection.
	if answer, ok := heisenAnswer(); ok {
		if !heisenInitPlaces() {
			print("heisen: no address space for call paths; this run is not recorded\n")
			return
		}
		heisen.filter = answer&heisenWantFilter != 0
		heisen.marks = answer&heisenWantMarks != 0
		heisen.quiet = answer&heisenWantNothing != 0
		heisen.overlaps = answer&heisenWantOverlaps != 0
		if heisen.overlaps && !heisenInitOverlaps() {
			print("heisen: cannot read what to look for, or no memory for it; this run is not recorded\n")
			return
		}
		heisen.noisy = heisen.overlaps && heisenOverlaps.strength > 0
		if answer&heisenWantHidden != 0 {
			if !heisenInitHidden() {
				print("heisen: cannot read what is hidden, or no memory for it; this run is not recorded\n")
				return
			}
			heisen.hides = true
		}
		if answer&heisenWantRaces != 0 {
			if !heisenInitFastTrack() {
				print("heisen: no address space for shadow memory; this run is not recorded\n")
				return
			}
			heisen.races = true
		}
		if answer&heisenWantSched != 0 && !heisenInitSched() {
			print("heisen: cannot read the schedule; this run is not recorded\n")
			return
		}
		if heisen.quiet && !heisenInitOrigins() { // last, since it makes do with the address space that is left
			print("heisen: no address space for the origins of goroutines; this run is not recorded\n")
			return
		}
		heisen.detour = heisenSched.on || heisen.hides
		heisen.calls = heisen.hides || heisen.overlaps && heisenOverlaps.sections || heisenSched.on
		heisen.overlapsOnly = heisen.overlaps && heisen.quiet && !heisen.noisy && !heisenOverlaps.sections && !heisenOverlaps.brief &&
			!heisen.detour
		heisenShadow.racesFirst = heisen.races && !heisen.overlaps && !heisen.detour
		heisenShadow.racesOnly = heisenShadow.racesFirst && heisen.quiet
		if heisenShadow.racesOnly {
			heisenFastHeap, heisenFastData = heisenShadow.heap, heisenShadow.data
		}
		heisen.on, heisen.open = true, true
	}
}

// heisenAnswer waits for the analyzer's answer.
func heisenAnswer() (answer int32, ok bool) {
	for {
		n := read(heisen.fd, noescape(unsafe.Pointer(&answer)), int32(unsafe.Sizeof(answer)))
		if n != -_EINTR {
			return answer, n == int32(unsafe.Sizeof(answer))
		}
	}
}

// heisenSend sends a message. If the connection is broken, recording ends and the program
// continues.
func heisenSend(kind, id, skipped uint32, p unsafe.Pointer, n uintptr) {
	header := [4]uint32{kind, id, uint32(n), skipped}
	heisenLock(&heisen.sendLock)
	ok := heisenSendPlaces() && heisenSendObjects()
	ok = ok && heisenSendAll(unsafe.Pointer(&header), unsafe.Sizeof(header)) && heisenSendAll(p, n)
	heisenUnlock(&heisen.sendLock)
	heisenSent(ok)
}

// heisenSent ends the recording if something could not be sent.
func heisenSent(ok bool) {
	if !ok && heisen.open {
		heisen.open = false
		if heisenAloneNow() {
			return
		}
		heisen.on, heisen.overlapsOnly = false, false
		print("heisen: the analyzer is gone; the rest of this run is not recorded\n")
	}
}

// heisenSendAll sends n bytes and reports whether it could.
func heisenSendAll(p unsafe.Pointer, n uintptr) bool {
	for n > 0 {
		k := heisenSendto(heisen.fd, p, n)
		switch {
		case k > 0:
			p, n = add(p, uintptr(k)), n-uintptr(k)
		case k != -_EINTR && k != -_EAGAIN:
			return false
		}
	}
	return true
}

// heisenFlush empties the buffer of the current P.
//
//go:nosplit
func heisenFlush(b *heisenBuf) {
	systemstack(func() {
		heisenLock(&b.lock)
		heisenSendWords(b)
		b.pos, b.sent = 0, 0
		heisenUnlock(&b.lock)
		if b.moved {
			// The receiver cannot use these words without what the goroutines did on other Ps, and
			// the program may be killed before those buffers are full.
			b.moved = false
			heisenFlushAll(0)
		}
	})
}

// heisenSendWords sends the complete words of b that were not sent. b.lock is held; the owner may
// append more.
func heisenSendWords(b *heisenBuf) {
	end := atomic.Loaduintptr(&b.pos)
	skipped := min(atomic.Load64(&b.filter.skipped)-b.skippedSent, 1<<32-1)
	if heisen.open && (end > b.sent || skipped > 0) {
		heisenSend(heisenMsgWords, b.id, uint32(skipped), add(unsafe.Pointer(&b.words), b.sent*8), (end-b.sent)*8)
	}
	b.sent = end
	b.skippedSent += skipped
}

// heisenFlushAll sends the complete words of all buffers. It skips a buffer whose lock it cannot
// get; patience is that of heisenTryLock.
func heisenFlushAll(patience int64) {
	for i := range heisenAllBufs {
		b := heisenAllBufs[i]
		if b == nil {
			break
		}
		if !heisenTryLock(&b.lock, patience) {
			continue
		}
		heisenSendWords(b)
		heisenUnlock(&b.lock)
	}
}

// heisenForever is the patience of a thread that knows that the lock's holder will continue.
const heisenForever = -1

// heisenTryLock tries to get a lock for patience nanoseconds.
func heisenTryLock(l *uint32, patience int64) bool {
	start := nanotime1()
	for i := 0; !atomic.Cas(l, 0, 1); i++ {
		if patience != heisenForever && nanotime1()-start >= patience {
			return false
		}
		if i < heisenSpins {
			osyield()
		} else {
			usleep(50)
		}
	}
	return true
}

var heisenPolled int64

// heisenPoll is called by the monitor thread, which has no P. It sends words of Ps that are idle or
// slow to fill their buffers.
func heisenPoll() {
	if !heisen.on || !heisen.open {
		return
	}
	now := nanotime1()
	if now-heisenPolled < heisenPollEvery && sched.npidle.Load() != gomaxprocs {
		return
	}
	heisenPolled = now
	heisenFlushAll(0)
}

// heisenFinish ends the recording of a program that exits with status 0. It returns the status to
// exit with instead.
//
//go:nosplit
func heisenFinish() (status int32) {
	systemstack(func() {
		if heisen.open {
			heisenLock(&heisenReported.lock) // for good: nobody else waits for an answer
		}
		if heisenEndRecording() {
			if heisenReported.ended {
				status = heisenReported.status
			} else if answer, ok := heisenAnswer(); ok {
				status = answer
			}
		}
		if heisenAlone.on {
			heisenPrintKept()
			status = heisenAloneStatus()
		}
	})
	return status
}

// heisenStop ends the recording of a program that exits with another status or panics. Its thread
// is in no other function of the recorder, so it waits for threads that are. Nothing is lost,
// however far the analyzer is behind.
//
//go:nosplit
func heisenStop() {
	systemstack(func() {
		heisenEndRecording()
		if heisenAlone.on {
			heisenPrintKept()
			heisenAloneEnd()
		}
	})
}

// heisenEndRecording sends the rest and ends the recording. It reports whether it did: if several
// threads end the program, one does, and the others wait for it.
func heisenEndRecording() bool {
	if !heisen.open {
		return false
	}
	if !atomic.Cas(&heisen.ending, 0, 1) {
		for heisen.open {
			usleep(100)
		}
		return false
	}
	stamps := heisenAwaitHooks(heisenEndPatience)
	heisenFlushAll(heisenForever)
	if heisen.overlaps {
		heisenSendOverlapStats()
	}
	if heisen.races {
		heisenSendRaceStats()
	}
	heisenSendExecution()
	bye := [2]uint64{heisen.lost, stamps}
	heisenSend(heisenMsgBye, 0, 0, unsafe.Pointer(&bye), unsafe.Sizeof(bye))
	heisen.open = false
	return true
}

// Patience with threads that are in a hook. They continue once they have a processor and the
// analyzer catches up, but the end of a program is not worth a longer wait.
const (
	heisenEndPatience   = 10 * 1000 * 1000 * 1000 // ns
	heisenAbortPatience = 1000 * 1000 * 1000      // ns
)

// heisenAwaitHooks stops the recording and waits until every event with a stamp is written: later
// events could not be merged without it. A thread that has taken a stamp may have lost its
// processor. It returns the number of stamps. A hook that was about to take one may still do so
// afterwards.
func heisenAwaitHooks(patience int64) (stamps uint64) {
	heisen.on, heisen.overlapsOnly = false, false
	start := nanotime1()
	for i := 0; ; i++ {
		var synced uint64
		for _, b := range &heisenAllBufs {
			if b == nil {
				break
			}
			synced += atomic.Load64(&b.synced)
		}
		// The counts are read one by one, so their sum is at most the number of stamps now. If they
		// are equal, no event was being written.
		stamps = atomic.Load64(&heisen.stamp)
		if synced == stamps || nanotime1()-start >= patience {
			return stamps
		}
		if i < heisenSpins {
			osyield()
		} else {
			usleep(50)
		}
	}
}

// heisenAbort sends what it can before the program ends in another way: a fatal error or a signal.
// It may run in a signal handler on top of any function of the recorder, so it does not insist on
// locks.
//
//go:nosplit
func heisenAbort() {
	if !heisen.on {
		return
	}
	systemstack(func() {
		if heisenAlone.on {
			heisenAloneEnd()
			return
		}
		heisenAwaitHooks(heisenAbortPatience)
		if heisenTryLock(&heisen.sendLock, heisenAbortPatience) {
			heisenUnlock(&heisen.sendLock)
			heisenFlushAll(heisenAbortPatience)
			heisenSendExecution()
		}
	})
}
