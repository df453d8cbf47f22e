package field

import (
	"fmt"
	"runtime"
	"slices"
	"time"

	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/internal/option"
	"github.com/heisen-go/heisen/report"
)

// Sampling is what the sampler of a program that was built with heisen build -field may take, and what it has done.
type Sampling struct {
	CPU   float64       // its share of one processor's time, from 0 to 1; with 0 it does nothing
	Delay time.Duration // how long a goroutine is held before an access, from 1 µs to 100 ms
}

// Counters says what the sampler has done since the program began. Numbers only grow.
type Counters struct {
	Places   uint64 // instructions that may be sampled
	Tried    uint64 // of these, those that were watched to see whether they run
	Executed uint64 // of these, those that have run and may access shared variables
	Hits     uint64 // how often a goroutine came to an instruction that was watched
	Holds    uint64 // how often a goroutine was held
	Catches  uint64 // how often another one came to the variable meanwhile
	Lost     uint64 // of these, those that came while another one was being written
}

// Sample sets the budget of the sampler. It is an error that wraps ErrNoSampler if this program has none, and one
// that wraps heisen.ErrOption if a value is wrong.
func Sample(s Sampling) error {
	switch {
	case !(s.CPU >= 0 && s.CPU <= 1):
		return fmt.Errorf("field.Sample: %w", option.Errorf("CPU: %v, want a share from 0 to 1", s.CPU))
	case s.Delay < time.Microsecond || s.Delay > 100*time.Millisecond:
		return fmt.Errorf("field.Sample: %w", option.Errorf("Delay: %v, want 1µs to 100ms", s.Delay))
	}
	if _, err := Count(); err != nil {
		return err
	}
	samplerBudget(int64(s.CPU*100_000), int64(s.Delay))
	return nil
}

// Count returns what the sampler has done. It is an error that wraps ErrNoSampler if this program has none.
func Count() (Counters, error) {
	var c [8]uint64
	samplerCounters(&c)
	if c[0] == 0 {
		return Counters{}, ErrNoSampler
	}
	return Counters{c[1], c[2], c[3], c[4], c[5], c[6], c[7]}, nil
}

// catch is a race as the runtime has noted it: two goroutines that were about to access a variable. It is the type
// heisenCatch of the injected files.
type catch struct{ held, came access }

// access is the runtime's heisenAccess.
type access struct {
	addr  uintptr
	size  uint8
	kind  uint8
	stack stack
}

// stack is the runtime's heisenStack.
type stack struct {
	goid, parent uint64
	created      uintptr
	depth        int32
	pcs          [64]uintptr
}

const writes = 2 // in the kind of an access

// raceDetector is whose way of finding races the sampler's is.
const raceDetector = "atomrace"

// finding returns a race in words.
func (c *catch) finding() report.Finding {
	s := waits{symbols: heisen.NewSymbols()}
	held, came := s.access(&c.held), s.access(&c.came)
	f := heisen.Finding{
		Detector: raceDetector, Kind: heisen.Race, Object: heisen.Object(max(c.held.addr, c.came.addr)),
		Message:  came.Op.Words() + " races with " + held.Op.Words(),
		Accesses: []heisen.Access{held, came},
	}
	var resolver *report.Resolver // reads no files
	all := resolver.Resolve(f, s.symbols)
	all.Count = 1
	for i := range all.Accesses {
		all.Accesses[i].LocksUnknown = true
	}
	return all
}

// access adds an access, its stack and its goroutine to the symbols.
func (s *waits) access(a *access) heisen.Access {
	s.threads++
	info := heisen.ThreadInfo{Name: fmt.Sprintf("goroutine %d", a.stack.goid)}
	thread := s.threads
	if frames := framesOf([]uintptr{a.stack.created}); a.stack.goid != 1 && len(frames) > 0 {
		info.Forked, info.Site = true, s.site(frameOf(frames[0]))
		s.threads++
		info.Parent = s.threads
		s.symbols.SetThread(s.threads, heisen.ThreadInfo{Name: fmt.Sprintf("goroutine %d", a.stack.parent)})
	}
	s.symbols.SetThread(thread, info)
	access := heisen.Access{Op: heisen.Read, Thread: thread, Object: heisen.Object(a.addr), Size: uint64(a.size)}
	if a.kind&writes != 0 {
		access.Op = heisen.Write
	}
	frames := framesOf(a.stack.pcs[:a.stack.depth])
	if len(frames) == 0 {
		return access
	}
	var calls heisen.Cursor
	for _, f := range slices.Backward(frames[1:]) {
		calls = s.symbols.Call(calls, s.site(frameOf(f)))
	}
	access.Site, access.Context = s.site(frameOf(frames[0])), s.symbols.Context(calls)
	return access
}

// framesOf returns the frames of a stack, without those of the runtime that start a goroutine.
func framesOf(pcs []uintptr) (all []runtime.Frame) {
	frames := runtime.CallersFrames(pcs)
	for len(pcs) > 0 {
		f, more := frames.Next()
		if f.Function != "runtime.goexit" && f.Function != "runtime.main" {
			all = append(all, f)
		}
		if !more {
			break
		}
	}
	return all
}
