// Package atomicity has programs with classic bugs of atomicity, one below each
// directory. Every access in them holds a lock or is atomic, so there is no data race
// to find; what belongs together is torn apart all the same, and on a bad day that
// does damage, which the program prints.
//
//   - registry: a map is looked into in one hold of the lock, and changed in another;
//   - lazy: an atomic pointer is found nil, and then set;
//   - counter: an atomic number is loaded, and then one less is stored;
//   - closer: a mark is tested in one hold of the lock, and set in another;
//   - queue: a length is used as an index when it may have changed;
//   - desk: a number is read and written in two holds of the lock, and nobody ever comes
//     in between: that could have been otherwise, predicts heisen (package mcm).
//
// Beside each is the file heisen.sections, which says which accesses are meant to be
// one step. With -fixed they are, and nothing comes into them.
package atomicity
