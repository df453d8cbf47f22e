package fasttrack

import (
	"testing"

	"github.com/heisen-go/heisen"
)

// TestAcquireCollected: a finalizer is ordered after everything before the latest collection, and
// after nothing since.
func TestAcquireCollected(t *testing.T) {
	const word = 64
	for _, slots := range []int{2, 200} { // clocks of one block and longer ones
		p := newProgram(t)
		for i := range slots {
			p.thread(heisen.Thread(10 + i))
		}
		races := 0
		p.found = func(int, heisen.Object, heisen.Op, heisen.Thread, uint64) { races++ }
		write := func(id heisen.Thread) {
			p.run([]heisen.Record{{Op: heisen.Write, Thread: id, Object: word, Len: 8, Site: 1}})
		}
		finalizer := heisen.Thread(2)
		p.thread(finalizer)
		for range 3 {
			write(1)
			p.table.Collect()
			for range 2 {
				p.table.AcquireCollected(p.thread(finalizer))
				if write(finalizer); races != 0 {
					t.Fatalf("%d slots: %d races with what was done before a collection", slots, races)
				}
			}
			p.table.Collect()
			p.table.AcquireCollected(p.thread(1))
		}
		write(1)
		p.table.AcquireCollected(p.thread(finalizer))
		if write(finalizer); races != 8 { // one for each byte
			t.Errorf("%d slots: %d races with what was done since the latest collection", slots, races)
		}
	}
}
