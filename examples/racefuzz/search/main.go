// Command search asks archives for an event, some at a time, and cancels the
// questions that are still open when it has answers enough, as hedc does, in which
// RaceFuzzer saw a null pointer exception (Sen, PLDI 2008, table 1).
//
// A task has a function that stops it, while it runs:
//
//	t.stop = cancel               if t.stop != nil {
//	...                               t.stop()
//	t.stop = nil                  }
//
// Each write on the left races with the test on the right. If the task ends between
// test and call, the program calls a nil function; a task that is tested before its
// first write runs to its end, which is only a waste. The call races with the second
// write, too, but in the usual order the write comes because of the call. The call and
// the first write do not race, though no lock keeps them apart: stop is called only
// by who has seen it not nil.
//
// What a task found is written without a lock, and read by who has seen under the lock
// that all workers have left.
//
//	heisen run -detect hybrid ./examples/racefuzz/search
//	heisen run -detect hybrid ./examples/racefuzz/search -- -fixed
package main

import (
	"context"
	"flag"
	"fmt"
	"time"
)

var archives = []archive{
	{"radio", 2, 1 * time.Millisecond},
	{"hard x-ray", 3, 2 * time.Millisecond},
	{"soft x-ray", 5, 2 * time.Millisecond},
	{"optical", 7, 1 * time.Millisecond},
	{"infrared", 11, 20 * time.Millisecond},
	{"catalogue", 13, 20 * time.Millisecond},
}

const (
	workers = 3
	enough  = 3 // answers
	poll    = time.Millisecond
)

func main() {
	fixed := flag.Bool("fixed", false, "guard what stops a task")
	flag.Parse()
	run, cancel := (*task).run, (*task).cancel
	if *fixed {
		run, cancel = (*task).runFixed, (*task).cancelFixed
	}

	p := pool{left: workers}
	for _, a := range archives {
		p.tasks = append(p.tasks, &task{from: a})
	}
	p.waiting = p.tasks
	for range workers {
		go p.work(context.Background(), run)
	}
	for p.answers() < enough {
		time.Sleep(poll)
	}
	for _, t := range p.close() {
		cancel(t)
	}
	for !p.done() {
		time.Sleep(poll)
	}
	answered, events := 0, 0
	for _, t := range p.tasks {
		if n, err := t.result(); err == nil && n > 0 {
			answered++
			events += n
		}
	}
	if answered < enough || answered > len(archives) || events == 0 {
		panic(fmt.Sprintf("%d answers, want %d at least", answered, enough))
	}
	fmt.Printf("%d answers of %d are enough\n", enough, len(archives))
}
