package mcm

import (
	"errors"

	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/mcm/order"
)

// ErrQuestion is what the error of a question wraps that makes no sense: of records
// that do not exist, or are not what the question is about.
var ErrQuestion = errors.New("mcm: no such question")

// Witness is a schedule: some of a window's records, a prefix of each thread's, in
// an order that is possible wherever the window is. As a trace it is what Records returns,
// after what comes before the window; package racefuzz makes turns of it (Result.Turns for
// models, Turns for other hosts) that a scheduler can follow.
type Witness struct {
	Order []int // indices of the window's records
	Last  int   // how many of them, at the end, are next in their threads at the same time
}

// Records returns the records in the witness's order.
func (x *Witness) Records(w *Window) []heisen.Record {
	out := make([]heisen.Record, len(x.Order))
	for k, i := range x.Order {
		out[k] = w.Records[i]
	}
	return out
}

// witness makes a witness of the nodes up to the goal and the records that come
// next, with the records between them that are no nodes.
func (m *Model) witness(nodes []order.Node, last []int) *Witness {
	steps := map[heisen.Thread][]int32{}
	for i := range m.records {
		t := m.records[i].TID
		steps[t] = append(steps[t], int32(i))
	}
	x := &Witness{Last: len(last)}
	next := map[heisen.Thread]int{}
	upTo := func(i int) {
		t := m.records[i].TID
		list := steps[t]
		at := next[t]
		for ; int(list[at]) < i; at++ {
			x.Order = append(x.Order, int(list[at]))
		}
		next[t] = at
	}
	for _, n := range nodes {
		i := int(m.event[n])
		upTo(i)
		x.Order = append(x.Order, i)
		next[m.records[i].TID]++
	}
	for _, i := range last {
		upTo(i)
	}
	x.Order = append(x.Order, last...)
	return x
}
