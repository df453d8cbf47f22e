// Package hidden has three pieces of a service with a bug of concurrency each, and
// tests that are right, and pass practically always. Go's race detector has nothing to
// say in the usual order.
//
//   - A server sets its address, then counts that it listens; a client counts that it
//     dials, then reads the address. The counters' lock has nothing to do with the
//     address, but where the server's count comes first it orders the two accesses, and
//     no detector of what happened sees that they race. What follows from what
//     happened, it does: heisen test -predict. TestDial fails if the client reads
//     first.
//   - A transfer locks the account that it takes from, and then the other one. Two
//     transfers in opposite directions wait for each other for ever, if both have their
//     first lock. TestTransfer never ends then.
//   - A reservation looks whether a seat is free in one hold of the lock, and takes it
//     in another. TestReserve fails if somebody else comes in between.
//
// With -fixed, an argument of the tests, the bugs are not there:
//
//	go test ./examples/racefuzz/hidden
//	go test ./examples/racefuzz/hidden -fixed
package hidden

import (
	"errors"
	"sync"
	"time"
)

// counters count what happens.
type counters struct {
	mu             sync.Mutex
	listens, dials int // guarded by mu
}

func (c *counters) listened() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.listens++
}

func (c *counters) dialled() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.dials++
}

var errNoAddress = errors.New("the server has no address")

// server is reached at its address.
type server struct {
	counters
	listening chan struct{} // closed when there is an address
	address   string        // set once
}

func newServer() *server { return &server{listening: make(chan struct{})} }

// listen gives the server its address.
func (s *server) listen(address string) {
	s.address = address // race:listen
	s.listened()
	close(s.listening)
}

// dial returns where to send requests.
func (s *server) dial() (string, error) {
	s.dialled()
	address := s.address // race:dial
	if address == "" {   // the bug: nobody has waited for listening
		return "", errNoAddress
	}
	return address, nil
}

// dialFixed waits for the server.
func (s *server) dialFixed() (string, error) {
	<-s.listening
	return s.dial()
}

// account has a balance.
type account struct {
	number  int
	mu      sync.Mutex
	balance int // guarded by mu
}

// transfer moves an amount from one account to another. The bug: two transfers can
// take the locks in opposite orders.
func transfer(from, to *account, amount int) {
	from.mu.Lock()
	defer from.mu.Unlock()
	to.mu.Lock() // race:inner
	defer to.mu.Unlock()
	from.balance -= amount
	to.balance += amount
}

// transferFixed locks the account with the smaller number first.
func transferFixed(from, to *account, amount int) {
	first, second := from, to
	if to.number < from.number {
		first, second = to, from
	}
	first.mu.Lock()
	defer first.mu.Unlock()
	second.mu.Lock()
	defer second.mu.Unlock()
	from.balance -= amount
	to.balance += amount
}

// hall has seats, and who has reserved them.
type hall struct {
	mu    sync.Mutex
	seats map[int]string // guarded by mu
}

// reserve reports whether the seat is now reserved for who. The bug: a seat that was
// free may not be free any more when it is taken.
func (h *hall) reserve(seat int, who string) bool {
	h.mu.Lock()
	_, taken := h.seats[seat] // race:look
	h.mu.Unlock()
	if taken {
		return false
	}
	h.mu.Lock()
	h.seats[seat] = who // race:take
	h.mu.Unlock()
	return true
}

// reserveFixed looks and takes in one hold of the lock.
func (h *hall) reserveFixed(seat int, who string) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if _, taken := h.seats[seat]; taken {
		return false
	}
	h.seats[seat] = who
	return true
}

// sign has a request signed elsewhere, which takes a while, also where the machine has
// much else to do. heisen fuzz keeps goroutines back for a little longer than that.
func sign() { time.Sleep(80 * time.Millisecond) }
