// Command jobs is a program whose trace has many queries for mcm.Detector.
//
// Goroutines pass jobs to each other on boards, each of which has a lock. Submitters post jobs,
// workers do them, collectors read the results and put the jobs back to be used again. A job is on
// a board before its submitter has filled it in, but only while the board is locked, so no
// goroutine sees that. The fields of a job are written with a lock and read without. Neither
// must-happen-before edges nor reads-from order the two accesses; only the mutual exclusion of
// critical sections does. So the answer to most queries is no, and a detector that only follows
// edges has to query them. Counters that are read without their lock are true races.
//
//	heisen record -o jobs.heisen run ./bench/jobs -jobs 20000
//	go run ./bench/solvers jobs.heisen
package main

import (
	"flag"
	"fmt"
	"sync"
)

// A job is a piece of work.
type job struct {
	number, owner  int
	input, output  uint64
	steps, retries int
	state          string
}

// A board holds jobs until a goroutine takes them.
type board struct {
	mu     sync.Mutex
	more   *sync.Cond
	jobs   []*job
	posted int
	closed bool
}

func newBoard() *board {
	b := &board{}
	b.more = sync.NewCond(&b.mu)
	return b
}

// post puts a job on the board and calls fill to complete it there.
func (b *board) post(j *job, fill func(*job)) {
	b.mu.Lock()
	b.jobs = append(b.jobs, j)
	b.posted++
	fill(j)
	b.mu.Unlock()
	b.more.Signal()
}

// take takes a job from the board. It returns nil if there will be no more.
func (b *board) take() *job {
	b.mu.Lock()
	defer b.mu.Unlock()
	for len(b.jobs) == 0 && !b.closed {
		b.more.Wait()
	}
	if len(b.jobs) == 0 {
		return nil
	}
	j := b.jobs[len(b.jobs)-1]
	b.jobs = b.jobs[:len(b.jobs)-1]
	return j
}

func (b *board) close() {
	b.mu.Lock()
	b.closed = true
	b.mu.Unlock()
	b.more.Broadcast()
}

// load returns the number of jobs without locking the board.
func (b *board) load() int { return b.posted }

func main() {
	jobs := flag.Int("jobs", 2000, "how many `jobs` each submitter posts")
	people := flag.Int("people", 3, "how many `goroutines` do each kind of work")
	flag.Parse()
	var (
		spare, todo, done                = newBoard(), newBoard(), newBoard()
		submitters, workers, collectors  sync.WaitGroup
		mu                               sync.Mutex
		sum                              uint64
		finished, busiest, longest, busy int
	)
	for i := range 8 * *people {
		spare.post(&job{}, func(j *job) { j.number = i })
	}
	for p := range *people {
		submitters.Go(func() {
			for k := range *jobs {
				j := spare.take()
				number, retries := j.number, j.retries
				todo.post(j, func(j *job) {
					j.owner, j.state = p, "posted"
					j.input = uint64(number*retries + k)
				})
			}
		})
		workers.Go(func() {
			for j := todo.take(); j != nil; j = todo.take() {
				output, steps := j.input, 0
				for ; output%7 != 3; steps++ {
					output = output*5 + uint64(j.owner)
					if steps > 20 {
						break
					}
				}
				done.post(j, func(j *job) {
					j.output, j.steps = output, steps
					j.state = "done"
				})
				if l := todo.load(); l > busy { // a race
					busy = l
				}
			}
		})
		collectors.Go(func() {
			for j := done.take(); j != nil; j = done.take() {
				state, output, steps := j.state, j.output, j.steps
				mu.Lock()
				if finished++; state == "done" {
					sum += output
				}
				longest = max(longest, steps)
				mu.Unlock()
				if l := done.load(); l > busiest {
					busiest = l
				}
				spare.post(j, func(j *job) {
					j.retries = steps
					j.state = ""
				})
			}
		})
	}
	submitters.Wait()
	todo.close()
	workers.Wait()
	done.close()
	collectors.Wait()
	fmt.Println(finished, "jobs, sum", sum, "longest", longest)
}
