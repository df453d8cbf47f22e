// Package patch repairs findings in Go source: it makes a patch that puts locks around accesses. It takes data races
// and violations of atomic sections of a module, and returns a diff and, for each finding that it cannot repair
// safely, the place and the reason.
//
// # What it does
//
// For the variable of a finding, all accesses in the module count, whatever expression they use. Those that no other
// goroutine can come between are left out: accesses of a struct that is not shared yet, and those in main or in a
// test before goroutines begin, or after sync.WaitGroup.Wait.
//
//   - If some accesses hold a mutex that belongs to the variable, the others get it, too. Those that hold it already,
//     themselves or by all of their callers, stay as they are. If only some callers hold it, the calls of the others
//     get it.
//   - Otherwise a new sync.Mutex is declared beside the variable. Fields of one struct share it.
//   - A check and an act on what was checked are one critical section. If both are in accessors that are called one
//     after the other, a new mutex is held around both calls, and around all other calls of accessors.
//
// # What it guarantees
//
// A finding is refused rather than repaired if one of these cannot be shown:
//
//   - No lock is held while its goroutine may wait: for a channel, select, a WaitGroup, a condition, time, input or
//     output, or code that is not known.
//   - No lock is taken twice by one goroutine.
//   - The locks that are added close no cycle in the lock order of the program. Locks count by the field or variable
//     that has them, so two locks of two objects of a type count as one. Package heal has a finer lock order, for
//     locks whose places it may choose.
//   - The locks of the program stay where they are.
//   - The result compiles, and go vet finds no copy of a lock that it did not find before.
//
// The analysis knows no aliases: a variable that is accessed through a pointer to it, or through another slice with
// the same elements, is repaired only where it is accessed by name. If its address is taken by name, the finding is
// refused.
//
// # Cost and concurrency
//
// See Make. It runs the go command, and may be called at the same time by several goroutines.
package patch
