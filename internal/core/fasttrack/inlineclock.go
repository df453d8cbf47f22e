package fasttrack

// Most programs have few threads at a time, but may have many objects, each with a release clock.
// As long as clocks have few slots, the times of a release clock are in the extension itself, and
// neither a vector nor a block has to be loaded.

const (
	inlineSlots = 12 // an extension then has two cache lines
	// inlined is the clock of a release clock whose times are in the extension.
	inlined = 1<<32 - 1
)

// inlineClock is the first times of a clock whose other times are zero, laid out as in a block.
type inlineClock struct {
	times [inlineSlots / 2]uint64
}

// fitsInline reports whether all clocks fit into an inlineClock.
//
//go:nosplit
func (t *Table) fitsInline() bool { return t.slots.Load() <= inlineSlots && t.sharing.Load() == 0 }

// time returns the time of a slot.
//
//go:nosplit
func (f *inlineClock) time(slot uint32) uint32 {
	return uint32(f.times[slot/2%(inlineSlots/2)] >> (slot & 1 * 32))
}

// assign copies the times of a block.
//
//go:nosplit
func (f *inlineClock) assign(b *block) {
	for i := range f.times {
		f.times[i] = b.times[i]
	}
}

// raise makes the clock cover epoch e, whose slot it has.
//
//go:nosplit
func (f *inlineClock) raise(e uint64) {
	s := uint32(e >> timeBits)
	w, shift := &f.times[s/2%(inlineSlots/2)], s&1*32
	*w = maxTimes(*w, e&maxTime<<shift)
}

// join makes the clock the maximum of itself and a block.
//
//go:nosplit
func (f *inlineClock) join(b *block) {
	for i := range f.times {
		f.times[i] = maxTimes(f.times[i], b.times[i])
	}
}

// joinInline makes a block the maximum of itself and f, and reports whether the block changed.
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

// spillInline moves the times of x.release from the extension to a vector.
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
