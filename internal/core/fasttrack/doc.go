// Package happens is happens-before as programs follow it by themselves: FastTrack
// (Flanagan and Freund, PLDI 2009; see package vclock) for many threads at a time,
// on memory that nobody else manages.
//
// Its files are injected into package runtime of instrumented programs, by their
// text, with the runtime's own atomics in place of sync/atomic. So they keep the
// rules that hold there: no allocation, no pointers in what is shared, nothing that
// grows or blocks for long, every function nosplit on a small frame. What differs
// between package runtime and the tests is in host.go.
//
// It reports what vclock.FastTrack reports: true races of the observed order only,
// and of every byte the first, if there are never more than some sixteen thousand threads
// that nobody is ordered after. Beyond that threads share slots of clocks: then races may be missed,
// but still none is invented. So it is where a thread releases a lock that another one has, who
// goes on without having told it so: of what that did under the lock before, races may be missed.
package fasttrack
