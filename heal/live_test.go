package heal_test

import (
	"errors"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/atomrace"
	"github.com/heisen-go/heisen/heal"
	"github.com/heisen-go/heisen/section"
)

const balance heisen.Object = 0x1000

// deposit is a section from the read in line 31 to the write in line 33.
var deposit = []section.Section{{
	Entry: section.Location{File: "bank.go", Line: 31, Mode: section.Reads},
	Ends: []section.End{{
		At: section.Location{File: "bank.go", Line: 33, Mode: section.Writes}, Allow: section.Reads,
	}},
}}

var lines = section.Locator{Site: func(s heisen.Site) (string, int, string) { return "bank.go", int(s), "" }}

// bank is a program that is instrumented by hand: deposits are lost if others come between the read and the write.
type bank struct {
	balance  atomic.Int64
	live     *heal.Live
	detector *atomrace.Detector
}

func (b *bank) access(t heisen.Thread, line heisen.Site, op heisen.Op, f func()) {
	b.live.BeforeAccess(t, balance, line, op)
	b.detector.BeforeAccess(t, balance, line, op)
	f()
	b.detector.AfterAccess(t)
	b.live.AfterAccess(t)
}

func (b *bank) deposit(t heisen.Thread) {
	var n int64
	b.access(t, 31, heisen.Read, func() { n = b.balance.Load() })
	runtime.Gosched()
	b.access(t, 33, heisen.Write, func() { b.balance.Store(n + 1) })
}

// run makes deposits in four threads under noise. It returns how many were lost.
func (b *bank) run(each int) (lost int64) {
	before := b.balance.Load()
	var wg sync.WaitGroup
	for t := range heisen.Thread(4) {
		wg.Go(func() {
			for range each {
				b.deposit(t)
			}
			b.live.EndThread(t)
			b.detector.EndThread(t)
		})
	}
	wg.Wait()
	return before + int64(4*each) - b.balance.Load()
}

func newBank(t *testing.T, healer heal.Healer, found *atomic.Int64) *bank {
	t.Helper()
	live, err := heal.NewLive(healer, heal.WithSections(deposit, lines))
	if err != nil {
		t.Fatal(err)
	}
	noise, err := atomrace.NewRandomNoise(atomrace.WithStrength(200), atomrace.WithSleep(20*time.Microsecond), atomrace.WithYields(3))
	if err != nil {
		t.Fatal(err)
	}
	d, err := atomrace.NewDetector(atomrace.WithSections(deposit, lines), atomrace.WithNoise(noise), atomrace.WithDedup(0),
		atomrace.WithSink(live.Sink(func(heisen.Finding) { found.Add(1) })))
	if err != nil {
		t.Fatal(err)
	}
	return &bank{live: live, detector: d}
}

// TestLive: deposits are lost and the section is violated, until the first finding switches healing on. From then on,
// healing locks prevent both.
func TestLive(t *testing.T) {
	locks, err := heal.NewHealingLocks(heal.WithPatience(time.Hour))
	if err != nil {
		t.Fatal(err)
	}
	var found atomic.Int64
	b := newBank(t, locks, &found)
	for lost := int64(0); lost == 0 || found.Load() == 0; {
		b.live, lost = new(heal.Live), b.run(100) // a zero Live heals nothing
	}
	healed := newBank(t, locks, &found)
	for found.Store(0); found.Load() == 0; {
		healed.run(10)
	}
	found.Store(0)
	for range 20 {
		if lost := healed.run(200); lost != 0 || found.Load() != 0 {
			t.Fatalf("%d deposits were lost, and %d bugs found", lost, found.Load())
		}
	}
	if s := locks.Stats(); s.Visits < 16000 || s.Waited == 0 || s.Cycles != 0 || s.TimeOuts != 0 {
		t.Errorf("%+v", s)
	}
}

// TestHealersFinish: the healers that guarantee nothing neither stop a program nor break it.
func TestHealersFinish(t *testing.T) {
	yield, err := heal.NewYield(heal.WithYields(2))
	if err != nil {
		t.Fatal(err)
	}
	stand, err := heal.NewStandBack(heal.WithPatience(time.Millisecond))
	if err != nil {
		t.Fatal(err)
	}
	for _, healer := range []heal.Healer{yield, stand} {
		var found atomic.Int64
		b := newBank(t, healer, &found)
		b.live.Heal(balance)
		b.run(500)
	}
}

// TestStandBack: a thread stands back while another one is inside, but not for ever, and not for itself or readers.
func TestStandBack(t *testing.T) {
	const patience = 20 * time.Millisecond
	h, err := heal.NewStandBack(heal.WithPatience(patience))
	if err != nil {
		t.Fatal(err)
	}
	inside := heal.Visit{Thread: 1, Object: balance, Mode: heal.Exclusive}
	h.Enter(inside)
	h.Enter(inside)
	h.Leave(inside)
	h.Enter(heal.Visit{Thread: 2, Object: balance + 8, Mode: heal.Exclusive})
	start := time.Now()
	h.Enter(heal.Visit{Thread: 2, Object: balance, Mode: heal.Shared})
	if took := time.Since(start); took < patience {
		t.Errorf("stood back for %v, want %v", took, patience)
	}
	h.Leave(inside)
	h.Enter(heal.Visit{Thread: 3, Object: balance, Mode: heal.Shared})
	left := make(chan bool)
	go func() {
		h.Enter(inside)
		close(left)
	}()
	h.Leave(heal.Visit{Thread: 3, Object: balance, Mode: heal.Shared})
	h.Leave(heal.Visit{Thread: 2, Object: balance, Mode: heal.Shared})
	<-left
}

// visits has a Healer that records its calls.
type visits struct{ entered, left []heal.Visit }

func (v *visits) Enter(x heal.Visit) { v.entered = append(v.entered, x) }
func (v *visits) Leave(x heal.Visit) { v.left = append(v.left, x) }

// TestVisits follows one thread through sections.
func TestVisits(t *testing.T) {
	at := func(line int, mode section.Modes) section.Location {
		return section.Location{File: "bank.go", Line: line, Mode: mode}
	}
	sections := []section.Section{
		{Entry: at(1, section.Reads), Ends: []section.End{{At: at(3, section.Reads), Allow: section.Reads}, {At: at(4, section.Writes)}}},
		{Entry: at(10, section.Reads), Ends: []section.End{{At: at(12, section.Reads), Allow: section.Reads}}},
		{Entry: at(12, section.Reads), Ends: []section.End{{At: at(14, section.Writes)}}},
		{Entry: at(20, section.Writes), Recursive: true, Ends: []section.End{{At: at(21, section.Writes)}}},
	}
	const other, unhealed = balance + 8, balance + 16
	type step struct {
		object  heisen.Object
		line    heisen.Site // 0: AtomExit; a negative number is a write
		write   bool
		inside  heal.Mode // after the access was announced
		staying heal.Mode // after it was over
	}
	const r, w, free = heal.Shared, heal.Exclusive, heal.Free
	for name, steps := range map[string][]step{
		"single accesses":            {{balance, 50, false, r, free}, {balance, 50, true, w, free}},
		"not healed":                 {{unhealed, 1, false, free, free}},
		"to the first end":           {{balance, 1, false, w, w}, {balance, 50, false, w, w}, {balance, 3, false, w, free}},
		"to the second end":          {{balance, 1, false, w, w}, {balance, 4, true, w, free}},
		"another variable":           {{balance, 1, false, w, w}, {other, 3, false, w, w}, {balance, 3, false, w, free}},
		"left":                       {{balance, 1, false, w, w}, {balance, 0, false, free, free}},
		"entered again":              {{balance, 1, false, w, w}, {balance, 1, false, w, w}, {balance, 4, true, w, free}},
		"a read section":             {{balance, 10, false, r, r}, {balance, 50, false, r, r}, {balance, 0, false, free, free}},
		"a write in a read section":  {{balance, 10, false, r, r}, {balance, 50, true, w, w}, {balance, 0, false, free, free}},
		"an end that is an entry":    {{balance, 10, false, r, r}, {balance, 12, false, w, w}, {balance, 14, true, w, free}},
		"an end without its entry":   {{balance, 14, true, w, free}},
		"a recursive section, twice": {{balance, 20, true, w, w}, {balance, 20, true, w, w}, {balance, 21, true, w, w}, {balance, 21, true, w, free}},
	} {
		var v visits
		l, err := heal.NewLive(&v, heal.WithSections(sections, lines))
		if err != nil {
			t.Fatal(err)
		}
		l.Heal(balance)
		l.Heal(other)
		mode := func() (mode heal.Mode) {
			open := map[heal.Visit]int{}
			for _, x := range v.entered {
				open[x]++
			}
			for _, x := range v.left {
				if open[x]--; open[x] < 0 {
					t.Fatalf("%s: left %v too often", name, x)
				}
			}
			for x, n := range open {
				if n > 0 && x.Object == balance {
					mode = max(mode, x.Mode)
				}
			}
			return mode
		}
		for i, s := range steps {
			op := heisen.Read
			if s.write {
				op = heisen.Write
			}
			if s.line == 0 {
				l.AtomExit(7, s.object)
			} else {
				l.BeforeAccess(7, s.object, s.line, op)
			}
			if got := mode(); got != s.inside {
				t.Errorf("%s, step %d: %v, want %v", name, i, got, s.inside)
			}
			l.AfterAccess(7)
			if got := mode(); got != s.staying {
				t.Errorf("%s, after step %d: %v, want %v", name, i, got, s.staying)
			}
		}
		l.EndThread(7)
		if len(v.entered) != len(v.left) {
			t.Errorf("%s: %d visits, %d ends", name, len(v.entered), len(v.left))
		}
	}
}

// TestLiveOptions: wrong arguments are errors.
func TestLiveOptions(t *testing.T) {
	yield, err := heal.NewYield()
	if err != nil {
		t.Fatal(err)
	}
	_, none := heal.NewLive(nil)
	_, invalid := heal.NewLive(yield, heal.WithSections(deposit, section.Locator{}))
	_, twice := heal.NewLive(yield, heal.WithSections(deposit, lines), heal.WithSections(deposit, lines))
	_, yields := heal.NewYield(heal.WithYields(0))
	_, patience := heal.NewStandBack(heal.WithPatience(0))
	_, locks := heal.NewHealingLocks(nil)
	for i, err := range []error{none, invalid, twice, yields, patience, locks} {
		if !errors.Is(err, heisen.ErrOption) {
			t.Errorf("%d: %v", i, err)
		}
	}
	if !errors.Is(invalid, section.ErrInvalid) {
		t.Error(invalid)
	}
}
