package recorder

import (
	"bytes"
	"errors"
	"io"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"

	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/internal/core/wire"
)

// TestTruncated cuts recordings at every byte: what is read is a prefix, and the error counts what
// is known to be missing.
func TestTruncated(t *testing.T) {
	for seed := range uint64(6) {
		shape := shape{steps: 60, goroutines: 4, ps: 3, flush: 6, collected: seed%2 == 0}
		rng := rand.New(rand.NewPCG(seed, 5))
		rec := record(rng, shape, randomExecution(rng, shape))
		_, all, err := readAll(t, rec)
		if err != nil {
			t.Fatal(err)
		}
		for cut := range rec {
			if cut < len(helloMessage()) {
				if _, err := NewStream(bytes.NewReader(rec[:cut]), nil); !errors.Is(err, io.EOF) {
					t.Fatalf("seed %d, %d bytes: error %v", seed, cut, err)
				}
				continue
			}
			_, out, err := readAll(t, rec[:cut])
			var lost *LostError
			if err != nil && !errors.As(err, &lost) {
				t.Fatalf("seed %d, %d bytes: error %v", seed, cut, err)
			}
			if len(out) > len(all) || !slices.Equal(out, all[:len(out)]) {
				t.Fatalf("seed %d, %d bytes: no prefix", seed, cut)
			}
			if lost != nil && (lost.Events == 0 || lost.Events > uint64(len(all)-len(out))) {
				t.Fatalf("seed %d, %d bytes: %d events read of %d, and %v", seed, cut, len(out), len(all), err)
			}
		}
	}
}

// TestMissingMessage leaves out a message, as only a faulty recorder would. A prefix of each
// goroutine is read, synchronization has no gap, and what was received but cannot be placed is
// counted. (The message has no definitions, and the next message of the same buffer begins with a
// switch, otherwise its words would have no goroutine.)
func TestMissingMessage(t *testing.T) {
	shape := shape{steps: 150, goroutines: 5, ps: 3, flush: 8}
	lostSome := 0
	for seed := range uint64(60) {
		rng := rand.New(rand.NewPCG(seed, 6))
		steps := slices.DeleteFunc(randomExecution(rng, shape), func(s step) bool { return s.op == 0 })
		want, _ := expect(steps)
		parts := messages(record(rng, shape, steps))
		parts = parts[:len(parts)-1] // the program does not send its last message
		_, all, err := readAll(t, slices.Concat(parts...))
		if err != nil {
			t.Fatal(err)
		}
		for i := 1; i < len(parts); i++ {
			if parts[i][0] == wire.MsgPlaces || !switchFollows(parts[i+1:], parts[i][4]) {
				continue
			}
			s, out, err := readAll(t, slices.Concat(append(slices.Clone(parts[:i]), parts[i+1:]...)...))
			var lost *LostError
			if err != nil && !errors.As(err, &lost) {
				t.Fatalf("seed %d, message %d: %v", seed, i, err)
			}
			next := map[int]int{}
			stamp := 0
			for _, e := range observed(s.Symbols(), out) {
				w := want[e.g][next[e.g]]
				next[e.g]++
				if w.stamp != 0 && w.stamp != stamp && w.stamp != stamp+1 {
					t.Fatalf("seed %d, message %d: stamp %d after %d", seed, i, w.stamp, stamp)
				}
				stamp = max(stamp, w.stamp)
				if w.stamp, w.epoch = 0, 0; w != e {
					t.Fatalf("seed %d, message %d: event %+v, not %+v", seed, i, e, w)
				}
			}
			if lost == nil {
				continue
			}
			lostSome++
			if lost.Events == 0 || lost.Events+uint64(len(out)) > uint64(len(all)) {
				t.Fatalf("seed %d, message %d: %d events read, %v, of %d", seed, i, len(out), err, len(all))
			}
		}
	}
	if lostSome == 0 {
		t.Error("nothing was ever lost")
	}
}

// switchFollows reports whether the next message of a buffer begins with a
// switch.
func switchFollows(parts [][]byte, buffer byte) bool {
	for _, part := range parts {
		if part[0] == wire.MsgWords && part[4] == buffer {
			return part[headerBytes+7] == wire.OpSwitch
		}
	}
	return true
}

// TestLostEvents: the count of waiting events is exact.
func TestLostEvents(t *testing.T) {
	r := newRecorder(1)
	r.goroutine(0, true)
	r.access(0, 0, wire.OpWrite, varBase, 1, 1)
	r.stamp = 1 // stamp 0 never comes
	r.sync(0, 0, wire.OpSend, msgBase, 2)
	r.access(0, 0, wire.OpRead, varBase, 3, 1)
	r.goroutine(1, false) // its fork never comes
	r.access(0, 1, wire.OpRead, varBase, 4, 1)
	r.flushAll()
	r.rec = message(r.rec, wire.MsgWords, 1, word(wire.OpSwitch, 2), 5, word(wire.OpRead, varBase), 0) // after a gap

	_, out, err := readAll(t, r.rec)
	var lost *LostError
	if !errors.As(err, &lost) || lost.Events != 2+2+1 {
		t.Errorf("error %v, want 5 events lost", err)
	}
	if len(out) != 2 {
		t.Errorf("%d events, want 2", len(out))
	}
	if _, _, err := readAll(t, message(r.rec, wire.MsgBarrier, 0)); !errors.Is(err, ErrCorrupt) {
		t.Errorf("a barrier that words cannot come before: error %v", err)
	}
	// Other goroutines continue while the program ends. Events with later stamps than those given
	// out by then are dropped.
	if _, _, err := readAll(t, message(r.rec, wire.MsgBye, 0, 0, 0)); err != nil {
		t.Errorf("a regular end: error %v", err)
	}
	if _, _, err := readAll(t, message(r.rec, wire.MsgBye, 0, 3, 0)); !errors.As(err, &lost) || lost.Events != 3 {
		t.Errorf("a regular end after losses: error %v", err)
	}
	if _, _, err := readAll(t, message(r.rec, wire.MsgBye, 0, 3, 1)); !errors.As(err, &lost) || lost.Events != 3+2+2+1 {
		t.Errorf("an end without an event that has a stamp: error %v", err)
	}
}

// TestCorrupt tests messages that no recorder sends.
func TestCorrupt(t *testing.T) {
	begin := []uint64{word(wire.OpSwitch, 0), 0, word(wire.OpBegin, 1|wire.Orphan)}
	begun := func(words ...uint64) []byte {
		return message(helloMessage(), wire.MsgWords, 0, append(slices.Clone(begin), words...)...)
	}
	for _, test := range []struct {
		name string
		rec  []byte
		want string
	}{
		{"kind", message(helloMessage(), 99, 0), "message of kind 99"},
		{"second hello", append(helloMessage(), helloMessage()...), "message of kind 1"},
		{"buffer", message(helloMessage(), wire.MsgWords, maxBuffers, begin...), "buffer 4096"},
		{"size", append(helloMessage(), 2, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0), "message of 4294967295 bytes"},
		{"odd size", append(helloMessage(), 2, 0, 0, 0, 0, 0, 0, 0, 9, 0, 0, 0, 0, 0, 0, 0), "message of 9 bytes"},
		{"op 0", begun(0), "record 0x0"},
		{"op", begun(word(wire.NumOps, 5)), "record 0x25"},
		{"half record", begun(word(wire.OpRead, varBase)), "record 0x5"},
		{"half switch", begun(word(wire.OpSwitch, 0)), "record 0x1"},
		{"nobody", message(helloMessage(), wire.MsgWords, 0, word(wire.OpSend, msgBase), 0, 0), "words of no goroutine"},
		{"goroutine", begun(word(wire.OpSwitch, 1<<40), 0), "goroutine 1099511627776"},
		{"no begin", message(helloMessage(), wire.MsgWords, 0, word(wire.OpSwitch, 0), 0, word(wire.OpSend, msgBase), 0, 0), "begins with"},
		{"two begins", begun(word(wire.OpBegin, 1)), "begins again"},
		{"repetition", begun(word(wire.OpSwitch, 0), 0, word(wire.OpSend, msgBase), 0, 0), "comes again"},
		{"old stamp", begun(word(wire.OpSend, msgBase), 0, 0, word(wire.OpSend, msgBase), 0, 0), "stamp 0 comes again"},
		{"same stamp", begun(word(wire.OpSend, msgBase), 1, 0,
			word(wire.OpSwitch, 1), 0, word(wire.OpBegin, wire.Orphan), word(wire.OpSend, msgBase), 1, 0), "both have stamp 1"},
		{"same far stamp", begun(word(wire.OpSend, msgBase), 1<<50, 0,
			word(wire.OpSwitch, 1), 0, word(wire.OpBegin, wire.Orphan), word(wire.OpSend, msgBase), 1<<50, 0), "both have stamp"},
		{"second fork", begun(word(wire.OpFork, 1), 0, 0, word(wire.OpFork, 1), 1, 0), "goroutine 1 is started again"},
		{"fork of an orphan", begun(word(wire.OpSwitch, 1), 0, word(wire.OpBegin, wire.Orphan),
			word(wire.OpSwitch, 0), 1, word(wire.OpFork, 1), 0, 0), "goroutine 1 is started again"},
		{"fork of itself", begun(word(wire.OpFork, 0), 0, 0), "goroutine 0 is started again"},
		{"place", begun(word(wire.OpRead, varBase), 1<<32|1), "unknown place 1"},
		{"place of a lock", begun(word(wire.OpAcquire, lockBase), 0, 1<<40), "unknown place"},
		{"parent", message(helloMessage(), wire.MsgPlaces, 0, 5, 2<<32|5), "place 2 before its parent 2"},
		{"task", message(helloMessage(), wire.MsgPlaces, 0, wire.TaskPlace|4), "place 1 is unknown task 4"},
		{"no name", message(helloMessage(), wire.MsgTask, 4), "task 4"},
		{"task number", message(helloMessage(), wire.MsgTask, wire.TaskPlace, 'x'), "task 2147483648"},
		{"overlap of ops", begun(word(wire.OpOverlap, varBase), 0, accessID(0, 99, 0), accessID(0, heisen.Read, 0), varBase, 0), "access of operation 99"},
		{"place of an overlap", begun(word(wire.OpOverlap, varBase), 0, accessID(0, heisen.Write, 7), accessID(0, heisen.Read, 0), varBase, 0), "unknown place 7"},
		{"after the end", begun(word(wire.OpEnd, 0), 0, 0, word(wire.OpSend, msgBase), 0, 0), "continues after its end"},
	} {
		_, _, err := readAll(t, test.rec)
		if !errors.Is(err, ErrCorrupt) || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: error %v, want one about %q", test.name, err, test.want)
		}
	}
}

// TestHello checks how recordings must begin.
func TestHello(t *testing.T) {
	for _, test := range []struct {
		rec  []byte
		want error
	}{
		{message(nil, wire.MsgWords, 0), ErrCorrupt},
		{message(nil, wire.MsgHello, 0, wire.Version, testText, testTextSize), ErrCorrupt},
		{message(nil, wire.MsgHello, 0, wire.Version+1, testText, testTextSize, testPID), ErrCorrupt},
		{message(nil, wire.MsgHello, 0, wire.Version, testText, 1<<60, testPID), ErrCorrupt},
		{[]byte("GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"), ErrCorrupt},
		{nil, io.EOF},
		{helloMessage()[:20], io.EOF},
	} {
		if _, err := NewStream(bytes.NewReader(test.rec), nil); !errors.Is(err, test.want) {
			t.Errorf("recording that starts with %q: error %v", test.rec, err)
		}
	}
}

// TestReadError keeps the error of the connection, and what came before it.
func TestReadError(t *testing.T) {
	broken := errors.New("broken")
	rec := message(helloMessage(), wire.MsgWords, 0, word(wire.OpSwitch, 0), 0, word(wire.OpBegin, 1|wire.Orphan))
	s, err := NewStream(io.MultiReader(bytes.NewReader(rec), iotest.ErrReader(broken)), nil)
	if err != nil {
		t.Fatal(err)
	}
	out, err := drain(s)
	if len(out) != 1 || !errors.Is(err, broken) || errors.Is(err, io.EOF) {
		t.Errorf("%d events, error %v", len(out), err)
	}
	if n, again := s.Next(make([]heisen.Record, 1)); n != 0 || again != err {
		t.Errorf("after the end: %d events, error %v", n, again)
	}
}

// TestSlowReader delivers a recording byte by byte to batches of one.
func TestSlowReader(t *testing.T) {
	shape := shapes[1]
	rng := rand.New(rand.NewPCG(1, 1))
	rec := record(rng, shape, randomExecution(rng, shape))
	_, want, err := readAll(t, rec)
	if err != nil {
		t.Fatal(err)
	}
	s, err := NewStream(iotest.OneByteReader(bytes.NewReader(rec)), nil)
	if err != nil {
		t.Fatal(err)
	}
	var got []heisen.Record
	batch := make([]heisen.Record, 1)
	for {
		n, err := s.Next(batch)
		got = append(got, batch[:n]...)
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

// TestCollected tests the edges of finalizers: every goroutine, whether it has ended or not, is
// ordered before the finalizers of collected objects.
func TestCollected(t *testing.T) {
	const fingo = 9
	r := newRecorder(2)
	r.goroutine(0, true)
	r.goroutine(1, false)
	r.goroutine(2, false)
	r.goroutine(3, false)
	r.goroutine(fingo, true)
	r.sync(0, 0, wire.OpFork, 1, 1)
	r.sync(0, 0, wire.OpFork, 2, 2)
	r.sync(0, 0, wire.OpFork, 3, 3) // it never does anything
	r.access(0, 1, wire.OpWrite, varBase, 4, 1)
	r.sync(0, 1, wire.OpEnd, 0, 0)
	r.access(1, 2, wire.OpWrite, varBase+8, 5, 1)
	r.access(0, 0, wire.OpWrite, varBase+16, 6, 1)
	r.barrier()
	r.sync(1, fingo, wire.OpCollected, 0, 0)
	for i := range uint64(3) {
		r.access(1, fingo, wire.OpWrite, varBase+8*i, 7+uint32(i), 1) // ordered after all
	}
	r.flush(1)
	r.access(0, 0, wire.OpWrite, varBase+16, 10, 1) // not ordered after the finalizer
	_, out, err := readAll(t, r.bye(0))
	if err != nil {
		t.Fatal(err)
	}
	var parts []heisen.Thread
	for _, e := range out {
		if e.Object == Collector && e.Op == heisen.Send {
			parts = append(parts, e.Thread)
		}
	}
	if !slices.Equal(parts, []heisen.Thread{1, 0, 2}) {
		t.Errorf("threads %v tell the collector", parts)
	}
	if pairs := racyPairs(out); len(pairs) != 1 {
		t.Errorf("%d races, want the one after the finalizer", len(pairs))
	}
}

// TestOrphans: goroutines without a fork begin at once, others wait.
func TestOrphans(t *testing.T) {
	r := newRecorder(2)
	r.goroutine(5, true)
	r.goroutine(1, false)
	r.goroutine(6, true)
	r.access(0, 5, wire.OpRead, varBase, 1, 1)
	r.access(0, 1, wire.OpRead, varBase, 2, 1)
	r.access(0, 6, wire.OpRead, varBase, 3, 1)
	r.sync(1, 5, wire.OpFork, 1, 4)
	s, out, err := readAll(t, r.bye(0))
	if err != nil {
		t.Fatal(err)
	}
	var order []heisen.Thread
	for _, e := range out {
		if e.Op == heisen.Begin {
			order = append(order, e.Thread)
		}
	}
	if !slices.Equal(order, []heisen.Thread{5, 6, 1}) {
		t.Errorf("threads begin in the order %v", order)
	}
	for thread, want := range map[heisen.Thread]string{5: "goroutine 51", 6: "runtime timers", 1: "goroutine 11"} {
		if got := s.Symbols().Thread(thread).Name; got != want {
			t.Errorf("thread %d is called %q, not %q", thread, got, want)
		}
	}
}

// TestLongAccess: an access of any length becomes pieces that cover it once, each
// but the last up to an address that is a multiple of 8.
func TestLongAccess(t *testing.T) {
	for _, size := range []uint64{0, 1, maxAccess - 1, maxAccess, maxAccess + 1, 2 * maxAccess, 1 << 16, 1<<20 + 3} {
		for obj := uint64(bigBase); obj < bigBase+9; obj++ {
			r := newRecorder(1)
			r.goroutine(0, true)
			r.access(0, 0, wire.OpWrite, obj, 77, size)
			s, out, err := readAll(t, r.bye(0))
			if err != nil {
				t.Fatal(err)
			}
			at, end := obj, obj+max(size, 1)
			for _, e := range out[1:] {
				if uint64(e.Object) != at || e.Op != heisen.Write || s.Symbols().Site(e.Site).PC != testText+77 {
					t.Fatalf("%d bytes at %#x: piece %+v", size, obj, e)
				}
				at += e.Size()
				if at != end && at%8 != 0 {
					t.Errorf("%d bytes at %#x: a piece ends at %#x", size, obj, at)
				}
			}
			if at != end {
				t.Errorf("%d bytes at %#x: pieces end at %#x", size, obj, at)
			}
		}
	}
}

// TestFarStamps: one buffer can be behind by any number of events.
func TestFarStamps(t *testing.T) {
	r := newRecorder(2)
	r.goroutine(0, true)
	r.goroutine(1, true)
	const n = 3*maxNear + 7
	for i := range n {
		g := 1
		if i == 0 || i == n/2 {
			g = 0
		}
		r.sync(g, g, wire.OpSend, msgBase, uint32(i+1))
	}
	r.flush(1)
	s, out, err := readAll(t, r.bye(0))
	if err != nil {
		t.Fatal(err)
	}
	next := uint64(testText)
	for _, e := range out {
		if e.Op == heisen.Send {
			if next++; s.Symbols().Site(e.Site).PC != next {
				t.Fatalf("event at %#x, not %#x", s.Symbols().Site(e.Site).PC, next)
			}
		}
	}
	if next != testText+n {
		t.Errorf("%d events of %d", next-testText, n)
	}
}

// stub is a Symbolizer that knows every pc, or fails.
type stub struct {
	requested []uint32
	err       error
}

func (s *stub) Frames(offsets []uint32) ([][]heisen.Frame, error) {
	s.requested = append(s.requested, offsets...)
	if s.err != nil {
		return nil, s.err
	}
	frames := make([][]heisen.Frame, len(offsets))
	for i, off := range offsets {
		frames[i] = []heisen.Frame{{Func: "main.f", File: "f.go", Line: int(off)}}
	}
	return frames, nil
}

// TestTasks: tasks nest with calls, and their names may have any length.
func TestTasks(t *testing.T) {
	r := newRecorder(1)
	r.goroutine(0, true)
	at := func(pc uint32) { r.access(0, 0, wire.OpRead, varBase, pc, 1) }
	long := strings.Repeat("x", 4096)
	r.task(1, "a")
	r.task(3, long)
	r.call(0, 1)
	at(10)
	r.call(0, wire.TaskPlace|1)
	r.call(0, 2)
	at(11)
	r.call(0, wire.TaskPlace|3)
	r.call(0, 3)
	r.call(0, 4)
	at(12)
	r.leave(0, 3)
	at(13)
	r.leave(0, 2)
	r.call(0, 2)
	at(14)
	s, out, err := readAll(t, r.bye(0))
	if err != nil {
		t.Fatal(err)
	}
	type where struct {
		task  string
		calls []uint64
	}
	var got []where
	for _, e := range out[1:] {
		p := where{task: s.Symbols().Task(0, e.Context)}
		for _, call := range s.Symbols().Calls(e.Context) {
			if info := s.Symbols().Site(call); info.Task == "" {
				p.calls = append(p.calls, info.PC-testText)
			}
		}
		got = append(got, p)
	}
	want := []where{
		{"", []uint64{1}}, {"a", []uint64{2, 1}}, {long, []uint64{4, 3, 2, 1}}, {"a", []uint64{2, 1}}, {"", []uint64{2, 1}},
	}
	if d := cmp.Diff(want, got, cmp.AllowUnexported(where{})); d != "" {
		t.Errorf("-want +got:\n%s", d)
	}
}

// TestSites: a site is resolved once, before events that use it are delivered; a symbolizer that
// fails is not requested again.
func TestSites(t *testing.T) {
	r := newRecorder(1)
	r.goroutine(0, true)
	for range 3 {
		for _, pc := range []uint32{10, 20, testTextSize + sitePage} {
			r.access(0, 0, wire.OpRead, varBase, pc, 1)
		}
		r.flush(0)
	}
	rec := r.bye(0)

	good, bad := &stub{}, &stub{err: errors.New("no")}
	for _, solver := range []*stub{good, bad} {
		s, err := NewStream(bytes.NewReader(rec), solver)
		if err != nil {
			t.Fatal(err)
		}
		out, err := drain(s)
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(solver.requested, []uint32{10, 20}) {
			t.Errorf("requested %v", solver.requested)
		}
		for i, want := range []int{10, 20, 0} {
			info := s.Symbols().Site(out[1+i].Site)
			if want == 0 {
				if out[1+i].Site != 0 {
					t.Errorf("a pc outside of the text is site %d", out[1+i].Site)
				}
				continue
			}
			if info.PC != testText+uint64(want) {
				t.Errorf("pc %#x", info.PC)
			}
			if solver == good && (len(info.Frames) != 1 || info.Frames[0].Line != want) || solver == bad && info.Frames != nil {
				t.Errorf("frames %v", info.Frames)
			}
		}
	}
}

// failingSymbolizer knows no names.
type failingSymbolizer struct{}

func (failingSymbolizer) Frames([]uint32) ([][]heisen.Frame, error) { return nil, io.ErrNoProgress }

// TestSymbolError: a stream says why its sites have no names.
func TestSymbolError(t *testing.T) {
	rec := message(helloMessage(), wire.MsgPlaces, 0, 0x100)
	rec = message(rec, wire.MsgWords, 0, word(wire.OpSwitch, 0), 0, word(wire.OpBegin, wire.Orphan|1), word(wire.OpWrite, varBase), 1<<32|8)
	s, err := NewStream(bytes.NewReader(rec), failingSymbolizer{})
	if err != nil {
		t.Fatal(err)
	}
	if out, err := drain(s); err != nil || len(out) != 2 || s.SymbolError() != io.ErrNoProgress {
		t.Errorf("%v, %v, %v", out, err, s.SymbolError())
	}
	if s, _, err := readAll(t, rec); err != nil || s.SymbolError() != nil {
		t.Errorf("without a symbolizer: %v, %v", err, s.SymbolError())
	}
}
