// Package predicted has tests whose bugs a detector of what happened does not see, and
// that luck hardly finds: what follows from one order of events leads there at once.
//
//   - A judge hangs up a medal, and notes it; the last of the runners of a relay notes
//     that it is there, and takes the medal. If the judge is first the lock of the notes
//     orders the two. Each runner runs only if it has the baton when it looks, so whoever
//     chooses at random who goes on hardly ever sees the last one arrive. TestRelay fails
//     if the last runner is there before the judge has hung up the medal.
//   - A farm hires two foremen, each of whom hires a hand. The second hand reads what the
//     first foreman has written before he hired anybody. TestFarm fails if the second
//     foreman was quicker. Whoever wants to see that has to have the goroutines created in
//     another order.
//   - Porters carry sacks for a long time before a letter comes. TestFar fails if whoever
//     waits for it looks before it is there.
//   - A guest reads what the host has written, if the host has gone. TestGone never fails:
//     that the guest counts goroutines keeps the two apart, but a detector cannot know.
//
// With -fixed, an argument of the tests, the bugs are not there.
package predicted

import (
	"runtime"
	"sync"
	"time"
)

// notes are taken by everybody, each in a column.
type notes struct {
	mu      sync.Mutex
	columns [2]int // guarded by mu
}

func (n *notes) take(column int) {
	n.mu.Lock()
	n.columns[column]++
	n.mu.Unlock()
}

// ponder takes a while, also on a machine that has much else to do. heisen fuzz keeps
// goroutines back for a little longer than that.
func ponder() { time.Sleep(80 * time.Millisecond) }

// relay is a race of several runners, one after the other.
type relay struct {
	notes
	mu    sync.Mutex
	baton int           // who may run; guarded by mu
	ready chan struct{} // closed when the medal is there
	medal string        // set once
}

// judge hangs up the medal.
func (r *relay) judge() {
	r.medal = "gold" // race:judge
	r.take(0)
	close(r.ready)
}

// run lets a runner run, if it is his turn, and reports whether it was.
func (r *relay) run(i int) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.baton != i {
		return false
	}
	r.baton++
	return true
}

// arrive returns the medal of the last runner. The bug: nobody has waited for it.
func (r *relay) arrive() string {
	r.take(1)
	return r.medal // race:arrive
}

// arriveFixed waits for it.
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

// work returns what a hand of the second foreman is to do. The bug: nobody has waited for
// the plan.
func (f *farm) work() string {
	return f.plan // race:work
}

// workFixed waits for it.
func (f *farm) workFixed() string {
	<-f.planned
	return f.work()
}

// house is left by the host before a guest reads what is in its book.
type house struct {
	notes
	book string
}

func (h *house) host() {
	h.book = "welcome" // race:host
	h.take(0)
}

// guest returns what is in the book, if no more goroutines are left than there may be.
func (h *house) guest(most int) (string, bool) {
	if runtime.NumGoroutine() > most {
		return "", false
	}
	h.take(1)
	return h.book, true // race:guest
}

// depot is where porters carry sacks in turns.
type depot struct {
	notes
	sacks  [4]int
	come   chan struct{} // closed when the letter is there
	letter string        // set once
}

// carry has a porter carry so many.
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

// waitFixed does.
func (d *depot) waitFixed() string {
	<-d.come
	return d.wait()
}
