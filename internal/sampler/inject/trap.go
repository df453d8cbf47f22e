//go:build heisen_inject

package runtime

import (
	"internal/runtime/atomic"
	linux "internal/runtime/syscall/linux"
	"unsafe"
)

const heisenBreakpoint = 0xcc // int3

// heisenTrap handles SIGTRAP. It reports whether the signal came from an armed place. It runs on the stack for signals,
// with all signals blocked.
//
//go:nowritebarrierrec
func heisenTrap(info *siginfo, c *sigctxt, gp *g) bool {
	const fromKernel = 0x80 // the code of int3
	s := &heisenSampler
	pc := c.sigpc() - 1
	if info.si_code != fromKernel {
		return false
	}
	i := s.table.find(pc)
	if i < 0 {
		return false
	}
	c.set_rip(uint64(pc)) // the instruction is executed again, with its own first byte
	if !atomic.Cas(&s.table.states[i], heisenArmed, heisenRestored) {
		atomic.Xadd64(&s.late, 1)
		return true // another thread is about to restore it, or has done so
	}
	s.table.restore(i)
	atomic.Xadd64(&s.hits, 1)
	s.see(i, pc, c, gp)
	return true
}

// restore writes the first byte of a place whose state the caller has set to heisenRestored.
func (t *heisenTable) restore(i int32) {
	if !heisenWriteText(t.text+uintptr(t.places[i].pc), t.places[i].first) {
		throw("heisen: a breakpoint cannot be removed")
	}
	atomic.Store(&t.states[i], heisenIdle)
}

// heisenWriteText writes a byte of the program's text. Descriptors are opened for each write, because the program may close
// them at any time and open others with the same numbers.
func heisenWriteText(at uintptr, value uint8) bool {
	fd := heisenOpenMemory()
	if fd >= 0 {
		ok := heisenWriteAt(fd, at, value)
		closefd(fd)
		if ok {
			return true
		}
	}
	// Without /proc, or without a free descriptor.
	page := unsafe.Pointer(alignDown(at, physPageSize))
	const mprotect, executable = 10, 4
	if _, _, errno := linux.Syscall6(mprotect, uintptr(page), physPageSize, _PROT_READ|_PROT_WRITE|executable, 0, 0, 0); errno != 0 {
		return false
	}
	atomic.Store8((*uint8)(unsafe.Pointer(at)), value)
	linux.Syscall6(mprotect, uintptr(page), physPageSize, _PROT_READ|executable, 0, 0, 0)
	return true
}

// heisenOpenMemory opens the process's memory. It returns a negative number if it cannot.
func heisenOpenMemory() int32 {
	name := [...]byte{'/', 'p', 'r', 'o', 'c', '/', 's', 'e', 'l', 'f', '/', 'm', 'e', 'm', 0}
	const readWrite = 2
	return open(&name[0], readWrite|_O_CLOEXEC, 0)
}

// heisenWriteAt writes a byte of the process's memory, which is open as fd.
func heisenWriteAt(fd int32, at uintptr, value uint8) bool {
	const pwrite64 = 18
	n, _, errno := linux.Syscall6(pwrite64, uintptr(fd), uintptr(noescape(unsafe.Pointer(&value))), 1, at, 0, 0)
	return errno == 0 && n == 1
}

// canWrite tries to write a byte of the text, the one that is there.
func (s *heisenSamplerState) canWrite() bool {
	fd := heisenOpenMemory()
	if fd < 0 {
		return false
	}
	place := &s.table.places[0]
	at := s.table.text + uintptr(place.pc)
	ok := *(*uint8)(unsafe.Pointer(at)) == place.first && heisenWriteAt(fd, at, place.first)
	closefd(fd)
	return ok
}

// see looks at what a goroutine is about to access at a place.
func (s *heisenSamplerState) see(i int32, pc uintptr, c *sigctxt, gp *g) {
	p := &s.table.places[i]
	addr := p.address(s.table.text, c)
	if gp == nil || gp.m == nil || gp != gp.m.curg || !heisenMayBeShared(addr) {
		atomic.Xadd64(&s.private, 1)
		return
	}
	s.table.setLive(i)
	s.suspects.came(s.table.places, i, addr, gp)
	h := &s.hold
	switch atomic.Load(&h.state) {
	case heisenHeld:
		if gp != h.goroutine.ptr() && p.kind|h.kind >= heisenWrites && heisenOverlap(addr, p.size, h.addr, h.size) &&
			atomic.Cas(&h.state, heisenHeld, heisenCaught) {
			s.caught(i, addr, pc, c, gp)
		}
	case heisenFree:
		if atomic.Load(&s.chosen) != 0 {
			s.begin(i, addr, pc, c, gp)
		}
	}
}

func heisenOverlap(a uintptr, n uint8, b uintptr, m uint8) bool {
	return a < b+uintptr(m) && b < a+uintptr(n)
}

// address returns the address that an instruction is about to access.
func (p *heisenPlace) address(text uintptr, c *sigctxt) uintptr {
	at := uintptr(p.disp)
	switch p.base {
	case heisenNoRegister:
	case heisenText:
		at += text
	default:
		at += heisenRegister(c, p.base)
	}
	if p.index != heisenNoRegister {
		at += heisenRegister(c, p.index) * uintptr(p.scale)
	}
	return at
}

// heisenRegister returns a register by its number in instructions.
func heisenRegister(c *sigctxt, number uint8) uintptr {
	r := c.regs()
	switch number {
	case 0:
		return uintptr(r.rax)
	case 1:
		return uintptr(r.rcx)
	case 2:
		return uintptr(r.rdx)
	case 3:
		return uintptr(r.rbx)
	case 4:
		return uintptr(r.rsp)
	case 5:
		return uintptr(r.rbp)
	case 6:
		return uintptr(r.rsi)
	case 7:
		return uintptr(r.rdi)
	case 8:
		return uintptr(r.r8)
	case 9:
		return uintptr(r.r9)
	case 10:
		return uintptr(r.r10)
	case 11:
		return uintptr(r.r11)
	case 12:
		return uintptr(r.r12)
	case 13:
		return uintptr(r.r13)
	case 14:
		return uintptr(r.r14)
	default:
		return uintptr(r.r15)
	}
}

// heisenMayBeShared reports whether an address is of the heap or of a global variable, and not of a stack.
func heisenMayBeShared(addr uintptr) bool {
	if span := spanOf(addr); span != nil {
		return span.state.get() == mSpanInUse
	}
	for m := &firstmoduledata; m != nil; m = m.next {
		if m.noptrdata <= addr && addr < m.enoptrbss {
			return true
		}
	}
	return false
}

// setLive notes that a place was executed.
func (t *heisenTable) setLive(i int32) {
	bit := uint8(1) << (i % 8)
	word := &t.isLive[i/8]
	if atomic.Load8(word)&bit == 0 {
		atomic.Or8(word, bit)
	}
}
