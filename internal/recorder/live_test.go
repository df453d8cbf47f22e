package recorder

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"io"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/heisen-go/heisen"
	core "github.com/heisen-go/heisen/internal/core/atomrace"
	"github.com/heisen-go/heisen/internal/core/wire"
	"github.com/heisen-go/heisen/section"
)

// accessID returns an access as in a record of an overlap.
func accessID(goroutine uint64, op heisen.Op, place uint64) uint64 {
	return goroutine<<32 | uint64(op)<<wire.PlaceBits | place
}

// TestOverlaps reads findings of a program with two goroutines.
func TestOverlaps(t *testing.T) {
	rec := message(helloMessage(), wire.MsgPlaces, 0, 0x100, 0x200, 0x300)
	rec = message(rec, wire.MsgWords, 0,
		word(wire.OpSwitch, 0), 0, word(wire.OpBegin, wire.Orphan|1), word(wire.OpFork, 1), 0, 0,
		word(wire.OpSwitch, 1), 0, word(wire.OpBegin, 5),
		word(wire.OpOverlap, varBase), 1, accessID(1, heisen.Write, 2), accessID(0, heisen.Read, 1), 8<<48|(varBase+4), 0,
		word(wire.OpSwitch, 0), 4,
		word(wire.OpOverlap, varBase), 2, accessID(0, heisen.AtomicWrite, 3), accessID(1, heisen.Write, 2), 1<<48|varBase,
		accessID(0, heisen.AtomicRead, 1)<<32|12<<16|8,
		word(wire.OpOverlap, varBase), 3, accessID(0, heisen.Read, 3), accessID(1, heisen.Write, 2), 8<<48|(varBase+2), wire.ByOrder)
	s, err := NewStream(bytes.NewReader(rec), nil)
	if err != nil {
		t.Fatal(err)
	}
	var got []Overlap
	s.OnOverlap(func(o Overlap) { got = append(got, o) })
	if _, err := drain(s); err != nil {
		t.Fatal(err)
	}
	site := func(pc uint32) heisen.Site { return s.site(pc) }
	access := func(op heisen.Op, thread heisen.Thread, at heisen.Object, size uint64, pc uint32) heisen.Access {
		return heisen.Access{Op: op, Thread: thread, Object: at, Size: size, Site: site(pc)}
	}
	want := []Overlap{
		{false, -1, -1, []heisen.Access{access(heisen.Read, 0, varBase+4, 1, 0x100), access(heisen.Write, 1, varBase, 8, 0x200)}},
		{false, 7, 11, []heisen.Access{access(heisen.AtomicRead, 0, varBase, 1, 0x100),
			access(heisen.Write, 1, varBase, 1, 0x200), access(heisen.AtomicWrite, 0, varBase, 1, 0x300)}},
		{true, -1, -1, []heisen.Access{access(heisen.Write, 1, varBase+2, 1, 0x200), access(heisen.Read, 0, varBase, 8, 0x300)}},
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("overlaps\n%+v\nwant\n%+v", got, want)
	}
}

// TestCount: a program that asks how many findings were reported gets an answer about those that it
// has sent before.
func TestCount(t *testing.T) {
	rec := message(helloMessage(), wire.MsgPlaces, 0, 0x100, 0x200)
	rec = message(rec, wire.MsgCount, 0)
	rec = message(rec, wire.MsgWords, 0, word(wire.OpSwitch, 0), 0, word(wire.OpBegin, wire.Orphan|1),
		word(wire.OpOverlap, varBase), 0, accessID(0, heisen.Write, 2), accessID(0, heisen.Read, 1), 8<<48|varBase, wire.ByOrder)
	rec = message(rec, wire.MsgCount, 0)
	s, err := NewStream(bytes.NewReader(rec), nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := drain(s); err != nil {
		t.Errorf("without anybody to answer to: error %v", err)
	}
	for _, counted := range []bool{true, false} {
		if s, err = NewStream(bytes.NewReader(rec), nil); err != nil {
			t.Fatal(err)
		}
		var answers bytes.Buffer
		s.answer = &answers
		n := 0
		s.OnOverlap(func(Overlap) { n++ })
		want := append32(nil, wire.CountAnswer, wire.CountAnswer)
		if counted {
			s.OnCount(func() int { return n })
			want = append32(nil, wire.CountAnswer, wire.CountAnswer|1)
		}
		if _, err := drain(s); err != nil || !bytes.Equal(answers.Bytes(), want) {
			t.Errorf("answers %x, want %x, error %v", answers.Bytes(), want, err)
		}
	}
}

// TestCountAfterEvents: the answer is about all events that were sent before the question, also if
// they came in another message and wait for each other.
func TestCountAfterEvents(t *testing.T) {
	const accesses = 3 * batchSize
	words := []uint64{word(wire.OpSwitch, 0), 0, word(wire.OpBegin, wire.Orphan|1)}
	for range accesses {
		words = append(words, word(wire.OpWrite, varBase), 0<<32|8)
	}
	late := append(words, word(wire.OpRelease, varBase), 1, 0) // its stamp is not the next
	rec := message(helloMessage(), wire.MsgWords, 0, late...)
	rec = message(rec, wire.MsgCount, 0)
	rec = message(rec, wire.MsgWords, 1, word(wire.OpSwitch, 1), 0, word(wire.OpBegin, wire.Orphan|2), word(wire.OpRelease, varBase), 0, 0)
	rec = message(rec, wire.MsgCount, 0)
	s, err := NewStream(bytes.NewReader(rec), nil)
	if err != nil {
		t.Fatal(err)
	}
	var answers bytes.Buffer
	s.answer = &answers
	handled := 0
	s.OnCount(func() int { return handled })
	batch := make([]heisen.Record, 100)
	for {
		n, err := s.Next(batch)
		if err != nil {
			break
		}
		handled += n
	}
	want := append32(nil, wire.CountAnswer|(1+accesses), wire.CountAnswer|(1+accesses+1+1+1))
	if !bytes.Equal(answers.Bytes(), want) {
		t.Errorf("answers %x, want %x; %d events", answers.Bytes(), want, handled)
	}
}

// TestLeaks: the goroutines that one search has found are delivered together, and the answer is how many
// of them are reported.
func TestLeaks(t *testing.T) {
	leaked := uint32(leaked)
	rec := message(helloMessage(), wire.MsgPlaces, 0, 0x100, 1<<32|0x200)
	rec = message(rec, wire.MsgStuck, leaked, slices.Concat([]uint64{1 << 30, varBase, 2, 0, 0, 9, 0}, textWords("chan send"))...)
	rec = message(rec, wire.MsgStuck, leaked, slices.Concat([]uint64{4, lockBase, 1, 0, 0, 6, 0}, textWords("select"))...)
	rec = message(rec, wire.MsgCount, wire.CountLeaks)
	rec = message(rec, wire.MsgCount, wire.CountRaces)
	rec = message(rec, wire.MsgStuck, leaked, slices.Concat([]uint64{77<<32 | 5, lockBase, 1, 0, 0, 6, 0}, textWords("select"))...)
	rec = message(rec, wire.MsgCount, wire.CountLeaks)
	rec = message(rec, wire.MsgCount, wire.CountLeaks)
	for _, received := range []bool{true, false} {
		s, err := NewStream(bytes.NewReader(rec), nil)
		if err != nil {
			t.Fatal(err)
		}
		var answers bytes.Buffer
		s.answer = &answers
		s.OnCount(func() int { return 7 })
		var searches [][]heisen.Thread
		want := append32(nil, wire.CountAnswer, wire.CountAnswer|7, wire.CountAnswer, wire.CountAnswer)
		if received {
			s.OnLeaks(func(found []Blocked) int {
				var threads []heisen.Thread
				for _, b := range found {
					threads = append(threads, b.Thread)
				}
				searches = append(searches, threads)
				return len(found)
			})
			want = append32(nil, wire.CountAnswer|2, wire.CountAnswer|7, wire.CountAnswer|1, wire.CountAnswer)
		}
		if _, err := drain(s); err != nil || !bytes.Equal(answers.Bytes(), want) {
			t.Errorf("answers %x, want %x, error %v", answers.Bytes(), want, err)
		}
		if received && !reflect.DeepEqual(searches, [][]heisen.Thread{{1 << 30, 4}, {5}, nil}) {
			t.Errorf("searches found %v", searches)
		}
		if four, five := s.Symbols().Thread(4).Name, s.Symbols().Thread(5).Name; four != "" || five != "goroutine 77" {
			t.Errorf("goroutines %q and %q, of which none has sent an event", four, five)
		}
	}
	if _, _, err := readAll(t, message(helloMessage(), wire.MsgCount, wire.CountLeaks+1)); !errors.Is(err, ErrCorrupt) {
		t.Errorf("a count of what is not known: error %v", err)
	}
}

// TestFailingInputs reads the names of saved inputs.
func TestFailingInputs(t *testing.T) {
	const name = "testdata/fuzz/FuzzX/0123456789abcdef"
	var words []uint64
	for text := name + "\x00\x00\x00\x00"; len(text) >= 8; text = text[8:] {
		words = append(words, binary.LittleEndian.Uint64([]byte(text)))
	}
	s, _, err := readAll(t, message(helloMessage(), wire.MsgInput, 0, words...))
	if got := s.FailingInputs(); err != nil || len(got) != 1 || got[0] != name {
		t.Errorf("%q, error %v", got, err)
	}
}

// TestRaceLosses reads what may have hidden races.
func TestRaceLosses(t *testing.T) {
	s, _, err := readAll(t, message(helloMessage(), wire.MsgRaces, 0, 7, 1, 5))
	if want := (RaceLosses{SharedSlots: 7, OutOfMemory: true, ForgottenEpochs: 5}); err != nil || s.RaceLosses() != want {
		t.Errorf("%+v, error %v", s.RaceLosses(), err)
	}
	s, _, err = readAll(t, message(helloMessage(), wire.MsgRaces, 0, 0, 2, 0))
	if want := (RaceLosses{BeyondShadow: true}); err != nil || s.RaceLosses() != want {
		t.Errorf("%+v, error %v", s.RaceLosses(), err)
	}
	if _, _, err := readAll(t, message(helloMessage(), wire.MsgRaces, 0, 7, 4, 0)); !errors.Is(err, ErrCorrupt) {
		t.Errorf("error %v", err)
	}
}

// TestLocksOfAPlace reads a race of accesses under locks.
func TestLocksOfAPlace(t *testing.T) {
	const mutex, rw = 0xc000123450, 0xc000876540
	rec := message(helloMessage(), wire.MsgPlaces, 0,
		0x100, 1<<32|0x200, // 2: the access
		wire.NodeLow<<32|mutex&(1<<32-1), (wire.NodeHigh|3)<<32|mutex>>32, (wire.NodeTaken|4)<<32|0x110, // 5: one lock
		(wire.NodeLow|5)<<32|rw&(1<<32-1), (wire.NodeHigh|6)<<32|wire.NodeShared|rw>>32, (wire.NodeTaken|7)<<32|0x120, // 8: two
		(wire.NodeAccess|2)<<32|5, (wire.NodeAccess|2)<<32|8,
		wire.NodeSite<<32|0x110, (wire.NodeSite|11)<<32|wire.NodeShared|0x120, (wire.NodeAccess|2)<<32|12) // 13: two that are not known
	rec = message(rec, wire.MsgWords, 0, word(wire.OpSwitch, 0), 0, word(wire.OpBegin, wire.Orphan|1),
		word(wire.OpOverlap, varBase), 0, accessID(0, heisen.Read, 10), accessID(wire.UnknownG, heisen.Write, 9), 8<<48|varBase, wire.ByOrder,
		word(wire.OpOverlap, varBase), 1, accessID(0, heisen.Read, 13), accessID(wire.UnknownG, heisen.Write, 2), 8<<48|varBase, wire.ByOrder)
	s, err := NewStream(bytes.NewReader(rec), nil)
	if err != nil {
		t.Fatal(err)
	}
	var got []heisen.Access
	s.OnOverlap(func(o Overlap) { got = append(got, o.Accesses...) })
	if _, err := drain(s); err != nil || len(got) != 4 {
		t.Fatal(got, err)
	}
	one := heisen.HeldLock{Lock: mutex, Site: s.site(0x110)}
	two := heisen.HeldLock{Lock: rw, Shared: true, Site: s.site(0x120)}
	lostOne, lostTwo := one, two
	lostOne.Lock, lostTwo.Lock = lostLockObject, lostLockObject
	for i, want := range [][]heisen.HeldLock{{one}, {one, two}, nil, {lostOne, lostTwo}} {
		locks, calls := s.syms.Locks(got[i].Context), s.syms.Calls(got[i].Context)
		if !slices.Equal(locks, want) || !slices.Equal(calls, []heisen.Site{s.site(0x100)}) || got[i].Site != s.site(0x200) {
			t.Errorf("%+v under %+v, called at %v", got[i], locks, calls)
		}
	}
	if got[0].Thread != wire.UnknownG || s.syms.Thread(wire.UnknownG).Name == "" {
		t.Errorf("thread %d, %+v", got[0].Thread, s.syms.Thread(wire.UnknownG))
	}
	for name, nodes := range map[string][]uint64{
		"low under a place":    {0x100, (wire.NodeLow | 1) << 32},
		"high alone":           {wire.NodeHigh << 32},
		"no address":           {wire.NodeLow << 32, (wire.NodeHigh|1)<<32 | 1<<24},
		"taken without a high": {wire.NodeLow << 32, (wire.NodeTaken | 1) << 32},
		"place in a set":       {wire.NodeLow << 32, 1<<32 | 0x100},
		"under half a set":     {0x100, wire.NodeLow << 32, (wire.NodeAccess|1)<<32 | 2},
		"under nothing":        {0x100, (wire.NodeAccess|1)<<32 | 7},
		"site under a place":   {0x100, (wire.NodeSite | 1) << 32},
		"lock under a site":    {wire.NodeSite << 32, (wire.NodeLow | 1) << 32},
		"unknown kind":         {6 << 56},
	} {
		if _, _, err := readAll(t, message(helloMessage(), wire.MsgPlaces, 0, nodes...)); !errors.Is(err, ErrCorrupt) {
			t.Errorf("%s: error %v", name, err)
		}
	}
}

// TestLiveResult reads what a program sends at its end.
func TestLiveResult(t *testing.T) {
	rec := message(helloMessage(), wire.MsgOverlapStats, 66, 70, 50, 3, 0, 4, 1, 5, 6, 1<<3, 1<<1)
	s, _, err := readAll(t, message(rec, wire.MsgBye, 0, 0, 0))
	if err != nil {
		t.Fatal(err)
	}
	got := s.LiveResult()
	if !got.Ended || !got.Reached || got.Lost != 7 || got.Unhealed != 11 || len(got.Seen) != 66 {
		t.Errorf("%+v", got)
	}
	for i, seen := range got.Seen {
		if seen != (i == 3 || i == 65) {
			t.Errorf("end %d: seen is %v", i, seen)
		}
	}
	if _, _, err := readAll(t, message(helloMessage(), wire.MsgOverlapStats, 66, 1, 0, 2, 0, 4, 0, 5, 6, 8)); err == nil {
		t.Error("no error about a word that is missing")
	}
}

// TestOverlapsWithoutReceiver reads findings without a receiver.
func TestOverlapsWithoutReceiver(t *testing.T) {
	rec := message(helloMessage(), wire.MsgWords, 0, word(wire.OpSwitch, 0), 0, word(wire.OpBegin, wire.Orphan),
		word(wire.OpOverlap, varBase), 0, accessID(0, heisen.Write, 0), accessID(0, heisen.Read, 0), varBase, 0)
	if _, _, err := readAll(t, rec); err != nil && err != io.EOF {
		t.Error(err)
	}
}

// TestLiveLimits: requests for which a program has no room are errors.
func TestLiveLimits(t *testing.T) {
	at := func(line int) section.Location {
		return section.Location{File: "a.go", Line: line, Mode: section.Reads}
	}
	var many, sections, ends Live
	for line := range core.MaxLocations + 1 {
		many.Noise.At = append(many.Noise.At, at(line+1))
	}
	for range core.MaxSections + 1 {
		sections.Sections = append(sections.Sections, section.Section{Entry: at(1), Ends: []section.End{{At: at(2)}}})
	}
	for range 3 {
		s := section.Section{Entry: at(1)}
		for line := range core.MaxEnds/3 + 1 {
			s.Ends = append(s.Ends, section.End{At: at(line + 2)})
		}
		ends.Sections = append(ends.Sections, s)
	}
	long := Live{Noise: Noise{At: []section.Location{{File: strings.Repeat("x", maxNamed+1), Line: 1, Mode: section.Reads}}}}
	for name, test := range map[string]struct {
		live *Live
		want string
	}{
		"locations": {&many, "4097 places"},
		"sections":  {&sections, "4097 sections"},
		"ends":      {&ends, "8193 ends"},
		"file":      {&long, "name of 4097 bytes"},
	} {
		if _, err := test.live.encode(); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: error %v, want one about %q", name, err, test.want)
		}
	}
}

// TestLinkerFlags: what is built into a program is what heisen would send, without noise; too much is refused.
func TestLinkerFlags(t *testing.T) {
	at := func(line int) section.Location {
		return section.Location{File: "/m/a b.go", Line: line, Mode: section.Reads}
	}
	l := &Live{Heal: []section.Location{at(1)}, Noise: Noise{Strength: 7, Seed: 3}, Brief: true}
	flag, err := l.LinkerFlags()
	if err != nil {
		t.Fatal(err)
	}
	text, ok := strings.CutPrefix(flag, "-X=runtime.heisenBuiltIn=")
	if !ok || strings.ContainsAny(text, " '\"=") {
		t.Fatalf("flag %q", flag)
	}
	got, err := base64.RawURLEncoding.DecodeString(text)
	if err != nil {
		t.Fatal(err)
	}
	want, err := (&Live{Heal: l.Heal}).encode()
	if err != nil || !bytes.Equal(got, want) {
		t.Errorf("built in %q, want %q (%v)", got, want, err)
	}
	l.Sections = nil
	for line := range 4000 {
		l.Heal = append(l.Heal, at(line+2))
		l.Sections = append(l.Sections, section.Section{Entry: at(line + 2), Ends: []section.End{{At: at(line + 2)}}})
	}
	if _, err := l.LinkerFlags(); err == nil {
		t.Error("too many places are not refused")
	}
}

// TestLabelsOfAPlace reads a race of accesses with labels, and with a lock.
func TestLabelsOfAPlace(t *testing.T) {
	set := func(rec []byte, number uint32, parts ...string) []byte {
		var text []byte
		for _, part := range parts {
			text = append(binary.LittleEndian.AppendUint16(text, uint16(len(part))), part...)
		}
		return message(rec, wire.MsgLabels, number, append([]uint64{uint64(len(text))}, textWords(string(text))...)...)
	}
	rec := set(helloMessage(), 7, "a", "1", "key", "")
	rec = set(rec, 9, "b\x00", "\x00")
	rec = message(rec, wire.MsgPlaces, 0,
		0x100, wire.NodeSite<<32|0x110, // 2: a lock
		(wire.NodeLabels|1)<<32|7, (wire.NodeLabels|1)<<32|9, (wire.NodeAccess|4)<<32|2)
	rec = message(rec, wire.MsgWords, 0, word(wire.OpSwitch, 0), 0, word(wire.OpBegin, wire.Orphan|1),
		word(wire.OpOverlap, varBase), 0, accessID(0, heisen.Read, 3), accessID(wire.UnknownG, heisen.Write, 5), 8<<48|varBase, wire.ByOrder)
	s, err := NewStream(bytes.NewReader(rec), nil)
	if err != nil {
		t.Fatal(err)
	}
	var got []heisen.Access
	s.OnOverlap(func(o Overlap) { got = append(got, o.Accesses...) })
	if _, err := drain(s); err != nil || len(got) != 2 {
		t.Fatal(got, err)
	}
	if labels := s.syms.Labels(got[0].Labels); !slices.Equal(labels, []heisen.Label{{Key: "b\x00", Value: "\x00"}}) || len(s.syms.Locks(got[0].Context)) != 1 {
		t.Errorf("labels %q, locks %v", labels, s.syms.Locks(got[0].Context))
	}
	if labels := s.syms.Labels(got[1].Labels); !slices.Equal(labels, []heisen.Label{{Key: "a", Value: "1"}, {Key: "key"}}) {
		t.Errorf("labels %q", labels)
	}
	if got[0].Site != got[1].Site {
		t.Errorf("sites %v and %v", got[0].Site, got[1].Site)
	}

	for name, rec := range map[string][]byte{
		"no set":            set(helloMessage(), 0, "a", "1"),
		"no labels":         set(helloMessage(), 1),
		"no value":          set(helloMessage(), 1, "a"),
		"no words":          message(helloMessage(), wire.MsgLabels, 1),
		"too many bytes":    message(helloMessage(), wire.MsgLabels, 1, 9, 0),
		"a part too long":   message(helloMessage(), wire.MsgLabels, 1, 8, 100),
		"a place of no set": message(helloMessage(), wire.MsgPlaces, 0, 0x100, (wire.NodeLabels|1)<<32|7),
		"labels of locks":   message(set(helloMessage(), 7, "a", "1"), wire.MsgPlaces, 0, wire.NodeSite<<32|0x110, (wire.NodeLabels|1)<<32|7),
		"a failure":         message(helloMessage(), wire.MsgFailing, 0, 0, 1<<32|0x100),
	} {
		if _, _, err := readAll(t, rec); !errors.Is(err, ErrCorrupt) {
			t.Errorf("%s: error %v", name, err)
		}
	}
}
