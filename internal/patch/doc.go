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
//   - Otherwise a new sync.Mutex is declared beside the variable. Fields of one struct share it. Variables that are reached through
//     others come after these, so that the lock of a list guards its elements, too, where it is held at all their accesses.
//   - A loop over a slice whose elements nobody changes in place goes through the slice as it was under the lock. A slice that leaves
//     the function is no reason to refuse either, if nobody changes its elements in place.
//   - What a function reads, and writes because of it, is one critical section. Which writes these are is found by
//     following values and conditions through the function. If that leads through helpers, their callers take the lock.
//   - If a check and an act are in accessors that lock for themselves and are called one after the other, a new mutex is
//     held around both calls, and around all other calls of accessors.
//   - A section in which anything may panic ends with a deferred call.
//   - A bool at which loops look becomes an atomic flag.
//
// # What it guarantees
//
// A finding is refused rather than repaired if one of these cannot be shown:
//
//   - No lock is held while its goroutine may wait: for a channel, select, a WaitGroup, a condition, time, input or
//     output, or code that is not known.
//   - No lock is taken twice by one goroutine.
//   - The patched program can acquire no two locks in two orders that the program before could not. Locks count by the
//     field or variable that has them, so two locks of two objects of a type count as one. Package heal has a finer
//     lock order, for locks whose places it may choose.
//   - All accesses that another goroutine can come between hold the lock in the patched program.
//   - The locks of the program stay where they are, but for sections of a function that become larger, and readers that
//     become writers.
//   - The result compiles, and go vet finds no copy of a lock that it did not find before.
//
// The third and the fourth are judged on the patched source, which is analyzed like any other.
//
// The analysis knows no aliases: a variable that is accessed through a pointer to it, or through another slice with
// the same elements, is repaired only where it is accessed by name. If its address is taken by name, the finding is
// refused. Files that are not built here are not analyzed; Notes says which of them name the variable.
//
// # Cost and concurrency
//
// See Make. It runs the go command, and may be called at the same time by several goroutines.
package patch
