// Package trace reads, writes, checks, counts and prints traces of events.
//
// [Open] and [NewReader] read a trace in whichever format it is and tell the
// two apart by themselves; both formats may be compressed with gzip. Readers
// are heisen.Sources. Writers, [Validator], [Stats] and [Printer] are
// heisen.Detectors, so that heisen.Run drives them and heisen.Tee combines
// them. Nothing here is safe for concurrent use; the Symbols of a reader
// belong to the goroutine that calls Next.
//
// A trace may be cut off or damaged at any byte. Every record that is complete
// before that place is delivered first; then comes an error that says where the
// damage is: a [*TruncatedError], a [*SyntaxError] or a [*CorruptError]. A
// reader whose input is cut off can be asked again when the input has grown.
//
// # The STD text format
//
// One event stands on each line: thread, operation and site with a bar
// between.
//
//	T0|acq(L1)|17
//	T0|w(balance)|main.go:12
//	T0|rel(L1)
//
// Threads and the names in parentheses are any text without bars, parentheses
// and line ends; threads have the numbers 0, 1, 2 in order of first
// appearance. The site is any text; it and its bar may be missing, which is
// Site 0. Lines may end in CR LF; blank lines are passed over. Everything else
// is a SyntaxError. Each line has an end, the last one too: a line without may
// be the first half of a longer one.
//
// Operations that analysers of the field exchange:
//
//	r(x) w(x)           Read, Write
//	acq(l) rel(l)       Acquire, Release
//	fork(t) join(t)     Fork, Join
//	begin end           Enter, Exit: a transaction, which may be named: begin(pay)
//	branch              Branch
//	req(l)              no event: asking for a lock orders and changes nothing
//
// Operations that only this package knows, so that every Op has a text:
//
//	ar(x) aw(x) au(x)   AtomicRead, AtomicWrite, AtomicUpdate
//	done(x)             Done
//	racq(l) rrel(l)     AcquireShared, ReleaseShared
//	send(m) recv(m)     Send, Receive
//	change(m) observe(m) Change, Observe
//	start stop          Begin, End: a thread's first and last event
//	call return         Call, Return
//	hide(f) reveal(f)   Hide, Reveal
//	hide(f)=o(x)t(T1)   Hide of a call that reaches x and the thread T1 only
//	alloc(x,n) free(x,n)  Alloc, Free of n bytes
//	w4(x) w(x)=17       an access of 4 bytes; of the value 17; also w4(x)=17
//
// Those without parentheses may have a name in parentheses too; without, their
// object is 0.
//
// What a hidden call reaches is any number of o(x), the variable and the lock
// called x, also with a number of bytes, o64(x), and t(t), the thread called t; or
// none. Without, it is everything.
//
// The same name is another object as a variable or message, as a lock and as a
// section (all others). Each has a number that is a multiple of 8, from 8 on,
// and at least as many bytes to itself as the event needs in which it first
// stands; a later event that needs more is an error. A name written like an
// address, 0x and lower-case hexadecimal digits without leading zeros, from
// 0x100000 to 0xffffffffffff, is that number in all classes, so that ranges,
// overlaps and the identity of recorded addresses survive. (0x100000000000 to
// 0x10ffffffffff are ordinary names: this package's numbers continue there
// should the lower ones run out.)
//
// Contexts do not stand in the text. The reader follows each thread's locks and
// calls, so that a record's context is that just before its event.
//
// # The binary format
//
// It keeps everything in records and Symbols, in two to three bytes an event as
// a rule, and reads faster than the text. A file is a header and blocks, each
// complete in itself with a checksum, so that a trace can be read while it is
// written. The file format.md in this package's directory describes every
// byte.
package trace
