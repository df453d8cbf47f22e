// Package resident makes a process small while it waits for another one.
//
// A Go process keeps the heap of what it has done before, and the parts of its executable that it has run.
// [Shrink] gives both back to the operating system. What is needed again comes back by itself: pages of the
// executable from the page cache, in microseconds.
package resident

import "runtime/debug"

// Shrink gives memory back to the operating system. It collects garbage, so it takes some milliseconds. Several
// goroutines may call it. On systems other than Linux it keeps the pages of the executable.
func Shrink() {
	debug.FreeOSMemory()
	dropExecutable()
}
