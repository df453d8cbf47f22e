package main

import (
	"strings"
	"testing"

	"github.com/heisen-go/heisen/internal/testaid/heisencmd"
)

func TestMain(m *testing.M) { heisencmd.Main(m) }

// The requests come one after the other: the first one loads the settings and the others find them.
// So every access of the others to the pointer and the fields races with the first one's write.
// FastTrack does not report accesses that repeat one of the same epoch.
const (
	firstRaces = `race on c.loaded
	read of c.loaded in main.(*cache).get at "if c.loaded == nil {" holding nothing
	write of c.loaded in main.(*cache).get at "c.loaded = load()" holding c.mu (write)
race on s.greeting
	read of s.greeting in main.handle at "return fmt.Sprintf(\"%s %s (%d retries)\", s.greeting, r.name, s.retries)" holding nothing
	write of s.greeting in main.load at "s.greeting = \"hello\"" holding c.mu (write)
race on s.retries
	read of s.retries in main.handle at "return fmt.Sprintf(\"%s %s (%d retries)\", s.greeting, r.name, s.retries)" holding nothing
	write of s.retries in main.load at "s.retries = 3" holding c.mu (write)
`
	secondRead = `race on c.loaded
	read of c.loaded in main.(*cache).get at "return c.loaded" holding nothing
	write of c.loaded in main.(*cache).get at "c.loaded = load()" holding c.mu (write)
`
)

func TestExample(t *testing.T) {
	heisencmd.Example(t, map[string]string{
		"fasttrack": firstRaces,
		"hb":        strings.Replace(firstRaces, "race on s.", secondRead+"race on s.", 1),
	})
}
