// Package atomrace finds data races and atomicity violations as what they are:
// accesses that overlap, and accesses that come in between. It implements Letko,
// Vojnar, Křena: AtomRace: Data Race and Atomicity Violation Detector and Healer.
package atomrace
