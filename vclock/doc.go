// Package vclock detects data races by happens-before, with vector clocks.
//
// Two detectors answer the same question at different prices. FastTrack
// (Flanagan and Freund, PLDI 2009) keeps the last accesses of every variable as
// epochs, in about 37 bytes, and finds at least the first race of every variable
// that races in the observed order. Reference keeps every access and finds all
// racy pairs; it is what FastTrack is tested against, and slow.
//
// Both stand on Order, which is the happens-before relation of the ops of
// package heisen, and on Clock and Epoch, which are for the use of other
// detectors too. Nothing here reports a race that is none, if the events are
// complete; where calls are hidden, the option BarrierPairs makes up for what is
// missing (TREE and RDIT, chapter 4).
package vclock
