//go:build heisen_inject

package runtime

import (
	"internal/runtime/atomic"
	"unsafe"
)

// Messages to the analyzer. Sends run on the system stack under heisen.sendLock and block when the
// analyzer is behind. The analyzer never waits for the program, so this cannot deadlock.

const heisenPollEvery = 5 * 1000 * 1000 // ns

// heisenSend sends a message. If the connection is broken, recording ends and the program
// continues.
func heisenSend(kind, id, skipped uint32, p unsafe.Pointer, n uintptr) {
	header := [4]uint32{kind, id, uint32(n), skipped}
	heisenLock(&heisen.sendLock)
	ok := heisenSendPlaces()
	ok = ok && heisenSendAll(unsafe.Pointer(&header), unsafe.Sizeof(header)) && heisenSendAll(p, n)
	heisenUnlock(&heisen.sendLock)
	heisenSent(ok)
}

// heisenSent ends the recording if something could not be sent.
func heisenSent(ok bool) {
	if !ok && heisen.open {
		heisenLost()
	}
}

// heisenLost is called if the analyzer has ended without having taken everything. It ends the
// recording, or lets the program go on alone.
func heisenLost() {
	if !heisenAloneNow() {
		heisen.off()
		heisenSayGone("heisen: the analyzer is gone; the rest of this run is not recorded\n")
	}
	heisen.open = false
}

// heisenSaidGone is the state of the message that the analyzer is gone: 0, or 1 while a thread prints
// it, and 2 once it has.
var heisenSaidGone uint32

// heisenSayGone prints a line, which says that the analyzer is gone and what follows from that. It is
// one string, so that another thread's report is not printed in its middle. Several threads may notice
// it, and one of them may end the program, so each waits until it was said. The patience is for a
// signal handler on top of the thread that prints.
func heisenSayGone(line string) {
	if atomic.Cas(&heisenSaidGone, 0, 1) {
		print(line)
		atomic.Store(&heisenSaidGone, 2)
		return
	}
	for start := nanotime1(); atomic.Load(&heisenSaidGone) != 2 && nanotime1()-start < heisenAbortPatience; {
		usleep(50)
	}
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

// heisenFlushAll sends the complete words of all buffers, and reports whether it did. It skips a
// buffer whose lock it cannot get; patience is that of heisenTryLock.
func heisenFlushAll(patience int64) (all bool) {
	all = true
	for i := range heisenAllBufs {
		b := heisenAllBufs[i]
		if b == nil {
			break
		}
		if !heisenTryLock(&b.lock, patience) {
			all = false
			continue
		}
		heisenSendWords(b)
		heisenUnlock(&b.lock)
	}
	return all
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

// heisenRelax is called by the monitor thread before it sleeps because the whole program is idle.
func heisenRelax() {
	heisenPoll()
	osRelax(true)
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
		if heisenEndRecording(0) {
			status = heisenAwaitVerdict()
		}
		if heisenAlone.on {
			heisenPrintKept()
			status = heisenAloneStatus()
		} else if heisenAlone.unable {
			status = heisenIncompleteStatus
		}
		if heisenHealing.only {
			heisenSayUnhealed()
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
		kept := heisen.mode == heisenModeFollow && heisenAlone.numKept > 0
		if kept && heisen.open {
			heisenLock(&heisenReported.lock) // for good
		}
		if heisenEndRecording(1) && kept {
			heisenAwaitVerdict()
		}
		if heisenAlone.on {
			heisenPrintKept()
			heisenAloneEnd()
		}
		if heisenHealing.only {
			heisenSayUnhealed()
		}
	})
}

// heisenAwaitVerdict waits until the analyzer has judged the run, and returns the exit status that it
// wants. What was sent may still be in the connection when the analyzer ends; only the answer shows
// that it was received. The caller holds heisenReported.lock.
func heisenAwaitVerdict() (status int32) {
	if heisenReported.ended {
		return heisenReported.status
	}
	status, ok := heisenAskAnswer()
	if !ok {
		heisenLost()
		return 0
	}
	return status
}

// heisenEndRecording sends the rest and ends the recording. failed is 1 if the program ends with another status than 0. It
// reports whether it did: if several threads end the program, one does, and the others wait for it.
func heisenEndRecording(failed uint32) bool {
	if !heisen.open || !atomic.Cas(&heisen.ending, 0, 1) {
		for heisen.open {
			usleep(100)
		}
		heisenDrain()
		return false
	}
	stamps, _ := heisenAwaitHooks(heisenEndPatience)
	heisenFlushAll(heisenForever)
	heisenSendFailing()
	heisenSendBye(stamps, failed)
	if !heisenDrain() {
		heisenLost()
		return false
	}
	return true
}

// heisenSendBye sends what is known at the end, and the last message.
func heisenSendBye(stamps uint64, failed uint32) {
	if heisen.overlaps {
		heisenSendOverlapStats()
	}
	if heisen.races {
		heisenSendRaceStats()
	}
	heisenSendExecution()
	bye := [2]uint64{heisen.lost, stamps}
	heisenSend(heisenMsgBye, failed, 0, unsafe.Pointer(&bye), unsafe.Sizeof(bye))
	heisen.open = false
}

// heisenBeforeExec is called before the program may become another one, with the same process
// number and without the thread that sends.
//
//go:nosplit
func heisenBeforeExec() {
	if !heisen.on {
		return
	}
	systemstack(func() {
		heisenFlushAll(heisenForever)
		heisenSend(heisenMsgReplaced, 1, 0, nil, 0)
		heisenDrain()
	})
}

// heisenAfterExec is called if the program has not become another one.
//
//go:nosplit
func heisenAfterExec() {
	if heisen.on {
		systemstack(func() { heisenSend(heisenMsgReplaced, 0, 0, nil, 0) })
	}
}

// Patience with threads that are in a hook. They continue once they have a processor and the
// analyzer catches up, but the end of a program is not worth a longer wait.
const (
	heisenEndPatience   = 10 * 1000 * 1000 * 1000 // ns
	heisenAbortPatience = 1000 * 1000 * 1000      // ns
)

// heisenAwaitHooks stops the recording and waits until every event with a stamp is written: later
// events could not be merged without it. A thread that has taken a stamp may have lost its
// processor. It returns the number of stamps, and whether all their events are written. A hook that
// was about to take one may still do so afterwards.
func heisenAwaitHooks(patience int64) (stamps uint64, all bool) {
	heisen.off()
	return heisenAwaitWritten(patience)
}

// heisenAwaitWritten waits until every event with a stamp is written. It returns the number of
// stamps, and whether all their events are written.
func heisenAwaitWritten(patience int64) (stamps uint64, all bool) {
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
			return stamps, synced == stamps
		}
		if i < heisenSpins {
			osyield()
		} else {
			usleep(50)
		}
	}
}

// heisenAbort ends the recording of a program that ends in another way: a fatal error or a signal.
// It may run in a signal handler on top of any function of the recorder, so it does not insist on
// locks. The last message is sent only if nothing is missing.
//
//go:nosplit
func heisenAbort() {
	if !heisen.on {
		return
	}
	heisenNoteFailing()
	systemstack(func() {
		if heisenAlone.on {
			heisenAloneEnd()
			return
		}
		stamps, all := heisenAwaitHooks(heisenAbortPatience)
		if !heisenTryLock(&heisen.sendLock, heisenAbortPatience) {
			heisenDrain()
			return
		}
		heisenUnlock(&heisen.sendLock)
		flushed := heisenFlushAll(heisenAbortPatience)
		heisenSendFailing()
		if flushed && all && atomic.Cas(&heisen.ending, 0, 1) {
			heisenSendBye(stamps, 1)
		} else {
			heisenSendExecution()
		}
		heisenDrain()
	})
}
