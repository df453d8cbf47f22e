package hidden

import (
	"flag"
	"testing"
)

var fixed = flag.Bool("fixed", false, "test the fixed versions")

func TestDial(t *testing.T) {
	s := newServer()
	dial := s.dial
	if *fixed {
		dial = s.dialFixed
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		sign()
		if address, err := dial(); err != nil || address != "here" {
			t.Errorf("dialed %q, %v", address, err)
		}
	}()
	s.listen("here")
	<-done
}

func TestTransfer(t *testing.T) {
	move := transfer
	if *fixed {
		move = transferFixed
	}
	a, b := &account{number: 1, balance: 100}, &account{number: 2, balance: 100}
	done := make(chan struct{})
	go func() {
		defer close(done)
		sign()
		move(b, a, 20)
	}()
	move(a, b, 50)
	<-done
	if a.balance != 70 || b.balance != 130 {
		t.Errorf("the balances are %d and %d, want 70 and 130", a.balance, b.balance)
	}
}

func TestReserve(t *testing.T) {
	h := &hall{seats: map[int]string{}}
	reserve := h.reserve
	if *fixed {
		reserve = h.reserveFixed
	}
	second := make(chan bool)
	go func() {
		sign()
		second <- reserve(2, "Vashti")
	}()
	first := reserve(2, "Kuno")
	if first == <-second {
		t.Error("the seat is reserved twice or not at all")
	}
}
