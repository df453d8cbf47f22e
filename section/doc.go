// Package section is the vocabulary of atomic sections: what they are, how they are checked and
// written to files, and how threads are followed through them. It implements section 3.2, section
// 4.2 (table 1) and section 4.3 of Letko, Vojnar, Křena: AtomRace: Data Race and Atomicity Violation
// Detector and Healer (PADTAD 2008).
//
// A [Section] says which accesses to a variable belong together: an entry, and ends. Each end says
// what other threads may do to the variable in between. Package atomrace detects violations of
// sections while they happen. Package mcm predicts violations in other schedules of the same events.
//
// # Files
//
// A program does not say which of its accesses belong together. [Decode] and [Encode] keep sections
// in a text file beside the program. Such a file is written by hand, proposed by an analysis of the
// source (heisen sections infer), or pruned by correct runs (heisen sections refine, [Refiner]):
//
//	heisen sections 1
//
//	# The balance is written back as it was read.
//	section bank.go:31 read
//		variable a.balance
//		pattern load-and-store
//		end bank.go:33 write {read}
//		end bank.go:36 write {}
//
// A thread that has read a.balance at line 31 is in the section. Until it has written the variable at
// line 33, others may read the variable and must not write it. If the thread writes at line 36
// instead, others must not even have read it.
//
// # Sections and streams
//
// Sections name places in source files; events carry numbers. A [Locator] translates. An [Index]
// finds the sections that an access belongs to. A [Tracker] follows the threads of a stream through
// sections and reports each [Execution] of one, whatever other threads do meanwhile.
//
// # Guarantees
//
// Decode accepts exactly the files whose sections [Check] accepts, and Encode writes equal sections
// as equal files. A Tracker reports every execution of a section whose end does not allow everything,
// within its bound on sections at a time, and nothing else.
//
// # Cost and concurrency
//
// Decoding, encoding and checking take time and memory proportional to the file. An Index, a Tracker
// and a Refiner each belong to one goroutine at a time. All other values are plain data.
package section
