// Program races has data races of many kinds, which happen again and again, as those of a service do. With -fixed, the
// same accesses are synchronized. It runs for the time that -for says, and prints the names of its races with -list.
package main

import (
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/heisen-go/heisen/field"
)

type account struct {
	name    string
	balance int
	open    bool
	owner   *account
	history [4]int64
	tags    []string
	note    any
	kind    uint8
	next    uint8
}

var (
	total   int
	current *account
	flags   struct{ stop, ready bool }
	table   [16]uint32
	atomics atomic.Int64
	plain   int64
)

// race is a pair of steps that two goroutines take again and again.
type race struct {
	name          string
	first, second func(i int)
}

var shared = &account{owner: &account{}, tags: make([]string, 8)}

var races = []race{
	{"counter", func(i int) { total += i }, func(i int) { total -= i }},
	{"field", func(i int) { shared.balance = i }, func(i int) { sink(shared.balance) }},
	{"bool", func(i int) { flags.stop = i%2 == 0 }, func(i int) {
		if flags.stop {
			sink(i)
		}
	}},
	{"string", func(i int) { shared.name = names[i%len(names)] }, func(i int) { sink(len(shared.name)) }},
	{"pointer", func(i int) { current = &account{balance: i} }, func(i int) { sinkAccount(current) }},
	{"interface", func(i int) { shared.note = i }, func(i int) { sinkAny(shared.note) }},
	{"element", func(i int) { table[i%4+4] = uint32(i) }, func(i int) { sink(int(table[i%4+4])) }},
	{"slice", func(i int) { shared.tags[3] = "x" }, func(i int) { sink(len(shared.tags[3])) }},
	{"array", func(i int) { shared.history[2]++ }, func(i int) { shared.history[2]-- }},
	{"copied", func(i int) { *shared.owner = account{balance: i} }, func(i int) { sink(shared.owner.balance) }},
	{"method", func(i int) { shared.setKind(uint8(i)) }, func(i int) { sink(int(shared.kind)) }},
	{"captured", capturedWrite, capturedRead},
}

var names = []string{"ada", "grace", "barbara"}

func (a *account) setKind(k uint8) { a.kind = k }

var capturedWrite, capturedRead = func() (func(int), func(int)) {
	n := 0
	return func(i int) { n = i }, func(int) { sink(n) }
}()

//go:noinline
func sink(int) {}

//go:noinline
func sinkAny(any) {}

//go:noinline
func sinkAccount(*account) {}

func main() {
	fixed := flag.Bool("fixed", false, "synchronize")
	length := flag.Duration("for", 10*time.Second, "how long to run")
	list := flag.Bool("list", false, "print the names of the races")
	findings := flag.String("findings", "", "write findings to this file")
	flag.Parse()
	if *list {
		for _, r := range races {
			fmt.Println(r.name)
		}
		return
	}
	if *findings != "" {
		file, err := os.Create(*findings)
		if err != nil {
			panic(err)
		}
		defer watch(file)()
	}
	run(*fixed, time.Now().Add(*length))
	if c, err := field.Count(); err == nil {
		fmt.Printf("holds %d catches %d hits %d executed %d\n", c.Holds, c.Catches, c.Hits, c.Executed)
	}
}

// watch writes findings. The function that it returns ends that.
func watch(file *os.File) func() {
	w, err := field.New(field.WithOutput(file), field.WithLogger(slog.New(slog.NewTextHandler(os.Stdout, nil))))
	if err != nil {
		panic(err)
	}
	return func() {
		if _, err := w.Look(); err != nil && !errors.Is(err, field.ErrNoProfile) {
			panic(err)
		}
		file.Close()
	}
}

// run takes the steps of all races until end.
func run(fixed bool, end time.Time) {
	var wg sync.WaitGroup
	for i := range races {
		var mu sync.Mutex
		r := &races[i]
		for _, step := range []func(int){r.first, r.second} {
			wg.Go(func() {
				for i := 0; time.Now().Before(end); i++ {
					if fixed {
						mu.Lock()
					}
					step(i)
					if fixed {
						mu.Unlock()
					}
					work(i)
				}
			})
		}
	}
	wg.Go(func() { // an atomic variable, and one that is handed over
		for i := int64(0); time.Now().Before(end); i++ {
			atomics.Store(i)
			handed := make(chan *account, 1)
			a := &account{}
			wg.Go(func() { a.balance++; handed <- a })
			a = <-handed
			a.balance++
			atomic.StoreInt64(&plain, i)
			work(int(i))
		}
	})
	wg.Go(func() {
		for time.Now().Before(end) {
			sink(int(atomics.Load() + atomic.LoadInt64(&plain)))
			work(1)
		}
	})
	wg.Wait()
}

// work is what a service does between two accesses: it computes, and it waits for others.
func work(i int) {
	x := i
	for range 1000 {
		x = x*31 + 7
	}
	sink(x)
	time.Sleep(time.Duration(i%7) * 100 * time.Microsecond)
}
