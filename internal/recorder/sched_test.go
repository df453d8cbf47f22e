package recorder

import (
	"bytes"
	"errors"
	"io"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/internal/core/strategies"
	"github.com/heisen-go/heisen/internal/core/wire"
)

// executionMessages are what a program sends about a deterministic run.
func executionMessages() []byte {
	rec := message(nil, wire.MsgPlaces, 0, 0x100, 1<<32|0x200)
	rec = message(rec, wire.MsgMeeting, 0, uint64(strategies.Race), 7, accessID(3, heisen.Write, 2), varBase, 8, accessID(4, heisen.Read, 1), varBase+4, 1)
	rec = message(rec, wire.MsgChoices, 0, 5, 3, 9, 1)
	rec = message(rec, wire.MsgChoices, 0, 11, 2)
	rec = message(rec, wire.MsgChoices, 0, 11, 3<<32|2, 15, 1<<32|4) // the first of them adds the case
	rec = message(rec, wire.MsgMisuse, wire.MisuseSkips, 4, 1)
	rec = message(rec, wire.MsgMisuse, wire.MisuseFails, 3, 2)
	rec = message(rec, wire.MsgMisuse, wire.MisuseLate, 3, 1)
	rec = message(rec, wire.MsgMeasures, 0, 0x200<<32|1<<16|uint64(MeasuredGoroutines)<<8|uint64(MeasuredMemory|MeasuredGoroutines), 1, 77)
	rec = message(rec, wire.MsgFailing, wire.FailingByRuntime|wire.FailingAtEnd, 4, 0x100, 0x200)
	rec = message(rec, wire.MsgStuck, uint32(notLooked))
	rec = message(rec, wire.MsgStuck, uint32(Deadlock), slices.Concat(
		[]uint64{3, lockBase, 2, 12, 1500, 15, 0}, textWords("sync.Mutex.Lock"), []uint64{4, 0, 0, 0, 0, 0, 0})...)
	rec = message(rec, wire.MsgStuck, uint32(Deadlock), slices.Concat([]uint64{5, 8, 1, 0, 0, 8, 2 | 3<<32}, textWords("runnable"),
		[]uint64{lockBase, varBase, lockBase | wire.UseSends, varBase | wire.UseReceives, varBase + 8 | wire.UseWays})...)
	return message(rec, wire.MsgExecution, 0, 40, 0xabc, uint64(time.Hour), 1, 2, 0xdef, 6, 4, 5, 0x100<<32|uint64(Process), 2500, 6, 3, 0x100, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 2, 0)
}

// TestExecution reads what a program sends about a deterministic run.
func TestExecution(t *testing.T) {
	s, err := NewStream(bytes.NewReader(append(helloMessage(), executionMessages()...)), nil)
	if err != nil {
		t.Fatal(err)
	}
	var met []Meeting
	s.OnMeeting(func(m Meeting) { met = append(met, m) })
	if _, err := drain(s); err != nil && err != io.EOF {
		t.Fatal(err)
	}
	first, second := s.site(0x100), s.site(0x200)
	inside, err := s.place(2)
	if err != nil {
		t.Fatal(err)
	}
	context := s.syms.Context(heisen.Cursor{Calls: inside.calls})
	if want := []Meeting{{strategies.Race, 7, []heisen.Access{
		{Op: heisen.Write, Thread: 3, Object: varBase, Size: 8, Site: second, Context: context},
		{Op: heisen.Read, Thread: 4, Object: varBase + 4, Size: 1, Site: first},
	}}}; !reflect.DeepEqual(met, want) {
		t.Errorf("meetings %+v, want %+v", met, want)
	}
	if !s.LookFailed() {
		t.Error("it is not known that some goroutines may not have been found")
	}
	want := &Execution{
		LookFailed: true,
		Ended:      true, Steps: 40, Hash: 0xabc, Order: 0xdef, Delays: 6, Yielded: 4, Virtual: time.Hour, Reached: true, Diverged: 2,
		Choices:    []strategies.Choice{{Step: 5, ID: 3}, {Step: 9, ID: 1}, {Step: 11, ID: 2, Case: 3}, {Step: 15, ID: 4, Case: 1}},
		Influences: []Influence{{Input, 3, first}, {Syscall, 1, 0}, {Process, 2, 0}},
		Overtaken:  Influence{Process, 5, first},
		Starved:    Starved{2500, 6},
		Failing:    &Failing{true, true, 4, first, s.syms.Context(s.syms.Call(heisen.Cursor{}, second)), 0},
		Measured:   Measured{MeasuredMemory | MeasuredGoroutines, second, true, MeasuredGoroutines, []uint64{1, 77}},
		Misuses:    []Misuse{{true, false, 4, first, 0, 0}, {false, false, 3, second, context, 0}, {false, true, 3, first, 0, 0}},
		Stuck: &Stuck{Deadlock, []Blocked{
			{Thread: 3, Reason: "sync.Mutex.Lock", Object: lockBase, Step: 12, Clock: 1500, Site: second, Context: context},
			{Thread: 4}, {Thread: 5, Reason: "runnable", Object: 8, Channels: []heisen.Object{lockBase, varBase}, Site: first, Uses: []ChannelUse{
				{lockBase, true, false}, {varBase, false, true}, {varBase + 8, true, true},
			}},
		}},
	}
	if got := s.Execution(); !reflect.DeepEqual(got, want) {
		t.Errorf("execution %+v, want %+v", got, want)
	}
	if s.Execution().Replayable() {
		t.Error("a run that a system call took part in is replayable")
	}
	if !(&Execution{Ended: true, Influences: []Influence{{Kind: Input}}}).Replayable() || (&Execution{}).Replayable() {
		t.Error("replayable is not what ended and read files at most")
	}
	if got := Thread.String() + ", " + InfluenceKind(9).String(); got != "thread, influence 9" {
		t.Error(got)
	}
}

// TestExecutionWithoutReceiver reads the same without a receiver of meetings.
func TestExecutionWithoutReceiver(t *testing.T) {
	if _, _, err := readAll(t, append(helloMessage(), executionMessages()...)); err != nil && err != io.EOF {
		t.Error(err)
	}
}

// TestCorruptExecution tests messages about deterministic runs that no program sends.
func TestCorruptExecution(t *testing.T) {
	known := slices.Clip(message(helloMessage(), wire.MsgPlaces, 0, 0x100))
	execution := make([]uint64, wire.ExecutionWords+2*int(numInfluences))
	far := slices.Clone(execution)
	far[wire.ExecutionWords], far[wire.ExecutionWords+1] = 1, testTextSize+1
	starved := slices.Clone(execution)
	starved[10] = 1 << 63
	overtaken := slices.Clone(execution)
	overtaken[8], overtaken[9] = 1, uint64(numInfluences)
	for _, test := range []struct {
		name string
		rec  []byte
		want string
	}{
		{"short execution", message(known, wire.MsgExecution, 0, execution[1:]...), "execution of 25 words"},
		{"two executions", message(message(known, wire.MsgExecution, 0, execution...), wire.MsgExecution, 0, execution...), "ends again"},
		{"far influence", message(known, wire.MsgExecution, 0, far...), "influence at"},
		{"held back for long", message(known, wire.MsgExecution, 0, starved...), "goroutine 0 was held back"},
		{"overtaken by nothing", message(known, wire.MsgExecution, 0, overtaken...), "overtaken by 7"},
		{"no measures", message(known, wire.MsgMeasures, 0), "measures in 0 words"},
		{"unknown measures", message(known, wire.MsgMeasures, 0, 1<<20), "measures in 1 words"},
		{"measures from afar", message(known, wire.MsgMeasures, 0, 1|(testTextSize+1)<<32), "measures in 1 words"},
		{"measures again", message(message(known, wire.MsgMeasures, 0, 1), wire.MsgMeasures, 0, 1), "measures again"},
		{"half a choice", message(known, wire.MsgChoices, 0, 1), "choices in 1 words"},
		{"a choice too late", message(known, wire.MsgChoices, 0, 4, 1, 4, 2), "choice of goroutine 2 at step 4"},
		{"a case of no goroutine", message(known, wire.MsgChoices, 0, 4, 1<<32|uint64(strategies.NoTask)), "choice of goroutine 4294967295 at step 4"},
		{"stuck for no reason", message(known, wire.MsgStuck, 0), "stuck for reason 0"},
		{"stuck for an unknown reason", message(known, wire.MsgStuck, 7), "stuck for reason 7"},
		{"half a goroutine", message(known, wire.MsgStuck, 1, 1, 2, 1), "words of a goroutine"},
		{"half a reason", message(known, wire.MsgStuck, 1, 1, 2, 1, 0, 0, 9, 0, 0), "words of a goroutine"},
		{"a long reason", message(known, wire.MsgStuck, 1, 1, 2, 1, 0, 0, 1<<63, 0), "words of a goroutine"},
		{"many channels", message(known, wire.MsgStuck, 1, 1, 2, 1, 0, 0, 0, 1<<63), "words of a goroutine"},
		{"many uses", message(known, wire.MsgStuck, 1, 1, 2, 1, 0, 0, 0, (wire.StuckUses+1)<<32, 1, 2, 3, 4, 5, 6, 7, 8, 9), "words of a goroutine"},
		{"half the uses", message(known, wire.MsgStuck, 1, 1, 2, 1, 0, 0, 0, 2<<32, 5), "words of a goroutine"},
		{"half the channels", message(known, wire.MsgStuck, 1, 1, 2, 1, 0, 0, 0, 2, 5), "words of a goroutine"},
		{"a place", message(known, wire.MsgStuck, 1, 1, 2, 3, 0, 0, 0, 0), "unknown place 3"},
		{"a goroutine", message(known, wire.MsgStuck, 1, wire.UnknownG, 2, 1, 0, 0, 0, 0), "goroutine 4294967295"},
		{"failing nowhere", message(known, wire.MsgFailing, 0, 1), "failing in 1 words"},
		{"failing in no way", message(known, wire.MsgFailing, 4, 1, 0x100), "failing in 2 words"},
		{"failing in a task", message(known, wire.MsgFailing, 0, 1|7<<32, 0x100), "unknown task 7"},
		{"failing twice", message(message(known, wire.MsgFailing, 0, 1, 0x100), wire.MsgFailing, 1, 1, 0x100), "failing in 2 words"},
		{"a misuse", message(known, wire.MsgMisuse, 4, 1, 1), "misuse 4"},
		{"half a misuse", message(known, wire.MsgMisuse, wire.MisuseFails, 1), "misuse 1 in 1 words"},
		{"a misuse somewhere", message(known, wire.MsgMisuse, wire.MisuseFails, 1, 2), "unknown place 2"},
		{"a misuse by nobody", message(known, wire.MsgMisuse, wire.MisuseFails, 1<<40, 1), "misuse 1 in 2 words"},
		{"half a meeting", message(known, wire.MsgMeeting, 0, 0, 1, 2), "meeting in 3 words"},
		{"a kind of meeting", message(known, wire.MsgMeeting, 0, 2, 1, accessID(1, heisen.Read, 1), 1, 1, accessID(2, heisen.Read, 1), 1, 1), "meeting"},
		{"a meeting of ops", message(known, wire.MsgMeeting, 0, 0, 1, accessID(1, 99, 1), 1, 1, accessID(2, heisen.Read, 1), 1, 1), "operation 99"},
		{"a meeting somewhere", message(known, wire.MsgMeeting, 0, 0, 1, accessID(1, heisen.Read, 2), 1, 1, accessID(2, heisen.Read, 1), 1, 1), "unknown place 2"},
	} {
		_, _, err := readAll(t, test.rec)
		if !errors.Is(err, ErrCorrupt) || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: error %v, want one about %q", test.name, err, test.want)
		}
	}
}

// TestScheduleLimits: schedules for which a program has no room are errors.
func TestScheduleLimits(t *testing.T) {
	for name, test := range map[string]struct {
		schedule Schedule
		want     string
	}{
		"targets": {Schedule{Targets: make([]Target, MaxTargets+1)}, "65536 targets"},
		"mode":    {Schedule{Targets: []Target{{File: "a.go", Line: 1}}}, "target a.go:1 of mode 0"},
		"line":    {Schedule{Targets: []Target{{File: "a.go", Mode: OnRead}}}, "target a.go:0"},
		"file":    {Schedule{Targets: []Target{{File: strings.Repeat("x", maxNamed+1), Line: 1, Mode: OnLock}}}, "name of 4097 bytes"},
		"order":   {Schedule{Strategy: strategies.Config{Turns: make([]strategies.Turn, maxFollowed+1)}}, "a schedule of 4194305 choices"},
		"choices": {Schedule{Strategy: strategies.Config{Choices: make([]strategies.Choice, maxFollowed+1)}}, "a schedule of 4194305 choices"},
	} {
		if _, err := test.schedule.encode(); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: error %v, want one about %q", name, err, test.want)
		}
	}
}

// placedWords are the words of a recording with operation numbers.
func placedWords() []uint64 {
	return []uint64{word(wire.OpSwitch, 0), 0, word(wire.OpBegin, wire.Orphan),
		word(wire.OpPoint, 0), word(wire.OpAcquire, lockBase), 0, 0, word(wire.OpPoint, 2), word(wire.OpRead, varBase), 8,
		word(wire.OpAlloc, varBase), 8, word(wire.OpRelease, lockBase), 1, 0,
		word(wire.OpPoint, 5), word(wire.OpPoint, 0), word(wire.OpWrite, varBase), 1 << 17}
}

// TestNumbered: events have the numbers of their operations.
func TestNumbered(t *testing.T) {
	s, err := NewStream(bytes.NewReader(message(helloMessage(), wire.MsgWords, 0, placedWords()...)), nil)
	if err != nil {
		t.Fatal(err)
	}
	events, err := drain(s)
	if err != nil {
		t.Fatal(err)
	}
	const point = 1 << 32
	want := map[heisen.Op][]uint64{heisen.Acquire: {point}, heisen.Read: {point + 2}, heisen.Release: {point + 2},
		heisen.Write: {2 * point, 2 * point, 2 * point}} // it is long
	got := map[heisen.Op][]uint64{}
	for _, r := range events {
		if r.Flags&Numbered != 0 {
			got[r.Op] = append(got[r.Op], r.Value)
		}
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	for _, again := range []uint64{2, 1, 1 << 32} { // accesses have ascending numbers
		words := append(placedWords()[:10:10], word(wire.OpPoint, again))
		s, err := NewStream(bytes.NewReader(message(helloMessage(), wire.MsgWords, 0, words...)), nil)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := drain(s); !errors.Is(err, ErrCorrupt) {
			t.Errorf("access %d after access 2: error %v", again, err)
		}
	}
}
