package heisen_test

import (
	"context"
	"fmt"
	"sync"
	"testing"

	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/bench/measure"
	"github.com/heisen-go/heisen/bench/workload"
)

// counter is a detector that does next to nothing, so that what it costs is the dispatch.
type counter struct{ writes int }

func (c *counter) Handle(e heisen.Event) { c.add(heisen.AsRecord(e)) }
func (c *counter) Flush() error          { return nil }

func (c *counter) add(r *heisen.Record) {
	if r.Op == heisen.Write {
		c.writes++
	}
}

// batchCounter is a counter that takes batches.
type batchCounter struct{ counter }

func (c *batchCounter) HandleRecords(batch []heisen.Record) {
	for i := range batch {
		c.add(&batch[i])
	}
}

// BenchmarkDispatch measures what it costs to hand an event to a detector, one by one
// (handle=event) and in batches (handle=batch).
func BenchmarkDispatch(b *testing.B) {
	trace := workload.Shared()[0].Events(1 << 17)
	for _, handle := range []string{"event", "batch"} {
		detector := func() heisen.Detector {
			if handle == "batch" {
				return &batchCounter{}
			}
			return &counter{}
		}
		for _, through := range []struct {
			name     string
			detector func() heisen.Detector
		}{
			{"run", detector},
			{"tee", func() heisen.Detector { return heisen.Tee(detector(), detector()) }},
			{"filter", func() heisen.Detector {
				return heisen.Filter(detector(), func(e heisen.Event) bool { return e.Op() != heisen.Read })
			}},
		} {
			b.Run("through="+through.name+"/handle="+handle, func(b *testing.B) {
				measure.PerEvent(b, len(trace), func() error {
					_, err := heisen.Run(context.Background(), heisen.Slice(trace), through.detector())
					return err
				})
			})
		}
	}
}

// BenchmarkSymbols measures interning. An event is one step. Each op runs in one goroutine and in
// two at the same time, on one table.
//
//   - op=site adds a site, op=lookup looks one up;
//   - op=call, op=lock and op=context move to a position that is known already;
//   - op=new-call, op=new-lock and op=new-context move to one that is new.
func BenchmarkSymbols(b *testing.B) {
	const steps, sites = 1 << 14, 1 << 6
	site := func(i int) heisen.Site { return heisen.Site(1 + i%sites) }
	held := func(i int) heisen.HeldLock {
		return heisen.HeldLock{Lock: heisen.Object(8 * (i % sites)), Site: site(i)}
	}
	for _, op := range []struct {
		name  string
		fresh bool // whether it needs a table in which the positions are new
		step  func(s *heisen.Symbols, i int)
	}{
		{"site", true, func(s *heisen.Symbols, i int) { s.AddSite(heisen.SiteInfo{PC: uint64(i)}) }},
		{"lookup", false, func(s *heisen.Symbols, i int) { s.Site(site(i)) }},
		{"call", false, func(s *heisen.Symbols, i int) { s.Call(heisen.Cursor{}, site(i)) }},
		{"lock", false, func(s *heisen.Symbols, i int) { s.Acquire(heisen.Cursor{}, held(i)) }},
		{"context", false, func(s *heisen.Symbols, i int) { s.Context(heisen.Cursor{Calls: uint32(1 + i%sites)}) }},
		{"new-call", true, func(s *heisen.Symbols, i int) { s.Call(heisen.Cursor{}, heisen.Site(i)) }},
		{"new-lock", true, func(s *heisen.Symbols, i int) {
			s.Acquire(heisen.Cursor{}, heisen.HeldLock{Lock: heisen.Object(8 * i)})
		}},
		{"new-context", true, func(s *heisen.Symbols, i int) { s.Context(heisen.Cursor{Calls: uint32(i + 1)}) }},
	} {
		for _, goroutines := range []int{1, 2} {
			b.Run(fmt.Sprintf("op=%s/goroutines=%d", op.name, goroutines), func(b *testing.B) {
				table := func() *heisen.Symbols {
					s := heisen.NewSymbols()
					for i := range sites {
						s.AddSite(heisen.SiteInfo{PC: uint64(i)})
						s.Call(heisen.Cursor{}, site(i))
						s.Acquire(heisen.Cursor{}, held(i))
						s.Context(heisen.Cursor{Calls: uint32(1 + i)})
					}
					return s
				}
				s := table()
				measure.PerEvent(b, goroutines*steps, func() error {
					if op.fresh {
						s = table()
					}
					var done sync.WaitGroup
					for range goroutines {
						done.Add(1)
						go func() {
							defer done.Done()
							for i := range steps {
								op.step(s, i)
							}
						}()
					}
					done.Wait()
					return nil
				})
			})
		}
	}
}
