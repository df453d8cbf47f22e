// Command channels sends numbers on channels of several kinds and logs the receivers; see package
// replay.
package main

import (
	"fmt"
	"os"
	"sync"

	"github.com/heisen-go/heisen/examples/racefuzz/replay/journal"
)

const (
	producers = 3
	consumers = 3
	each      = 6
)

// request asks for the square of a number.
type request struct {
	n     int
	reply chan<- int
}

// serve answers requests until there are no more.
func serve(j *journal.Journal, id int, requests <-chan request) {
	for r := range requests {
		j.Notef("server %d squares %d, %d more wait", id, r.n, len(requests))
		r.reply <- r.n * r.n
	}
}

func main() {
	var j journal.Journal
	numbers := make(chan int)
	requests := make(chan request, 2)
	sums := make(chan int, consumers)

	var serving sync.WaitGroup
	for id := range 2 {
		serving.Go(func() { serve(&j, id, requests) })
	}
	for id := range consumers {
		go func() {
			reply, sum := make(chan int), 0
			for n := range numbers {
				j.Notef("consumer %d gets %d", id, n)
				requests <- request{n, reply}
				sum += <-reply
			}
			j.Notef("consumer %d ends with %d", id, sum)
			sums <- sum
		}()
	}
	var producing sync.WaitGroup
	for id := range producers {
		producing.Go(func() {
			for i := range each {
				numbers <- id*each + i
				j.Notef("producer %d sent %d", id, id*each+i)
			}
		})
	}
	producing.Wait()
	close(numbers)
	sum := 0
	for range consumers {
		sum += <-sums
	}
	close(requests)
	serving.Wait()

	want := 0
	for n := range producers * each {
		want += n * n
	}
	if _, open := <-numbers; open || sum != want {
		panic(fmt.Sprintf("the sum is %d, want %d", sum, want))
	}
	if err := j.Print(os.Stdout, "channels"); err != nil {
		panic(err)
	}
}
