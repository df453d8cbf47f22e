package fasttrack

// Most programs have few threads at a time, but they may have objects in large numbers, each of which publishes a
// clock of its own. As long as these are few slots long, the times of what an object has published are in its extra:
// then neither a vector nor a block has to be fetched besides.

const (
	inlineSlots = 12 // so that an extra is two cache lines
	// inlined is the clock of a stamp if its times are in the extra.
	inlined = 1<<32 - 1
)

// inlineClock is the first times of a clock of which all others are zero. They stand there as in a block.
type inlineClock struct {
	times [inlineSlots / 2]uint64
}

// fitsInline reports whether all clocks are that short.
//
//go:nosplit
func (t *Table) fitsInline() bool { return t.slots.Load() <= inlineSlots && t.SlotSharers.Load() == 0 }

// assign makes the times those of a block.
//
//go:nosplit
func (f *inlineClock) assign(b *block) {
	for i := range f.times {
		f.times[i] = b.times[i]
	}
}

// raise makes them cover epoch e, which is of one of the slots.
//
//go:nosplit
func (f *inlineClock) raise(e uint64) {
	s := uint32(e >> timeBits)
	w, shift := &f.times[s/2%(inlineSlots/2)], s&1*32
	*w = maxTimes(*w, e&maxTime<<shift)
}

// join makes them the maximum of what they are and a block's.
//
//go:nosplit
func (f *inlineClock) join(b *block) {
	for i := range f.times {
		f.times[i] = maxTimes(f.times[i], b.times[i])
	}
}

// joinInline makes the times of a block the maximum of what they are and those in an extra, and reports whether that
// changes one.
//
//go:nosplit
func (b *block) joinInline(f *inlineClock) bool {
	var changed uint64
	for i := range f.times {
		later := maxTimes(b.times[i], f.times[i])
		changed |= later ^ b.times[i]
		b.times[i] = later
	}
	return changed != 0
}

// spillInline gives what an extra has published a vector, if its times are within.
//
//go:nosplit
func (t *Table) spillInline(x *extension) {
	if x.release.clock != inlined {
		return
	}
	c := t.newVector()
	if x.release.clock = c; c == 0 {
		return
	}
	if b := t.unshareBlock(c, 0); b != 0 {
		for i := range x.inline.times {
			blockAt(b).times[i] = x.inline.times[i]
		}
	}
}
