// Package trace reads, writes, validates, counts and prints traces of events.
//
// A trace is a text file in the STD format, which other analyzers read and write too, or a binary
// file, which keeps everything. Either may be compressed with gzip.
//
//   - [Open] and [NewReader] read a trace in whichever format it is; [STDReader] and [BinaryReader]
//     read one format. Readers are heisen.Sources.
//   - [Writer] writes the binary format, [STDWriter] the text format.
//   - [Validator] checks whether an execution can have the trace, [Stats] counts what is in it, and
//     [Printer] prints its events. These and the writers are heisen.Detectors, so that heisen.Run
//     drives them and heisen.Tee combines them.
//
// # Guarantees
//
// A binary trace has the same records and Symbols as the stream that was written. A text trace has
// the same ops, threads, objects, sites, lengths and values, although other numbers may stand for
// them. It has no other flags than HasValue, and its contexts are reconstructed from locks and
// calls.
//
// A trace may be cut off or damaged at any byte. The reader first delivers every record that is
// complete before that place, and then returns an error that says where the damage is: a
// [*TruncatedError], a [*SyntaxError] or a [*CorruptError]. When the input of a truncated trace has
// grown, the reader continues. Whatever the input is, records are within bounds, and memory stays
// in proportion to the input.
//
// # Cost
//
// The binary format takes two to three bytes for most events; the text takes about ten times as
// much. Reading takes 30 to 60 nanoseconds an event, and allocates nothing unless there are new
// threads, objects, sites or contexts. [WithProcessors] reads ahead on several processors. The benchmarks of this package compare the formats.
//
// # Concurrency
//
// Readers, writers and the other detectors belong to one goroutine each. Their Symbols are safe for
// concurrent use.
//
// # The STD text format
//
// Each line is an event: thread, operation and site, with a bar between them.
//
//	T0|acq(L1)|17
//	T0|w(balance)|main.go:12
//	T0|rel(L1)|17
//
// Threads, and the names in parentheses, are any text without bars, parentheses and line ends.
// Threads get the numbers 0, 1, 2 in the order of first appearance. The site is any text. It may be
// missing, with its bar; then it is Site 0. Lines may end in CR LF. Blank lines are ignored. The last
// line needs no end if it is a whole event, with a site if an event before it has one. Where in its
// site it was cut off, nobody can know. Anything else is a SyntaxError.
//
// Operations that other analyzers have, too:
//
//	r(x) w(x)           Read, Write
//	acq(l) rel(l)       Acquire, Release
//	fork(t) join(t)     Fork, Join
//	begin end           Enter, Exit: a transaction, which may have a name: begin(pay)
//	branch              Branch
//	req(l)              no event: a thread is about to acquire a lock
//
// A line lacks(text) before the first event is no event, but a gap of the recording, see [Gaps].
//
// Operations of this package, so that every Op has a text:
//
//	ar(x) aw(x) au(x)   AtomicRead, AtomicWrite, AtomicUpdate
//	done(x)             Done
//	racq(l) rrel(l)     AcquireShared, ReleaseShared
//	send(m) recv(m)     Send, Receive
//	change(m) observe(m) Change, Observe
//	start stop          Begin, End: the first and last event of a thread
//	call return         Call, Return
//	hide(f) reveal(f)   Hide, Reveal
//	hide(f)=o(x)t(T1)   Hide of a call that reaches only x and the thread T1
//	hide(f)=synchronized  Hide of a call whose synchronization is in the trace
//	alloc(x,n) free(x,n)  Alloc, Free of n bytes
//	w4(x) w(x)=17       an access of 4 bytes; an access with the value 17; also w4(x)=17
//
// An operation without parentheses may have a name in parentheses, too. Without a name, its object
// is 0.
//
// The set of objects that a hidden call reaches is a sequence of o(x), the variable and the lock
// called x, o64(x), 64 bytes from x on, and t(t), the thread called t. An empty sequence is the
// empty set. Without the equals sign, the set is that of all objects.
//
// There are three classes of names: variables and messages, locks, and transactions and calls. A
// name in two classes stands for two objects. Each object has a number that is a multiple of 8,
// from 8 on, and its size is fixed by the first event that names it, at least 8 bytes. A later event
// that needs more bytes is an error.
//
// A name in the form of an address is that number in all classes, so that ranges, overlaps and the
// identity of recorded addresses are preserved. An address is 0x and lower-case hexadecimal digits
// without leading zeros, from 0x100000 to 0xffffffffffff. The range from 0x100000000000 to
// 0x10ffffffffff is excluded: text in it is an ordinary name, because the numbers of names continue
// there when the numbers below 0x100000 are used up.
//
// The text has no contexts. The reader follows the locks and calls of each thread. As always, the
// context of a record is that just before its event.
//
// # The binary format
//
// A file is a header and a sequence of blocks. Each block is complete in itself and has a checksum,
// so that a trace can be read while it is being written. The file format.md in the directory of
// this package specifies every byte.
package trace
