//go:build heisen_inject

package runtime

import (
	"internal/runtime/atomic"
	_ "unsafe" // for go:linkname
)

// These functions are for package field, which has their declarations, and the same types.

// heisenFieldCatch copies the race with a number, from 0, in the order in which races were caught. It reports whether there is one.
//
//go:linkname heisenFieldCatch github.com/heisen-go/heisen/field.samplerCatch
func heisenFieldCatch(number int, k *heisenCatch) bool {
	r := &heisenSampler.reports
	lock(&r.all)
	told := r.told
	unlock(&r.all)
	if number >= len(told) {
		return false
	}
	*k = *told[number]
	return true
}

// heisenFieldCounters returns what has happened so far.
//
//go:linkname heisenFieldCounters github.com/heisen-go/heisen/field.samplerCounters
func heisenFieldCounters(c *[8]uint64) {
	s := &heisenSampler
	*c = [...]uint64{
		uint64(atomic.Load(&s.on)), uint64(len(s.table.places)), uint64(atomic.Load(&s.explored)), uint64(s.table.executed()),
		atomic.Load64(&s.hits), atomic.Load64(&s.holds), atomic.Load64(&s.catches), atomic.Load64(&s.reports.lost),
	}
}

// executed returns how many places were executed with variables that goroutines may share.
func (t *heisenTable) executed() (n int) {
	for i := range t.isLive {
		for bits := atomic.Load8(&t.isLive[i]); bits != 0; bits &= bits - 1 {
			n++
		}
	}
	return n
}

// heisenFieldBudget sets the share of a processor, in thousandths of a percent, and the time of a hold in nanoseconds. A share of 0
// ends sampling until it is set again.
//
//go:linkname heisenFieldBudget github.com/heisen-go/heisen/field.samplerBudget
func heisenFieldBudget(cpu, delay int64) {
	s := &heisenSampler
	atomic.Storeint64(&s.options.delay, delay)
	atomic.Storeint64(&s.options.cpu, cpu)
	heisenWakeSampler()
}
