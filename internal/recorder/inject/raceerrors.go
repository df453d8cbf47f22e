//go:build heisen_inject

package runtime

import "internal/runtime/atomic"

// How many races were reported, those included that were found again by other calls. Package testing asks before and after each test, to fail the test
// during which one was found. In a program that sends its findings, the analyzer knows: it may not
// report all of them. It is asked only if something was found since it was asked last, so tests
// without races cost nothing. Programs that send events are told of no races, since the analyzer may
// be behind; but a fuzz test has no other way to learn which input fails, so that its workers wait.

// heisenReported is what the analyzer has answered.
var heisenReported struct {
	lock  uint32 // held by who waits for an answer of the analyzer
	found uint64 // findings that had been sent then
	count uint32 // of them were reported

	ended  bool  // the analyzer has given up, and answered with the exit status
	status int32 // then
}

// RaceErrors returns how many races were reported so far.
func RaceErrors() int {
	r := &heisenReported
	if heisen.open && (heisen.quiet && atomic.Load64(&r.found) != atomic.Load64(&heisen.found) || !heisen.quiet && heisenFuzzWorker) {
		systemstack(heisenAskReported)
	}
	if heisenAlone.on {
		systemstack(heisenPrintKept)
	}
	return int(atomic.Load(&r.count)) + int(atomic.Load(&heisenAlone.count)+atomic.Load(&heisenAlone.again))
}

// heisenAskReported asks the analyzer. It may wait, as sends do.
func heisenAskReported() {
	r := &heisenReported
	heisenLock(&r.lock)
	if found := atomic.Load64(&heisen.found); heisen.open && !r.ended && (found != r.found || !heisen.quiet) {
		if count, ok := heisenAskCount(heisenCountRaces); ok {
			atomic.Store(&r.count, count)
			atomic.Store64(&r.found, found)
		}
	}
	heisenUnlock(&r.lock)
}

// heisenAskCount asks the analyzer for a count, after everything recorded so far was sent. The caller
// holds heisenReported.lock, and the analyzer has not given up.
func heisenAskCount(of uint32) (count uint32, ok bool) {
	if !heisen.quiet {
		heisenAwaitWritten(heisenEventPatience)
	}
	heisenFlushAll(heisenForever)
	heisenSend(heisenMsgCount, of, 0, nil, 0)
	answer, ok := heisenAskAnswer()
	switch {
	case !ok: // The next message that is sent shows that the analyzer is gone.
	case answer&heisenCountAnswer != 0:
		return uint32(answer &^ heisenCountAnswer), true
	default:
		heisenReported.ended, heisenReported.status = true, answer
	}
	return 0, false
}
