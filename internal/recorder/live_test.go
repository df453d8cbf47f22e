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
	"github.com/heisen-go/heisen/section"
)

// accessID returns an access as in a record of an overlap.
func accessID(goroutine uint64, op heisen.Op, place uint64) uint64 {
	return goroutine<<32 | uint64(op)<<placeBits | place
}

// TestOverlaps reads findings of a program with two goroutines.
func TestOverlaps(t *testing.T) {
	rec := message(helloMessage(), msgPlaces, 0, 0x100, 0x200, 0x300)
	rec = message(rec, msgWords, 0,
		word(opSwitch, 0), 0, word(opBegin, orphan|1), word(opFork, 1), 0, 0,
		word(opSwitch, 1), 0, word(opBegin, 5),
		word(opOverlap, varBase), 1, accessID(1, heisen.Write, 2), accessID(0, heisen.Read, 1), 8<<48|(varBase+4), 0,
		word(opSwitch, 0), 4,
		word(opOverlap, varBase), 2, accessID(0, heisen.AtomicWrite, 3), accessID(1, heisen.Write, 2), 1<<48|varBase,
		accessID(0, heisen.AtomicRead, 1)<<32|12<<16|8,
		word(opOverlap, varBase), 3, accessID(0, heisen.Read, 3), accessID(1, heisen.Write, 2), 8<<48|(varBase+2), byOrder)
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
	rec := message(helloMessage(), msgPlaces, 0, 0x100, 0x200)
	rec = message(rec, msgCount, 0)
	rec = message(rec, msgWords, 0, word(opSwitch, 0), 0, word(opBegin, orphan|1),
		word(opOverlap, varBase), 0, accessID(0, heisen.Write, 2), accessID(0, heisen.Read, 1), 8<<48|varBase, byOrder)
	rec = message(rec, msgCount, 0)
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
		want := append32(nil, countAnswer, countAnswer)
		if counted {
			s.OnCount(func() int { return n })
			want = append32(nil, countAnswer, countAnswer|1)
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
	words := []uint64{word(opSwitch, 0), 0, word(opBegin, orphan|1)}
	for range accesses {
		words = append(words, word(opWrite, varBase), 0<<32|8)
	}
	late := append(words, word(opRelease, varBase), 1, 0) // its stamp is not the next
	rec := message(helloMessage(), msgWords, 0, late...)
	rec = message(rec, msgCount, 0)
	rec = message(rec, msgWords, 1, word(opSwitch, 1), 0, word(opBegin, orphan|2), word(opRelease, varBase), 0, 0)
	rec = message(rec, msgCount, 0)
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
	want := append32(nil, countAnswer|(1+accesses), countAnswer|(1+accesses+1+1+1))
	if !bytes.Equal(answers.Bytes(), want) {
		t.Errorf("answers %x, want %x; %d events", answers.Bytes(), want, handled)
	}
}

// TestLeaks: the goroutines that one search has found are delivered together, and the answer is how many
// of them are reported.
func TestLeaks(t *testing.T) {
	leaked := uint32(leaked)
	rec := message(helloMessage(), msgPlaces, 0, 0x100, 1<<32|0x200)
	rec = message(rec, msgStuck, leaked, slices.Concat([]uint64{1 << 30, varBase, 2, 0, 0, 9, 0}, textWords("chan send"))...)
	rec = message(rec, msgStuck, leaked, slices.Concat([]uint64{4, lockBase, 1, 0, 0, 6, 0}, textWords("select"))...)
	rec = message(rec, msgCount, countLeaks)
	rec = message(rec, msgCount, countRaces)
	rec = message(rec, msgStuck, leaked, slices.Concat([]uint64{77<<32 | 5, lockBase, 1, 0, 0, 6, 0}, textWords("select"))...)
	rec = message(rec, msgCount, countLeaks)
	rec = message(rec, msgCount, countLeaks)
	for _, received := range []bool{true, false} {
		s, err := NewStream(bytes.NewReader(rec), nil)
		if err != nil {
			t.Fatal(err)
		}
		var answers bytes.Buffer
		s.answer = &answers
		s.OnCount(func() int { return 7 })
		var searches [][]heisen.Thread
		want := append32(nil, countAnswer, countAnswer|7, countAnswer, countAnswer)
		if received {
			s.OnLeaks(func(found []Blocked) int {
				var threads []heisen.Thread
				for _, b := range found {
					threads = append(threads, b.Thread)
				}
				searches = append(searches, threads)
				return len(found)
			})
			want = append32(nil, countAnswer|2, countAnswer|7, countAnswer|1, countAnswer)
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
	if _, _, err := readAll(t, message(helloMessage(), msgCount, countLeaks+1)); !errors.Is(err, ErrCorrupt) {
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
	s, _, err := readAll(t, message(helloMessage(), msgInput, 0, words...))
	if got := s.FailingInputs(); err != nil || len(got) != 1 || got[0] != name {
		t.Errorf("%q, error %v", got, err)
	}
}

// TestRaceLosses reads what may have hidden races.
func TestRaceLosses(t *testing.T) {
	s, _, err := readAll(t, message(helloMessage(), msgRaces, 0, 7, 1, 5))
	if want := (RaceLosses{SharedSlots: 7, OutOfMemory: true, ForgottenEpochs: 5}); err != nil || s.RaceLosses() != want {
		t.Errorf("%+v, error %v", s.RaceLosses(), err)
	}
	s, _, err = readAll(t, message(helloMessage(), msgRaces, 0, 0, 2, 0))
	if want := (RaceLosses{BeyondShadow: true}); err != nil || s.RaceLosses() != want {
		t.Errorf("%+v, error %v", s.RaceLosses(), err)
	}
	if _, _, err := readAll(t, message(helloMessage(), msgRaces, 0, 7, 4, 0)); !errors.Is(err, ErrCorrupt) {
		t.Errorf("error %v", err)
	}
}

// TestLocksOfAPlace reads a race of accesses under locks.
func TestLocksOfAPlace(t *testing.T) {
	const mutex, rw = 0xc000123450, 0xc000876540
	rec := message(helloMessage(), msgPlaces, 0,
		0x100, 1<<32|0x200, // 2: the access
		nodeLow<<32|mutex&(1<<32-1), (nodeHigh|3)<<32|mutex>>32, (nodeTaken|4)<<32|0x110, // 5: one lock
		(nodeLow|5)<<32|rw&(1<<32-1), (nodeHigh|6)<<32|nodeShared|rw>>32, (nodeTaken|7)<<32|0x120, // 8: two
		(nodeAccess|2)<<32|5, (nodeAccess|2)<<32|8,
		nodeSite<<32|0x110, (nodeSite|11)<<32|nodeShared|0x120, (nodeAccess|2)<<32|12) // 13: two that are not known
	rec = message(rec, msgWords, 0, word(opSwitch, 0), 0, word(opBegin, orphan|1),
		word(opOverlap, varBase), 0, accessID(0, heisen.Read, 10), accessID(unknownG, heisen.Write, 9), 8<<48|varBase, byOrder,
		word(opOverlap, varBase), 1, accessID(0, heisen.Read, 13), accessID(unknownG, heisen.Write, 2), 8<<48|varBase, byOrder)
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
	if got[0].Thread != unknownG || s.syms.Thread(unknownG).Name == "" {
		t.Errorf("thread %d, %+v", got[0].Thread, s.syms.Thread(unknownG))
	}
	for name, nodes := range map[string][]uint64{
		"low under a place":    {0x100, (nodeLow | 1) << 32},
		"high alone":           {nodeHigh << 32},
		"no address":           {nodeLow << 32, (nodeHigh|1)<<32 | 1<<24},
		"taken without a high": {nodeLow << 32, (nodeTaken | 1) << 32},
		"place in a set":       {nodeLow << 32, 1<<32 | 0x100},
		"under half a set":     {0x100, nodeLow << 32, (nodeAccess|1)<<32 | 2},
		"under nothing":        {0x100, (nodeAccess|1)<<32 | 7},
		"site under a place":   {0x100, (nodeSite | 1) << 32},
		"lock under a site":    {nodeSite << 32, (nodeLow | 1) << 32},
		"unknown kind":         {6 << 56},
	} {
		if _, _, err := readAll(t, message(helloMessage(), msgPlaces, 0, nodes...)); !errors.Is(err, ErrCorrupt) {
			t.Errorf("%s: error %v", name, err)
		}
	}
}

// TestLiveResult reads what a program sends at its end.
func TestLiveResult(t *testing.T) {
	rec := message(helloMessage(), msgOverlapStats, 66, 70, 50, 3, 0, 4, 1, 5, 6, 1<<3, 1<<1)
	s, _, err := readAll(t, message(rec, msgBye, 0, 0, 0))
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
	if _, _, err := readAll(t, message(helloMessage(), msgOverlapStats, 66, 1, 0, 2, 0, 4, 0, 5, 6, 8)); err == nil {
		t.Error("no error about a word that is missing")
	}
}

// TestOverlapsWithoutReceiver reads findings without a receiver.
func TestOverlapsWithoutReceiver(t *testing.T) {
	rec := message(helloMessage(), msgWords, 0, word(opSwitch, 0), 0, word(opBegin, orphan),
		word(opOverlap, varBase), 0, accessID(0, heisen.Write, 0), accessID(0, heisen.Read, 0), varBase, 0)
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
		return message(rec, msgLabels, number, append([]uint64{uint64(len(text))}, textWords(string(text))...)...)
	}
	rec := set(helloMessage(), 7, "a", "1", "key", "")
	rec = set(rec, 9, "b\x00", "\x00")
	rec = message(rec, msgPlaces, 0,
		0x100, nodeSite<<32|0x110, // 2: a lock
		(nodeLabels|1)<<32|7, (nodeLabels|1)<<32|9, (nodeAccess|4)<<32|2)
	rec = message(rec, msgWords, 0, word(opSwitch, 0), 0, word(opBegin, orphan|1),
		word(opOverlap, varBase), 0, accessID(0, heisen.Read, 3), accessID(unknownG, heisen.Write, 5), 8<<48|varBase, byOrder)
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
		"no words":          message(helloMessage(), msgLabels, 1),
		"too many bytes":    message(helloMessage(), msgLabels, 1, 9, 0),
		"a part too long":   message(helloMessage(), msgLabels, 1, 8, 100),
		"a place of no set": message(helloMessage(), msgPlaces, 0, 0x100, (nodeLabels|1)<<32|7),
		"labels of locks":   message(set(helloMessage(), 7, "a", "1"), msgPlaces, 0, nodeSite<<32|0x110, (nodeLabels|1)<<32|7),
		"a failure":         message(helloMessage(), msgFailing, 0, 0, 1<<32|0x100),
	} {
		if _, _, err := readAll(t, rec); !errors.Is(err, ErrCorrupt) {
			t.Errorf("%s: error %v", name, err)
		}
	}
}
