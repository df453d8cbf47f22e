//go:build heisen_inject

package runtime

// Where a hook may stop its goroutine: at a point of a deterministic run (schedpoints.go), for noise
// (overlaps.go), and to wait for a healing lock (heal.go). Others run meanwhile, and the garbage
// collector may. So three rules hold for all code from the program down to the stop. A test in
// internal/build looks at the calls of the whole runtime for what breaks them.
//
//   - Every pointer that is still needed is visible to the collector: it is in a frame as a pointer.
//     A function that has it as a uintptr only, and needs it afterwards, must not stop. The hooks that
//     compiled code calls get addresses as uintptr, between instructions that belong together. There
//     the collector scans the frame of the program conservatively (heisenStandsIn).
//   - A write barrier is taken after the stop, right before its store. A barrier that was taken before
//     says nothing to a collection that has begun since.
//   - Nobody may be waiting for this goroutine without it: it holds no lock of the runtime, and is not
//     pinned to its P (heisenStoppable).
//
// For tests, the environment variable HEISEN_COLLECT=N makes the program collect garbage while a
// goroutine is stopped: at every Nth point of a deterministic run; otherwise where it waits, and all the
// time beside that. With GODEBUG=clobberfree=1, a pointer that was not visible then leads to 0xdeadbeef.

const heisenCollectEnv = "HEISEN_COLLECT"

// heisenCollecting is the state of the goroutine that collects.
var heisenCollecting struct {
	lock  mutex
	every int64 // points from one collection to the next; 0 if none is asked for
	since int64 // points since the last one
	gp    guintptr
	idle  bool
}

// heisenStartCollecting starts the goroutine that collects, if the variable's value asks for it.
func heisenStartCollecting(value string) {
	if n, ok := heisenNumber(value); ok && n > 0 {
		heisenCollecting.every = n
		go heisenCollect()
	}
}

// heisenCollect collects garbage. It is a goroutine of the runtime.
func heisenCollect() {
	c := &heisenCollecting
	for {
		if heisenSched.on {
			lock(&c.lock)
			c.gp.set(getg())
			c.idle = true
			goparkunlock(&c.lock, waitReasonForceGCIdle, traceBlockSystemGoroutine, 1)
		}
		if memstats.enablegc { // else GC would wait for ever
			GC()
		} else {
			Gosched()
		}
	}
}

// heisenYield lets other goroutines run, where the current one is stopped in a call that it has made.
func heisenYield() {
	Gosched()
	if heisenCollecting.every != 0 && memstats.enablegc {
		GC()
	}
}

// heisenStops is called when a goroutine is stopped at a point, on the system stack. The goroutine that
// collects comes next, if it is its turn.
func heisenStops() {
	c := &heisenCollecting
	if c.every == 0 || !memstats.enablegc {
		return
	}
	if c.since++; c.since < c.every {
		return
	}
	lock(&c.lock)
	idle := c.idle
	c.idle = false
	unlock(&c.lock)
	if idle {
		c.since = 0
		ready(c.gp.ptr(), 0, false)
	}
}
