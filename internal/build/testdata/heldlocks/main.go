// Command heldlocks makes random operations on locks in several goroutines, and accesses to
// variables in between, each on a call path of its own. It prints the locks that were held at each
// access. Then the main goroutine makes accesses to the same variables that race with these.
package main

import (
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

const goroutines, accesses, depth, most = 6, 150, 10, 8 // goroutines*accesses is less than 1<<depth

var (
	variables [goroutines * accesses]struct{ value, _ int }
	locks     [5]sync.RWMutex
	other     sync.Mutex
)

func main() {
	seed, _ := strconv.ParseUint(os.Args[1], 10, 64)
	many, _ := strconv.Atoi(os.Args[2]) // operations after the last access
	var text [goroutines]string
	done := make(chan int, goroutines)
	for g := range goroutines {
		go func() {
			text[g] = operate(rand.New(rand.NewPCG(seed, uint64(g))), g, many)
			done <- 1
			if g%2 == 0 { // the others end, and what they knew may be used again
				time.Sleep(time.Hour)
			}
		}()
		if g%2 != 0 {
			time.Sleep(10 * time.Millisecond)
		}
	}
	read(0, depth)
	print(&text, done)
}

// read makes an access to each variable when it has been written. It takes no part in any
// synchronization.
//
//go:noinline
func read(path, depth int) {
	time.Sleep(time.Second)
	for i := range variables {
		access(i, i, depth)
	}
}

//go:norace
func print(text *[goroutines]string, done chan int) {
	for range goroutines {
		<-done
	}
	for _, t := range text {
		fmt.Print(t)
	}
}

// held is a lock that is held, and how.
type held struct {
	lock   int
	shared bool
}

// operate makes random operations and returns what was held at each access.
//
//go:norace
func operate(random *rand.Rand, g, many int) string {
	var all strings.Builder
	var holding []held
	for i := g * accesses; i < (g+1)*accesses; {
		op := random.IntN(4)
		if op < 2 && len(holding) == most {
			op = 2
		}
		switch l := random.IntN(len(locks)); op {
		case 0:
			if !slices.ContainsFunc(holding, func(h held) bool { return h.lock == l }) && locks[l].TryLock() {
				holding = append(holding, held{l, false})
			}
		case 1:
			if !slices.ContainsFunc(holding, func(h held) bool { return h.lock == l && !h.shared }) && locks[l].TryRLock() {
				holding = append(holding, held{l, true})
			}
		case 2:
			if len(holding) > 0 { // not always the last one
				at := random.IntN(len(holding))
				release(holding[at])
				holding = slices.Delete(holding, at, at+1)
			}
		case 3:
			access(i, i, depth)
			fmt.Fprintf(&all, "%p", &variables[i].value)
			for _, h := range holding {
				fmt.Fprintf(&all, " %p %v", &locks[h.lock], h.shared)
			}
			fmt.Fprintln(&all)
			i++
		}
	}
	for _, h := range holding {
		release(h)
	}
	for range many {
		other.Lock()
		other.Unlock()
	}
	return all.String()
}

//go:norace
func release(h held) {
	if h.shared {
		locks[h.lock].RUnlock()
	} else {
		locks[h.lock].Unlock()
	}
}

// access writes a variable on the call path with the given number.
//
//go:noinline
func access(i, path, depth int) {
	switch {
	case depth == 0:
		variables[i].value++
	case path&1 == 0:
		access(i, path>>1, depth-1)
	default:
		access(i, path>>1, depth-1)
	}
}
