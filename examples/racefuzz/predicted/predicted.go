// Package predicted has tests with bugs that a detector of the observed order does not report and
// that random schedules hardly ever show. A prediction from one order of events leads to them at
// once.
//
//   - A judge hangs up a medal and then makes a note of it. The last of the runners of a relay
//     makes a note of its arrival and then takes the medal. If the judge is first, the lock of the
//     notes orders the two accesses. Each runner runs only if it has the baton when it checks. So
//     with random choices the last one hardly ever arrives. TestRelay fails if the last runner
//     arrives before the judge has hung up the medal.
//   - A farm hires two foremen, each of whom hires a hand. The second hand reads what the first
//     foreman wrote before he hired his hand. TestFarm fails if the second foreman was quicker. In
//     that execution the goroutines are created in another order.
//   - Porters carry sacks for a long time before a letter arrives. TestFar fails if the letter is
//     read before it is there.
//   - A guest reads what the host has written, if the host has left. TestGuest never fails: the
//     guest counts the goroutines, which keeps the two accesses apart. A detector cannot know that.
//
// With -fixed, an argument of the tests, the bugs are fixed.
package predicted

import (
	"runtime"
	"sync"
	"time"
)

// notes are shared by all goroutines. Each has a column.
type notes struct {
	mu      sync.Mutex
	columns [2]int // guarded by mu
}

func (n *notes) take(column int) {
	n.mu.Lock()
	n.columns[column]++
	n.mu.Unlock()
}

// ponder takes long enough that the usual order is kept even on a busy machine. heisen fuzz
// postpones goroutines for a little longer than that.
func ponder() { time.Sleep(80 * time.Millisecond) }

// relay is a race of several runners, one after the other.
type relay struct {
	notes
	mu    sync.Mutex
	baton int           // number of the runner that may run; guarded by mu
	ready chan struct{} // closed when the medal is there
	medal string        // set once
}

// judge hangs up the medal.
func (r *relay) judge() {
	r.medal = "gold" // race:judge
	r.take(0)
	close(r.ready)
}

// run lets a runner run if it is its turn. It reports whether it was.
func (r *relay) run(i int) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.baton != i {
		return false
	}
	r.baton++
	return true
}

// arrive returns the medal of the last runner. The bug: it does not wait for the judge.
func (r *relay) arrive() string {
	r.take(1)
	return r.medal // race:arrive
}

// arriveFixed waits for the judge.
func (r *relay) arriveFixed() string {
	<-r.ready
	return r.arrive()
}

// farm has foremen and hands.
type farm struct {
	notes
	planned chan struct{} // closed when there is a plan
	plan    string        // set once, by the first foreman
}

// first is the first foreman.
func (f *farm) first(hand func()) {
	f.plan = "sow" // race:plan
	close(f.planned)
	f.take(0)
	go hand()
}

// second is the second one.
func (f *farm) second(hand func()) {
	ponder()
	f.take(1)
	go hand()
}

// work returns the plan for the hand of the second foreman. The bug: it does not wait for the plan.
func (f *farm) work() string {
	return f.plan // race:work
}

// workFixed waits for the plan.
func (f *farm) workFixed() string {
	<-f.planned
	return f.work()
}

// house has a book. The host writes into it and leaves before a guest reads it.
type house struct {
	notes
	book string
}

func (h *house) host() {
	h.book = "welcome" // race:host
	h.take(0)
}

// guest returns the text of the book if at most the given number of goroutines exist.
func (h *house) guest(most int) (string, bool) {
	if runtime.NumGoroutine() > most {
		return "", false
	}
	h.take(1)
	return h.book, true // race:guest
}

// depot counts the sacks that porters carry.
type depot struct {
	notes
	sacks  [4]int
	come   chan struct{} // closed when the letter is there
	letter string        // set once
}

// carry makes a porter carry some sacks.
func (d *depot) carry(porter, sacks int) {
	for range sacks {
		d.mu.Lock()
		d.sacks[porter]++
		d.mu.Unlock()
	}
}

// post brings the letter.
func (d *depot) post() {
	d.letter = "come" // race:far.post
	d.take(0)
	close(d.come)
}

// wait returns the letter. The bug: it does not wait.
func (d *depot) wait() string {
	d.take(1)
	return d.letter // race:far.wait
}

// waitFixed waits for the letter.
func (d *depot) waitFixed() string {
	<-d.come
	return d.wait()
}
