package main

import (
	"testing"

	"github.com/heisen-go/heisen/internal/testaid/heisencmd"
)

func TestMain(m *testing.M) { heisencmd.Main(m) }

// Every payment of one teller races with those of the others in every schedule, because each teller
// holds its own lock.
const want = `race on to.balance
	read of to.balance in main.transfer at "to.balance += amount" holding from.mu (write)
	write of to.balance in main.transfer at "to.balance += amount" holding from.mu (write)
race on to.balance
	write of to.balance in main.transfer at "to.balance += amount" holding from.mu (write)
	write of to.balance in main.transfer at "to.balance += amount" holding from.mu (write)
`

func TestExample(t *testing.T) {
	heisencmd.Example(t, map[string]string{"fasttrack": want, "hb": want})
}
