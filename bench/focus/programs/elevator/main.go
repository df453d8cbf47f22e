// Command elevator simulates lifts that serve the floors of a building. Each lift is a goroutine. The
// buttons on the floors are shared, under one lock, and each lift has its own passengers.
package main

import (
	"flag"
	"fmt"
	"sync"
)

// person waits on a floor for a lift to another one.
type person struct{ from, to int }

// floor has the people who wait there.
type floor struct {
	up, down []person
}

// controls are the buttons on all floors.
type controls struct {
	mu     sync.Mutex
	floors []floor
	left   int // people who have not arrived
}

func newControls(floors int, people []person) *controls {
	c := &controls{floors: make([]floor, floors), left: len(people)}
	for _, p := range people {
		if p.to > p.from {
			c.floors[p.from].up = append(c.floors[p.from].up, p)
		} else {
			c.floors[p.from].down = append(c.floors[p.from].down, p)
		}
	}
	return c
}

// board takes one person who waits on a floor for the given direction.
func (c *controls) board(at int, up bool) (person, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	queue := &c.floors[at].down
	if up {
		queue = &c.floors[at].up
	}
	if len(*queue) == 0 {
		return person{}, false
	}
	p := (*queue)[0]
	*queue = (*queue)[1:]
	return p, true
}

// waits reports whether someone waits beyond a floor in a direction, or on it.
func (c *controls) waits(at, step int) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	for ; at >= 0 && at < len(c.floors); at += step {
		if len(c.floors[at].up)+len(c.floors[at].down) > 0 {
			return true
		}
	}
	return false
}

func (c *controls) arrived(n int) (left int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.left -= n
	return c.left
}

// lift moves people. Only its goroutine uses it.
type lift struct {
	building  *controls
	capacity  int
	at, step  int
	inside    []person
	moves     int
	delivered int
}

// leave lets out who has arrived.
func (l *lift) leave() (n int) {
	stay := l.inside[:0]
	for _, p := range l.inside {
		if p.to == l.at {
			n++
		} else {
			stay = append(stay, p)
		}
	}
	l.inside = stay
	l.delivered += n
	return n
}

// enter lets people in while there is room.
func (l *lift) enter() {
	for len(l.inside) < l.capacity {
		p, ok := l.building.board(l.at, l.step > 0)
		if !ok {
			return
		}
		l.inside = append(l.inside, p)
	}
}

// further reports whether there is something to do in the present direction.
func (l *lift) further() bool {
	for _, p := range l.inside {
		if (p.to-l.at)*l.step > 0 {
			return true
		}
	}
	next := l.at + l.step
	return next >= 0 && next < len(l.building.floors) && l.building.waits(next, l.step)
}

// run moves the lift until everyone has arrived.
func (l *lift) run() {
	for l.building.arrived(l.leave()) > 0 {
		l.enter()
		if !l.further() {
			l.step = -l.step
			l.enter()
		}
		if next := l.at + l.step; next >= 0 && next < len(l.building.floors) {
			l.at = next
			l.moves++
		}
	}
}

func main() {
	count := flag.Int("n", 600_000, "`people` to move")
	flag.Parse()
	const floors, lifts = 30, 4
	people := make([]person, *count)
	random := uint32(1)
	next := func() int { random = random*1664525 + 1013904223; return int(random >> 16) }
	for i := range people {
		from := next() % floors
		people[i] = person{from, (from + 1 + next()%(floors-1)) % floors}
	}
	c := newControls(floors, people)
	all := make([]*lift, lifts)
	var done sync.WaitGroup
	for i := range all {
		all[i] = &lift{building: c, capacity: 8, at: i * floors / lifts, step: 1}
		done.Go(all[i].run)
	}
	done.Wait()
	delivered := 0
	for _, l := range all {
		delivered += l.delivered
	}
	fmt.Println("moved", delivered, "people")
}
