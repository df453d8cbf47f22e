package fasttrack

// Most programs have few threads at a time, but they may have objects in large numbers, each of which publishes a
// clock of its own. As long as these are few slots long, the times of what an object has published are in its extra:
// then neither a vector nor a block has to be fetched besides.

const (
	fewSlots = 12 // so that an extra is two cache lines
	// within is the clock of a stamp if its times are in the extra.
	within = 1<<32 - 1
)

// few is the first times of a clock of which all others are zero. They stand there as in a block.
type few struct {
	times [fewSlots / 2]uint64
}

// few reports whether all clocks are that short.
//
//go:nosplit
func (t *Table) few() bool { return t.slots.Load() <= fewSlots && t.Crowded.Load() == 0 }

// set makes the times those of a block.
//
//go:nosplit
func (f *few) set(b *block) {
	for i := range f.times {
		f.times[i] = b.times[i]
	}
}

// raise makes them cover epoch e, which is of one of the slots.
//
//go:nosplit
func (f *few) raise(e uint64) {
	s := uint32(e >> timeBits)
	w, shift := &f.times[s/2%(fewSlots/2)], s&1*32
	*w = latest(*w, e&maxTime<<shift)
}

// raiseAll makes them the maximum of what they are and a block's.
//
//go:nosplit
func (f *few) raiseAll(b *block) {
	for i := range f.times {
		f.times[i] = latest(f.times[i], b.times[i])
	}
}

// raiseFew makes the times of a block the maximum of what they are and those in an extra, and reports whether that
// changes one.
//
//go:nosplit
func (b *block) raiseFew(f *few) bool {
	var changed uint64
	for i := range f.times {
		later := latest(b.times[i], f.times[i])
		changed |= later ^ b.times[i]
		b.times[i] = later
	}
	return changed != 0
}

// takeOut gives what an extra has published a vector, if its times are within.
//
//go:nosplit
func (t *Table) takeOut(x *extra) {
	if x.published.clock != within {
		return
	}
	c := t.newVector()
	if x.published.clock = c; c == 0 {
		return
	}
	if b := t.ownBlock(c, 0); b != 0 {
		for i := range x.times.times {
			blockAt(b).times[i] = x.times.times[i]
		}
	}
}
