// Command registry lets teams of a company claim host names. A claim tests whether a name is free,
// issues a certificate, and enters the name. Each step holds the registry's lock, but not the claim
// as a whole. A name that was free may be taken by the time it is entered. Then two teams believe
// that they own it.
//
// There is no data race that a race detector could find, and the damage is rare. The file
// heisen.sections says which accesses belong together.
//
//	heisen run -detect atomrace -sections heisen.sections ./examples/atomicity/registry
//	heisen run -detect atomrace -sections heisen.sections ./examples/atomicity/registry -fixed
package main

import (
	"crypto/sha256"
	"flag"
	"fmt"
	"io"
	"os"
	"sync"
)

// certificate is a team's certificate for a name.
type certificate struct {
	owner string
	key   [sha256.Size]byte
}

// registry holds the names that are taken.
type registry struct {
	mu    sync.Mutex
	names map[string]*certificate // guarded by mu
}

// claim enters a name for a team and reports whether the team owns it now.
func (r *registry) claim(name, team string) bool {
	r.mu.Lock()
	_, taken := r.names[name]
	r.mu.Unlock()
	if taken {
		return false
	}
	c := issue(name, team) // slow, so without the lock
	r.mu.Lock()
	r.names[name] = c // the bug: the name may have been taken in between
	r.mu.Unlock()
	return true
}

// claimFixed tests again when it holds the lock for entering the name.
func (r *registry) claimFixed(name, team string) bool {
	r.mu.Lock()
	_, taken := r.names[name]
	r.mu.Unlock()
	if taken {
		return false
	}
	c := issue(name, team)
	r.mu.Lock()
	defer r.mu.Unlock()
	if _, taken := r.names[name]; taken {
		return false
	}
	r.names[name] = c
	return true
}

// issue makes a certificate.
func issue(name, team string) *certificate {
	return &certificate{owner: team, key: sha256.Sum256([]byte(team + "/" + name))}
}

// effort is the work that a team has with a name before it claims it.
func effort(name string) byte {
	sum := sha256.Sum256([]byte(name))
	for range 100 {
		sum = sha256.Sum256(sum[:])
	}
	return sum[0]
}

const (
	teams = 4
	hosts = 64
)

// run lets all teams claim all names and prints how many claims were granted.
func run(w io.Writer, fixed bool) {
	r := &registry{names: map[string]*certificate{}}
	claim := r.claim
	if fixed {
		claim = r.claimFixed
	}
	granted := make([]int, teams)
	var working sync.WaitGroup
	for t := range teams {
		working.Go(func() {
			team := fmt.Sprintf("team %d", t)
			for i := range hosts {
				// Each team is one name ahead of the next, so they seldom claim the same one at once.
				name := fmt.Sprintf("host%02d", (i+t)%hosts)
				effort(name)
				if claim(name, team) {
					granted[t]++
				}
			}
		})
	}
	working.Wait()
	sum := 0
	for _, n := range granted {
		sum += n
	}
	fmt.Fprintf(w, "%d names granted of %d\n", sum, len(r.names))
}

func main() {
	fixed := flag.Bool("fixed", false, "test the name again when it is entered")
	flag.Parse()
	run(os.Stdout, *fixed)
}
