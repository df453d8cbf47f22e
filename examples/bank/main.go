// Command bank simulates a bank whose tellers move money between accounts at
// the same time, with a synchronization error: a transfer locks the account that
// it takes money from, but not the one that it pays into. Two tellers that pay
// into the same account hold different locks, and a payment can get lost.
//
//	heisen run ./examples/bank
//	heisen run ./examples/bank -fixed
//
// It is modeled on the bank on which the authors of AtomRace evaluate their
// detector (Letko, Vojnar, Křena, "AtomRace: Data Race and Atomicity
// Violation Detector and Healer", PADTAD 2008).
package main

import (
	"flag"
	"fmt"
	"sync"
)

// account is one of the bank's accounts.
type account struct {
	number  int
	mu      sync.Mutex // guards balance
	balance int
}

// transfer moves an amount from one account to another.
func transfer(from, to *account, amount int) {
	from.mu.Lock()
	defer from.mu.Unlock()
	from.balance -= amount
	to.balance += amount // the bug: from.mu does not guard it
}

// transferFixed locks both accounts, the one with the smaller number first, so
// no deadlock is possible.
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

// teller pays the rent of one tenant, month by month.
func teller(transfer func(from, to *account, amount int), tenant, landlord *account) {
	for range months {
		transfer(tenant, landlord, rent)
	}
}

const (
	tellers = 4
	months  = 12
	rent    = 700
)

func main() {
	fixed := flag.Bool("fixed", false, "lock both accounts of a transfer")
	flag.Parse()
	move := transfer
	if *fixed {
		move = transferFixed
	}

	landlord := &account{number: 0}
	var working sync.WaitGroup
	for i := range tellers {
		tenant := &account{number: 1 + i, balance: months * rent}
		working.Add(1)
		go func() {
			defer working.Done()
			teller(move, tenant, landlord)
		}()
	}
	working.Wait()

	fmt.Printf("the landlord has received %d of %d\n", landlord.balance, tellers*months*rent)
}
