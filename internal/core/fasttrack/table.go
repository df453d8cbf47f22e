package fasttrack

import "sync/atomic"

// An epoch is a slot and a time: the number of releases by the threads that have had the slot. An
// entry is an epoch and the place of an access, in one word.
const (
	slotBits  = 14
	timeBits  = 26
	placeBits = 24

	maxSlots = 1 << slotBits
	maxTime  = 1<<timeBits - 1
	// The last slots are not owned by threads. The shared ones are for all threads that get no slot
	// of their own; threads that share a slot count as ordered. Entries of the orphan slots are
	// covered by no clock (see reclaim.go).
	sharedSlots        = 64
	orphanSlots        = 1 << (32 - orphanBits)
	ownedSlots         = maxSlots - sharedSlots - orphanSlots
	firstOrphanSlot    = maxSlots - orphanSlots
	orphanBits         = timeBits - 1 // of a thread's number, in the time of an orphan's entry
	noEpoch            = 1<<64 - 1
	maxRaces           = 16
	maxSources         = 3
	maxVectors         = 1 << 20
	maxNodes           = 1 << 20
	maxBlocks          = 1 << 21
	maxExtensions      = 1 << 26
	maxOverflowEntries = 1 << 28
)

// Table is the state that all threads of a program share, except the shadow cells. The zero value
// is ready to use once the host has reserved memory. It is large and must not be copied.
type Table struct {
	// Often loaded, rarely changed.
	generation      atomic.Uint32  // increased when every thread has to begin a new epoch
	slots           atomic.Uint32  // in use, except shared ones
	exhausted       atomic.Uint32  // memory ran out: order is no longer known
	unownedReleases atomic.Uint32  // some thread has released a lock that another one had
	sharing         atomic.Uint32  // clocks may have times of shared slots
	slotsLow        atomic.Uint32  // see SlotsLow
	_               [128 - 24]byte // keeps what changes often out of these cache lines

	// SlotSharers counts the threads that had to share a slot, ForgottenEpochs the epochs whose
	// entries a reclamation had to drop though they might have raced.
	SlotSharers, ForgottenEpochs atomic.Uint64
	slotLimit                    uint32 // tests have fewer slots than ownedSlots; 0 means ownedSlots
	gatherAlways                 bool   // tests have few slots
	_                            [128 - 24]byte

	memory  freeLists
	readers readerSets
	_       [128]byte
	ended   endedSlots

	perSlot        [maxSlots]slot
	collected      [maxSlots]uint32         // the times of the slots at the last Collect
	tails          [maxSlots][maxTails]tail // see tails.go
	collections    uint32                   // the number of calls of Collect
	collectionSlot uint32                   // 1 plus the slot with that number as its time, 0 if there is none
	orphaned       uint32                   // the number of collections before the last reclamation
	// There was no slot for a collection, so entries of orphan slots count as ordered before everything.
	orphansForgotten bool
	reclaim          reclaimer
	moved            [maxMovedOwners]movedOwner // see owners.go
	anyMoved         bool
}

// Thread is the state of a thread. The zero value is a thread that has not begun. It belongs to the
// thread, or to a thread that acts for it while it waits.
type Thread struct {
	// Epoch is the current epoch, shifted to its position in entries; 0 before Fork or BeginEpoch.
	Epoch uint64
	// Entries from since to since+span, of places in epochs of this thread, count as entries of the
	// current epoch: no other thread can have learned of the thread since the first of these epochs
	// (see lockreuse.go).
	since, span    uint64
	unchangedSince uint64 // the last published epoch, if the thread has learned nothing since; else noEpoch
	lastAccess     uint64 // the last epoch in which this thread, or an earlier one of its slot, accessed memory
	generation     uint32 // the table's generation that the thread has seen
	collectedIn    uint32 // the generation of its last AcquireCollected
	clock          uint32 // the vector clock; its time of the thread's own slot is out of date
	firstBlock     uint32 // the first block of the clock; block 0 is always zero
	id             uint32
	lastPublished  uint64 // the last published epoch in its slot, 0 if none
	// Sources of the clock: a release clock that covers these epochs, or the thread's own last
	// published one, includes all that the thread has learned. The first is 0 if no sources are
	// known.
	sources    [maxSources]uint64
	partner    partner
	reuse      lockReuse
	sideHint   uint32 // the side of cells at which most of the thread's side entries are
	sharesSlot bool   // its slot is one of the shared ones
	begun      uint64 // the first epoch in its slot
}

// The kinds of accesses.
const (
	Read = iota
	Write
	AtomicRead
	AtomicWrite
	AtomicUpdate
	numKinds
)

// Race is an earlier access that conflicts with the current one and is not ordered before it.
type Race struct {
	Entry uint64 // epoch and place
	Kind  uint32
	Bytes uint32 // of the word, that both access
	Addr  uint64 // the address of the word
}

// Races collects the races of one access to a word. The caller sets Count and Bytes to 0. When half
// of it is full, only races on further bytes are added, so there is room for each byte.
type Races struct {
	Count uint32
	Bytes uint32 // bytes that race
	At    [maxRaces]Race
}

// resetSameEpoch limits the same-epoch range to the current epoch: other threads may know what the
// thread did before.
//
//go:nosplit
func (th *Thread) resetSameEpoch() { th.since, th.span = th.Epoch, placeMask }

// Since returns where the thread's same-epoch range begins.
//
//go:nosplit
func (th *Thread) Since() uint64 { return th.since }

// sameEpoch reports whether an entry was made by this thread in the current epoch, or in one that
// counts as the current one. See [Thread.since].
//
//go:nosplit
func (th *Thread) sameEpoch(entry uint64) bool { return entry-th.since <= th.span }

// add adds a race unless there is no room for it.
//
//go:nosplit
func (r *Races) add(entry, addr uint64, kind, bytes uint32) {
	if r.Count < maxRaces && (r.Count < maxRaces/2 || bytes&^r.Bytes != 0) {
		a := &r.At[r.Count]
		a.Entry, a.Kind, a.Bytes, a.Addr = entry, kind, bytes, addr
		if r.Count++; !isReaders(entry) {
			r.Bytes |= bytes
		}
	}
}

// Exhausted reports whether memory has run out. What is found later need not be a race.
//
//go:nosplit
func (t *Table) Exhausted() bool { return t.exhausted.Load() != 0 }

// covers reports whether epoch e is ordered before what th does next: e ≼ C_t in the paper.
// It says no for sets of readers, see compareReaders.
//
//go:nosplit
func (t *Table) covers(th *Thread, e uint64) bool {
	for {
		s, time, known := uint32(e>>timeBits), uint32(e&maxTime), uint32(0)
		if s >= firstOrphanSlot {
			if e>>orphanBits == readersTag {
				return false
			}
			if e = t.afterOrphan(); e == 0 || t.orphansForgotten {
				return t.orphansForgotten
			}
			continue
		}
		switch {
		case s == uint32(slotIndex(th.Epoch)):
			known = max(time, th.time()) // times of threads that share the slot may be later
		case s < blockSlots:
			known = blockAt(th.firstBlock).time(s)
		case th.clock != 0:
			i := s/blockSlots - 1 // timeOf, inlined by hand to save stack
			known = blockAt(blockOfNode(*nodeIndexAt(th.clock, i/nodeBlocks), i)).time(s)
		}
		if time > known || (time^known)>>lapBits == 0 {
			return time <= known
		}
		if e = t.afterTail(s, time); e == 0 {
			return true
		}
	}
}

// Stale reports whether BeginEpoch must be called before the thread's next access or
// synchronization.
//
//go:nosplit
func (t *Table) Stale(th *Thread) bool { return th.generation != t.generation.Load() || th.Epoch == 0 }

// UpToDate reports whether the thread has seen the table's current generation. Unlike Stale it
// ignores threads that have not begun; those have no entries.
//
//go:nosplit
func (th *Thread) UpToDate(t *Table) bool { return th.generation == t.generation.Load() }

// BeginEpoch begins the thread's first epoch, or a new one if others may have learned, through a
// collection, of what it did in the current one. id is the thread's number.
//
//go:nosplit
func (t *Table) BeginEpoch(th *Thread, id uint32) {
	if th.Epoch == 0 {
		t.Fork(nil, th, id)
	}
	if generation := t.generation.Load(); th.generation != generation {
		th.generation = generation
		th.unchangedSince = noEpoch
		th.reuse.lock = 0
		th.lastPublished = th.Epoch >> placeBits
		t.advance(th)
	}
}
