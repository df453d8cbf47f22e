// Command search queries archives for an event, some at a time, and cancels the open queries when
// it has enough answers. It is a counterpart of hedc, in which RaceFuzzer found a null pointer
// exception (Sen, PLDI 2008, table 1).
//
// A worker has a function that stops its current task:
//
//	w.stop = cancel               if w.stop != nil {
//	...                               w.stop()
//	w.stop = nil                  }
//
// Each write on the left races with the test on the right, and the second write also with the call:
// if the task ends between test and call, the program calls a nil function. A task that is tested
// before its first write runs to its end, which only costs time. The call and the first write do
// not race, although no lock orders them: no worker takes a new task once the tests begin.
//
// The result of a task is written without a lock. It is read after the lock has shown that all
// workers have left.
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
	{"catalog", 13, 20 * time.Millisecond},
}

const (
	workers = 3
	enough  = 3 // answers
	poll    = time.Millisecond
)

func main() {
	fixed := flag.Bool("fixed", false, "guard the stop function of a worker")
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
