package report

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/heisen-go/heisen"
)

// resolve resolves a finding with the source files in testdata.
func resolve(symbols *heisen.Symbols, f heisen.Finding) Finding {
	r, err := NewResolver()
	if err != nil {
		panic(err)
	}
	defer r.Close()
	return r.Resolve(f, symbols)
}

var update = flag.Bool("update", false, "rewrite the golden files")

// bank builds the symbols of the program in testdata/bank, as a recorder would.
type bank struct {
	*heisen.Symbols
	sites map[heisen.Frame]heisen.Site
}

func newBank() *bank {
	b := &bank{heisen.NewSymbols(), map[heisen.Frame]heisen.Site{}}
	b.SetThread(2, heisen.ThreadInfo{
		Forked: true, Parent: 1,
		Site: b.at("main.serve", 30), Context: b.Context(b.Call(heisen.Cursor{}, b.at("main.main.gowrap1", 37))),
	})
	b.SetThread(1, heisen.ThreadInfo{Forked: true, Site: b.at("main.main", 37)})
	return b
}

func (b *bank) at(function string, line int) heisen.Site {
	frame := heisen.Frame{Func: function, File: "testdata/bank/bank.go", Line: line}
	if s, ok := b.sites[frame]; ok {
		return s
	}
	s := b.AddSite(heisen.SiteInfo{PC: 0x400000 + uint64(line), Frames: []heisen.Frame{frame}})
	b.sites[frame] = s
	return s
}

const (
	balance = heisen.Object(0xc000010020)
	lockA   = heisen.Object(0xc000010008)
	lockB   = heisen.Object(0xc000010048)
)

// depositing returns the access of goroutine 2 that deposits.
func (b *bank) depositing(op heisen.Op) heisen.Access {
	c := b.Call(heisen.Cursor{}, b.at("main.serve.func1", 31))
	c = b.Acquire(c, heisen.HeldLock{Lock: lockA, Site: b.lockSite(12)})
	return heisen.Access{
		Op: op, Thread: 2, Object: balance, Size: 8, Index: 40,
		Site: b.at("main.(*account).deposit", 14), Context: b.Context(c),
	}
}

// lockSite is a site within package sync that was inlined into the program's
// line.
func (b *bank) lockSite(line int) heisen.Site {
	info := b.Site(b.at("main.(*account).deposit", line))
	info.Frames = append([]heisen.Frame{{Func: "sync.(*RWMutex).Lock", File: "/go/src/sync/rwmutex.go", Line: 147}}, info.Frames...)
	return b.AddSite(info)
}

func (b *bank) reporting() heisen.Access {
	return heisen.Access{
		Op: heisen.Read, Object: balance, Size: 8, Index: 12,
		Site:    b.at("main.(*account).report", 18),
		Context: b.Context(b.Call(heisen.Cursor{}, b.at("main.main", 38))),
	}
}

func raceFinding() Finding {
	b := newBank()
	f := resolve(b.Symbols, heisen.Finding{
		Detector: "fasttrack", Kind: heisen.Race, Object: balance,
		Message:  "write is not ordered with an earlier read",
		Accesses: []heisen.Access{b.reporting(), b.depositing(heisen.Write)},
		Witness: []heisen.Record{
			{Op: heisen.Fork, Object: 1, Site: b.at("main.main", 37)},
			{Op: heisen.Read, Object: balance, Site: b.at("main.(*account).report", 18), Value: 7, Flags: heisen.HasValue},
		},
	})
	f.Count = 3
	f.Replay = "heisen replay 0123.schedule"
	return f
}

// allocated is a race on an object, and on an array of a text trace, of which it is known
// where they were allocated.
func allocated() Finding {
	b := newBank()
	b.SetName(8, "V3")
	race := heisen.Finding{
		Detector: "hb", Kind: heisen.Race, Object: balance, Message: "write races with earlier read",
		Accesses: []heisen.Access{b.reporting(), b.depositing(heisen.Write), {Op: heisen.Write, Object: 8, Index: 41}},
	}
	in := b.Context(b.Call(heisen.Cursor{}, b.AddSite(heisen.SiteInfo{Task: "TestTransfer"})))
	f := resolve(b.Symbols, race)
	f.Allocations = []Allocation{
		allocation(b, 24, 56, heisen.Access{Thread: 1, Object: balance, Site: b.at("main.main", 36), Context: in}),
		allocation(b, 0, 16, heisen.Access{Thread: 2, Object: 8, Site: b.AddSite(heisen.SiteInfo{Text: "array.go:7"})}),
	}
	return f
}

// allocation says that an object was allocated at by.
func allocation(b *bank, offset, size uint64, by heisen.Access) Allocation {
	at := new(Resolver).Resolve(heisen.Finding{Accesses: []heisen.Access{by}}, b.Symbols).Accesses[0]
	return Allocation{
		Object: at.Object, Offset: offset, Size: size, Thread: at.Thread, Goroutine: at.Goroutine,
		Test: at.Test, Site: at.Site, Stack: at.Stack,
	}
}

// tried is a race that executions under control brought about.
func tried() Finding {
	f := raceFinding()
	f.Detector, f.Count = "racefuzz", 9
	first, second := 0, 1
	f.Trials = &Trials{
		Strategy: "race-directed", Executions: 10, Confirmed: 9, Harmful: true,
		Endings: []Ending{
			{Outcome: "panic", Message: "balance is negative", Confirmed: true, First: &second, Count: 4, Seed: 2, Schedule: "0123.schedule"},
			{Outcome: "passed", Confirmed: true, First: &first, Count: 5, Seed: 1},
			{Outcome: "passed", Count: 1, Seed: 7},
		},
		Outside: []string{"network: main.serve at bank.go:31"},
	}
	return f
}

// untried is a potential race that no execution brought about.
func untried() Finding {
	f := raceFinding()
	f.Detector, f.Kind, f.Witness, f.Replay = "hybrid", heisen.PotentialRace, nil, ""
	f.Trials = &Trials{Strategy: "race-directed", Executions: 10, Endings: []Ending{{Outcome: "passed", Count: 10, Seed: 1}}}
	return f
}

// bothOrders is a race that was seen in both orders.
func bothOrders() Finding {
	f := raceFinding()
	reverse := f
	reverse.Accesses = []Access{f.Accesses[1], f.Accesses[0]}
	reverse.Message, reverse.Variable, reverse.Count = "read is not ordered with an earlier write", f.Accesses[0].Variable, 2
	f.Reverse, f.Count = reverse.Order(), 5
	return f
}

// inTests is a race between two tests, one of which started a goroutine for the
// access by way of a function that starts goroutines for others.
func inTests() Finding {
	b := newBank()
	task := func(name string) heisen.Cursor {
		return b.Call(heisen.Cursor{}, b.AddSite(heisen.SiteInfo{Task: name}))
	}
	start := b.at("main.start", 37)
	b.SetThread(1, heisen.ThreadInfo{Forked: true, Site: start, Context: b.Context(b.Call(task("TestPay/twice"), start))})
	earlier, later := b.reporting(), b.depositing(heisen.Write)
	earlier.Context = b.Context(task("TestReport"))
	f := resolve(b.Symbols, heisen.Finding{
		Detector: "fasttrack", Kind: heisen.Race, Object: balance, Message: "write races with earlier read",
		Accesses: []heisen.Access{earlier, later},
	})
	f.Package = "example.com/bank"
	return f
}

func atomicityFinding() Finding {
	b := newBank()
	read, write := b.depositing(heisen.Read), b.depositing(heisen.Write)
	other := b.reporting()
	other.Op, other.Thread, other.Site = heisen.Write, 1, b.at("main.(*account).transfer", 24)
	other.Context = 0
	other.Index, write.Index = 41, 42
	return resolve(b.Symbols, heisen.Finding{
		Detector: "atomrace", Kind: heisen.Atomicity, Object: balance,
		Message:  "a write came between a read and a write of one section",
		Accesses: []heisen.Access{read, other, write},
	})
}

// interruptedTwice is a section of a text trace in which a variable is changed
// atomically twice, and two other threads come in between: what one of them does
// is serializable.
func interruptedTwice() Finding {
	s := heisen.NewSymbols()
	for t, name := range []string{"T0", "a long name", "Ω"} {
		s.SetThread(heisen.Thread(t), heisen.ThreadInfo{Name: name})
	}
	s.SetName(8, "V3")
	at := func(t heisen.Thread, op heisen.Op, text string) heisen.Access {
		return heisen.Access{Op: op, Thread: t, Object: 8, Size: 8, Site: s.AddSite(heisen.SiteInfo{Text: text})}
	}
	return new(Resolver).Resolve(heisen.Finding{
		Detector: "atomrace", Kind: heisen.Atomicity, Object: 8,
		Message: "2 accesses by others came between atomic-update and atomic-write",
		Accesses: []heisen.Access{
			at(2, heisen.AtomicUpdate, "src/till.go:7"), at(0, heisen.Write, "src/other.go:12"),
			at(1, heisen.AtomicRead, "L9"), at(2, heisen.AtomicWrite, "src/till.go:9"),
		},
	}, s)
}

// unallowed is a section that allows less than is serializable.
func unallowed() Finding {
	b := newBank()
	first, last := b.depositing(heisen.Read), b.depositing(heisen.Read)
	first.Index = 7
	return resolve(b.Symbols, heisen.Finding{
		Detector: "atomrace", Kind: heisen.Atomicity, Object: balance,
		Message:  "a read came between two reads of one section",
		Accesses: []heisen.Access{first, b.reporting(), last},
	})
}

// transactionFinding is a violation of another notion of atomicity: two
// transactions take turns.
func transactionFinding() Finding {
	f := atomicityFinding()
	f.Detector, f.Unserializable = "serial", nil
	f.Accesses = append(f.Accesses, f.Accesses[1])
	return f
}

func deadlockFinding() Finding {
	b := newBank()
	hold := func(lock heisen.Object, line int, shared bool) heisen.Context {
		site := b.at("main.(*account).transfer", line)
		return b.Context(b.Acquire(heisen.Cursor{}, heisen.HeldLock{Lock: lock, Shared: shared, Site: site}))
	}
	return resolve(b.Symbols, heisen.Finding{
		Detector: "lockorder", Kind: heisen.Deadlock, Object: lockA,
		Message: "two locks are taken in both orders",
		Accesses: []heisen.Access{
			{Op: heisen.AcquireShared, Thread: 1, Object: lockB, Site: b.at("main.(*account).transfer", 23), Context: hold(lockA, 22, false)},
			{Op: heisen.Acquire, Thread: 2, Object: lockA, Site: b.at("main.(*account).transfer", 22), Context: hold(lockB, 23, true)},
		},
	})
}

// sameExpression is a deadlock of two locks with the same name, at one line.
func sameExpression() Finding {
	b := newBank()
	site := b.at("main.(*account).transfer", 23)
	hold := func(lock heisen.Object) heisen.Context {
		return b.Context(b.Acquire(heisen.Cursor{}, heisen.HeldLock{Lock: lock, Site: b.at("main.(*account).transfer", 22)}))
	}
	return resolve(b.Symbols, heisen.Finding{
		Detector: "lockorder", Kind: heisen.Deadlock, Object: lockA,
		Message: "two threads can wait for each other's locks",
		Accesses: []heisen.Access{
			{Op: heisen.AcquireShared, Thread: 0, Object: lockB, Site: site, Context: hold(lockA)},
			{Op: heisen.AcquireShared, Thread: 2, Object: lockA, Site: site, Context: hold(lockB)},
		},
	})
}

// waitingWriter is a deadlock of three threads and two locks in a text trace, in
// which the second holds nothing: it waits for the third, a reader, and keeps the
// first out.
func waitingWriter() Finding {
	s := heisen.NewSymbols()
	for t, name := range []string{"T0", "T1", "T2"} {
		s.SetThread(heisen.Thread(t), heisen.ThreadInfo{Name: name})
	}
	s.SetName(8, "L1")
	s.SetName(16, "L2")
	site := func(text string) heisen.Site { return s.AddSite(heisen.SiteInfo{Text: text}) }
	hold := func(lock heisen.Object, shared bool, text string) heisen.Context {
		return s.Context(s.Acquire(heisen.Cursor{}, heisen.HeldLock{Lock: lock, Shared: shared, Site: site(text)}))
	}
	return new(Resolver).Resolve(heisen.Finding{
		Detector: "lockorder", Kind: heisen.Deadlock, Object: 16,
		Message: "3 threads can wait in a circle for each other's locks; a writer that waits keeps new readers out",
		Accesses: []heisen.Access{
			{Op: heisen.AcquireShared, Thread: 0, Object: 8, Site: site("2"), Context: hold(16, false, "1")},
			{Op: heisen.Acquire, Thread: 1, Object: 8, Site: site("3")},
			{Op: heisen.Acquire, Thread: 2, Object: 16, Site: site("5"), Context: hold(8, true, "4")},
		},
	}, s)
}

// predictedDeadlock is one of a text trace. The last two steps of its schedule wait for each other.
func predictedDeadlock() Finding {
	s := heisen.NewSymbols()
	s.SetThread(0, heisen.ThreadInfo{Name: "T0"})
	s.SetThread(1, heisen.ThreadInfo{Name: "T1"})
	s.SetName(8, "a")
	s.SetName(16, "b")
	var site [5]heisen.Site
	for i := range site {
		site[i] = s.AddSite(heisen.SiteInfo{Text: string(rune('0' + i))})
	}
	hold := func(lock heisen.Object, at heisen.Site) heisen.Context {
		return s.Context(s.Acquire(heisen.Cursor{}, heisen.HeldLock{Lock: lock, Site: at}))
	}
	wants := [2]heisen.Record{
		{Op: heisen.Acquire, Thread: 0, Object: 16, Site: site[2], Context: hold(8, site[1])},
		{Op: heisen.Acquire, Thread: 1, Object: 8, Site: site[4], Context: hold(16, site[3])},
	}
	return new(Resolver).Resolve(heisen.Finding{
		Detector: "mcm", Kind: heisen.Deadlock, Object: 8,
		Message:  "deadlock of 2 threads that acquire locks in a cycle (predicted, with a schedule)",
		Accesses: []heisen.Access{heisen.AccessOf(&wants[0], 2), heisen.AccessOf(&wants[1], 6)},
		Witness: []heisen.Record{
			{Op: heisen.Acquire, Thread: 0, Object: 8, Site: site[1]},
			{Op: heisen.Acquire, Thread: 1, Object: 16, Site: site[3]},
			wants[0], wants[1],
		},
		Last: 2,
	}, s)
}

// disciplineFinding is about two locks: one is held at the earlier access, the
// other one nowhere in sight.
func disciplineFinding() Finding {
	b := newBank()
	return resolve(b.Symbols, heisen.Finding{
		Detector: "eraser", Kind: heisen.Discipline, Object: balance,
		Message:  "read without any of the 2 locks that were held at all accesses since it became shared",
		Accesses: []heisen.Access{b.depositing(heisen.Write), b.reporting()},
		Locks:    []heisen.Object{lockA, lockB},
	})
}

func potentialRaceFinding() Finding {
	b := newBank()
	return resolve(b.Symbols, heisen.Finding{
		Detector: "hybrid", Kind: heisen.PotentialRace, Object: balance,
		Message:  "write may race with read",
		Accesses: []heisen.Access{b.reporting(), b.depositing(heisen.Write)},
	})
}

// textTraceFinding is one in an STD trace: named threads and objects, sites that
// are text, no stack.
func textTraceFinding() Finding {
	s := heisen.NewSymbols()
	for t, name := range []string{"T0", "worker"} {
		s.SetThread(heisen.Thread(t), heisen.ThreadInfo{Name: name, Forked: t > 0, Site: s.AddSite(heisen.SiteInfo{Text: "7"})})
	}
	s.SetName(8, "V3")
	s.SetName(16, "L1")
	held := s.Context(s.Acquire(heisen.Cursor{}, heisen.HeldLock{Lock: 16, Site: s.AddSite(heisen.SiteInfo{Text: "21"})}))
	return new(Resolver).Resolve(heisen.Finding{
		Detector: "hb", Kind: heisen.Race, Object: 8, Message: "two writes are not ordered",
		Accesses: []heisen.Access{
			{Op: heisen.Write, Thread: 0, Object: 8, Size: 1, Site: s.AddSite(heisen.SiteInfo{Text: "12"})},
			{Op: heisen.AtomicWrite, Thread: 1, Object: 8, Size: 1, Site: s.AddSite(heisen.SiteInfo{Text: "Main.java:30"}), Context: held},
		},
	}, s)
}

// longFinding has more frames and steps than are printed.
func longFinding() Finding {
	b := newBank()
	c := heisen.Cursor{}
	for range maxFrames + 5 {
		c = b.Call(c, b.at("main.serve.func1", 31))
	}
	a := b.depositing(heisen.Write)
	a.Context = b.Context(c)
	f := heisen.Finding{Detector: "mcm", Kind: heisen.Race, Message: "two writes", Accesses: []heisen.Access{a, a}}
	for i := range maxSteps + 3 {
		f.Witness = append(f.Witness, heisen.Record{Op: heisen.Write, Thread: 1, Object: heisen.Object(i), Site: a.Site})
	}
	return resolve(b.Symbols, f)
}

// notSerializable is a critical section in which another goroutine writes without the lock.
func notSerializable() Finding {
	b := newBank()
	held := b.Context(b.Acquire(heisen.Cursor{}, heisen.HeldLock{Lock: lockA, Site: b.lockSite(12)}))
	step := func(thread heisen.Thread, op heisen.Op, object heisen.Object, line int, index uint64) heisen.Access {
		a := heisen.Access{Op: op, Thread: thread, Object: object, Size: 8, Site: b.at("main.(*account).deposit", line), Index: index}
		if thread == 2 && op != heisen.Acquire {
			a.Context = held
		}
		return a
	}
	return resolve(b.Symbols, heisen.Finding{
		Detector: "serial", Kind: heisen.Atomicity, Object: balance,
		Message: "a transaction is not serializable: other threads' events come after one of its events and before a later one",
		Accesses: []heisen.Access{
			step(2, heisen.Acquire, lockA, 12, 3), step(2, heisen.Read, balance, 14, 4),
			step(1, heisen.Write, balance, 18, 5), step(2, heisen.Write, balance, 14, 6),
		},
	})
}

// possible is the violation of atomicityFinding as blocks reports it, which may be impossible.
func possible() Finding {
	f := atomicityFinding()
	f.Detector, f.Message = "blocks", "a transaction may not be atomic: another thread can come in between"
	return f
}

// unproved is a transaction that reduction does not prove to be atomic. The goroutine that writes without the lock did so once.
func unproved() Finding {
	b := newBank()
	held := b.Context(b.Acquire(heisen.Cursor{}, heisen.HeldLock{Lock: lockA, Site: b.lockSite(12)}))
	step := func(thread heisen.Thread, op heisen.Op, object heisen.Object, line int, context heisen.Context) heisen.Access {
		return heisen.Access{Op: op, Thread: thread, Object: object, Size: 8, Site: b.at("main.(*account).deposit", line), Context: context}
	}
	other := step(1, heisen.Write, balance, 18, 0)
	return resolve(b.Symbols, heisen.Finding{
		Detector: "reduction", Kind: heisen.Atomicity, Object: balance,
		Message:  "a transaction is not proved to be atomic: its write cannot be moved before what other threads do after its read",
		Accesses: []heisen.Access{step(2, heisen.Acquire, lockA, 12, 0), step(2, heisen.Read, balance, 14, held), other, step(2, heisen.Write, balance, 14, held), other},
	})
}

// markedTransaction is a transaction of a text trace without a name.
func markedTransaction() Finding {
	s := heisen.NewSymbols()
	s.SetThread(0, heisen.ThreadInfo{Name: "T0"})
	s.SetThread(1, heisen.ThreadInfo{Name: "T1"})
	s.SetName(8, "x")
	step := func(thread heisen.Thread, op heisen.Op, object heisen.Object, index uint64) heisen.Access {
		return heisen.Access{Op: op, Thread: thread, Object: object, Size: 1, Index: index, Site: s.AddSite(heisen.SiteInfo{Text: string(rune('a' + index))})}
	}
	return resolve(s, heisen.Finding{
		Detector: "serial", Kind: heisen.Atomicity, Object: 8,
		Message: "a transaction is not serializable: other threads' events come after one of its events and before a later one",
		Accesses: []heisen.Access{
			step(0, heisen.Enter, 0, 1), step(0, heisen.Write, 8, 2), step(1, heisen.Read, 8, 3), step(0, heisen.Write, 8, 4),
		},
	})
}

// noSymbols is a finding of a custom kind whose numbers cannot be resolved.
func noSymbols() Finding {
	f := new(Resolver).Resolve(heisen.Finding{
		Detector: "hb", Kind: "livelock", Message: "nothing is known of the numbers",
		Accesses: []heisen.Access{{Op: heisen.Write, Thread: 5, Object: 64, Site: 3, Context: 9}},
	}, nil)
	f.Fingerprint = "0000000000000000"
	return f
}

func allFindings() map[string]Finding {
	return map[string]Finding{
		"race":      raceFinding(),
		"orders":    bothOrders(),
		"allocated": allocated(),
		"tried":     tried(),
		"untried":   untried(),
		"tests":     inTests(),
		"atomicity": atomicityFinding(),
		"twice":     interruptedTwice(),
		"unallowed": unallowed(),
		"serial":    transactionFinding(),
		"marked":    markedTransaction(),
		"critical":  notSerializable(),
		"possible":  possible(),
		"unproved":  unproved(),
		"deadlock":  deadlockFinding(),
		"std":       textTraceFinding(),

		"same-expression": sameExpression(),
		"waiting-writer":  waitingWriter(),
		"discipline":      disciplineFinding(),
		"potential-race":  potentialRaceFinding(),
		"long":            longFinding(),
		"predicted":       predictedDeadlock(),
		"nosymbols":       noSymbols(),
		"leak":            leakFinding(),
	}
}

// leakFinding is a goroutine that waits for a lock whose holder has ended, beside one that waits for a
// channel that nobody has used.
func leakFinding() Finding {
	stack := func(line int) []Frame { return []Frame{{"main.put", "/m/put.go", line}} }
	none := []Lock{}
	return Finding{
		Detector: "leak", Kind: heisen.Leak, Fingerprint: "00000000000000aa", Count: 1, Variable: "mu", Message: leakMessage + "sync.Mutex.Lock",
		Accesses: []Access{{Op: "acquire", Thread: 4, Goroutine: "goroutine 4", Object: "0xc000010008", Site: "/m/put.go:3", Stack: stack(3), Variable: "mu", Locks: none}},
		Wait: &Wait{Step: 12, Virtual: 1500*time.Millisecond + 700, Users: []User{
			{Thread: 3, Goroutine: "goroutine 3", Test: "TestPut", Site: "/m/put.go:9", Holds: true, Ended: true},
		}},
		Blocked: []Blocked{
			{Thread: 5, Goroutine: "goroutine 5", Reason: "chan send", Object: "0xc000010108", Variable: "ch", Stack: stack(20), Locks: none, Wait: &Wait{Missing: "received from it", Users: []User{}}},
			{Thread: 6, Goroutine: "goroutine 6", Reason: "chan receive", Object: "0xc000010208", Stack: stack(30), Locks: none, Wait: &Wait{Step: 3, Virtual: 20, Users: []User{
				{Goroutine: "main goroutine", Site: "/m/put.go:31", Source: "close(ch)"}, {Thread: 8, Goroutine: "goroutine 8", Ended: true},
			}}},
			{Thread: 7, Goroutine: "goroutine 7", Reason: "select", Stack: stack(40), Locks: none, Wait: &Wait{Step: 4}},
		},
	}
}

func TestGolden(t *testing.T) {
	for name, f := range allFindings() {
		t.Run(name, func(t *testing.T) {
			var text, brief, line bytes.Buffer
			if err := (&Brief{Full: "heisen show"}).Write(&brief, &f); err != nil {
				t.Fatal(err)
			}
			golden(t, name+".brief.golden", brief.Bytes())
			if err := WriteText(&text, &f); err != nil {
				t.Fatal(err)
			}
			if err := WriteJSON(&line, &f); err != nil {
				t.Fatal(err)
			}
			golden(t, name+".txt.golden", text.Bytes())
			golden(t, name+".json.golden", line.Bytes())
		})
	}
}

func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, got, 0o666); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("%s (-want +got; -update rewrites it):\n%s", name, diff)
	}
}
