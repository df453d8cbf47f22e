package recorder

import (
	"encoding/base64"
	"fmt"
	"time"

	"github.com/heisen-go/heisen"
	core "github.com/heisen-go/heisen/internal/core/atomrace"
	"github.com/heisen-go/heisen/internal/core/wire"
	"github.com/heisen-go/heisen/section"
)

// Live is what a program itself looks for during the run, whatever it records: overlapping accesses
// and violated sections (package atomrace). Findings come with the stream, see Stream.OnOverlap.
type Live struct {
	// Sections are watched in addition to races. Their files are as the compiler has recorded them:
	// absolute, unless the build trims paths.
	Sections []section.Section
	Noise    Noise
	// Heal are places at which goroutines take healing locks, so that accesses there and sections between
	// them do not interfere. A goroutine waits for a healing lock for a bounded time, and holds none while
	// it synchronizes.
	Heal []section.Location
	// HealFound heals what the program finds, too: from a finding on, the memory in which its accesses
	// conflict, and their places. The finding itself does its harm.
	HealFound bool
	// Unfit are places that HealFound does not heal.
	Unfit []section.Location
	// Brief makes an access pending only until the goroutine's next hook, like the paper's
	// primitive atomic sections. Without Brief and sections it is pending until the goroutine
	// releases something, which finds more and costs less.
	Brief bool
}

// Noise makes goroutines wait now and then while their accesses are pending. Other goroutines then
// run in between (section 3.3 of the paper).
type Noise struct {
	// Strength is the number of points in a thousand at which goroutines wait, from 0 to 1000.
	Strength int
	// At are the only places with noise; nil is everywhere in the program.
	At []section.Location
	// For is how long a goroutine waits; if 0, it only yields.
	For    time.Duration
	Seed   uint64
	Budget time.Duration // the sum of all waits is at most this
}

// NumPlaces returns the number of places that l names, with repetition. l may be nil.
func (l *Live) NumPlaces() (n int) {
	if l == nil {
		return 0
	}
	for i := range l.Sections {
		n += 1 + len(l.Sections[i].Ends)
	}
	return n + len(l.Noise.At) + len(l.Heal) + len(l.Unfit)
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
		at.list[at.number(noise)-1].flags |= wire.LocationNoise
	}
	for _, healed := range l.Heal {
		at.list[at.number(healed)-1].flags |= wire.LocationHeal
	}
	for _, unfit := range l.Unfit {
		at.list[at.number(unfit)-1].flags |= wire.LocationUnfit
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
	brief, heals := uint32(0), uint32(0)
	if l.Brief {
		brief = 1
	}
	if len(l.Heal) > 0 {
		heals |= wire.HealPlaces
	}
	if l.HealFound {
		heals |= wire.HealFindings
	}
	b = append32(b, brief, heals, uint32(len(l.Sections)))
	return at.encode(append(b, sections...))
}

// LinkerFlags returns the flag of the linker that builds l into a program, for programs that run without an
// analyzer: they heal, and look for nothing. Of l it uses Sections and Heal. The error says that l is too large.
func (l *Live) LinkerFlags() (string, error) {
	text, err := (&Live{Sections: l.Sections, Heal: l.Heal}).encode()
	if err != nil {
		return "", err
	}
	flag := "-X=runtime.heisenBuiltIn=" + base64.RawURLEncoding.EncodeToString(text)
	if len(flag) > maxLinkerFlags {
		return "", fmt.Errorf("%d places are more than fit into the flags of the linker", l.NumPlaces())
	}
	return flag, nil
}

// maxLinkerFlags leaves room for flags of the user in an argument of a command, which has at most 128 KiB on Linux.
const maxLinkerFlags = 96 << 10

// Overlap is a finding of a program about its run.
type Overlap struct {
	// Unordered means that it is a happens-before race of two accesses that need not have been
	// pending at the same time; see Races.
	Unordered bool
	// Section is the index in Live.Sections of a violated section, or -1: two accesses were pending
	// at the same time.
	Section int
	// End is the number of the section's end, from 0, counting the ends of all sections in order.
	End int
	// Accesses of a race are the earlier or pending one and the later one; those of a section are
	// its entry, the access in between, and the end.
	Accesses []heisen.Access
}

// OnOverlap sets the function that receives the program's findings, in order, on the goroutine that
// reads the stream. Threads and sites are those of the stream's Symbols.
func (s *Stream) OnOverlap(receive func(Overlap)) { s.overlap = receive }

// OnCount sets the function that says how many findings were reported so far. The program asks now
// and then, once it has delivered findings, for package testing fails the test that was running. The
// function is called on the goroutine that reads the stream.
func (s *Stream) OnCount(reported func() int) { s.reported = reported }

// OnLeaks sets the function that receives goroutines that wait or go on for ever, if Want.Leaks requests them:
// all that one search has found. It returns how many of them are reported; if they belong to a test,
// package testing fails that test. It is called on the goroutine that reads the stream.
func (s *Stream) OnLeaks(receive func([]Blocked) (reported int)) { s.leaks = receive }

// answerCount tells the program how many findings were reported, of those that it asked for.
func (s *Stream) answerCount() {
	count := 0
	switch {
	case s.askedFor == wire.CountLeaks:
		if s.leaks != nil {
			count = s.leaks(s.execution.Leaked)
		}
		s.execution.Leaked = nil
	case s.reported != nil:
		count = s.reported()
	}
	if s.answer != nil { // if the program is gone, the stream will show that
		s.answer.Write(append32(nil, uint32(min(count, wire.CountAnswer-1)|wire.CountAnswer)))
	}
}

// LiveResult is the result of Live for a program that ended regularly.
type LiveResult struct {
	// Ended means that the program has sent the result.
	Ended bool
	// Seen has, for every end, numbered as in Overlap, whether a goroutine has gone through the
	// section to it.
	Seen []bool
	// Lost counts sections and overlaps that could not be followed because too many were in
	// progress. It does not count accesses that others missed because there were three of other
	// goroutines to the same variable.
	Lost uint64
	// Unhealed counts accesses at places to heal that another goroutine may have interfered with: a healing
	// lock was taken away from its owner, or an access was made without one.
	Unhealed uint64
	// Reached means that an access was made at one of the places of sections or noise.
	Reached bool
}

// LiveResult returns the result of Live, once the stream has ended.
func (s *Stream) LiveResult() LiveResult { return s.liveResult }

func (s *Stream) setLiveResult(ends uint32, words []uint64) error {
	if len(words) < wire.OverlapWords || uint64(len(words)-wire.OverlapWords) != (uint64(ends)+63)/64 {
		return s.corrupt("%d words of %d ends", len(words), ends)
	}
	s.liveResult = LiveResult{Ended: true, Seen: make([]bool, ends), Reached: words[numLosses] != 0, Unhealed: words[numLosses+1] + words[numLosses+2]}
	for _, lost := range words[lossUnnamed:numLosses] {
		s.liveResult.Lost += lost
	}
	for i := range s.liveResult.Seen {
		s.liveResult.Seen[i] = words[wire.OverlapWords+i/64]>>(i%64)&1 != 0
	}
	return nil
}

// RaceLosses is what may have hidden races from a program that looked for them itself.
type RaceLosses struct {
	// SharedSlots counts the goroutines that had to share a slot of vector clocks, because too many
	// were unordered. Goroutines that share a slot count as ordered.
	SharedSlots uint64
	// ForgottenEpochs counts the times at which ended goroutines did something of which nothing was
	// kept, although it might have raced with what came later: too many differed in who knew of them.
	ForgottenEpochs uint64
	// OutOfMemory means that memory for clocks ran out; nothing was reported from then on.
	OutOfMemory bool
	// BeyondShadow means that part of the heap had no shadow memory, since address space was scarce.
	// Races there are missed.
	BeyondShadow bool
}

// RaceLosses returns what may have hidden races in the mode Races, once the stream has ended
// regularly.
func (s *Stream) RaceLosses() RaceLosses { return s.raceLosses }

func (s *Stream) setRaceLosses(words []uint64) error {
	if len(words) != 3 || words[1] > wire.OutOfClocks|wire.BeyondShadow {
		return s.corrupt("%d words of what was not seen", len(words))
	}
	s.raceLosses = RaceLosses{SharedSlots: words[0], OutOfMemory: words[1]&wire.OutOfClocks != 0, BeyondShadow: words[1]&wire.BeyondShadow != 0, ForgottenEpochs: words[2]}
	return nil
}

// overlaps delivers an overlap that g has found.
func (m *merger) overlaps(g *goroutine, record []uint64) error {
	accessID, other := record[2], record[3]
	o := Overlap{Section: int(uint16(record[5])) - 1, End: int(uint16(record[5]>>16)) - 1}
	if record[5] == wire.ByOrder {
		o = Overlap{Unordered: true, Section: -1, End: -1}
	}
	if o.Section >= 0 {
		entry := uint64(g.id)<<32 | record[5]>>32
		if err := m.addAccess(&o, entry, record[0]&wire.ArgMask, 1); err != nil {
			return err
		}
	}
	if err := m.addAccess(&o, other, record[4]&(1<<48-1), 1); err != nil {
		return err
	}
	if err := m.addAccess(&o, accessID, record[0]&wire.ArgMask, max(record[4]>>48, 1)); err != nil {
		return err
	}
	if m.s.overlap != nil {
		m.s.overlaps = append(m.s.overlaps, o) // until its sites have names
	}
	return nil
}

// addAccess adds an access to o: accessID has its goroutine, op and place.
func (m *merger) addAccess(o *Overlap, accessID, addr, size uint64) error {
	a, err := m.access(accessID, addr, size)
	if err == nil {
		o.Accesses = append(o.Accesses, a)
	}
	return err
}

// access returns an access that the program has described.
func (m *merger) access(accessID, addr, size uint64) (a heisen.Access, err error) {
	p, err := m.s.place(accessID & (1<<wire.PlaceBits - 1))
	if err != nil {
		return a, err
	}
	if accessID>>32 == wire.UnknownG {
		m.s.syms.SetThread(wire.UnknownG, heisen.ThreadInfo{Name: forgotten})
	}
	op := heisen.Op(accessID >> wire.PlaceBits)
	if !op.IsAccess() {
		return a, m.s.corrupt("access of operation %d", op)
	}
	return heisen.Access{
		Op: op, Thread: heisen.Thread(accessID >> 32), Object: heisen.Object(addr), Size: size,
		Site: p.site, Context: m.s.syms.Context(heisen.Cursor{Calls: p.calls, Locks: p.locks}), Labels: p.labels,
	}, nil
}

// numLosses is the number of fields of Losses in package internal/core/atomrace, and lossUnnamed
// the index of Unnamed. The fields before it count accesses that were compared with others only in
// part.
const (
	numLosses   = 5
	lossUnnamed = 2
)
