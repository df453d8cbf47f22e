package atomrace_test

import (
	"fmt"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/atomrace"
	"github.com/heisen-go/heisen/section"
)

// Four goroutines are instrumented by hand. Each numbers its sites in the Symbols that all share,
// while the others run. They read and write the balance under a lock, but release it in between, so
// that the section from the read to the write is violated. They count deposits without a lock, which
// is a race. (The program itself keeps both variables in atomics: it shows the bugs of a program that
// does not.)
func Example_goroutines() {
	const goroutines = 4
	const balanceAddr, depositsAddr heisen.Object = 0x1000, 0x1008
	var balance, deposits atomic.Int64
	symbols := heisen.NewSymbols()
	sections := []section.Section{{
		Entry: section.Location{File: "bank.go", Line: 31, Mode: section.Reads},
		Ends: []section.End{{
			At:    section.Location{File: "bank.go", Line: 33, Mode: section.Writes},
			Allow: section.Reads,
		}},
	}}
	var found []string
	fingerprints := map[string]bool{}
	d, err := atomrace.NewDetector(
		atomrace.WithSections(sections, section.LocateIn(symbols, "")),
		atomrace.WithNoise(&meeting{variable: depositsAddr, missing: goroutines, all: make(chan struct{})}),
		atomrace.WithSink(func(f heisen.Finding) { // one call at a time
			if id := f.Fingerprint(symbols); !fingerprints[id] {
				fingerprints[id] = true
				first, last := f.Accesses[0].Site, f.Accesses[len(f.Accesses)-1].Site
				found = append(found, fmt.Sprintf("%s from %v to %v: %s", f.Kind, symbols.Site(first), symbols.Site(last), f.Message))
			}
		}))
	if err != nil {
		fmt.Println(err)
		return
	}

	var mu sync.Mutex
	var read, done sync.WaitGroup
	read.Add(goroutines)
	deposit := func(t heisen.Thread) {
		line := func(n int) heisen.Site {
			return symbols.AddSite(heisen.SiteInfo{Frames: []heisen.Frame{{Func: "bank.Deposit", File: "bank.go", Line: n}}})
		}
		mu.Lock()
		d.BeforeAccess(t, balanceAddr, line(31), heisen.Read)
		b := balance.Load()
		d.AfterAccess(t)
		mu.Unlock()

		read.Done()
		read.Wait() // every goroutine has read the balance before the first writes it

		mu.Lock()
		d.BeforeAccess(t, balanceAddr, line(33), heisen.Write)
		balance.Store(b + 100)
		d.AfterAccess(t)
		mu.Unlock()

		d.BeforeAccess(t, depositsAddr, line(36), heisen.Write)
		deposits.Add(1)
		d.AfterAccess(t)
		d.EndThread(t)
	}
	for t := range heisen.Thread(goroutines) {
		done.Go(func() { deposit(t) })
	}
	done.Wait()
	slices.Sort(found)
	for _, f := range found {
		fmt.Println(f)
	}
	// Output:
	// atomicity from bank.go:31 to bank.go:33: write between read and write of an atomic section, read-write-write
	// race from bank.go:36 to bank.go:36: write races with earlier write, which is not over
}

// meeting is a Noise for a demonstration. It makes all goroutines that access a variable meet there. A
// Heuristic only makes that more likely, but it needs to know nothing about the program.
type meeting struct {
	variable heisen.Object
	mu       sync.Mutex
	missing  int
	all      chan struct{}
}

func (m *meeting) Delay(p atomrace.Point) atomrace.Delay {
	if p.Object != m.variable {
		return atomrace.Delay{}
	}
	m.mu.Lock()
	if m.missing--; m.missing == 0 {
		close(m.all)
	}
	m.mu.Unlock()
	<-m.all
	return atomrace.Delay{}
}
