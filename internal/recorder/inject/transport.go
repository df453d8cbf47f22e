//go:build heisen_inject

package runtime

import (
	"internal/runtime/atomic"
	"unsafe"
)

// Sending what was recorded: one stream socket a process, to the analyser that
// the environment names. A send blocks when the analyser is behind; the analyser
// never waits for the program, so that cannot deadlock.

const (
	heisenSocketEnv = "HEISEN_SOCKET"
	// Descriptors below stay as the program expects them. It is in the table that every
	// process has from the start; to make a larger one takes the kernel some milliseconds.
	heisenFD        = 60
	heisenPollEvery = 5 * 1000 * 1000 // ns
)

// Recording starts with the runtime's own initialisation, before that of any
// package of the program.
func init() {
	defer func() { heisenAsking = false }()
	if gogetenv(heisenSymbolizeEnv) != "" {
		heisenSymbolize()
		exit(0)
	}
	path := gogetenv(heisenSocketEnv)
	if path == "" {
		return
	}
	fd := heisenConnect(path)
	if fd < 0 {
		print("heisen: cannot reach the analyser at ", path, " (error ", -fd, "); ",
			heisenSocketEnv, " is set by the heisen command only\n")
		exit(1)
	}
	heisen.fd = fd
	hello := [4]uint64{heisenVersion, uint64(firstmoduledata.text), uint64(firstmoduledata.etext - firstmoduledata.text), uint64(heisenGetpid())}
	heisenSend(heisenMsgHello, 0, 0, unsafe.Pointer(&hello), unsafe.Sizeof(hello))
	// The analyser looks at this process before it may end. One that does not want
	// the recording has closed the connection.
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
			print("heisen: no word, or no room, of what to watch; this run is not recorded\n")
			return
		}
		heisen.noisy = heisen.overlaps && heisenOverlaps.strength > 0
		if answer&heisenWantHidden != 0 {
			if !heisenInitHidden() {
				print("heisen: no word, or no room, of what is hidden; this run is not recorded\n")
				return
			}
			heisen.hides = true
		}
		if answer&heisenWantRaces != 0 {
			if !heisenInitFastTrack() {
				print("heisen: no address space to look for races in; this run is not recorded\n")
				return
			}
			heisen.races = true
		}
		if answer&heisenWantSched != 0 && !heisenInitSched() {
			print("heisen: no word of how to schedule; this run is not recorded\n")
			return
		}
		if heisen.quiet && !heisenInitOrigins() { // the last, for it does with what is left
			print("heisen: no address space for who starts goroutines; this run is not recorded\n")
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

// heisenAnswer waits for the analyser's answer.
func heisenAnswer() (answer int32, ok bool) {
	for {
		n := read(heisen.fd, noescape(unsafe.Pointer(&answer)), int32(unsafe.Sizeof(answer)))
		if n != -_EINTR {
			return answer, n == int32(unsafe.Sizeof(answer))
		}
	}
}

// heisenSend sends one message. Where the connection is gone, recording ends and
// the program goes on.
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
		heisen.on, heisen.overlapsOnly, heisen.open = false, false, false
		print("heisen: the analyser is gone; the rest of this run is not recorded\n")
	}
}

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
			// Without what these goroutines did on other Ps the receiver cannot use
			// the words, and the program may be killed before those fill theirs.
			b.moved = false
			heisenFlushAll(0)
		}
	})
}

// heisenSendWords sends what is complete in b and was not sent. b.lock is held;
// the owner may go on appending.
func heisenSendWords(b *heisenBuf) {
	end := atomic.Loaduintptr(&b.pos)
	skipped := min(atomic.Load64(&b.filter.skipped)-b.skippedSent, 1<<32-1)
	if heisen.open && (end > b.sent || skipped > 0) {
		heisenSend(heisenMsgWords, b.id, uint32(skipped), add(unsafe.Pointer(&b.words), b.sent*8), (end-b.sent)*8)
	}
	b.sent = end
	b.skippedSent += skipped
}

// heisenFlushAll sends what is complete in every buffer. It gives up on a buffer
// whose lock it cannot get; patience is that of heisenTryLock.
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

// heisenForever is the patience of who knows that the lock's holder will go on.
const heisenForever = -1

// heisenTryLock tries to get a lock for so many nanoseconds.
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

// heisenPoll is called by the monitor thread, which has no P: it sends what
// waits in the buffers of Ps that are idle or slow to fill them.
func heisenPoll() {
	if !heisen.on {
		return
	}
	now := nanotime1()
	if now-heisenPolled < heisenPollEvery && sched.npidle.Load() != gomaxprocs {
		return
	}
	heisenPolled = now
	heisenFlushAll(0)
}

// heisenFinish ends the recording of a program that exits with status 0 and
// returns the status that the analyser wants instead.
//
//go:nosplit
func heisenFinish() (status int32) {
	systemstack(func() {
		if !heisenEndRecording() {
			return
		}
		if answer, ok := heisenAnswer(); ok {
			status = answer
		}
	})
	return status
}

// heisenStop ends the recording of a program that exits with another status, or
// panics. Its thread is in none of the recorder's functions, so it waits for the
// threads that are; however far the analyser is behind, nothing is lost.
//
//go:nosplit
func heisenStop() {
	systemstack(func() { heisenEndRecording() })
}

// heisenEndRecording sends the rest and ends the recording. It reports whether it did: of
// several threads that end the program one does, and the others wait for it.
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

// Patience for threads that are in a hook: with that of the processors and of the
// analyser they go on, but the end of a program is worth no more.
const (
	heisenEndPatience   = 10 * 1000 * 1000 * 1000 // ns
	heisenAbortPatience = 1000 * 1000 * 1000      // ns
)

// heisenAwaitHooks stops the recording and waits until every event that has a stamp
// is written: without it nothing that comes after could be merged. A thread that
// has a stamp may have lost its processor. It returns how many stamps there are;
// a hook that was about to take one may still do so, after the end.
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
		// Counted one after the other, they are at most as many as there are stamps
		// now; if they are as many, none was under way.
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

// heisenAbort sends what it can before the program ends in another way: a fatal
// error, a signal. It may run in a signal handler on top of any other function of
// the recorder, so it does not insist on locks.
//
//go:nosplit
func heisenAbort() {
	if !heisen.on {
		return
	}
	systemstack(func() {
		heisenAwaitHooks(heisenAbortPatience)
		if heisenTryLock(&heisen.sendLock, heisenAbortPatience) {
			heisenUnlock(&heisen.sendLock)
			heisenFlushAll(heisenAbortPatience)
			heisenSendExecution()
		}
	})
}
