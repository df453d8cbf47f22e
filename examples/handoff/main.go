// Command handoff is the heisen command with a further detector. The detector
// reports locks that one goroutine acquires and another one releases. Go allows
// this for a sync.Mutex, but readers of the code do not expect it.
//
//	go run ./examples/handoff run ./examples/handoff/relay
package main

import (
	"errors"
	"flag"
	"os"

	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/driver"
)

func main() { os.Exit(driver.Main(options()...)) }

func options() []driver.Option {
	var from uint64 // the -handoff.from flag
	return []driver.Option{
		driver.WithName("handoff"),
		driver.WithDetector(driver.Detector{
			Name:    "handoff",
			Promise: "every lock that one goroutine takes and another one releases",
			Flags: func(flags *flag.FlagSet) {
				flags.Uint64Var(&from, "from", 1, "report a lock from its `n`-th handoff on")
			},
			New: func(_ *heisen.Symbols, sink heisen.Sink) (heisen.Detector, error) {
				if from == 0 {
					return nil, errors.New("handoffs are counted from 1")
				}
				return &detector{sink: sink, from: from, locks: map[heisen.Object]*lock{}}, nil
			},
		}),
		driver.WithDefault("handoff", "fasttrack"),
	}
}

// A detector gets every event of a program, in an order that the program could
// have shown.
type detector struct {
	sink  heisen.Sink
	from  uint64
	locks map[heisen.Object]*lock
}

type lock struct {
	taken    heisen.Access // latest acquisition
	handoffs uint64
}

// Handle implements heisen.Detector.
func (d *detector) Handle(e heisen.Event) {
	switch e.Op() {
	case heisen.Acquire:
		l := d.locks[e.Object()]
		if l == nil {
			l = &lock{}
			d.locks[e.Object()] = l
		}
		l.taken = heisen.AccessOf(heisen.AsRecord(e), 0)
	case heisen.Release:
		l := d.locks[e.Object()]
		if l == nil || l.taken.Thread == e.Thread() {
			return
		}
		if l.handoffs++; l.handoffs >= d.from {
			d.sink(heisen.Finding{
				Kind: "handoff", Object: e.Object(), Message: "a lock is released by another goroutine than took it",
				Accesses: []heisen.Access{l.taken, heisen.AccessOf(heisen.AsRecord(e), 0)},
			})
		}
	case heisen.Alloc: // locks at these addresses no longer exist
		r := heisen.AsRecord(e)
		for object := range d.locks {
			if object-r.Object < heisen.Object(r.Value) {
				delete(d.locks, object)
			}
		}
	}
}

// Flush implements heisen.Detector.
func (d *detector) Flush() error { return nil }
