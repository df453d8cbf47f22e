// Package atomicity has programs with classic atomicity violations, one in each
// folder. Every access in them holds a lock or is atomic, so there is no data race.
// Other goroutines can still interleave with accesses that belong together. The program
// prints the damage.
//
//   - registry: reads a map in one critical section and changes it in another;
//   - lazy: finds that an atomic pointer is nil, and then sets it;
//   - counter: loads an atomic number, and then stores that number minus one;
//   - closer: tests a flag in one critical section and sets it in another;
//   - queue: uses a length as an index after the length may have changed;
//   - desk: reads and writes a number in two critical sections. No other goroutine ever
//     interleaves, but package mcm predicts that one could;
//   - testdata/accessors: twenty types whose methods call accessors that lock, each for itself, and their
//     correct twins. They are tested, not run.
//
// Each folder of a program has a file heisen.sections with the accesses that are meant to be
// atomic. With -fixed they are atomic. The sections of accessors are inferred.
package atomicity
