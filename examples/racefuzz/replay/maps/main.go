// Command maps goes over maps while goroutines fill them, and notes the order; see
// package replay.
package main

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"slices"
	"sync"

	"github.com/heisen-go/heisen/examples/racefuzz/replay/journal"
)

// node is a key whose hash is that of its address.
type node struct{ name string }

// atlas is maps that goroutines fill.
type atlas struct {
	mu     sync.Mutex
	byNode map[*node]int  // guarded by mu
	byName map[string]int // guarded by mu
	any    sync.Map
}

func (a *atlas) put(n *node, value int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.byNode[n] = value
	a.byName[n.name] = value
	a.any.Store(n, value)
}

// note notes the order of all maps.
func (a *atlas) note(j *journal.Journal, who int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	var byNode, byName, byAny []string
	for n := range a.byNode {
		byNode = append(byNode, n.name)
	}
	for name := range a.byName {
		byName = append(byName, name)
	}
	for n := range a.any.Range {
		byAny = append(byAny, n.(*node).name)
	}
	j.Notef("%d sees %v, %v and %v", who, byNode, byName, byAny)
}

const (
	workers = 3
	each    = 12 // more than one group of a map
)

func main() {
	var j journal.Journal
	a := &atlas{byNode: map[*node]int{}, byName: map[string]int{}}
	var working sync.WaitGroup
	for id := range workers {
		working.Go(func() {
			for _, i := range rand.Perm(each) {
				a.put(&node{fmt.Sprintf("%d.%d", id, i)}, id*each+i)
				if rand.IntN(3) == 0 {
					a.note(&j, id)
				}
			}
		})
	}
	working.Wait()
	a.note(&j, workers)
	for n := range a.byNode { // some, and others
		if len(a.byName) <= each {
			break
		}
		j.Notef("%s goes", n.name)
		delete(a.byName, n.name)
	}
	j.Notef("%v stay", slices.Collect(maps.Keys(a.byName)))

	sum := 0
	for _, value := range a.byNode {
		sum += value
	}
	if n := workers * each; len(a.byNode) != n || sum != n*(n-1)/2 || len(a.byName) != each {
		panic(fmt.Sprintf("%d nodes with the sum %d, %d names", len(a.byNode), sum, len(a.byName)))
	}
	if err := j.Print(os.Stdout, "maps"); err != nil {
		panic(err)
	}
}
