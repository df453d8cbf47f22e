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
// A variable whose address was taken counts if such a word, or another such variable, points to it; so may one whose call has
// ended, or that was not set yet. All words of other stacks count.

// heisenStackVariables has what was found on one stack of variables whose address was taken. A search uses it for one stack after
// the other.
type heisenStackVariables struct {
	lo, hi   uintptr                         // of the stack
	pointers [heisenMaxStackPointers]uintptr // to such variables, or to other words of the stack
	n        int
	reached  [heisenMaxStackPointers]uintptr // addresses of those that are pointed to
	nReached int
	every    bool // there are too many: all count
}

const heisenMaxStackPointers = 128

var heisenOnOneStack heisenStackVariables

// add adds a pointer, if it points to the stack.
func (v *heisenStackVariables) add(p uintptr) {
	switch {
	case p-v.lo >= v.hi-v.lo:
	case v.n == len(v.pointers):
		v.every = true
	default:
		v.pointers[v.n] = p
		v.n++
	}
}

// reaches reports whether a variable is pointed to, by what was added behind the first pointers, and was not reached before.
func (v *heisenStackVariables) reaches(at, size uintptr, from int) bool {
	for _, known := range v.reached[:v.nReached] {
		if known == at {
			return false
		}
	}
	pointed := v.every
	for _, p := range v.pointers[from:v.n] {
		pointed = pointed || p-at < size
	}
	switch {
	case !pointed:
	case v.nReached == len(v.reached):
		v.every = true
	default:
		v.reached[v.nReached] = at
		v.nReached++
	}
	return pointed
}

// stack marks what the stack of a goroutine leads to.
func (w *heisenLeakSearch) stack(gp *g) {
	if gp != w.self && !heisenWaiting(gp) || gp.asyncSafePoint || gp.syscallsp != 0 || !w.frames(gp) {
		w.wholeStack(gp)
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
	v := &heisenOnOneStack
	v.lo, v.hi, v.n, v.nReached, v.every = gp.stack.lo, gp.stack.hi, 0, 0, false
	var u unwinder
	for u.init(gp, unwindSilentErrors); u.valid(); u.next() {
		f := &u.frame
		if f.fn.funcID == abi.FuncID_asyncPreempt || f.fn.funcID == abi.FuncID_debugCallV2 || heisenStandsIn(f.fn) {
			return false
		}
		w.frame(f)
		all = f.fn.flag&abi.FuncFlagTopFrame != 0
	}
	if !all {
		return false
	}
	for d := gp._defer; d != nil; d = d.link {
		w.onStack(uintptr(unsafe.Pointer(d)))
		w.onStack(*(*uintptr)(unsafe.Pointer(&d.fn)))
	}
	w.onStack(uintptr(unsafe.Pointer(gp._panic)))
	w.onStack(uintptr(gp.sched.ctxt))
	for from, every := 0, false; from < v.n || every != v.every; { // until no variable leads to further ones
		n := v.n
		every = v.every
		for u.init(gp, unwindSilentErrors); u.valid(); u.next() {
			w.variables(&u.frame, from)
		}
		from = n
	}
	return true
}

// onStack marks what a word of a stack, or a word that belongs to it, leads to.
func (w *heisenLeakSearch) onStack(p uintptr) {
	w.mark(p)
	heisenOnOneStack.add(p)
}

// frame marks what the live pointers of a call lead to.
func (w *heisenLeakSearch) frame(f *stkframe) {
	locals, args, _ := f.getStackMap(false)
	w.live(f.varp-uintptr(locals.n)*goarch.PtrSize, locals)
	w.live(f.argp, args)
}

// variables marks what those variables of a call lead to whose address was taken, and to which pointers behind the first ones point.
func (w *heisenLeakSearch) variables(f *stkframe, from int) {
	if f.varp == 0 {
		return
	}
	_, _, objects := f.getStackMap(false)
	for i := range objects {
		o := &objects[i]
		at := f.varp
		if o.off >= 0 {
			at = f.argp
		}
		if at += uintptr(o.off); at < f.sp || !heisenOnOneStack.reaches(at, uintptr(o.size), from) {
			continue
		}
		for end := at + uintptr(o.ptrBytes); at < end; at += goarch.PtrSize { // behind that, it has no pointers
			w.onStack(*(*uintptr)(unsafe.Pointer(at)))
		}
	}
}

// live marks what the live pointers of a frame lead to.
func (w *heisenLeakSearch) live(base uintptr, bits bitvector) {
	for i := range uintptr(bits.n) {
		if bits.ptrbit(i) != 0 {
			w.onStack(*(*uintptr)(unsafe.Pointer(base + i*goarch.PtrSize)))
		}
	}
}
