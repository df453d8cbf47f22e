//go:build heisen_inject

package runtime

import (
	"internal/runtime/atomic"
	"unsafe"
)

// heisenReports hands catches to the goroutine that writes reports.
type heisenReports struct {
	catch heisenCatch
	state uint32 // of the catch
	lost  uint64 // catches while another one was being written

	lock     mutex
	reporter *g
	idle     atomic.Bool // the goroutine waits

	// Only of who writes.
	known []uint64

	all  mutex          // guards told
	told []*heisenCatch // for package field
}

// States of the catch.
const (
	heisenNothing = iota
	heisenNoted
	heisenWriting
)

// heisenCatch is a race: two goroutines that were about to access a variable at the same time.
type heisenCatch struct {
	held, came heisenAccess
}

// heisenAccess is what a goroutine was about to do.
type heisenAccess struct {
	addr  uintptr
	size  uint8
	kind  uint8
	stack heisenStack
}

// caught notes a catch. It runs in the handler of the goroutine that came, in state heisenCaught.
func (s *heisenSamplerState) caught(i int32, addr, pc uintptr, c *sigctxt, gp *g) {
	h, r := &s.hold, &s.reports
	atomic.Xadd64(&s.catches, 1)
	h.other = i
	if atomic.Load(&r.state) == heisenNothing {
		p := &s.table.places[i]
		k := &r.catch
		k.held.addr, k.held.size, k.held.kind, k.held.stack = h.addr, h.size, h.kind, h.stack
		k.came.addr, k.came.size, k.came.kind = addr, p.size, p.kind
		k.came.stack.note(pc, c, gp)
		atomic.Store(&r.state, heisenNoted)
	} else {
		atomic.Xadd64(&r.lost, 1)
	}
	atomic.Store(&h.state, heisenComplete)
	heisenWakeSampler()
}

// wake makes the goroutine that writes reports runnable, if there is something to write. Only the sampler's thread calls it.
func (r *heisenReports) wake() {
	if atomic.Load(&r.state) != heisenNoted || !r.idle.Load() {
		return
	}
	lock(&r.lock)
	r.idle.Store(false)
	var list gList
	list.push(r.reporter)
	injectglist(&list)
	unlock(&r.lock)
}

// heisenReporter writes reports.
func heisenReporter() {
	r := &heisenSampler.reports
	r.reporter = getg()
	for {
		lock(&r.lock)
		r.idle.Store(true)
		goparkunlock(&r.lock, waitReasonForceGCIdle, traceBlockSystemGoroutine, 1)
		r.write()
	}
}

// write writes the catch that there is, unless an equal one was written.
func (r *heisenReports) write() {
	if !atomic.Cas(&r.state, heisenNoted, heisenWriting) {
		return
	}
	k := &r.catch
	if pair := k.pair(); !r.knows(pair) {
		r.known = append(r.known, pair)
		text := k.text()
		write(2, unsafe.Pointer(&text[0]), int32(len(text)))
		kept := new(heisenCatch)
		*kept = *k
		lock(&r.all)
		told := r.told
		unlock(&r.all)
		told = append(told, kept) // outside of the lock, because it allocates
		lock(&r.all)
		r.told = told
		unlock(&r.all)
	}
	atomic.Store(&r.state, heisenNothing)
}

// heisenFlush writes what was caught, when main has returned or the program calls os.Exit.
func heisenFlush() {
	r := &heisenSampler.reports
	for end := nanotime() + 100_000_000; atomic.Load(&r.state) != heisenNothing && nanotime() < end; {
		r.write()
		Gosched()
	}
}

func (r *heisenReports) knows(pair uint64) bool {
	for _, k := range r.known {
		if k == pair {
			return true
		}
	}
	return false
}

// pair returns a number for the two lines, whatever their order.
func (k *heisenCatch) pair() uint64 {
	a, b := k.held.line(), k.came.line()
	return min(a, b)*0x9E3779B97F4A7C15 ^ max(a, b)
}

// line returns a number for the line and the function of an access.
func (a *heisenAccess) line() uint64 {
	frame, _ := CallersFrames(a.stack.pcs[:min(1, a.stack.depth)]).Next()
	hash := uint64(frame.Line)
	for _, c := range []byte(frame.Function) {
		hash = (hash ^ uint64(c)) * 0x100000001B3
	}
	return hash
}

// text returns a report as the race detector writes it.
func (k *heisenCatch) text() []byte {
	var b []byte
	b = append(b, "==================\nWARNING: DATA RACE\n"...)
	b = k.held.append(b)
	b = append(b, '\n')
	b = k.came.append(b)
	b = k.held.stack.appendOrigin(b)
	b = k.came.stack.appendOrigin(b)
	return append(b, "==================\n"...)
}

func (a *heisenAccess) append(b []byte) []byte {
	if a.kind&heisenWrites != 0 {
		b = append(b, "Write at 0x"...)
	} else {
		b = append(b, "Read at 0x"...)
	}
	b = heisenAppendNumber(b, uint64(a.addr), 16, 12)
	b = append(b, " by goroutine "...)
	b = heisenAppendNumber(b, a.stack.goid, 10, 1)
	b = append(b, ":\n"...)
	return heisenAppendFrames(b, a.stack.pcs[:a.stack.depth])
}

func heisenAppendFrames(b []byte, pcs []uintptr) []byte {
	frames := CallersFrames(pcs)
	for len(pcs) > 0 {
		frame, more := frames.Next()
		if frame.Function != "runtime.goexit" && frame.Function != "runtime.main" {
			b = append(b, "  "...)
			b = append(b, frame.Function...)
			b = append(b, "()\n      "...)
			b = append(b, frame.File...)
			b = append(b, ':')
			b = heisenAppendNumber(b, uint64(frame.Line), 10, 1)
			b = append(b, " +0x"...)
			b = heisenAppendNumber(b, uint64(frame.PC-frame.Entry), 16, 1)
			b = append(b, '\n')
		}
		if !more {
			break
		}
	}
	return b
}

// appendOrigin appends where the goroutine was started.
func (k *heisenStack) appendOrigin(b []byte) []byte {
	if k.goid == 1 {
		return b // the main goroutine
	}
	b = append(b, "\nGoroutine "...)
	b = heisenAppendNumber(b, k.goid, 10, 1)
	b = append(b, " (running) created at:\n"...)
	return heisenAppendFrames(b, []uintptr{k.created})
}

// heisenAppendNumber appends a number in a base, with zeros up to a width.
func heisenAppendNumber(b []byte, n, base uint64, width int) []byte {
	var digits [20]byte
	i := len(digits)
	for n > 0 || width > 0 {
		i--
		digits[i] = "0123456789abcdef"[n%base]
		n /= base
		width--
	}
	return append(b, digits[i:]...)
}
