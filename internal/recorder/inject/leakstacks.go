//go:build heisen_inject

package runtime

import (
	"internal/abi"
	"internal/goarch"
	"unsafe"
)

// The stacks of goroutines in the search for those that wait for ever (leaks.go). One that waits was stopped
// in a call, as was the one that looks. There the compiler says which words are live pointers, as it does for
// the garbage collector.
// Variables whose address was taken count as long as their call lasts. All words of other stacks count.

// stack marks what the stack of a goroutine leads to.
func (w *heisenLeakSearch) stack(gp *g) {
	if gp != w.self && !heisenWaiting(gp) || gp.asyncSafePoint || gp.syscallsp != 0 || !w.frames(gp) {
		w.wholeStack(gp)
		return
	}
	for d := gp._defer; d != nil; d = d.link {
		w.mark(*(*uintptr)(unsafe.Pointer(&d.fn)))
		w.mark(uintptr(unsafe.Pointer(d.link)))
	}
}

// wholeStack marks what any word of a stack leads to.
func (w *heisenLeakSearch) wholeStack(gp *g) {
	sp := gp.sched.sp
	if gp.syscallsp != 0 {
		sp = gp.syscallsp
	}
	if sp-gp.stack.lo < gp.stack.hi-gp.stack.lo {
		w.words(sp, gp.stack.hi-sp)
	}
}

// frames marks what the calls that a goroutine is in lead to. It reports whether it could follow them to the
// last one, and all were made by calls.
func (w *heisenLeakSearch) frames(gp *g) (all bool) {
	var u unwinder
	for u.init(gp, unwindSilentErrors); u.valid(); u.next() {
		f := &u.frame
		if f.fn.funcID == abi.FuncID_asyncPreempt || f.fn.funcID == abi.FuncID_debugCallV2 || heisenStandsIn(f.fn) {
			return false
		}
		w.frame(f)
		all = f.fn.flag&abi.FuncFlagTopFrame != 0
	}
	return all
}

// frame marks what a call leads to.
func (w *heisenLeakSearch) frame(f *stkframe) {
	locals, args, objects := f.getStackMap(false)
	w.live(f.varp-uintptr(locals.n)*goarch.PtrSize, locals)
	w.live(f.argp, args)
	if f.varp == 0 {
		return
	}
	for i := range objects {
		o := &objects[i]
		at := f.varp
		if o.off >= 0 {
			at = f.argp
		}
		if at += uintptr(o.off); at >= f.sp {
			w.words(at, uintptr(o.size))
		}
	}
}

// live marks what the live pointers of a frame lead to.
func (w *heisenLeakSearch) live(base uintptr, bits bitvector) {
	for i := range uintptr(bits.n) {
		if bits.ptrbit(i) != 0 {
			w.mark(*(*uintptr)(unsafe.Pointer(base + i*goarch.PtrSize)))
		}
	}
}
