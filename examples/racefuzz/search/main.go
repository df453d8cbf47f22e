// Command search asks archives for an event, some at a time, and cancels the
// questions that are still open when it has answers enough, as hedc does, in which
// RaceFuzzer saw a null pointer exception (Sen, PLDI 2008, table 1).
//
// A worker has a function that stops the task it is at:
//
//	w.stop = cancel               if w.stop != nil {
//	...                               w.stop()
//	w.stop = nil                  }
//
// Each write on the left races with the test on the right, and the second one with the
// call, too: if the task ends between test and call, the program calls a nil function.
// A task that is tested before its first write runs to its end, which is only a waste.
// The call and the first write do not race, though no lock keeps them apart: when the
// tests begin nobody takes a new task, so who was seen at one begins no other.
//
// What a task found is written without a lock, and read by who has seen under the lock
// that all workers have left.
//
//	heisen run -detect hybrid ./examples/racefuzz/search
//	heisen run -detect hybrid ./examples/racefuzz/search -fixed
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
	fixed := flag.Bool("fixed", false, "guard what stops a worker")
	flag.Parse()
	run, cancel := (*worker).run, (*worker).cancel
	if *fixed {
		run, cancel = (*worker).runFixed, (*worker).cancelFixed
	}

	p := pool{left: workers}
	var tasks []*task
	for _, a := range archives {
		tasks = append(tasks, &task{from: a})
	}
	p.waiting = tasks
	var all []*worker
	for range workers {
		w := new(worker)
		all = append(all, w)
		go p.work(func(t *task) { run(w, context.Background(), t) })
	}
	for p.answers() < enough {
		time.Sleep(poll)
	}
	p.close()
	for _, w := range all {
		cancel(w)
	}
	for !p.done() {
		time.Sleep(poll)
	}
	answered, events := 0, 0
	for _, t := range tasks {
		if t.failed == nil && t.found > 0 { // race:result
			answered++
			events += t.found // race:events
		}
	}
	if answered < enough || events < answered {
		panic(fmt.Sprintf("%d answers, want %d at least", answered, enough))
	}
	fmt.Printf("%d answers of %d are enough\n", enough, len(archives))
}
