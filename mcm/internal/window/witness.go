package window

import (
	"github.com/heisen-go/heisen"
)

// Witness is a schedule: some of a window's records, a prefix of each thread's, in
// an order that is possible wherever the window is. As a trace it is what Records returns,
// after what comes before the window; package racefuzz makes turns of it (Result.Turns for
// models, Turns for other hosts) that a scheduler can follow.
type Witness struct {
	Order []int // indices of the window's records
	Last  int   // how many of them, at the end, are next in their threads at the same time
}

// Records returns records, those of the window, in the witness's order.
func (x *Witness) Records(records []heisen.Record) []heisen.Record {
	out := make([]heisen.Record, len(x.Order))
	for k, i := range x.Order {
		out[k] = records[i]
	}
	return out
}

// Threads are the records of each thread.
type Threads struct {
	steps  [][]int32 // by thread, by first appearance: its records
	thread []int32   // by record
	next   []int32   // scratch: by thread
}

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

// Witness makes a witness of records, a prefix of each thread's but for some that do not
// constrain anything, which are put in, and of the records that come next.
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
