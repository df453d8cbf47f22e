package fasttrack

import "sync/atomic"

// An epoch is a slot of clocks and a time of its own: how many times the thread that
// has the slot has published what it did, and those before it. A note is an epoch and
// the place of an access, as one word.
const (
	slotBits  = 14
	timeBits  = 26
	placeBits = 24

	maxSlots = 1 << slotBits
	maxTime  = 1<<timeBits - 1
	// The last slots are commons: threads that get no other share one. What they do is
	// ordered more than it is.
	sharedSlots        = 64
	ownedSlots         = maxSlots - sharedSlots
	noEpoch            = 1<<64 - 1
	maxRaces           = 16
	maxSources         = 3
	maxVectors         = 1 << 20
	maxNodes           = 1 << 20
	maxBlocks          = 1 << 21
	maxExtensions      = 1 << 26
	maxOverflowEntries = 1 << 28
)

// Table is what all threads of a program share, but for the cells. Its zero value is
// ready if the host's memory is. It is large and not to be copied.
type Table struct {
	// What everybody loads and few change.
	generation      atomic.Uint32 // times that all threads had to begin a new epoch
	slots           atomic.Uint32 // in use, apart from commons
	exhausted       atomic.Uint32 // there was no memory: nothing is known for sure any more
	unownedReleases atomic.Uint32 // threads have released locks that others had
	// SlotSharers counts threads that had to share a slot.
	SlotSharers atomic.Uint64
	_           [128 - 24]byte // what changes often is in no line with it, nor in the next

	memory freeLists
	_      [128]byte
	ended  endedSlots

	perSlot   [maxSlots]slot
	collected [maxSlots]uint32 // times, when Collect was called
}

// Thread is what a thread knows. Its zero value is that of one that has not begun. It
// belongs to the thread, or to whoever acts for it while it waits.
type Thread struct {
	// Epoch is the present one as it stands in notes, 0 before Begin.
	Epoch uint64
	// What the thread did from an epoch on nobody else can know: notes of that are as good as of
	// the present one. It is the first such note that there may be, and how far behind it the last.
	since, span    uint64
	unchangedSince uint64 // the epoch it published last, if it has learnt nothing since
	lastAccess     uint64 // the latest in which it, or an earlier holder of its slot, accessed something
	generation     uint32 // of the table, when the thread last looked
	collectedIn    uint32 // the same, when it last learnt what a collection had found
	clock          uint32 // what it knows of others; the time of its own slot is out of date
	firstBlock     uint32 // the first block of that, which most others are in; block 0 is always zero
	id             uint32
	lastPublished  uint64 // the latest that it has published since it got its slot, 0 if none
	// Whoever knows these epochs of others, or its own, knows all that the thread has learnt. If the
	// first is 0, that is not known of any.
	sources    [maxSources]uint64
	partner    partner
	reuse      lockReuse
	sideHint   uint32 // of cells, on which the thread's notes are in most of them
	sharesSlot bool   // its slot is one of the commons
}

// The kinds of accesses.
const (
	Read = iota
	Write
	AtomicRead
	AtomicWrite
	AtomicUpdate
)

// Race is an earlier access that is not ordered before the one at hand and conflicts
// with it.
type Race struct {
	Entry uint64 // its epoch and place
	Kind  uint32
	Bytes uint32 // of the word, that both touch
	Addr  uint64 // of the word
}

// Races is what was found of one access to a word. Whoever hands it over sets Count and
// Bytes to 0 first. When half of it is full, only what concerns further bytes is added:
// so there is room for all of them.
type Races struct {
	Count uint32
	Bytes uint32 // that race
	At    [maxRaces]Race
}

// resetSameEpoch says that the thread is in its present epoch only: what it did before others may know.
//
//go:nosplit
func (th *Thread) resetSameEpoch() { th.since, th.span = th.Epoch, placeMask }

// sameEpoch reports whether a note is of something that the thread did and nobody else can know.
//
//go:nosplit
func (th *Thread) sameEpoch(entry uint64) bool { return entry-th.since <= th.span }

//go:nosplit
func (r *Races) add(entry, addr uint64, kind, bytes uint32) {
	if r.Count < maxRaces && (r.Count < maxRaces/2 || bytes&^r.Bytes != 0) {
		a := &r.At[r.Count]
		a.Entry, a.Kind, a.Bytes, a.Addr = entry, kind, bytes, addr
		r.Count++
		r.Bytes |= bytes
	}
}

// Exhausted reports whether there was no memory for something. From then on what
// is found may not be a race.
//
//go:nosplit
func (t *Table) Exhausted() bool { return t.exhausted.Load() != 0 }

// covers reports whether epoch e is ordered before what th does next.
//
//go:nosplit
func (t *Table) covers(th *Thread, e uint64) bool {
	s, time := uint32(e>>timeBits), uint32(e&maxTime)
	switch {
	case s == uint32(slotOf(th.Epoch)):
		return true
	case s < blockSlots:
		return time <= blockAt(th.firstBlock).time(s)
	}
	if th.clock == 0 {
		return time == 0
	}
	i := s/blockSlots - 1 // this is timeOf, with less stack
	return time <= blockAt(blockOfNode(*nodeIndexAt(th.clock, i/nodeBlocks), i)).time(s)
}

// Stale reports whether the thread has to call Renew before what it does next.
//
//go:nosplit
func (t *Table) Stale(th *Thread) bool { return th.generation != t.generation.Load() || th.Epoch == 0 }

// UpToDate is the other way round, and leaves out whether the thread has begun: nothing is noted of
// one that has not.
//
//go:nosplit
func (th *Thread) UpToDate(t *Table) bool { return th.generation == t.generation.Load() }

// BeginEpoch begins the thread's first epoch, or a new one if what it did in the present one is
// known to others through a collection.
//
//go:nosplit
func (t *Table) BeginEpoch(th *Thread, id uint32) {
	if th.Epoch == 0 {
		t.Fork(nil, th, id)
	}
	if life := t.generation.Load(); th.generation != life {
		th.generation = life
		th.unchangedSince = noEpoch
		th.reuse.lock = 0
		th.lastPublished = th.Epoch >> placeBits
		t.advance(th)
	}
}
