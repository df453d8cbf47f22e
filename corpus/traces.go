package corpus

import (
	"math/rand/v2"
	"slices"

	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/bench/workload"
)

// Truth says whether two accesses race.
type Truth int

const (
	Ordered     Truth = iota // no: every order of the events in which all reads see the same keeps them apart
	Predictable              // yes, but happens-before orders them in the order of the trace
	Observed                 // yes, and happens-before does not order them in the trace
)

// A Pair is two accesses to a variable that nothing else in the trace accesses.
type Pair struct {
	Shape         string // how the accesses are synchronized, such as "shadowed"
	Truth         Truth
	Variable      heisen.Object
	First, Second heisen.Site // of the accesses, in the order of the trace
	Distance      int         // number of events between them
}

// A Trace is a trace without races in which pairs of accesses were planted.
type Trace struct {
	Name    string // of the trace without the pairs, such as "lock-protected"
	Records []heisen.Record
	Pairs   []Pair
}

// perDistance is how many pairs of each shape and each distance a trace has.
const perDistance = 4

// Traces returns traces of at least the given number of events, besides those that initialize variables.
// Pairs of all shapes are spread among them.
// About 10, 100, 1000 and so on events lie between the accesses of a pair, at most half of the trace. Each
// pair has threads, locks and a variable of its own, and the rest of the trace has no races and orders none
// of the pairs. Equal arguments give equal traces.
//
// The shapes of pairs that race are
//
//   - plain: nothing synchronizes the accesses;
//   - locks: they are in critical sections of different locks;
//   - shadowed: a critical section follows the first access, and another one of the same lock precedes the
//     second; in another order of the sections, the accesses meet;
//   - inside: the same, but the first access is in its section. The sections must change their order.
//
// Those of pairs that do not are
//
//   - same lock: both accesses are in critical sections of the same lock;
//   - message: the first thread sends a message after its access, and the second receives it;
//   - started: the first thread starts the second after its access;
//   - joined: the second thread waits for the end of the first;
//   - flag: as shadowed, but the sections write and read a variable, so that their order cannot change;
//   - atomic: the first thread sets an atomic variable, and the second reads it.
func Traces(events int, seed uint64) (all []Trace) {
	for _, w := range workload.Shared() {
		params := w.Params
		params.Events, params.Seed = params.Vars+events, seed
		all = append(all, plant(w.Name, w.Generate(params), seed))
	}
	return all
}

// A Verdict compares the findings of a detector with the truth.
type Verdict struct {
	Found  []Pair           // those that race, of which there is a finding
	Missed []Pair           // those that race, of which there is none
	Wrong  []Pair           // those that do not race, of which there is a finding
	Other  []heisen.Finding // about something else, where nothing is wrong
}

// Judge compares findings with the truth. A finding is about a pair if its object is the variable of the
// pair, whatever its kind.
func (t *Trace) Judge(findings []heisen.Finding) (v Verdict) {
	found := map[heisen.Object]bool{}
	for _, p := range t.Pairs {
		found[p.Variable] = false
	}
	for _, f := range findings {
		if _, planted := found[f.Object]; planted {
			found[f.Object] = true
		} else {
			v.Other = append(v.Other, f)
		}
	}
	for _, p := range t.Pairs {
		switch {
		case p.Truth == Ordered && found[p.Variable]:
			v.Wrong = append(v.Wrong, p)
		case p.Truth == Ordered:
		case found[p.Variable]:
			v.Found = append(v.Found, p)
		default:
			v.Missed = append(v.Missed, p)
		}
	}
	return v
}

// plant plants pairs into a trace in which thread 0 starts the other threads before they do anything.
func plant(name string, background []heisen.Record, seed uint64) Trace {
	t := Trace{Name: name}
	rng := rand.New(rand.NewPCG(seed, 0x2545f4914f6cdd1d))
	last, begun := heisen.Thread(0), 0
	for i, r := range background {
		last = max(last, r.Thread)
		if r.Op == heisen.Begin {
			begun = i + 1
		}
	}
	var parts []part
	for distance := 10; 2*distance <= len(background)-begun; distance *= 10 {
		for _, s := range shapes {
			for range perDistance {
				at := begun + rng.IntN(len(background)-begun-distance)
				first, second := s.plant(len(t.Pairs), last+1+heisen.Thread(2*len(t.Pairs)))
				parts = append(parts, part{at, first}, part{at + distance, second})
				t.Pairs = append(t.Pairs, Pair{Shape: s.name, Truth: s.truth, Variable: plantedAt(len(t.Pairs), x)})
			}
		}
	}
	t.Records = merge(background, parts)
	t.locate()
	return t
}

// A part is what stands before an event of the background.
type part struct {
	at      int
	records []heisen.Record
}

func merge(background []heisen.Record, parts []part) (out []heisen.Record) {
	slices.SortStableFunc(parts, func(a, b part) int { return a.at - b.at })
	copied := 0
	for _, p := range parts {
		out = append(out, background[copied:p.at]...)
		out = append(out, p.records...)
		copied = p.at
	}
	return append(out, background[copied:]...)
}

// locate sets the sites and the distances of the pairs.
func (t *Trace) locate() {
	number, first := map[heisen.Object]int{}, map[int]int{}
	for i, p := range t.Pairs {
		number[p.Variable] = i
	}
	for i, r := range t.Records {
		n, ok := number[r.Object]
		if !ok || r.Op != heisen.Read && r.Op != heisen.Write {
			continue
		}
		p := &t.Pairs[n]
		if p.First == 0 {
			p.First, first[n] = r.Site, i
		} else {
			p.Second, p.Distance = r.Site, i-first[n]-1
		}
	}
}

// Objects of a pair, by their distance from the first.
const (
	x      heisen.Object = 0
	y      heisen.Object = 8 // a flag that tells the second thread about x
	lock   heisen.Object = 64
	other  heisen.Object = 128
	signal heisen.Object = 192
)

// plantedAt returns an object of a pair. The background has no objects there.
func plantedAt(pair int, object heisen.Object) heisen.Object {
	return 1<<42 + 256*heisen.Object(pair) + object
}

// A shape has the events of two threads: a before the distance, b after it.
type shape struct {
	name          string
	truth         Truth
	first, second []step
	starts        bool // a starts b at the end of its events
}

// A step is an event of one of them. End and Join have thread a as their object.
type step struct {
	op     heisen.Op
	object heisen.Object
}

var shapes = []shape{
	{name: "plain", truth: Observed,
		first: []step{{heisen.Write, x}}, second: []step{{heisen.Read, x}}},
	{name: "locks", truth: Observed,
		first:  []step{{heisen.Acquire, lock}, {heisen.Write, x}, {heisen.Release, lock}},
		second: []step{{heisen.Acquire, other}, {heisen.Write, x}, {heisen.Release, other}}},
	{name: "shadowed", truth: Predictable,
		first:  []step{{heisen.Write, x}, {heisen.Acquire, lock}, {heisen.Release, lock}},
		second: []step{{heisen.Acquire, lock}, {heisen.Release, lock}, {heisen.Write, x}}},
	{name: "inside", truth: Predictable,
		first:  []step{{heisen.Acquire, lock}, {heisen.Write, x}, {heisen.Release, lock}},
		second: []step{{heisen.Acquire, lock}, {heisen.Release, lock}, {heisen.Write, x}}},
	{name: "same lock",
		first:  []step{{heisen.Acquire, lock}, {heisen.Write, x}, {heisen.Release, lock}},
		second: []step{{heisen.Acquire, lock}, {heisen.Write, x}, {heisen.Release, lock}}},
	{name: "message",
		first: []step{{heisen.Write, x}, {heisen.Send, signal}}, second: []step{{heisen.Receive, signal}, {heisen.Write, x}}},
	{name: "started", starts: true,
		first: []step{{heisen.Write, x}}, second: []step{{heisen.Write, x}}},
	{name: "joined",
		first: []step{{heisen.Write, x}, {op: heisen.End}}, second: []step{{op: heisen.Join}, {heisen.Write, x}}},
	{name: "flag",
		first:  []step{{heisen.Write, x}, {heisen.Acquire, lock}, {heisen.Write, y}, {heisen.Release, lock}},
		second: []step{{heisen.Acquire, lock}, {heisen.Read, y}, {heisen.Release, lock}, {heisen.Write, x}}},
	{name: "atomic",
		first: []step{{heisen.Write, x}, {heisen.AtomicWrite, y}}, second: []step{{heisen.AtomicRead, y}, {heisen.Write, x}}},
}

// plant returns the events of a pair before and after the distance. Thread a is new, and b is the next one.
func (s *shape) plant(pair int, a heisen.Thread) (first, second []heisen.Record) {
	b := a + 1
	start := func(parent, child heisen.Thread) {
		first = append(first, heisen.Record{Op: heisen.Fork, Thread: parent, Object: heisen.Object(child)},
			heisen.Record{Op: heisen.Begin, Thread: child, Object: heisen.Object(child)})
	}
	start(0, a)
	if !s.starts {
		start(0, b)
	}
	site := heisen.Site(1<<16 + 16*pair)
	record := func(t heisen.Thread, st step) heisen.Record {
		site++
		r := heisen.Record{Op: st.op, Thread: t, Object: plantedAt(pair, st.object), Site: site}
		if st.op == heisen.End || st.op == heisen.Join {
			r.Object = heisen.Object(a)
		}
		return r
	}
	for _, st := range s.first {
		first = append(first, record(a, st))
	}
	if s.starts {
		start(a, b)
	}
	for _, st := range s.second {
		second = append(second, record(b, st))
	}
	return first, second
}
