// Command maps iterates over maps while goroutines fill them, and logs the order; see package
// replay.
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

// node is used as a key by its address.
type node struct{ name string }

// atlas has the maps that goroutines fill.
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

// logOrder logs the order of all maps.
func (a *atlas) logOrder(j *journal.Journal, goroutine int) {
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
	j.Notef("%d sees %v, %v and %v", goroutine, byNode, byName, byAny)
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
					a.logOrder(&j, id)
				}
			}
		})
	}
	working.Wait()
	a.logOrder(&j, workers)
	for n := range a.byNode { // delete some names, in the order of this map
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
