package fasttrack_test

import (
	"fmt"
	"testing"

	"github.com/heisen-go/heisen/bench/measure"
	"github.com/heisen-go/heisen/internal/core/fasttrack"
)

// BenchmarkTable measures the cost of an event in a program that finds races itself, without the
// hooks around it, on words and locks used in typical ways.
func BenchmarkTable(b *testing.B) {
	const words, rounds = 1 << 10, 1 << 7
	for _, w := range []struct {
		workload string
		threads  int
		events   int // of a round, per word
		round    func(*shadowed, *fasttrack.Thread, int)
	}{
		// A thread accesses words repeatedly, in one epoch and in one epoch each.
		{"same-epoch", 1, 2, func(s *shadowed, th *fasttrack.Thread, i int) {
			s.access(th, i, fasttrack.Read)
			s.access(th, i, fasttrack.Write)
		}},
		{"new-epoch", 1, 3, func(s *shadowed, th *fasttrack.Thread, i int) {
			s.access(th, i, fasttrack.Read)
			s.access(th, i, fasttrack.Write)
			s.sync(th, words, fasttrack.Release)
		}},
		// Words that locks protect, used by one thread or by two in turn; the same lock each time.
		{"locked", 1, 4, increment},
		{"lock-reuse", 1, 4, func(s *shadowed, th *fasttrack.Thread, i int) {
			s.sync(th, words, fasttrack.Acquire)
			s.access(th, i, fasttrack.Read)
			s.access(th, i, fasttrack.Write)
			s.sync(th, words, fasttrack.Release)
		}},
		{"locked-in-turn", 2, 4, increment},
		// Words that many threads read, and atomic operations.
		{"read-shared", 16, 1, func(s *shadowed, th *fasttrack.Thread, i int) { s.access(th, i, fasttrack.Read) }},
		{"read-shared-new-epoch", 16, 2, func(s *shadowed, th *fasttrack.Thread, i int) {
			s.access(th, i, fasttrack.Read)
			s.sync(th, words+1+int(th.Epoch>>52), fasttrack.Send)
		}},
		{"atomic-add", 2, 2, func(s *shadowed, th *fasttrack.Thread, i int) {
			s.sync(th, i, fasttrack.Exchange)
			s.access(th, i, fasttrack.AtomicUpdate)
		}},
		// An atomic variable of many threads beside a plain one of one thread, in the same word.
		{"atomic-beside-plain", 2048, 3, func(s *shadowed, th *fasttrack.Thread, i int) {
			if i %= 4; uint64(i) == th.Epoch>>52%4 {
				s.table.Access(th, &s.cells[i].Cell, uint64(8*i), 1, 1<<(4+th.Epoch>>50%4), fasttrack.Read, &s.races)
			}
			s.sync(th, i, fasttrack.Exchange)
			s.access(th, i, fasttrack.AtomicUpdate)
		}},
		// Text: eight places write a byte each, and a ninth reads the word; threads do so in turn.
		{"text", 2, 11, func(s *shadowed, th *fasttrack.Thread, i int) {
			s.sync(th, words, fasttrack.Receive)
			c := &s.cells[i].Cell
			for at := range uint64(8) {
				s.table.Access(th, c, uint64(8*i), 1+at, 1<<at, fasttrack.Write, &s.races)
			}
			s.table.Access(th, c, uint64(8*i), 9, 255, fasttrack.Read, &s.races)
			s.sync(th, words, fasttrack.Send)
		}},
	} {
		b.Run("workload="+w.workload, func(b *testing.B) {
			if err := fasttrack.ReserveMemory(); err != nil {
				b.Fatal(err)
			}
			defer fasttrack.ReleaseMemory()
			s := &shadowed{cells: make([]fasttrack.Word, 2*words)}
			threads := make([]fasttrack.Thread, w.threads)
			s.table.BeginEpoch(&threads[0], 0)
			for i := range threads[1:] {
				s.table.Fork(&threads[0], &threads[i+1], uint32(i)+1)
			}
			measure.PerEvent(b, words*rounds*w.events, func() error {
				for r := range rounds {
					for i := range words {
						w.round(s, &threads[(r+i)%w.threads], i)
					}
				}
				return nil
			})
			if s.races.Count > 0 {
				b.Fatal("false alarm")
			}
		})
	}
}

// shadowed is a table and the cells of some words.
type shadowed struct {
	table fasttrack.Table
	cells []fasttrack.Word
	races fasttrack.Races
}

func (s *shadowed) access(th *fasttrack.Thread, i int, kind uint32) {
	s.table.Access(th, &s.cells[i].Cell, uint64(8*i), 1, 1, kind, &s.races)
}

func (s *shadowed) sync(th *fasttrack.Thread, i int, op uint32) {
	c := &s.cells[i].Cell
	c.Unlock(s.table.Sync(th, c.Lock(), uint64(8*i), op))
}

// increment adds to a word under one of a few locks.
func increment(s *shadowed, th *fasttrack.Thread, i int) {
	lock := len(s.cells)/2 + i%16
	s.sync(th, lock, fasttrack.Acquire)
	s.access(th, i, fasttrack.Read)
	s.access(th, i, fasttrack.Write)
	s.sync(th, lock, fasttrack.Release)
}

// BenchmarkReclaim measures a reclamation after slots have run low, by the word: each word was
// written by one of many threads that have ended, under a lock or not.
func BenchmarkReclaim(b *testing.B) {
	for _, words := range []int{1 << 14, 1 << 20} {
		b.Run(fmt.Sprintf("words=%d", words), func(b *testing.B) {
			for range b.N {
				b.StopTimer()
				if err := fasttrack.ReserveMemory(); err != nil {
					b.Fatal(err)
				}
				s := &shadowed{cells: make([]fasttrack.Word, words+1024)}
				parent := new(fasttrack.Thread)
				s.table.BeginEpoch(parent, 0)
				for id := 1; ; id++ {
					th := new(fasttrack.Thread)
					s.table.Fork(parent, th, uint32(id))
					for i := range words / (1 << 14) * 2 {
						s.access(th, (id*words/(1<<13)+i)%words, fasttrack.Write)
						if i%8 == 0 {
							lock := words + (id+i)%1024
							s.sync(th, lock, fasttrack.Acquire)
							s.sync(th, lock, fasttrack.Release)
						}
					}
					s.table.End(th)
					if s.table.SlotsLow() >= fasttrack.SlotsFew {
						break
					}
				}
				b.StartTimer()
				s.table.Reclaim(func(yield func(*fasttrack.Thread) bool) { yield(parent) }, func(yield func(*fasttrack.Cell) bool) {
					for i := range s.cells {
						yield(&s.cells[i].Cell)
					}
				})
			}
			b.StopTimer()
			fasttrack.ReleaseMemory()
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(words), "ns/word")
		})
	}
}
