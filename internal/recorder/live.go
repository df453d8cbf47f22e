package recorder

import (
	"fmt"
	"time"

	"github.com/heisen-go/heisen"
	core "github.com/heisen-go/heisen/internal/core/atomrace"
	"github.com/heisen-go/heisen/section"
)

// Live is what a program itself looks for while it runs, whatever it records:
// accesses that overlap, and sections that others come into (package atomrace).
// What it finds comes with the stream, see Stream.OnOverlap.
type Live struct {
	// Sections are watched besides races. Their files are as the compiler has
	// recorded them: absolute, unless the build trims paths.
	Sections []section.Section
	Noise    Noise
	// Brief makes an access pending until the goroutine's next hook only, which is
	// nearest to the paper's primitive atomic sections. Without it, and without
	// sections, it is pending until the goroutine releases something: more is found,
	// and it costs less.
	Brief bool
}

// Noise makes goroutines wait now and then while their access is pending, in the
// program, so that others have time to come (section 3.3 of the paper).
type Noise struct {
	// Strength is how many of a thousand points, up to 1000, are given noise. 0 is
	// none.
	Strength int
	// At are the only places where there is noise; everywhere in the program if it is
	// nil.
	At []section.Location
	// For is how long a goroutine waits; without it, it only yields.
	For    time.Duration
	Seed   uint64
	Budget time.Duration // of all waits together
}

// NumPlaces counts the places that l names, with repetition. l may be nil.
func (l *Live) NumPlaces() (n int) {
	if l == nil {
		return 0
	}
	for i := range l.Sections {
		n += 1 + len(l.Sections[i].Ends)
	}
	return n + len(l.Noise.At)
}

// encode returns the message to the program.
func (l *Live) encode() ([]byte, error) {
	var at locations
	var sections []byte
	ends := 0
	for _, s := range l.Sections {
		ends += len(s.Ends)
		kind := uint32(0)
		if s.Circular {
			kind |= 1
		}
		if s.Recursive {
			kind |= 2
		}
		sections = append32(sections, at.number(s.Entry), kind, uint32(s.Above), uint32(len(s.Ends)))
		for _, e := range s.Ends {
			sections = append32(sections, at.number(e.At), uint32(e.Allow))
		}
	}
	everywhere := uint32(0)
	if l.Noise.At == nil {
		everywhere = 1
	}
	for _, noise := range l.Noise.At {
		at.list[at.number(noise)-1].flags |= locationNoise
	}
	switch {
	case len(at.list) > core.MaxLocations:
		return nil, fmt.Errorf("%d places to watch are more than the %d that a program can", len(at.list), core.MaxLocations)
	case len(l.Sections) > core.MaxSections:
		return nil, fmt.Errorf("%d sections are more than the %d that a program can watch", len(l.Sections), core.MaxSections)
	case ends > core.MaxEnds:
		return nil, fmt.Errorf("sections with %d ends are more than the %d that a program can watch", ends, core.MaxEnds)
	}

	b := append32(nil, uint32(l.Noise.Strength), everywhere)
	b = append64(b, uint64(l.Noise.For), l.Noise.Seed, uint64(l.Noise.Budget))
	brief := uint32(0)
	if l.Brief {
		brief = 1
	}
	b = append32(b, brief, uint32(len(l.Sections)))
	return at.encode(append(b, sections...))
}

// Overlap is what a program has found while it ran.
type Overlap struct {
	// Unordered says that it is a race by happens-before, of two accesses that need not
	// have been pending at the same time; see Races.
	Unordered bool
	// Section is the index in Live.Sections of one that others came into, or -1: the
	// two accesses were pending at the same time.
	Section int
	// End is the number of the section's end, from 0, counting the ends of all
	// sections in their order.
	End int
	// Accesses are, of a race, the one that was first or pending and the one that came; of a
	// section its entry, the access that came in between, and the end.
	Accesses []heisen.Access
}

// OnOverlap sets who is told of what the program has found, on the goroutine that
// reads the stream, in the order in which it was found. The threads and sites are
// those of the stream's Symbols.
func (s *Stream) OnOverlap(told func(Overlap)) { s.overlap = told }

// LiveResult is what came of Live at the end of a program that ended regularly.
type LiveResult struct {
	// Ended says that the program has sent the rest.
	Ended bool
	// Seen says of every end, numbered as in Overlap, whether a goroutine has gone
	// through the section to it.
	Seen []bool
	// Lost counts sections and overlaps that could not be followed because too
	// many were under way at a time. Accesses that others could not see for there are
	// three of other goroutines to the same variable do not count.
	Lost uint64
	// Reached says that an access was made at one of the places of sections or noise.
	Reached bool
}

// LiveResult returns what came of Live, once the stream has ended.
func (s *Stream) LiveResult() LiveResult { return s.liveResult }

func (s *Stream) setLiveResult(ends uint32, words []uint64) error {
	if len(words) < overlapWords || uint64(len(words)-overlapWords) != (uint64(ends)+63)/64 {
		return s.corrupt("%d words of %d ends", len(words), ends)
	}
	s.liveResult = LiveResult{Ended: true, Seen: make([]bool, ends), Reached: words[numLosses] != 0}
	for _, lost := range words[lossUnnamed:numLosses] {
		s.liveResult.Lost += lost
	}
	for i := range s.liveResult.Seen {
		s.liveResult.Seen[i] = words[overlapWords+i/64]>>(i%64)&1 != 0
	}
	return nil
}

// RaceLosses is what may have hidden races from a program that looked for them itself.
type RaceLosses struct {
	// SharedSlots counts goroutines that had to share a clock with others, for too many were
	// unordered with each other: what these did is taken to be in order.
	SharedSlots uint64
	// OutOfMemory says that memory for clocks came to an end; nothing was reported from then on.
	OutOfMemory bool
}

// RaceLosses returns what may have hidden races in the mode Races, once the stream has ended
// regularly.
func (s *Stream) RaceLosses() RaceLosses { return s.raceLosses }

func (s *Stream) setRaceLosses(words []uint64) error {
	if len(words) != 2 || words[1] > 1 {
		return s.corrupt("%d words of what was not seen", len(words))
	}
	s.raceLosses = RaceLosses{SharedSlots: words[0], OutOfMemory: words[1] != 0}
	return nil
}

// overlaps tells of an overlap that g has found.
func (m *merger) overlaps(g *goroutine, record []uint64) error {
	who, other := record[2], record[3]
	o := Overlap{Section: int(uint16(record[5])) - 1, End: int(uint16(record[5]>>16)) - 1}
	if record[5] == byOrder {
		o = Overlap{Unordered: true, Section: -1, End: -1}
	}
	if o.Section >= 0 {
		entry := uint64(g.id)<<32 | record[5]>>32
		if err := m.addAccess(&o, entry, record[0]&argMask, 1); err != nil {
			return err
		}
	}
	if err := m.addAccess(&o, other, record[4]&(1<<48-1), 1); err != nil {
		return err
	}
	if err := m.addAccess(&o, who, record[0]&argMask, max(record[4]>>48, 1)); err != nil {
		return err
	}
	if m.s.overlap != nil {
		m.s.overlaps = append(m.s.overlaps, o) // until its sites have names
	}
	return nil
}

// addAccess adds an access to o: by whom, how and where is in who.
func (m *merger) addAccess(o *Overlap, who, addr, size uint64) error {
	a, err := m.access(who, addr, size)
	if err == nil {
		o.Accesses = append(o.Accesses, a)
	}
	return err
}

// access returns an access that the program has described.
func (m *merger) access(who, addr, size uint64) (a heisen.Access, err error) {
	p, err := m.s.place(who & (1<<placeBits - 1))
	if err != nil {
		return a, err
	}
	if who>>32 == unknownG {
		m.s.syms.SetThread(unknownG, heisen.ThreadInfo{Name: "a goroutine that ended long ago"})
	}
	op := heisen.Op(who >> placeBits)
	if !op.IsAccess() {
		return a, m.s.corrupt("access of operation %d", op)
	}
	return heisen.Access{
		Op: op, Thread: heisen.Thread(who >> 32), Object: heisen.Object(addr), Size: size,
		Site: p.site, Context: m.s.syms.Context(heisen.Cursor{Calls: p.calls, Locks: p.locks}),
	}, nil
}

// The five kinds of package internal/core/atomrace's Losses, and the place of Unnamed, after those that
// say that an access was compared with others, but not they with it, or not wholly.
const (
	numLosses   = 5
	lossUnnamed = 2
)

// placeBits is how many bits the number of a place has.
const placeBits = 24
