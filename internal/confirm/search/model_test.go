package search_test

import (
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// The model of TestOutcomes: small programs whose goroutines wait for each other, or look at what others do and go
// on. The model has all states of a program and so all its outcomes.

var (
	programs     = flag.Int("programs", 24, "how many programs TestOutcomes tries")
	firstProgram = flag.Int("first", 0, "the number of the first one, from which it is made")
)

// kind is the kind of an instruction of the model. What an instruction sees is printed at the end.
type kind int

const (
	lock       kind = iota // mu.Lock
	unlock                 // mu.Unlock
	tryLock                // mu.TryLock; sees 1 or 0, and skips some instructions if it fails
	rLock                  // rw.RLock
	rUnlock                // rw.RUnlock
	wLock                  // rw.Lock
	wUnlock                // rw.Unlock
	tryRLock               // rw.TryRLock, as tryLock
	tryWLock               // rw.TryLock, as tryLock
	add                    // n.Add(val); sees the sum
	load                   // sees n
	swap                   // sees whether n was old and is val now
	poll                   // if n is val, sees 1 and skips some instructions
	length                 // sees len(ch)
	send                   // ch <- val
	receive                // sees <-ch
	pick                   // select with a default case, one case for each of cases; sees the number of the case and the value
	cancel                 // cancel()
	canceled               // the rest of it
	contextErr             // sees whether ctx.Err() is nil
	see                    // sees val
	stopTimer              // tm.Stop; sees whether the timer was set
	resetTimer             // tm.Reset, as stopTimer
)

type instr struct {
	kind  kind
	obj   int
	val   int
	skip  int
	cases []choice
}

// choice is a case of a select statement.
type choice struct {
	ch   int
	send bool
	val  int
}

const (
	mutexes  = 2
	atomics  = 2
	channels = 2 // the first has room for one element, the second for none
)

// piece is a piece of a goroutine's code.
type piece struct {
	text string
	code []instr
}

// waiter is a goroutine that waits for a channel.
type waiter struct{ g, val int }

type channel struct {
	buffer    []int
	senders   []waiter
	receivers []waiter
}

// state is a state of a program.
type state struct {
	pc      []int
	blocked []bool // a channel or the RWMutex wakes it
	seen    [][]int
	held    [mutexes]bool
	n       [atomics]int
	ch      [channels]channel

	readers      int   // that hold the RWMutex
	writing      bool  // a writer holds it, or waits only for readers
	writer       int   // that one
	owned        bool  // it has no readers left to wait for
	late         []int // readers that wait for the writer
	err, stopped bool
	set          bool // the timer, which adds 4 to the first variable
	fired        int  // how often it has fired and not added that yet
}

func (s *state) clone() *state {
	c := *s
	c.pc, c.blocked, c.seen, c.late = slices.Clone(s.pc), slices.Clone(s.blocked), slices.Clone(s.seen), slices.Clone(s.late)
	for i := range c.seen {
		c.seen[i] = slices.Clone(s.seen[i])
	}
	for i := range c.ch {
		old := &s.ch[i]
		c.ch[i] = channel{slices.Clone(old.buffer), slices.Clone(old.senders), slices.Clone(old.receivers)}
	}
	return &c
}

func (s *state) see(g, v int) { s.seen[g] = append(s.seen[g], v) }

// wake lets a goroutine that waited in an instruction go on behind it.
func (s *state) wake(g int) { s.pc[g], s.blocked[g] = s.pc[g]+1, false }

func capacity(ch int) int { return 1 - ch }

// canSend and canReceive report whether an operation would not wait.
func (s *state) canSend(ch int) bool {
	c := &s.ch[ch]
	return len(c.receivers) > 0 || len(c.buffer) < capacity(ch)
}

func (s *state) canReceive(ch int) bool {
	c := &s.ch[ch]
	return len(c.buffer) > 0 || len(c.senders) > 0
}

func (s *state) send(ch, v int) {
	c := &s.ch[ch]
	if len(c.receivers) > 0 {
		r := c.receivers[0]
		c.receivers = c.receivers[1:]
		s.see(r.g, v)
		s.wake(r.g)
		return
	}
	c.buffer = append(c.buffer, v)
}

func (s *state) receive(ch int) (v int) {
	c := &s.ch[ch]
	if len(c.buffer) == 0 {
		w := c.senders[0]
		c.senders = c.senders[1:]
		s.wake(w.g)
		return w.val
	}
	v, c.buffer = c.buffer[0], c.buffer[1:]
	if len(c.senders) > 0 {
		w := c.senders[0]
		c.senders = c.senders[1:]
		c.buffer = append(c.buffer, w.val)
		s.wake(w.g)
	}
	return v
}

// next returns the states after the next instruction of a goroutine, none if it cannot be executed.
func (s *state) next(g int, in *instr) []*state {
	s = s.clone()
	done := func() []*state { s.pc[g]++; return []*state{s} }
	try := func(ok bool) []*state {
		s.see(g, btoi(ok))
		if !ok {
			s.pc[g] += in.skip
		}
		return done()
	}
	switch in.kind {
	case lock:
		if s.held[in.obj] {
			return nil
		}
		s.held[in.obj] = true
	case unlock:
		s.held[in.obj] = false
	case tryLock:
		ok := !s.held[in.obj]
		s.held[in.obj] = true
		return try(ok)
	case rLock:
		if s.writing {
			s.late, s.blocked[g] = append(s.late, g), true
			return []*state{s}
		}
		s.readers++
	case rUnlock:
		if s.readers--; s.readers == 0 && s.writing && !s.owned {
			s.owned = true
			s.wake(s.writer)
		}
	case wLock:
		if s.writing {
			return nil
		}
		if s.writing, s.writer, s.owned = true, g, s.readers == 0; !s.owned {
			s.blocked[g] = true
			return []*state{s}
		}
	case wUnlock:
		s.writing, s.owned, s.readers = false, false, len(s.late)
		for _, r := range s.late {
			s.wake(r)
		}
		s.late = nil
	case tryRLock:
		if !s.writing {
			s.readers++
		}
		return try(!s.writing)
	case tryWLock:
		ok := !s.writing && s.readers == 0
		if ok {
			s.writing, s.writer, s.owned = true, g, true
		}
		return try(ok)
	case add:
		s.n[in.obj] += in.val
		s.see(g, s.n[in.obj])
	case load:
		s.see(g, s.n[in.obj])
	case swap:
		ok := s.n[in.obj] == 0
		if ok {
			s.n[in.obj] = in.val
		}
		s.see(g, btoi(ok))
	case poll:
		if s.n[in.obj] == in.val {
			s.see(g, 1)
			s.pc[g] += in.skip
		}
	case length:
		s.see(g, len(s.ch[in.obj].buffer))
	case send:
		if !s.canSend(in.obj) {
			s.ch[in.obj].senders, s.blocked[g] = append(s.ch[in.obj].senders, waiter{g, in.val}), true
			return []*state{s}
		}
		s.send(in.obj, in.val)
	case receive:
		if !s.canReceive(in.obj) {
			s.ch[in.obj].receivers, s.blocked[g] = append(s.ch[in.obj].receivers, waiter{g: g}), true
			return []*state{s}
		}
		s.see(g, s.receive(in.obj))
	case pick:
		var all []*state
		for i, c := range in.cases {
			after := s.clone()
			switch {
			case c.send && s.canSend(c.ch):
				after.send(c.ch, c.val)
				after.see(g, i)
			case !c.send && s.canReceive(c.ch):
				v := after.receive(c.ch)
				after.see(g, i)
				after.see(g, v)
			default:
				continue
			}
			after.pc[g]++
			all = append(all, after)
		}
		if all != nil {
			return all
		}
		s.see(g, 9)
	case cancel:
		s.err = true
	case canceled:
		s.stopped = true
	case contextErr:
		if s.err && !s.stopped {
			return nil
		}
		s.see(g, btoi(s.err))
	case see:
		s.see(g, in.val)
	case stopTimer, resetTimer:
		s.see(g, btoi(s.set))
		s.set = in.kind == resetTimer
	}
	return done()
}

func btoi(b bool) int {
	if b {
		return 1
	}
	return 0
}

// passing returns the states after some time has passed.
func (s *state) passing() (all []*state) {
	if s.set {
		after := s.clone()
		after.set, after.fired = false, s.fired+1
		all = append(all, after)
	}
	if s.fired > 0 {
		after := s.clone()
		after.fired, after.n[0] = s.fired-1, s.n[0]+4
		all = append(all, after)
	}
	return all
}

// outcomesOf returns the results of all executions of goroutines, in the words of resultOf.
func outcomesOf(code [][]instr, timer bool) map[string]bool {
	outcomes, known := map[string]bool{}, map[string]bool{}
	start := &state{pc: make([]int, len(code)), blocked: make([]bool, len(code)), seen: make([][]int, len(code)), set: timer}
	for all := []*state{start}; len(all) > 0; {
		s := all[len(all)-1]
		all = all[:len(all)-1]
		if key := fmt.Sprint(*s); known[key] {
			continue
		} else {
			known[key] = true
		}
		all = append(all, s.passing()...)
		ended, went := true, false
		for g := range code {
			if s.pc[g] == len(code[g]) {
				continue
			}
			if ended = false; s.blocked[g] {
				continue
			}
			after := s.next(g, &code[g][s.pc[g]])
			went = went || len(after) > 0
			all = append(all, after...)
		}
		switch {
		case ended:
			outcomes["passed "+printed(s.seen)] = true
		case !went:
			outcomes["deadlock"] = true
		}
	}
	return outcomes
}

// printed is what a program prints of what its goroutines have seen.
func printed(seen [][]int) string {
	var b strings.Builder
	for _, s := range seen {
		for _, v := range s {
			b.WriteString(strconv.Itoa(v) + " ")
		}
		b.WriteString("; ")
	}
	return strings.TrimSpace(b.String())
}

// inside returns code that is executed with a lock held.
func inside(rng *rand.Rand) piece {
	switch o := rng.IntN(4) / 3; rng.IntN(5) {
	case 0:
		return piece{fmt.Sprintf("see(n[%d].Add(1))", o), []instr{{kind: add, obj: o, val: 1}}}
	case 1:
		return piece{"see(int32(len(ch[0])))", []instr{{kind: length}}}
	case 2:
		return piece{"ch[0] <- 4", []instr{{kind: send, val: 4}}}
	case 3:
		return piece{fmt.Sprintf("see(n[%d].Load())", o), []instr{{kind: load, obj: o}}}
	}
	return piece{"see(5)", []instr{{kind: see, val: 5}}}
}

// guarded returns code with a lock, which is acquired by the first instruction and released by the last one.
func guarded(rng *rand.Rand, acquires, release kind, obj int, text, unlockText string) piece {
	in := inside(rng)
	first := instr{kind: acquires, obj: obj, skip: len(in.code) + 1}
	code := append(append([]instr{first}, in.code...), instr{kind: release, obj: obj})
	if !strings.Contains(text, "Try") {
		return piece{text + "; " + in.text + "; " + unlockText, code}
	}
	return piece{fmt.Sprintf("if %s { see(1); %s; %s } else { see(0) }", text, in.text, unlockText), code}
}

// numPieces is the number of ways that randomPiece knows, of which most look instead of waiting.
const numPieces = 15

const stops, resets = numPieces, numPieces + 1 // the ways of programs with a timer

// randomPiece returns random code in one of some ways.
func randomPiece(rng *rand.Rand, way int) piece {
	o, v := rng.IntN(4)/3, 1+rng.IntN(2)
	name := fmt.Sprintf("mu[%d]", o)
	switch way {
	case 0:
		return guarded(rng, lock, unlock, o, name+".Lock()", name+".Unlock()")
	case 1, 2:
		return guarded(rng, tryLock, unlock, o, name+".TryLock()", name+".Unlock()")
	case 3:
		return guarded(rng, rLock, rUnlock, 0, "rw.RLock()", "rw.RUnlock()")
	case 4:
		return guarded(rng, wLock, wUnlock, 0, "rw.Lock()", "rw.Unlock()")
	case 5:
		return guarded(rng, tryRLock, rUnlock, 0, "rw.TryRLock()", "rw.RUnlock()")
	case 6:
		return guarded(rng, tryWLock, wUnlock, 0, "rw.TryLock()", "rw.Unlock()")
	case 7:
		return piece{fmt.Sprintf("see(n[%d].Add(%d))", o, v), []instr{{kind: add, obj: o, val: v}}}
	case 8:
		return piece{fmt.Sprintf("if n[%d].CompareAndSwap(0, %d) { see(1) } else { see(0) }", o, v), []instr{{kind: swap, obj: o, val: v}}}
	case 9:
		return piece{fmt.Sprintf("for range 2 { if n[%d].Load() == %d { see(1); break } }", o, v), []instr{{kind: poll, obj: o, val: v, skip: 1}, {kind: poll, obj: o, val: v}}}
	case 10:
		return piece{"see(int32(len(ch[0])))", []instr{{kind: length}}}
	case 11:
		if rng.IntN(2) == 0 {
			return piece{fmt.Sprintf("ch[%d] <- %d", o, v), []instr{{kind: send, obj: o, val: v}}}
		}
		return piece{fmt.Sprintf("see(<-ch[%d])", o), []instr{{kind: receive, obj: o}}}
	case 12:
		return piece{"cancel()", []instr{{kind: cancel}, {kind: canceled}}}
	case 13:
		return piece{"if ctx.Err() != nil { see(1) } else { see(0) }", []instr{{kind: contextErr}}}
	case stops:
		return piece{"if tm.Stop() { see(1) } else { see(0) }", []instr{{kind: stopTimer}}}
	case resets:
		return piece{"if tm.Reset(time.Millisecond) { see(1) } else { see(0) }", []instr{{kind: resetTimer}}}
	}
	return randomSelect(rng)
}

func randomSelect(rng *rand.Rand) piece {
	in := instr{kind: pick}
	text := "select { "
	for i := range 1 + rng.IntN(2) {
		c := choice{ch: rng.IntN(channels), send: rng.IntN(2) == 0, val: 6 + i}
		if i > 0 && c.ch == in.cases[0].ch && c.send == in.cases[0].send {
			break
		}
		if in.cases = append(in.cases, c); c.send {
			text += fmt.Sprintf("case ch[%d] <- %d: see(%d); ", c.ch, c.val, i)
		} else {
			text += fmt.Sprintf("case v := <-ch[%d]: see(%d); see(v); ", c.ch, i)
		}
	}
	return piece{text + "default: see(9) }", []instr{in}}
}

// randomModel returns a random test, its code for the model, and whether it has a timer.
func randomModel(rng *rand.Rand, name string) (text string, code [][]instr, timer bool) {
	var b strings.Builder
	goroutines := 2 + rng.IntN(5)/4
	fmt.Fprintf(&b, "func %s(t *testing.T) {\n", name)
	fmt.Fprintf(&b, "\tvar mu [%d]sync.Mutex\n\tvar rw sync.RWMutex\n\tvar n [%d]atomic.Int32\n\tch := [...]chan int32{make(chan int32, 1), make(chan int32)}\n", mutexes, atomics)
	fmt.Fprintf(&b, "\tctx, cancel := context.WithCancel(context.Background())\n\t_, _, _, _, _, _ = &mu, &rw, &n, ch, ctx, cancel\n")
	fmt.Fprintf(&b, "\tvar seen [%d][]int32\n\tvar done sync.WaitGroup\n", goroutines)
	ways := [3]int{rng.IntN(numPieces), rng.IntN(numPieces), rng.IntN(numPieces)} // few, so that goroutines meet
	if timer = rng.IntN(25) == 0; timer {
		ways[0], ways[1] = stops, stops+rng.IntN(2)
		b.WriteString("\ttm := time.AfterFunc(time.Millisecond, func() { n[0].Add(4) })\n\t_ = tm\n")
	}
	for i := range goroutines {
		fmt.Fprintf(&b, "\tdone.Add(1)\n\tgo func() {\n\t\tdefer done.Done()\n\t\tsee := func(v int32) { seen[%d] = append(seen[%d], v) }\n\t\t_ = see\n", i, i)
		var all []instr
		for range 1 + rng.IntN(2+2/goroutines) {
			p := randomPiece(rng, ways[rng.IntN(len(ways))])
			b.WriteString("\t\t" + p.text + "\n")
			all = append(all, p.code...)
		}
		b.WriteString("\t}()\n")
		code = append(code, all)
	}
	b.WriteString("\tdone.Wait()\n\tprint(seen[:])\n}\n\n")
	return b.String(), code, timer
}

const modelHead = `package small

import (
	"context"
	"os"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

var _ = context.Background
var _ time.Duration
var _ atomic.Int32

func print(seen [][]int32) {
	os.Stdout.WriteString("result: ")
	for _, s := range seen {
		for _, v := range s {
			os.Stdout.WriteString(strconv.Itoa(int(v)) + " ")
		}
		os.Stdout.WriteString("; ")
	}
	os.Stdout.WriteString("\n")
}

`

// TestOutcomes compares the outcomes of random programs that look instead of waiting, by TryLock, len, select with
// default, atomic variables, contexts and timers, with those of a model. All that the search shows must be outcomes of the
// model, and all of the model are shown if all executions were tried.
func TestOutcomes(t *testing.T) {
	const perBinary = 50
	enumerated, outcomes := 0, 0
	for done := 0; done < *programs; done += perBinary {
		from, n := *firstProgram+done, min(perBinary, *programs-done)
		t.Run(fmt.Sprint(from), func(t *testing.T) {
			e, o := compareOutcomes(t, from, n)
			enumerated, outcomes = enumerated+e, outcomes+o
		})
	}
	t.Logf("%d programs, %d enumerated, with %d outcomes", *programs, enumerated, outcomes)
	if !testing.Short() && enumerated < *programs*2/3 {
		t.Errorf("of %d programs only %d were enumerated", *programs, enumerated)
	}
}

// compareOutcomes compares some programs. It returns how many were enumerated, and how many outcomes these have.
func compareOutcomes(t *testing.T, from, n int) (enumerated, outcomes int) {
	file := modelHead
	want, texts := map[string]map[string]bool{}, map[string]string{}
	for i := range n {
		name := fmt.Sprint("TestModel", from+i)
		text, code, timer := randomModel(rand.New(rand.NewPCG(uint64(from+i), 3)), name)
		file, texts[name], want[name] = file+text, text, outcomesOf(code, timer)
	}
	p, c := openTests(t, file)
	for name, s := range searchTests(t, p, c, 12*time.Second) {
		if missing := missingOutcomes(want[name], s.outcomes); s.unit.All > 0 {
			if enumerated, outcomes = enumerated+1, outcomes+len(want[name]); len(missing) > 0 {
				t.Errorf("%s: all %d executions have not shown %q\n%s", name, s.unit.All, missing, texts[name])
			}
		} else {
			t.Logf("%s was not enumerated, %d executions have not shown %q", name, s.unit.Executions, missing)
		}
		for o := range s.outcomes {
			if !want[name][o] {
				t.Errorf("%s: %q is no outcome of the model, which has %q\n%s", name, o, slices.Sorted(maps.Keys(want[name])), texts[name])
			}
		}
	}
	return enumerated, outcomes
}

func missingOutcomes(want map[string]bool, shown map[string]int) (missing []string) {
	for _, o := range slices.Sorted(maps.Keys(want)) {
		if shown[o] == 0 {
			missing = append(missing, o)
		}
	}
	return missing
}
