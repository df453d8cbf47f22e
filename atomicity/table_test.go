package atomicity_test

import (
	"strings"
	"testing"

	"github.com/heisen-go/heisen"
)

// interleavings are the eight interleavings of two accesses to a variable in a transaction and one by
// another thread between them (Letko, Vojnar, Křena: AtomRace, table 1; after Lu et al., AVIO, ASPLOS
// 2006), with whether the table calls them serializable. Conflict-serializability differs from the
// table in one: two writes with a write between them cannot be exchanged, although nobody sees the
// values that are overwritten.
var interleavings = []struct {
	accesses                 string
	serializable, noConflict bool
}{
	{"rrr", true, true},
	{"rwr", false, false},
	{"wrr", true, true},
	{"wwr", false, false},
	{"rrw", true, true},
	{"rww", false, false},
	{"wrw", false, false},
	{"www", true, false},
}

// TestTable1Serial checks what Serial says of the interleavings when they have happened.
func TestTable1Serial(t *testing.T) {
	for _, row := range interleavings {
		a, b, c := row.accesses[0:1], row.accesses[1:2], row.accesses[2:3]
		records, symbols := readTrace(t, "T1|begin|1\nT1|"+a+"(x)|2\nT2|"+b+"(x)|3\nT1|"+c+"(x)|4\nT1|end|5\n")
		found, violations := serialFindings(records)
		if (violations == 0) != row.noConflict {
			t.Errorf("%s: %d violations", row.accesses, violations)
		}
		for _, f := range found {
			var places []string
			for _, at := range f.Accesses {
				places = append(places, symbols.Site(at.Site).String())
			}
			if got := strings.Join(places, " "); got != "1 2 3 4" || f.Kind != heisen.Atomicity || f.Detector != "serial" {
				t.Errorf("%s: the finding has the sites %s: %v", row.accesses, got, f)
			}
		}
	}
}

// TestSerialTraces checks traces that show one rule each.
func TestSerialTraces(t *testing.T) {
	for name, test := range map[string]struct {
		trace      string
		violations uint64
	}{
		"a path through three open transactions": {`
T1|begin|1
T2|begin|2
T3|begin|3
T2|w(a)|4
T3|r(a)|5
T1|w(b)|6
T2|r(b)|7
T3|w(c)|8
T1|r(c)|9
`, 1},
		"a transaction that has ended learns what is before it": {`
T1|begin|1
T2|begin|2
T3|w(z)|3
T2|w(a)|4
T3|r(a)|5
T3|w(c)|6
T1|w(b)|7
T2|r(b)|8
T2|end|9
T1|r(c)|10
`, 1},
		"a critical section that another thread does not enter": {`
T1|begin|1
T1|acq(l)|2
T1|r(x)|3
T1|rel(l)|4
T1|end|5
T2|begin|6
T2|acq(l)|7
T2|w(x)|8
T2|rel(l)|9
T2|end|10
`, 0},
		"two critical sections in a transaction": {`
T1|begin|1
T1|acq(l)|2
T1|rel(l)|3
T2|acq(l)|4
T2|rel(l)|5
T1|acq(l)|6
T1|rel(l)|7
T1|end|8
`, 1},
		"readers do not exclude each other": {`
T1|begin|1
T1|racq(l)|2
T1|rrel(l)|3
T2|racq(l)|4
T2|rrel(l)|5
T1|racq(l)|6
T1|rrel(l)|7
T1|end|8
`, 0},
		"a transaction that waits for a thread that it has started": {`
T1|begin|1
T1|fork(T2)|2
T2|w(x)|3
T1|join(T2)|4
T1|end|5
`, 1},
		"a transaction that waits for an answer": {`
T1|begin|1
T1|send(question)|2
T2|recv(question)|3
T2|send(answer)|4
T1|recv(answer)|5
T1|end|6
`, 1},
		"memory that was allocated again": {`
T1|begin|1
T1|w(x)|2
T2|free(x,8)|3
T2|alloc(x,8)|4
T2|w(x)|5
T1|r(x)|6
T1|end|7
`, 0},
		"the same memory": {`
T1|begin|1
T1|w(x)|2
T2|w(x)|5
T1|r(x)|6
T1|end|7
`, 1},
		"a nested transaction belongs to the outermost": {`
T1|begin|1
T1|r(x)|2
T1|begin|3
T1|r(y)|4
T1|end|5
T2|w(x)|6
T1|r(x)|7
T1|end|8
`, 1},
		"nothing is atomic outside of transactions": {`
T1|begin|1
T1|end|2
T1|r(x)|3
T2|w(x)|4
T1|r(x)|5
`, 0},
	} {
		records, _ := readTrace(t, test.trace[1:])
		if _, violations := serialFindings(records); violations != test.violations {
			t.Errorf("%s: %d violations, want %d", name, violations, test.violations)
		}
	}
}

// TestTable1Blocks checks what Blocks says of the interleavings when they have not happened: the other
// thread's access comes after the transaction.
func TestTable1Blocks(t *testing.T) {
	for _, row := range interleavings {
		a, b, c := row.accesses[0:1], row.accesses[1:2], row.accesses[2:3]
		for name, test := range map[string]struct {
			trace string
			can   bool
		}{
			"no locks":            {"T1|begin|1\nT1|" + a + "(x)|2\nT1|" + c + "(x)|4\nT1|end|5\nT2|" + b + "(x)|3\n", true},
			"one lock throughout": {"T1|acq(l)|0\nT1|begin|1\nT1|" + a + "(x)|2\nT1|" + c + "(x)|4\nT1|end|5\nT1|rel(l)|0\nT2|acq(l)|0\nT2|" + b + "(x)|3\nT2|rel(l)|0\n", false},
			"the lock released":   {"T1|begin|1\nT1|acq(l)|0\nT1|" + a + "(x)|2\nT1|rel(l)|0\nT1|acq(l)|0\nT1|" + c + "(x)|4\nT1|rel(l)|0\nT1|end|5\nT2|acq(l)|0\nT2|" + b + "(x)|3\nT2|rel(l)|0\n", true},
			"started later":       {"T1|begin|1\nT1|" + a + "(x)|2\nT1|" + c + "(x)|4\nT1|end|5\nT1|fork(T2)|6\nT2|" + b + "(x)|3\n", false},
			"joined before":       {"T1|fork(T2)|0\nT2|" + b + "(x)|3\nT1|join(T2)|0\nT1|begin|1\nT1|" + a + "(x)|2\nT1|" + c + "(x)|4\nT1|end|5\n", false},
		} {
			records, symbols := readTrace(t, test.trace)
			found, _ := blockFindings(t, records)
			if (len(found) > 0) != (test.can && !row.serializable) {
				t.Errorf("%s, %s: %d violations: %v", row.accesses, name, len(found), found)
			}
			for _, f := range found {
				var places []string
				for _, at := range f.Accesses {
					places = append(places, symbols.Site(at.Site).String())
				}
				if got := strings.Join(places, " "); got != "2 3 4" || f.Kind != heisen.Atomicity || f.Detector != "blocks" {
					t.Errorf("%s, %s: the finding has the sites %s: %v", row.accesses, name, got, f)
				}
			}
		}
	}
}

// TestTwoVariables checks the patterns of 2v-blocks: T1 accesses x and then y, T2 both in some order.
func TestTwoVariables(t *testing.T) {
	for _, test := range []struct {
		one, other string
		can        bool
	}{
		{"r(x) r(y)", "w(x) w(y)", true}, // one old value and one new
		{"w(x) w(y)", "r(x) r(y)", true},
		{"w(x) w(y)", "w(x) w(y)", true}, // the last writes are of two transactions
		{"r(x) w(y)", "r(y) w(x)", true}, // write skew
		{"r(x) w(y)", "w(x) r(y)", true},
		{"r(x) r(y)", "r(x) w(y)", false},
		{"r(x) r(y)", "r(x) r(y)", false},
		{"w(x) r(y)", "r(x) r(y)", false},
	} {
		trace := "T1|begin|\n"
		for _, a := range strings.Fields(test.one) {
			trace += "T1|" + a + "|" + a + "\n"
		}
		trace += "T1|end|\nT2|begin|\n"
		for _, a := range strings.Fields(test.other) {
			trace += "T2|" + a + "|" + a + "\n"
		}
		records, _ := readTrace(t, trace+"T2|end|\n")
		if found, _ := blockFindings(t, records); (len(found) > 0) != test.can {
			t.Errorf("%s against %s: %v", test.one, test.other, found)
		}
	}
}
