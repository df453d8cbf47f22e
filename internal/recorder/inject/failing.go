//go:build heisen_inject

package runtime

import (
	"internal/abi"
	"internal/runtime/atomic"
	"internal/runtime/sys"
	"internal/stringslite"
	"unsafe"
)

// Where a deterministic run fails: a goroutine ends the program by a panic that nobody recovers, by a fatal error, or by an
// exit with a status.

// heisenFailing is the first failure.
var heisenFailing struct {
	noted  uint32
	count  uintptr
	how    uint32
	labels uint32
	words  [1 + heisenMaxFailing]uint64 // the goroutine and, shifted by 32, its task; and the offsets of calls in the program's text, the innermost first
}

const heisenMaxFailing = 62

// heisenNoteFailing notes where the current goroutine is. The calls of deferred functions after a panic do not count, and
// neither do those of the runtime in which the failure has shown itself.
//
//go:nosplit
func heisenNoteFailing() {
	gp := getg()
	if !heisenSched.on || gp != gp.m.curg || gp.racectx == 0 || !atomic.Cas(&heisenFailing.noted, 0, 1) {
		return
	}
	pc, sp := sys.GetCallerPC(), sys.GetCallerSP()
	systemstack(func() {
		f := &heisenFailing
		h := (*heisenG)(unsafe.Pointer(gp.racectx))
		f.words[0] = uint64(h.id) | uint64(h.latestTask())<<32
		var u unwinder
		for u.initAt(pc, sp, 0, gp, unwindSilentErrors); u.valid() && f.count < heisenMaxFailing; u.next() {
			fn := u.frame.fn
			switch {
			case fn.funcID == abi.FuncID_gopanic:
				f.count, f.how = 0, 0
				continue
			case f.count == 0 && heisenOfRuntime(funcname(fn)):
				f.how = heisenFailingByRuntime
				continue
			}
			if at := heisenPC(u.symPC() + 1); at != 0 {
				f.count++
				f.words[f.count] = at
			}
		}
		f.labels = heisenLabelsOf(gp)
		if heisenSched.ending.begun {
			f.how |= heisenFailingAtEnd
		}
	})
}

func heisenOfRuntime(function string) bool {
	return stringslite.HasPrefix(function, "runtime.") || stringslite.HasPrefix(function, "internal/runtime/") || function == "os.runtime_beforeExit"
}

// heisenSendFailing sends the failure. The receiver knows its goroutine. It runs on the system stack.
func heisenSendFailing() {
	f := &heisenFailing
	if f.count > 0 {
		if heisenSendLabels(f.labels) {
			f.words[1] |= uint64(f.labels) << 32
		}
		for _, pc := range f.words[1 : 1+f.count] {
			heisenTellName(uint32(pc))
		}
		heisenSend(heisenMsgFailing, f.how, 0, unsafe.Pointer(&f.words), (1+f.count)*8)
		f.count = 0
	}
}
