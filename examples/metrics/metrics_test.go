package main

import (
	"testing"

	"github.com/heisen-go/heisen/internal/testaid/heisencmd"
)

func TestMain(m *testing.M) { heisencmd.Main(m) }

// Every count of one worker races with those of the others in every schedule, because they hold the
// lock only for reading.
const want = `race on c.n
	read of c.n in main.(*registry).add at "c.n += n" holding r.mu (read)
	write of c.n in main.(*registry).add at "c.n += n" holding r.mu (read)
race on c.n
	write of c.n in main.(*registry).add at "c.n += n" holding r.mu (read)
	write of c.n in main.(*registry).add at "c.n += n" holding r.mu (read)
`

func TestExample(t *testing.T) {
	heisencmd.Example(t, map[string]string{"fasttrack": want, "hb": want})
}
