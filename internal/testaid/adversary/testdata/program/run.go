// Package adversary has the fragments of which the adversary makes programs.
//
// A fragment is a function that uses some feature of Go, checks what comes out, and leaves nothing behind: no goroutine,
// no timer, no file. It may run many times at once. The line //adversary:fragment above a function makes it one, with
// what it needs or stands:
//
//   - bubble: it may run in a bubble of testing/synctest;
//   - outside: it needs something outside of the program, such as a child process, a socket or a thread of its own;
//   - subtests: it starts subtests.
//
// A function with the line //adversary:bug and a class is a planted bug. It really can happen, and under the default
// schedule it does not fail the test. Comments in it state what is expected of heisen fuzz, in the form of package
// corpus.
package adversary

import (
	"sync/atomic"
	"testing"
)

// A run is one call of a fragment. It has random numbers of its own.
type run struct {
	testing.TB
	state uint64
}

// start begins a call of a fragment and counts it.
func start(t testing.TB, count *atomic.Int64, seed uint64) *run {
	count.Add(1)
	return &run{TB: t, state: seed}
}

// n returns a random number from least to most.
func (r *run) n(least, most int) int {
	r.state += 0x9e3779b97f4a7c15
	z := r.state
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	z ^= z >> 31
	return least + int(z%uint64(most-least+1))
}

// Errorf fails the test with a message that the adversary knows from messages of other origin.
func (r *run) Errorf(format string, args ...any) {
	r.Helper()
	r.TB.Errorf("wrong: "+format, args...)
}

// check fails the test if got is not what it must be.
func check[T comparable](r *run, got, want T, what string) {
	r.Helper()
	if got != want {
		r.Errorf("%s: got %v, want %v", what, got, want)
	}
}

// no fails the test if there is an error.
func no(r *run, err error, what string) bool {
	r.Helper()
	if err != nil {
		r.Errorf("%s: %v", what, err)
	}
	return err == nil
}

// deep calls f with n frames on the stack.
func deep(n int, f func()) {
	var frame [16]int
	if n == 0 {
		f()
	} else {
		deep(n-1, f)
	}
	sink(frame[n%16])
}

// apply calls f through a type parameter.
func apply[T any](v T, f func(T)) { f(v) }

// A doer has a method that calls a function.
type doer struct{ f func() }

func (d *doer) do() { d.f() }

// A record is a type of variables that programs share.
type record struct {
	n  int
	s  string
	a  [4]int
	in struct{ x, y int }
}

//go:noinline
func sink(int) {}

var escaped []any

//go:noinline
func use(v ...any) {
	if len(v) > 1000 {
		escaped = v
	}
}
