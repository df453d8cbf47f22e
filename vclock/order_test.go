package vclock_test

import (
	"fmt"
	"maps"
	"testing"

	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/vclock"
)

// TestOrderAlone builds a detector from what Order exports, as other packages
// do, and compares it with reachability. On the way, Before must agree with the
// clocks.
func TestOrderAlone(t *testing.T) {
	type past struct {
		index  uint64
		epoch  vclock.Epoch
		record heisen.Record
	}
	forRandomTraces(t, 500, func(trace []heisen.Record) error {
		want := judge(trace, nil).later
		got := map[uint64]bool{}
		var order vclock.Order
		alive := map[heisen.Object][]past{}
		for i := range trace {
			r := &trace[i]
			order.Observe(r)
			if r.Op == heisen.Alloc || r.Op == heisen.Free {
				for o := range heisen.Object(r.Value) {
					delete(alive, r.Object+o)
				}
			}
			if r.Access() != heisen.Invalid {
				now := past{uint64(i + 1), order.Access(r.Thread), *r}
				if order.Thread(now.epoch) != r.Thread {
					return fmt.Errorf("event %d: epoch %v is of thread %d", now.index, now.epoch, order.Thread(now.epoch))
				}
				clock := order.Clock(r.Thread)
				for o := range heisen.Object(r.Size()) {
					for _, p := range alive[r.Object+o] {
						before := order.Before(p.epoch, r.Thread)
						if clock.Covers(p.epoch) != before {
							return fmt.Errorf("event %d: Before(%v) is %v, the clock says otherwise", now.index, p.epoch, before)
						}
						if !before && p.record.Access().Conflicts(r.Access()) {
							got[now.index] = true
						}
					}
					alive[r.Object+o] = append(alive[r.Object+o], now)
				}
			}
			order.Publish(r)
		}
		if !maps.Equal(want, got) {
			return fmt.Errorf("later sides of races: %v, want %v", got, want)
		}
		return order.Err()
	})
}
