//go:build heisen_inject

package runtime

import (
	"internal/runtime/atomic"
	linux "internal/runtime/syscall/linux"
	"unsafe"
)

const (
	heisenBatch    = 100 // places that are armed at once to see whether they run
	heisenTargets  = 4   // places that are armed at once to hold who comes first
	heisenMaxPeers = 48  // places that are armed during a hold
	heisenRearms   = 400 // places that are armed again during a hold

	heisenHitCost = 6_000 // nanoseconds of the goroutine that comes to a place
)

// heisenSamplerThread is the sampler's thread. It has no P, so that it can end holds whatever the scheduler does.
//
//go:nowritebarrierrec
func heisenSamplerThread() {
	lock(&sched.lock)
	sched.nmsys++ // as sysmon, it is no thread whose work a deadlock waits for
	checkdead()
	unlock(&sched.lock)

	s := &heisenSampler
	next := nanotime() + s.pause()
	for atomic.Load(&s.on) != 0 {
		seen := atomic.Load(&s.wake)
		now := nanotime()
		if atomic.Load(&s.hold.state) >= heisenHeld { // another goroutine may have come already
			s.watch()
			continue
		}
		if atomic.Loadint64(&s.options.cpu) == 0 {
			futexsleep(&s.wake, seen, -1)
			continue
		}
		if now < next {
			futexsleep(&s.wake, seen, next-now)
			continue
		}
		s.tick()
		next = now + s.pause()
	}
	for { // the thread of a program cannot end
		usleep(1_000_000_000)
	}
}

// pause returns the time to the next tick: that of the rate, and more if what was done since the last call took more than the share
// of a processor.
func (s *heisenSamplerState) pause() int64 {
	var cpu timespec
	const clockGettime, ofThread = 228, 3
	linux.Syscall6(clockGettime, ofThread, uintptr(noescape(unsafe.Pointer(&cpu))), 0, 0, 0, 0)
	spent := cpu.tv_sec*1_000_000_000 + cpu.tv_nsec + int64(atomic.Load64(&s.hits)+atomic.Load64(&s.late))*heisenHitCost
	last := s.spent
	s.spent = spent
	return max(1_000_000_000/s.options.rate, (spent-last)*100_000/max(1, atomic.Loadint64(&s.options.cpu)))
}

func heisenWakeSampler() {
	s := &heisenSampler
	atomic.Xadd(&s.wake, 1)
	futexwakeup(&s.wake, 1)
}

// tick arms the next places.
func (s *heisenSamplerState) tick() {
	s.hold.cancel() // one that was told to park at the last tick, and has not
	if s.isTraced() {
		return
	}
	fd := heisenOpenMemory()
	if fd < 0 {
		return
	}
	s.explore(fd)
	for range heisenTargets {
		if place, ok := s.target(); ok {
			s.arm(fd, place)
		}
	}
	atomic.Store(&s.chosen, 1)
	closefd(fd)
}

// target chooses a place at which a goroutine may be held: half of the time one of those that are suspected. Places of races
// that were told are chosen seldom.
func (s *heisenSamplerState) target() (place uint32, ok bool) {
	for range 4 {
		number := s.random()
		if place, ok = s.suspects.random(number >> 4); !ok || number&1 == 0 {
			n := s.table.numLive
			if n == 0 {
				return 0, false
			}
			place = s.table.live[number>>4%uint64(n)]
		}
		if s.table.told[place/8]&(1<<(place%8)) == 0 || number&0xe == 0 {
			return place, true
		}
	}
	return 0, false
}

// isTraced reports whether a debugger is attached, which would take breakpoints for the program's own. It looks once a second, and removes
// all breakpoints when one has come.
func (s *heisenSamplerState) isTraced() bool {
	now := nanotime()
	if now-s.looked < 1_000_000_000 {
		return s.traced
	}
	s.looked = now
	s.traced = heisenTracer()
	if s.traced {
		for i := range s.table.states {
			s.disarm(uint32(i))
		}
	}
	return s.traced
}

// heisenTracer reports whether a process traces this one.
func heisenTracer() bool {
	name := [...]byte{'/', 'p', 'r', 'o', 'c', '/', 's', 'e', 'l', 'f', '/', 's', 't', 'a', 't', 'u', 's', 0}
	fd := open(&name[0], _O_RDONLY|_O_CLOEXEC, 0)
	if fd < 0 {
		return false
	}
	var buffer [512]byte
	n := read(fd, noescape(unsafe.Pointer(&buffer[0])), int32(len(buffer)))
	closefd(fd)
	const key = "TracerPid:\t"
	for i := 0; i+len(key) < int(n); i++ {
		if string(buffer[i:i+len(key)]) == key {
			return buffer[i+len(key)] != '0'
		}
	}
	return false
}

// explore arms places that were not armed before, a batch of them, and collects those that were executed.
func (s *heisenSamplerState) explore(fd int32) {
	t := &s.table
	n := uint32(len(t.places))
	for range min(heisenBatch, n-s.explored) {
		s.arm(fd, s.cursor)
		s.cursor = (s.cursor + s.stride) % n
		s.explored++
	}
	t.numLive = 0
	for i := range t.isLive {
		for bits := atomic.Load8(&t.isLive[i]); bits != 0; bits &= bits - 1 {
			t.live[t.numLive] = uint32(i*8) + heisenLowest(bits)
			t.numLive++
		}
	}
}

// heisenLowest returns the number of the lowest bit that is set.
func heisenLowest(bits uint8) (n uint32) {
	for bits&1 == 0 {
		bits >>= 1
		n++
	}
	return n
}

// arm writes a breakpoint, if the instruction's byte is that of the table and the page may be changed. It reports whether it has.
func (s *heisenSamplerState) arm(fd int32, i uint32) bool {
	t := &s.table
	p := &t.places[i]
	at := t.text + uintptr(p.pc)
	page := uintptr(p.pc) / physPageSize
	if bit := uint8(1) << (page % 8); s.pages[page/8]&bit == 0 {
		if s.numPages == heisenMaxPages {
			return false
		}
		s.pages[page/8] |= bit
		s.numPages++
	}
	if !atomic.Cas(&t.states[i], heisenIdle, heisenArmed) {
		return false
	}
	if atomic.Load8(heisenByteAt(at)) == p.first && heisenWriteAt(fd, at, heisenBreakpoint) {
		return true
	}
	atomic.Store(&t.states[i], heisenIdle) // a debugger has a breakpoint there, or the text cannot be changed any more
	return false
}

// disarm removes a breakpoint that nobody came to.
func (s *heisenSamplerState) disarm(i uint32) {
	if atomic.Cas(&s.table.states[i], heisenArmed, heisenRestored) {
		s.table.restore(int32(i))
	}
}

// watch arms the places that may access the variable of the goroutine that is held, until it is time to let it go
// on or another goroutine has come.
func (s *heisenSamplerState) watch() {
	h := &s.hold
	end := h.since + atomic.Loadint64(&s.options.delay)
	var peers [heisenMaxPeers]uint32
	n := s.peers(peers[:])
	s.holds++
	rearms := heisenRearms
	if fd := heisenOpenMemory(); fd >= 0 {
		for atomic.Load(&h.state) == heisenHeld {
			for _, i := range peers[:n] {
				if rearms > 0 && atomic.Load(&s.table.states[i]) == heisenIdle && s.arm(fd, i) {
					rearms--
				}
			}
			now := nanotime()
			if now >= end || atomic.Load(&h.state) != heisenHeld {
				break
			}
			futexsleep(&s.wake, atomic.Load(&s.wake), min(end-now, 50_000))
		}
		closefd(fd)
	}
	for !atomic.Cas(&h.state, heisenHeld, heisenEnding) && !atomic.Cas(&h.state, heisenComplete, heisenEnding) {
		usleep(5) // the other goroutine's stack is being noted
	}
	if h.other >= 0 {
		t := &s.table
		t.told[h.place/8] |= 1 << (h.place % 8)
		t.told[h.other/8] |= 1 << (h.other % 8)
	}
	h.release()
	s.reports.wake()
	for _, i := range peers[:n] {
		s.disarm(i)
	}
}

// peers chooses places that may access the variable of the hold: those that were executed, at the same displacement. It
// returns how many.
func (s *heisenSamplerState) peers(out []uint32) (n int) {
	h, t := &s.hold, &s.table
	held := &t.places[h.place]
	out[0] = uint32(h.place)
	n = s.suspects.partners(out[0], out[:len(out)/2], 1)
	live := t.numLive
	if live == 0 {
		return n
	}
	at := int(s.random() % uint64(live))
	for range live {
		if at++; at == live {
			at = 0
		}
		i := t.live[at]
		p := &t.places[i]
		if i != uint32(h.place) && p.kind|held.kind >= heisenWrites && p.mayMeet(held, h, t) {
			out[n] = i
			if n++; n == len(out) {
				break
			}
		}
	}
	return n
}

// mayMeet reports whether a place may access the variable of a hold, as far as its operand says.
func (p *heisenPlace) mayMeet(held *heisenPlace, h *heisenHold, t *heisenTable) bool {
	if p.base == heisenText && p.index == heisenNoRegister {
		return heisenOverlap(t.text+uintptr(p.disp), p.size, h.addr, h.size)
	}
	return p.disp < held.disp+int32(held.size) && held.disp < p.disp+int32(p.size) ||
		p.index != heisenNoRegister || held.index != heisenNoRegister
}

//go:nosplit
func heisenByteAt(at uintptr) *uint8 { return (*uint8)(unsafe.Pointer(at)) }
