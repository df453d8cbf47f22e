//go:build heisen_inject

package runtime

import (
	"internal/runtime/atomic"
	"unsafe"
)

// The connection to the analyzer. A program may close any descriptor, know it or not, and open
// another file under its number, so the connection is in no table that the program can reach: a
// thread that does nothing else has a table of descriptors of its own, with the connection only.
// Messages pass through a ring of bytes in memory. Processes that the program starts inherit
// neither.
//
// heisen.sendLock makes its holder the only one that writes to the ring. The thread has no P and
// never stops for the garbage collector.

const heisenRingBytes = 256 << 10 // a power of two; several full buffers

// heisenOut is the ring. Counts of bytes wrap around.
var heisenOut struct {
	started bool
	own     bool              // the thread has its own table of descriptors
	id      [2]heisenIdentity // of the connection, if it does not
	pid     uintptr
	ring    uintptr

	queued uint32 // bytes written to the ring
	sent   uint32 // bytes sent
	broken uint32 // 1 once the connection is
	ready  uint32 // 1 once the thread has taken the connection

	idle    uint32 // 1 if the thread sleeps
	waiting uint32 // 1 if threads wait for bytes to be sent
	asked   uint32 // for an answer
	answer  int32
}

// The values of heisenOut.asked.
const (
	heisenAsked    = 1
	heisenAnswered = 2
	heisenNoAnswer = 3
)

// heisenWaitSlice is how long a thread waits for the sending thread before it makes sure that there
// is one: a process that was forked without exec has none.
const heisenWaitSlice = 1000 * 1000 * 1000 // ns

// heisenStartSender hands the connection to a new thread. The program's descriptors are then those
// that it would have without heisen.
func heisenStartSender() bool {
	o := &heisenOut
	if o.ring = uintptr(heisenReserve(heisenRingBytes)); o.ring == 0 {
		return false
	}
	o.pid, o.id = heisenGetpid(), heisenConnectionIs()
	systemstack(func() {
		if !heisenSenderSleeps() {
			newm(heisenSender, nil, -1)
			heisenSenderStarts()
		}
	})
	return true
}

// heisenSenderStarts waits until the new thread has the connection.
func heisenSenderStarts() {
	o := &heisenOut
	for atomic.Load(&o.ready) == 0 {
		heisenSleepOn(&o.ready, 0, -1)
	}
	o.started = true
	if o.own {
		heisenCloseConnection()
	}
}

// heisenOwnThread is called first in a thread of heisen's. Signals are for other threads, except those that
// each thread must handle.
//
//go:nowritebarrierrec
func heisenOwnThread() {
	heisenBlockSignals()
	lock(&sched.lock)
	sched.nmsys++ // it runs no goroutine, so it prevents no deadlock
	unlock(&sched.lock)
}

// heisenSender runs in the thread.
//
//go:nowritebarrierrec
func heisenSender() {
	o := &heisenOut
	heisenOwnThread()
	o.own = heisenTakeDescriptors(heisen.to)
	atomic.Store(&o.ready, 1)
	heisenWakeUp(&o.ready, 1)
	for {
		switch {
		case atomic.Load(&o.broken) == 0 && o.sent != atomic.Load(&o.queued):
			heisenSendQueued()
		case atomic.Load(&o.asked) == heisenAsked:
			state := uint32(heisenNoAnswer)
			if heisenConnected() {
				if answer, ok := heisenReadAnswer(); ok {
					o.answer, state = answer, heisenAnswered
				}
			}
			atomic.Store(&o.asked, state)
			heisenWakeUp(&o.asked, 1)
		default:
			atomic.Store(&o.idle, 1)
			if (o.sent == atomic.Load(&o.queued) || atomic.Load(&o.broken) != 0) && atomic.Load(&o.asked) != heisenAsked {
				heisenSleepOn(&o.idle, 1, -1)
			}
			atomic.Store(&o.idle, 0)
		}
	}
}

// heisenConnected reports whether the descriptors are those of the connection. Without a table of its
// own, all that the thread can do is to look first.
func heisenConnected() bool {
	return heisenOut.own || heisenConnectionIs() == heisenOut.id
}

// heisenConnectionIs returns what identifies the files at the descriptors of the connection.
func heisenConnectionIs() [2]heisenIdentity {
	return [2]heisenIdentity{heisenIdentityOf(heisen.to), heisenIdentityOf(heisen.from)}
}

// heisenSendQueued sends bytes of the ring.
func heisenSendQueued() {
	o := &heisenOut
	at := uintptr(o.sent % heisenRingBytes)
	n := min(uintptr(atomic.Load(&o.queued)-o.sent), heisenRingBytes-at)
	k := 0 // broken
	if heisenConnected() {
		k = heisenSendto(heisen.to, unsafe.Pointer(o.ring+at), n)
	}
	switch {
	case k > 0:
		atomic.Store(&o.sent, o.sent+uint32(k))
	case k == -heisenInterrupted || k == -heisenBusy:
		return
	default:
		atomic.Store(&o.broken, 1)
	}
	if atomic.Load(&o.waiting) != 0 && atomic.Xchg(&o.waiting, 0) != 0 {
		heisenWakeUp(&o.waiting, 1<<30)
	}
}

// heisenWakeSender wakes the thread if it sleeps.
func heisenWakeSender() {
	if o := &heisenOut; atomic.Load(&o.idle) != 0 && atomic.Xchg(&o.idle, 0) != 0 {
		heisenWakeUp(&o.idle, 1)
	}
}

// heisenSendAll sends n bytes, now or through the ring, and reports whether it could. The caller
// holds heisen.sendLock.
func heisenSendAll(p unsafe.Pointer, n uintptr) bool {
	o := &heisenOut
	for n > 0 {
		k := 0
		if !o.started {
			if k = heisenSendto(heisen.to, p, n); k == -heisenInterrupted || k == -heisenBusy {
				continue
			}
		} else if k = heisenQueue(p, n); k == 0 && heisenAwaitSent(o.queued-heisenRingBytes) {
			continue
		}
		if k <= 0 {
			return false
		}
		p, n = add(p, uintptr(k)), n-uintptr(k)
	}
	return atomic.Load(&o.broken) == 0
}

// heisenQueue writes up to n bytes to the ring and returns how many.
func heisenQueue(p unsafe.Pointer, n uintptr) int {
	o := &heisenOut
	at := uintptr(o.queued % heisenRingBytes)
	room := heisenRingBytes - uintptr(o.queued-atomic.Load(&o.sent))
	if n = min(n, room, heisenRingBytes-at); n > 0 {
		memmove(unsafe.Pointer(o.ring+at), p, n)
		atomic.Store(&o.queued, o.queued+uint32(n))
		heisenWakeSender()
	}
	return int(n)
}

// heisenAwaitSent waits until more than the first so many bytes are sent. It reports whether they
// are; else the connection is broken.
func heisenAwaitSent(sent uint32) bool {
	o := &heisenOut
	for atomic.Load(&o.sent) == sent && atomic.Load(&o.broken) == 0 {
		atomic.Store(&o.waiting, 1)
		if atomic.Load(&o.sent) == sent && atomic.Load(&o.broken) == 0 {
			heisenSleepOn(&o.waiting, 1, heisenWaitSlice)
		}
		if heisenGetpid() != o.pid {
			atomic.Store(&o.broken, 1)
		}
	}
	return atomic.Load(&o.broken) == 0
}

// heisenDrain waits until everything so far is sent, and reports whether it is.
func heisenDrain() bool {
	o := &heisenOut
	if !o.started {
		return true
	}
	for queued := atomic.Load(&o.queued); ; {
		sent := atomic.Load(&o.sent)
		if int32(queued-sent) <= 0 {
			return true
		}
		if !heisenAwaitSent(sent) {
			return false
		}
	}
}

// heisenAskAnswer waits for the analyzer's answer to what was sent.
func heisenAskAnswer() (answer int32, ok bool) {
	o := &heisenOut
	if !o.started {
		return heisenReadAnswer()
	}
	atomic.Store(&o.asked, heisenAsked)
	heisenWakeSender()
	for atomic.Load(&o.asked) == heisenAsked && heisenGetpid() == o.pid {
		heisenSleepOn(&o.asked, heisenAsked, heisenWaitSlice)
	}
	return o.answer, atomic.Load(&o.asked) == heisenAnswered
}

// heisenHangUp ends the connection of a program that is not recorded.
func heisenHangUp() {
	heisenSocket = ""
	if !heisenOut.started {
		heisenCloseConnection()
		return
	}
	heisenDrain() // it ends with the program
}
