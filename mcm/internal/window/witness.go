package window

import (
	"github.com/heisen-go/heisen"
)

// Witness is a schedule: a prefix of the records of each thread, in a feasible order. As a trace, it
// is the result of Records after the events before the window. Package racefuzz turns it into a
// script for a scheduler (Result.Turns for models, Turns for other hosts).
type Witness struct {
	Order []int // indices of the window's records
	Last  int   // the last so many records are pending together: each is the next of its thread
}

// Records returns those of the window's records that are in the witness, in its order.
func (x *Witness) Records(records []heisen.Record) []heisen.Record {
	out := make([]heisen.Record, len(x.Order))
	for k, i := range x.Order {
		out[k] = records[i]
	}
	return out
}

// Threads has the records of each thread of a window, to make witnesses.
type Threads struct {
	steps  [][]int32 // by thread, by first appearance: its records
	thread []int32   // by record
	next   []int32   // scratch: by thread
}

// NewThreads returns the threads of some records.
func NewThreads(records []heisen.Record) *Threads {
	k := &Threads{thread: make([]int32, len(records))}
	known := map[heisen.Thread]int32{}
	for i := range records {
		t, ok := known[records[i].Thread]
		if !ok {
			t = int32(len(k.steps))
			known[records[i].Thread] = t
			k.steps = append(k.steps, nil)
		}
		k.thread[i] = t
		k.steps[t] = append(k.steps[t], int32(i))
	}
	k.next = make([]int32, len(k.steps))
	return k
}

// Witness returns the witness with the records of prefix and then last, which are pending together.
// prefix and last may leave out records that constrain nothing: before each record, Witness inserts
// the records of its thread that are left out.
func (k *Threads) Witness(prefix, last []int) *Witness {
	clear(k.next)
	x := &Witness{Order: make([]int, 0, len(prefix)+len(last)), Last: len(last)}
	upTo := func(i int) {
		t := k.thread[i]
		list := k.steps[t]
		at := k.next[t]
		for ; int(list[at]) < i; at++ {
			x.Order = append(x.Order, int(list[at]))
		}
		k.next[t] = at
	}
	for _, i := range prefix {
		upTo(i)
		x.Order = append(x.Order, i)
		k.next[k.thread[i]]++
	}
	for _, i := range last {
		upTo(i)
	}
	x.Order = append(x.Order, last...)
	return x
}
