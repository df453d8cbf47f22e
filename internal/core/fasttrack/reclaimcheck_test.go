package fasttrack

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/heisen-go/heisen"
)

// checkReclaimed checks a trace where slots are reclaimed at random times.
func checkReclaimed(t testing.TB, trace []heisen.Record) error {
	rng := rand.New(rand.NewPCG(uint64(len(trace)), uint64(trace[0].Object)))
	others := []int{0, inlineSlots - 3, blockSlots - 5, blockSlots * (1 + nodeBlocks)}[rng.IntN(4)]
	rare := []int{1, 2, 10, 40}[rng.IntN(4)]
	if err := checkProgram(t, trace, func(p *program) {
		p.addOthers(others)
		p.between = func() {
			if rng.IntN(rare) == 0 {
				p.reclaim()
			}
		}
	}); err != nil {
		return fmt.Errorf("%d other threads, slots reclaimed once in %d events: %w", others, rare, err)
	}
	return nil
}

// beginAll begins all threads that are not forked: to a thread that begins without a parent after
// a reclamation, what all others have learned before counts as ordered.
func (p *program) beginAll(trace []heisen.Record) {
	forked := map[heisen.Thread]bool{}
	for _, r := range trace {
		if r.Op == heisen.Fork {
			forked[r.Object.Thread()] = true
		}
	}
	for _, r := range trace {
		if !forked[r.Thread] {
			p.thread(r.Thread)
		}
	}
}

// reclaim reclaims slots of ended threads.
func (p *program) reclaim() {
	threads := func(yield func(*Thread) bool) {
		for _, th := range p.others {
			yield(th)
		}
		for _, th := range p.threads {
			yield(th)
		}
	}
	cells := func(yield func(*Cell) bool) {
		for _, words := range p.cells {
			for i := range words {
				yield(&words[i].Cell)
			}
		}
	}
	p.table.Reclaim(threads, cells)
	p.ended = p.ended[:0]
	for s, state := range p.table.reclaim.state {
		if state == slotEnded {
			p.ended = append(p.ended, uint32(s))
		}
	}
	for th := range threads {
		p.checkThread(th)
	}
	for c := range cells {
		p.checkCell(c)
	}
}

// goneEntry is gone for an entry, which may stand for a set of readers.
func (p *program) goneEntry(what string, n uint64) {
	if !isReaders(n) {
		p.gone(what, n>>placeBits)
		return
	}
	for i := readersOf(n); i != 0; i = readerAt(i).rest {
		p.gone("reader in a set", readerAt(i).entry>>placeBits)
	}
}

// gone notes an epoch of a slot that was reclaimed.
func (p *program) gone(what string, e uint64) {
	if e&maxTime != 0 && p.table.reclaim.state[e>>timeBits%maxSlots] == slotEnded {
		p.wrong = fmt.Sprintf("after a reclamation a %s is of slot %d, time %d, which was reclaimed", what, e>>timeBits, e&maxTime)
	}
}

// goneTimes notes the times of reclaimed slots in a clock.
func (p *program) goneTimes(what string, clock uint32) {
	for _, s := range p.ended {
		if time := p.table.timeOf(clock, s); time != 0 {
			p.gone(what, uint64(s)<<timeBits|uint64(time))
		}
	}
}

// checkThread checks that a thread mentions no reclaimed slot.
func (p *program) checkThread(th *Thread) {
	if th.Epoch == 0 {
		return
	}
	for _, e := range th.sources {
		p.gone("source", e)
	}
	if th.partner.slot < maxSlots {
		p.gone("partner", uint64(th.partner.slot)<<timeBits|1)
	}
	p.goneTimes("time of a thread", th.clock)
}

// checkCell checks that a cell mentions no reclaimed slot.
func (p *program) checkCell(c *Cell) {
	head := c.head.Load()
	for i := range uint32(cellEntries) {
		if head>>(headEntries+i*descBits)&descMask != 0 {
			p.goneEntry("entry", c.entryAt(i).Load())
		}
	}
	for i := uint32(head >> headExtension); i != 0; i = extensionAt(i).next {
		x := extensionAt(i)
		if overflow := x.overflow.Load(); head&headOverflow != 0 && overflow != 0 {
			for k := range uint64(1) << (overflow & overflowLogMask) {
				if m := overflowAt(overflow>>overflowShift + k); m.desc.Load() != 0 {
					p.goneEntry("further entry", m.entry.Load())
				}
			}
		}
		for _, s := range []*releaseClock{&x.release, &x.sharedRelease} {
			if s.empty() {
				continue
			}
			p.gone("last epoch", s.lastEpoch())
			p.gone("partner epoch", s.partnerEpoch&epochMask)
			if s.clock != inlined {
				p.goneTimes("time of a release clock", s.clock)
				continue
			}
			for slot := range uint32(inlineSlots) {
				p.gone("inline time", uint64(slot)<<timeBits|uint64(x.inline.time(slot)))
			}
		}
	}
}

// shared reports whether several threads have been at a place.
func shared(trace []heisen.Record, place [2]uint32) bool {
	threads := map[heisen.Thread]bool{}
	for _, r := range trace {
		if r.Site == heisen.Site(place[0]) && r.Context == heisen.Context(place[1]) {
			threads[r.Thread] = true
		}
	}
	return len(threads) > 1
}
