// Package hidden has three parts of a service, each with a concurrency bug. Its tests are correct
// and nearly always pass. In the usual order Go's race detector finds nothing.
//
//   - A server sets its address and then counts that it listens. A client counts that it dials and
//     then reads the address. The lock of the counters is not meant for the address. But if the
//     server's count comes first, the lock orders the two accesses, and no detector of races in the
//     observed order reports them. A prediction does: heisen test -predict. TestDial fails if the
//     client reads first.
//   - A transfer locks the account that it takes from, and then the other one. Two transfers in
//     opposite directions deadlock if both have acquired their first lock. TestTransfer never ends
//     then.
//   - A reservation checks in one critical section whether a seat is free, and takes it in another.
//     TestReserve fails if another reservation comes in between.
//
// With -fixed, an argument of the tests, the bugs are fixed:
//
//	go test ./examples/racefuzz/hidden
//	go test ./examples/racefuzz/hidden -fixed
package hidden

import (
	"errors"
	"sync"
	"time"
)

// counters count calls.
type counters struct {
	mu             sync.Mutex
	listens, dials int // guarded by mu
}

func (c *counters) listened() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.listens++
}

func (c *counters) dialed() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.dials++
}

var errNoAddress = errors.New("the server has no address")

// server listens at an address.
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

// dial returns the address for requests.
func (s *server) dial() (string, error) {
	s.dialed()
	address := s.address // race:dial
	if address == "" {   // the bug: it did not wait for listening
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

// hall has seats, by the name of their holder.
type hall struct {
	mu    sync.Mutex
	seats map[int]string // guarded by mu
}

// reserve reports whether the seat is now reserved for the holder. The bug: a seat that was free
// may be taken by the time it is reserved.
func (h *hall) reserve(seat int, holder string) bool {
	h.mu.Lock()
	_, taken := h.seats[seat] // race:look
	h.mu.Unlock()
	if taken {
		return false
	}
	h.mu.Lock()
	h.seats[seat] = holder // race:take
	h.mu.Unlock()
	return true
}

// reserveFixed checks and reserves the seat in one critical section.
func (h *hall) reserveFixed(seat int, holder string) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if _, taken := h.seats[seat]; taken {
		return false
	}
	h.seats[seat] = holder
	return true
}

// sign waits for a signature. It takes long enough that the usual order is kept even on a busy
// machine. heisen fuzz postpones goroutines for a little longer than that.
func sign() { time.Sleep(80 * time.Millisecond) }
