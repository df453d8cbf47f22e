// Package atomrace finds data races and atomicity violations as what they are:
// accesses that overlap, and accesses that come in between. It implements Letko,
// Vojnar, Křena: AtomRace: Data Race and Atomicity Violation Detector and Healer.
//
// # Sections files
//
// Which accesses belong together, a program does not say: a [Section] does.
// [ReadSections] and [WriteSections] keep sections in a text file beside the
// program, to be written by hand, proposed by an analysis of the source, or pruned
// by what was seen in correct runs:
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
// Once a thread has read a.balance at line 31, others may read it until the thread
// has written it at line 33; where it writes at line 36, they may not even have
// read it.
//
// # Noise
//
// Accesses that can meet seldom do. A [Noise] makes the threads of a program wait
// within accesses, so that they meet more often: anywhere ([NewRandomNoise]), or,
// once something is suspected, at some variables ([NewVariableNoise]) or places
// ([NewLocationNoise]). It makes no false alarm; it costs time, which is bounded.
package atomrace
