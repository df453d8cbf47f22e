package bench

import (
	"testing"

	"github.com/heisen-go/heisen/internal/core/fasttrack"
)

// BenchmarkHappens measures what programs do for each event when they look for races
// themselves, apart from the hooks around it: accesses again in the same epoch, in a new
// epoch each, of words that locks protect, by one thread or by two in turn, or one lock that a thread takes
// again and again, of words that many threads read, and atomic operations.
func BenchmarkHappens(b *testing.B) {
	const words, rounds = 1 << 10, 1 << 8
	for _, w := range []struct {
		name    string
		threads int
		events  int // of a round, per word
		round   func(*happening, *fasttrack.Thread, int)
	}{
		{"same-epoch", 1, 2, func(h *happening, th *fasttrack.Thread, i int) {
			h.access(th, i, fasttrack.Read)
			h.access(th, i, fasttrack.Write)
		}},
		{"new-epoch", 1, 3, func(h *happening, th *fasttrack.Thread, i int) {
			h.access(th, i, fasttrack.Read)
			h.access(th, i, fasttrack.Write)
			h.sync(th, words, fasttrack.Release)
		}},
		{"locked", 1, 4, increment},
		{"locked-again", 1, 4, func(h *happening, th *fasttrack.Thread, i int) {
			h.sync(th, words, fasttrack.Acquire)
			h.access(th, i, fasttrack.Read)
			h.access(th, i, fasttrack.Write)
			h.sync(th, words, fasttrack.Release)
		}},
		{"locked-in-turn", 2, 4, increment},
		{"read-shared", 16, 1, func(h *happening, th *fasttrack.Thread, i int) { h.access(th, i, fasttrack.Read) }},
		{"read-shared-new-epoch", 16, 2, func(h *happening, th *fasttrack.Thread, i int) {
			h.access(th, i, fasttrack.Read)
			h.sync(th, words+1+int(th.Epoch>>52), fasttrack.Send)
		}},
		{"atomic-add", 2, 2, func(h *happening, th *fasttrack.Thread, i int) {
			h.sync(th, i, fasttrack.Exchange)
			h.access(th, i, fasttrack.AtomicUpdate)
		}},
	} {
		b.Run(w.name, func(b *testing.B) {
			if err := fasttrack.ReserveMemory(); err != nil {
				b.Fatal(err)
			}
			defer fasttrack.ReleaseMemory()
			h := &happening{cells: make([]fasttrack.Word, 2*words)}
			threads := make([]fasttrack.Thread, w.threads)
			h.table.BeginEpoch(&threads[0], 0)
			for i := range threads[1:] {
				h.table.Fork(&threads[0], &threads[i+1], uint32(i)+1)
			}
			measure(b, words*rounds*w.events, func() error {
				for r := range rounds {
					for i := range words {
						w.round(h, &threads[(r+i)%w.threads], i)
					}
				}
				return nil
			})
			if h.races.Count > 0 {
				b.Fatal("a race")
			}
		})
	}
}

// happening is a table with the cells of some words.
type happening struct {
	table fasttrack.Table
	cells []fasttrack.Word
	races fasttrack.Races
}

func (h *happening) access(th *fasttrack.Thread, i int, kind uint32) {
	h.table.Access(th, &h.cells[i].Cell, uint64(8*i), 1, 1, kind, &h.races)
}

func (h *happening) sync(th *fasttrack.Thread, i int, op uint32) {
	c := &h.cells[i].Cell
	c.Unlock(h.table.Sync(th, c.Lock(), uint64(8*i), op))
}

// increment adds to a word under a lock, of which there are few.
func increment(h *happening, th *fasttrack.Thread, i int) {
	lock := len(h.cells)/2 + i%16
	h.sync(th, lock, fasttrack.Acquire)
	h.access(th, i, fasttrack.Read)
	h.access(th, i, fasttrack.Write)
	h.sync(th, lock, fasttrack.Release)
}
