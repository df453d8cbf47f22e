package atomicity_test

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/atomicity"
	"github.com/heisen-go/heisen/internal/testaid/must"
	"github.com/heisen-go/heisen/internal/testaid/tier"
	"github.com/heisen-go/heisen/vclock"
)

// What Serial says of a trace.
const (
	nothing = iota
	byNews  // a cycle that synchronization explains, which the message says
	byData
)

// verdict returns what Serial says of a trace.
func verdict(records []heisen.Record, opts ...atomicity.Option) int {
	found, _ := serialFindings(records, opts...)
	said := nothing
	for _, f := range found {
		if strings.Contains(f.Message, "it synchronizes with them, which is a bug only if the transaction must be atomic") {
			said = max(said, byNews)
		} else {
			said = byData
		}
	}
	return said
}

// TestSerialSaysWhatItIs: a cycle that the transaction itself asks for is called so, and left out where nobody has said
// what must be atomic. Others are reported.
func TestSerialSaysWhatItIs(t *testing.T) {
	for name, test := range map[string]struct {
		trace        string
		marked, auto int // the verdicts without and with WithDataOnly
	}{
		// Synchronization alone.
		"a thread that is started and waited for": {`
T1|begin|1
T1|fork(T2)|2
T1|join(T2)|3
T1|end|4
`, byNews, nothing},
		"a thread that does something meanwhile": {`
T1|begin|1
T1|fork(T2)|2
T2|w(x)|3
T1|join(T2)|4
T1|end|5
`, byNews, nothing},
		"a question and an answer": {`
T1|begin|1
T1|send(q)|2
T2|recv(q)|3
T2|send(a)|4
T1|recv(a)|5
T1|end|6
`, byNews, nothing},
		"an answer by another thread": {`
T1|begin|1
T1|send(q)|2
T2|recv(q)|3
T2|send(p)|4
T3|recv(p)|5
T3|send(a)|6
T1|recv(a)|7
T1|end|8
`, byNews, nothing},
		"a lock that is taken twice": {`
T1|begin|1
T1|acq(l)|2
T1|rel(l)|3
T2|acq(l)|4
T2|rel(l)|5
T1|acq(l)|6
T1|rel(l)|7
T1|end|8
`, byNews, nothing},
		"a lock that is taken twice, for reading by the other thread": {`
T1|begin|1
T1|acq(l)|2
T1|rel(l)|3
T2|racq(l)|4
T2|rrel(l)|5
T1|acq(l)|6
T1|rel(l)|7
T1|end|8
`, byNews, nothing},
		// Data that messages order.
		"the result of a thread that is started": {`
T1|begin|1
T1|w(x)|2
T1|fork(T2)|3
T2|r(x)|4
T2|w(x)|5
T1|join(T2)|6
T1|r(x)|7
T1|end|8
`, byNews, nothing},
		"the result that an answer announces": {`
T1|begin|1
T1|r(x)|2
T1|send(q)|3
T2|recv(q)|4
T2|w(x)|5
T2|send(a)|6
T1|recv(a)|7
T1|r(x)|8
T1|end|9
`, byNews, nothing},
		"a result of a thread that another one has started": {`
T1|begin|1
T1|w(x)|2
T1|fork(T2)|3
T2|fork(T3)|4
T3|w(x)|5
T2|join(T3)|6
T1|join(T2)|7
T1|r(x)|8
T1|end|9
`, byNews, nothing},
		"a counter of threads that are waited for": {`
T1|begin|1
T1|fork(T2)|2
T2|au(x)|3
T2|send(done)|4
T1|recv(done)|5
T1|ar(x)|6
T1|end|7
`, byNews, nothing},
		"an answer that many wait for": {`
T1|begin|1
T1|w(x)|2
T1|send(q)|3
T3|begin|4
T3|w(y)|5
T3|send(q)|6
T2|recv(q)|7
T2|w(x)|8
T2|w(y)|9
T2|send(a)|10
T3|recv(a)|11
T3|r(y)|12
T3|end|13
T1|recv(a)|14
T1|r(x)|15
T1|end|16
`, byNews, nothing},
		// Data that locks and atomic accesses order.
		"a check and an act, each with the lock": {`
T1|begin|1
T1|acq(l)|2
T1|r(x)|3
T1|rel(l)|4
T2|acq(l)|5
T2|w(x)|6
T2|rel(l)|7
T1|acq(l)|8
T1|w(x)|9
T1|rel(l)|10
T1|end|11
`, byData, nothing},
		"the same with readers": {`
T1|begin|1
T1|racq(l)|2
T1|r(x)|3
T1|rrel(l)|4
T2|acq(l)|5
T2|w(x)|6
T2|rel(l)|7
T1|racq(l)|8
T1|r(x)|9
T1|rrel(l)|10
T1|end|11
`, byData, nothing},
		"an atomic counter": {`
T1|begin|1
T1|au(x)|2
T2|au(x)|3
T1|au(x)|4
T1|end|5
`, byData, nothing},
		"an atomic variable that is checked": {`
T1|begin|1
T1|ar(x)|2
T2|aw(x)|3
T1|aw(x)|4
T1|end|5
`, byData, nothing},
		"a variable behind an atomic flag": {`
T1|begin|1
T1|w(x)|2
T1|aw(f)|3
T2|ar(f)|4
T2|w(x)|5
T2|aw(g)|6
T1|ar(g)|7
T1|r(x)|8
T1|end|9
`, byData, nothing},
		// Others that come in without being asked.
		"a write between two reads": {`
T1|begin|1
T1|r(x)|2
T2|w(x)|3
T1|r(x)|4
T1|end|5
`, byData, byData},
		"a write by somebody who answers later": {`
T1|begin|1
T1|r(x)|2
T2|w(x)|3
T1|r(x)|4
T1|send(q)|5
T2|recv(q)|6
T2|send(a)|7
T1|recv(a)|8
T1|end|9
`, byData, byData},
		"a write by another one than who answers": {`
T1|begin|1
T1|r(x)|2
T1|send(q)|3
T2|recv(q)|4
T3|w(x)|5
T2|send(a)|6
T1|recv(a)|7
T1|r(x)|8
T1|end|9
`, byData, byData},
		"a thread that is started and not waited for": {`
T1|begin|1
T1|w(x)|2
T1|fork(T2)|3
T2|w(x)|4
T1|r(x)|5
T1|end|6
`, byData, byData},
		"news of what nobody was asked for": {`
T1|begin|1
T1|r(x)|2
T2|w(x)|3
T2|send(a)|4
T1|recv(a)|5
T1|r(x)|6
T1|end|7
`, byData, byData},
		"a lock that only one takes": {`
T1|begin|1
T1|acq(l)|2
T1|r(x)|3
T2|w(x)|4
T1|w(x)|5
T1|rel(l)|6
T1|end|7
`, byData, byData},
		"a question of before": {`
T1|send(q)|1
T2|recv(q)|2
T1|begin|3
T1|r(x)|4
T2|w(x)|5
T2|send(a)|6
T1|recv(a)|7
T1|r(x)|8
T1|end|9
`, byData, byData},
	} {
		records, _ := readTrace(t, test.trace[1:])
		if said := verdict(records); said != test.marked {
			t.Errorf("%s: verdict %d, want %d", name, said, test.marked)
		}
		if said := verdict(records, atomicity.WithDataOnly()); said != test.auto {
			t.Errorf("%s: verdict %d with WithDataOnly, want %d", name, said, test.auto)
		}
	}
}

// TestSerialWithoutRaces: with WithDataOnly, an execution without data races has no violation, and what is reported of
// others is a violation without it.
func TestSerialWithoutRaces(t *testing.T) {
	trials := tier.Pick(500, 500, 2000)
	interrupted, reported := 0, 0
	for seed := range trials {
		records := randomTrace(rand.New(rand.NewPCG(uint64(seed), 46)))
		g := newConflictGraph(records)
		found, _ := serialFindings(records, atomicity.WithDataOnly())
		for _, f := range found {
			reported++
			if !g.justifies(f) {
				t.Fatalf("seed %d: no cycle: %v\n%s", seed, f, lines(records))
			}
		}
		quiet := withoutRaces(records)
		if _, violations := serialFindings(quiet, atomicity.WithDataOnly()); violations > 0 {
			t.Fatalf("seed %d: %d violations without a race:\n%s", seed, violations, lines(quiet))
		}
		if _, violations := serialFindings(quiet); violations > 0 {
			interrupted++
		}
	}
	t.Logf("%d traces without races have violations by synchronization; %d findings about all", interrupted, reported)
	if interrupted < trials/50 || reported < trials/10 {
		t.Errorf("%d traces without races have violations by synchronization; %d findings about all: too few", interrupted, reported)
	}
}

// withoutRaces returns a trace without the events that race with earlier ones.
func withoutRaces(records []heisen.Record) (quiet []heisen.Record) {
	for _, r := range records {
		races := 0
		d := must.Make(vclock.NewHappensBefore(vclock.WithSink(func(heisen.Finding) { races++ })))
		for i := range quiet {
			d.Handle(quiet[i].Event())
		}
		d.Handle(r.Event())
		if races == 0 {
			quiet = append(quiet, r)
		}
	}
	return quiet
}

// TestSerialUnrelated: events that conflict with nothing are on no cycle.
func TestSerialUnrelated(t *testing.T) {
	for name, test := range map[string]struct {
		trace     string
		unrelated map[heisen.Site]bool // by line
		want      int
	}{
		"an access of the transaction":    {"T1|begin|1\nT1|w(x)|2\nT2|w(x)|3\nT1|r(x)|4\nT1|end|5\n", map[heisen.Site]bool{1: true}, nothing},
		"the access of the other thread":  {"T1|begin|1\nT1|w(x)|2\nT2|w(x)|3\nT1|r(x)|4\nT1|end|5\n", map[heisen.Site]bool{2: true}, nothing},
		"the access that returns":         {"T1|begin|1\nT1|w(x)|2\nT2|w(x)|3\nT1|r(x)|4\nT1|end|5\n", map[heisen.Site]bool{3: true}, nothing},
		"a message":                       {"T1|begin|1\nT1|send(m)|2\nT2|recv(m)|3\nT2|w(x)|4\nT1|r(x)|5\nT1|end|6\n", map[heisen.Site]bool{1: true}, nothing},
		"a lock":                          {"T1|begin|1\nT1|acq(l)|2\nT1|rel(l)|3\nT2|acq(l)|4\nT2|w(x)|5\nT2|rel(l)|6\nT1|r(x)|7\nT1|end|8\n", map[heisen.Site]bool{3: true}, nothing},
		"another variable, which is none": {"T1|begin|1\nT1|w(y)|2\nT1|w(x)|3\nT2|w(x)|4\nT2|w(y)|5\nT1|r(x)|6\nT1|end|7\n", map[heisen.Site]bool{1: true, 4: true}, byData},
	} {
		records, _ := readTrace(t, test.trace)
		for i := range records {
			records[i].Site = heisen.Site(i)
		}
		unrelated := atomicity.WithUnrelated(func(a heisen.Access) bool { return test.unrelated[a.Site] })
		if verdict(records) == nothing {
			t.Errorf("%s: nothing, if it is related", name)
		}
		if said := verdict(records, unrelated); said != test.want {
			t.Errorf("%s: verdict %d, want %d", name, said, test.want)
		}
	}
}

// TestSerialOfFinalizers: a message that is on no cycle is news nevertheless. A function runs after memory was given up, in
// an order that only such a message shows, and answers.
func TestSerialOfFinalizers(t *testing.T) {
	records, _ := readTrace(t, "T1|begin|1\nT1|w(x)|2\nT1|send(collector)|3\nT2|recv(collector)|4\nT2|r(x)|5\nT2|w(y)|6\nT2|send(a)|7\nT1|recv(a)|8\nT1|r(y)|9\nT1|end|10\n")
	collector := records[2].Object
	unrelated := atomicity.WithUnrelated(func(a heisen.Access) bool { return a.Object == collector })
	if said := verdict(records, unrelated, atomicity.WithDataOnly()); said != nothing {
		t.Errorf("verdict %d with WithDataOnly", said)
	}
	if said := verdict(records, unrelated); said != byNews {
		t.Errorf("verdict %d, want %d", said, byNews)
	}
	for i := range records { // nobody uses the same data
		if records[i].Op.IsAccess() {
			records[i].Object += heisen.Object(1024 * i)
		}
	}
	if said := verdict(records, unrelated); said != nothing {
		t.Errorf("verdict %d for the message alone", said)
	}
}

// TestSerialCallbacks: callbacks of one thread have nothing to do with each other, but each with the messages that it
// gets and sends.
func TestSerialCallbacks(t *testing.T) {
	for name, test := range map[string]struct {
		trace     string
		callbacks int
		serial    int
	}{
		"two timers":           {"T1|begin|1\nT1|send(m)|2\nT9|recv(m)|3\nT9|recv(n)|4\nT9|send(o)|5\nT2|recv(o)|6\nT2|w(x)|7\nT1|r(x)|8\nT1|end|9\n", nothing, byData},
		"a timer of its own":   {"T1|begin|1\nT1|send(m)|2\nT9|recv(m)|3\nT9|send(o)|4\nT1|recv(o)|5\nT1|end|6\n", byNews, byNews},
		"a timer after others": {"T1|begin|1\nT9|recv(n)|2\nT1|send(m)|3\nT9|recv(m)|4\nT9|send(o)|5\nT1|recv(o)|6\nT1|end|7\n", byNews, byNews},
		"a function that one starts, and another timer": {"T1|begin|1\nT1|send(m)|2\nT9|recv(m)|3\nT9|recv(n)|4\nT9|fork(T2)|5\nT2|w(x)|6\nT1|r(x)|7\nT1|end|8\n", nothing, byData},
		"data of two callbacks":                         {"T1|begin|1\nT1|w(x)|2\nT9|recv(n)|3\nT9|r(x)|4\nT9|recv(m)|5\nT9|w(y)|6\nT1|r(y)|7\nT1|end|8\n", nothing, byData},
	} {
		records, _ := readTrace(t, test.trace)
		var timers heisen.Thread
		for _, r := range records {
			if r.Op == heisen.Receive {
				timers = r.Thread
				break
			}
		}
		if said := verdict(records); said != test.serial {
			t.Errorf("%s: verdict %d without callbacks, want %d", name, said, test.serial)
		}
		if said := verdict(records, atomicity.WithCallbacks(func(t heisen.Thread) bool { return t == timers })); said != test.callbacks {
			t.Errorf("%s: verdict %d, want %d", name, said, test.callbacks)
		}
	}
}
