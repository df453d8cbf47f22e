package wording

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/report"
)

// TestSentence checks what is said of the findings in package report's golden files.
func TestSentence(t *testing.T) {
	for name, want := range map[string]string{
		"race": "Main goroutine reads a.balance at bank.go:18, and goroutine 2 writes it at bank.go:14. " +
			"Nothing orders the two: there is no happens-before edge between them, and only one of them holds a lock.",
		"potential-race": "Main goroutine reads a.balance at bank.go:18, and goroutine 2 writes it at bank.go:14. " +
			"No lock is common to the two and no message orders them, and only one of them holds a lock.",
		"deadlock": "Goroutine 1 holds a.mu and can come to wait for to.mu at bank.go:23; goroutine 2 holds to.mu and can come to wait for a.mu at bank.go:22. " +
			"If all of them do so at the same time, none can go on.",
		"atomicity": "Goroutine 2 reads a.balance at bank.go:14 and writes it at bank.go:14. In between, goroutine 1 writes it at bank.go:24.",
		"critical": "The transaction that goroutine 2 begins at bank.go:12 is interrupted in a way that no serial execution has. " +
			"In between, goroutine 1 writes 0xc000010020 at bank.go:18.",
		"marked":    "The transaction that T0 begins at b is interrupted in a way that no serial execution has. In between, T1 reads x at d.",
		"nosymbols": "Nothing is known of the numbers",
	} {
		text, err := os.ReadFile(filepath.Join("..", "..", "report", "testdata", name+".json.golden"))
		if err != nil {
			t.Fatal(err)
		}
		found, err := report.ReadJSON(bytes.NewReader(text))
		if err != nil || len(found) != 1 {
			t.Fatal(len(found), err)
		}
		if got := Sentence(&found[0]); got != want {
			t.Errorf("%s:\n%s\nwant\n%s", name, got, want)
		}
	}
	if got := Sentence(&report.Finding{Message: "m"}); got != "M" {
		t.Errorf("of a finding without accesses: %q", got)
	}
}

// TestPotentialViolation checks what is said of a violation that may be impossible, of one and of two variables.
func TestPotentialViolation(t *testing.T) {
	access := func(goroutine, op, object, site string) report.Access {
		return report.Access{Goroutine: goroutine, Op: op, Object: object, Site: site}
	}
	f := report.Finding{Detector: "blocks", Kind: heisen.Atomicity, Accesses: []report.Access{
		access("g1", "read", "x", "a.go:1"), access("g2", "write", "x", "a.go:5"), access("g2", "write", "y", "a.go:6"), access("g1", "read", "y", "a.go:2"),
	}}
	want := "g1 reads x at a.go:1 and reads y at a.go:2. This can come in between: g2 writes x at a.go:5 and g2 writes it at a.go:6."
	if got := Sentence(&f); got != want || Title(&f) != "Potential atomicity violation" || Certain(&f) {
		t.Errorf("%s: %s\nwant %s", Title(&f), got, want)
	}
	f.Detector = "serial"
	if Title(&f) != "Atomicity violation" || !Certain(&f) {
		t.Errorf("of serial: %s", Title(&f))
	}
}

// TestUnproved checks what is said of a transaction that is not proved to be atomic: not that something came in between.
func TestUnproved(t *testing.T) {
	access := func(thread heisen.Thread, op, site string) report.Access {
		return report.Access{Thread: thread, Goroutine: fmt.Sprintf("g%d", thread), Op: op, Object: "x", Site: site}
	}
	f := report.Finding{Detector: "reduction", Kind: heisen.Atomicity, Accesses: []report.Access{
		access(1, "acquire", "a.go:1"), access(1, "read", "a.go:2"), access(2, "write", "a.go:5"), access(1, "write", "a.go:3"), access(2, "write", "a.go:5"),
	}}
	want := "The transaction that g1 begins at a.go:1 is not proved to be atomic. No lock or message keeps what it does at a.go:2 apart from what g2 does at a.go:5, " +
		"or what it does at a.go:3 apart from what g2 does at a.go:5."
	if got := Sentence(&f); got != want || Title(&f) != "Potential atomicity violation" || Certain(&f) {
		t.Errorf("%s: %s\nwant %s", Title(&f), got, want)
	}
}

// TestLocks checks that a race with a common lock, of which one side holds it for reading, is not said
// to have no common lock.
func TestLocks(t *testing.T) {
	a := func(locks ...report.Lock) *report.Access { return &report.Access{Locks: locks} }
	for _, test := range []struct {
		a, b *report.Access
		want string
	}{
		{a(), a(), ", and neither holds a lock"},
		{a(report.Lock{Lock: "1", Mode: "read"}), a(report.Lock{Lock: "1", Mode: "read"}), ""},
		{a(report.Lock{Lock: "1", Variable: "mu"}), a(report.Lock{Lock: "2", Variable: "mu"}), ", and what each of them holds as mu is not the same lock"},
		{a(report.Lock{Lock: "1", Variable: "mu"}), a(report.Lock{Lock: "2", Variable: "m"}), ", and the locks that they hold are different ones"},
		{&report.Access{LocksUnknown: true}, a(), ""},
		{a(report.Lock{Lock: LostLock, Variable: "mu"}), a(report.Lock{Lock: LostLock, Variable: "mu"}), ", and it is not known whether the locks that they hold are the same"},
		{a(report.Lock{Lock: "1", Variable: "mu"}), a(report.Lock{Lock: ManyLocks, Variable: "mu"}), ", and it is not known whether the locks that they hold are the same"},
	} {
		if got := locks(test.a, test.b); got != test.want {
			t.Errorf("%v and %v: %q, want %q", test.a.Locks, test.b.Locks, got, test.want)
		}
	}
}

func TestInOrder(t *testing.T) {
	all := []report.Finding{
		{Kind: heisen.PotentialRace, Variable: "x"},
		{Kind: heisen.Atomicity, Variable: "y"},
		{Kind: heisen.Race, Variable: "x"},
		{Kind: heisen.Race, Variable: "z", Package: "p", Trials: &report.Trials{Confirmed: 1}},
		{Kind: heisen.Leak, Trials: &report.Trials{Confirmed: 1, Harmful: true}},
		{Kind: heisen.Race, Variable: "x"},
	}
	if got, want := InOrder(all), []int{4, 3, 2, 5, 1, 0}; !slices.Equal(got, want) {
		t.Errorf("order %v, want %v", got, want)
	}
	groups := Groups(all)
	if len(groups) != 3 || groups[0].What != "z" || groups[1].What != "x" || !slices.Equal(groups[1].Findings, []int{2, 5, 0}) {
		t.Errorf("groups %v", groups)
	}
}

func TestPackage(t *testing.T) {
	for name, want := range map[string]string{
		"net/http.(*Server).Serve": "net/http", "main.main": "main", "example.com/a.b/c.F.func1": "example.com/a.b/c", "": "",
	} {
		if got := PackageOf(name); got != want {
			t.Errorf("package of %s is %q, want %q", name, got, want)
		}
	}
	f := report.Finding{Package: "example.com/p", Accesses: []report.Access{{Stack: []report.Frame{
		{Func: "sync.(*Mutex).Lock", File: "mutex.go"}, {Func: "main.f", File: "main.go"}}}}}
	if got := Package(&f); got != "example.com/p" {
		t.Errorf("package of a program: %q", got)
	}
	f.Package = ""
	if got := Package(&f); got != "main" {
		t.Errorf("package of a program whose path is not known: %q", got)
	}
}

// TestFailures checks what is said of executions that fail: for what goroutines wait, what was printed, and where that is.
func TestFailures(t *testing.T) {
	blocked := func(goroutine, reason, variable string, line int) report.Blocked {
		return report.Blocked{Goroutine: goroutine, Reason: reason, Variable: variable, Stack: []report.Frame{{Func: "p.f", File: "/src/p/a_test.go", Line: line}}}
	}
	step := report.Step{Site: "/src/p/a_test.go:3"}
	panics := report.Access{Op: "panic", Goroutine: "goroutine 4", Object: NoObject, Site: "/src/p/b.go:7"}
	for _, test := range []struct {
		f                     report.Finding
		sentence, site, about string
	}{
		{report.Finding{Message: "deadlock: no goroutine can go on", Blocked: []report.Blocked{blocked("goroutine 8", "chan send", "c", 5), blocked("goroutine 9", "select", "", 6)}},
			"Deadlock: no goroutine can go on. Goroutine 8 waits (chan send, c) at a_test.go:5; goroutine 9 waits (select) at a_test.go:6.",
			"/src/p/a_test.go:5", "failing execution (deadlock: no goroutine can go on)"},
		{report.Finding{Message: "deadlock: no goroutine can go on", Blocked: slices.Repeat([]report.Blocked{blocked("g", "select", "", 6)}, 6)},
			"Deadlock: no goroutine can go on. G waits (select) at a_test.go:6; g waits (select) at a_test.go:6; g waits (select) at a_test.go:6; " +
				"g waits (select) at a_test.go:6; 2 more goroutines wait.", "/src/p/a_test.go:6", "failing execution (deadlock: no goroutine can go on)"},
		{report.Finding{Message: "test failed: TestA", Printed: []string{"a_test.go:9: got 1, want 2"}, Witness: []report.Step{step}},
			"Test failed: TestA. The program printed: a_test.go:9: got 1, want 2", "/src/p/a_test.go:9", "failing execution (test failed: TestA)"},
		{report.Finding{Message: "test failed: TestA", Witness: []report.Step{step}}, "Test failed: TestA", "/src/p/a_test.go:3", "failing execution (test failed: TestA)"},
		{report.Finding{Message: "panic: x", Accesses: []report.Access{panics}}, "Panic: x, at b.go:7", "", "failing execution at /src/p/b.go:7"},
	} {
		test.f.Kind = heisen.Failure
		if got := Sentence(&test.f); got != test.sentence {
			t.Errorf("%s\nwant\n%s", got, test.sentence)
		}
		if got := SiteOf(&test.f, noFile); got != test.site {
			t.Errorf("%s: at %q, want %q", test.f.Message, got, test.site)
		}
		if got := About(&test.f); got != test.about {
			t.Errorf("%s: about %q, want %q", test.f.Message, got, test.about)
		}
	}
	inTest := report.Finding{Kind: heisen.Failure, Message: "deadlock: no goroutine can go on", Blocked: []report.Blocked{
		{Stack: []report.Frame{{Func: "testing.(*T).Run", File: "/go/testing.go", Line: 1}, {Func: "p.TestA", File: "/src/p/a_test.go", Line: 2}}, Test: "TestA"}}}
	if Subject(&inTest) != "Failing execution: TestA" || About(&inTest) != "failing execution of TestA" || SiteOf(&inTest, noFile) != "/src/p/a_test.go:2" {
		t.Errorf("%s, %s, %s", Subject(&inTest), About(&inTest), SiteOf(&inTest, noFile))
	}
	failed := report.Finding{Kind: heisen.Failure}
	leaked := report.Finding{Kind: heisen.Leak, Message: "a goroutine waits for ever: sync.Cond.Wait"}
	for _, test := range []struct {
		f        *report.Finding
		op, does string
	}{
		{&failed, "panic", "panics"}, {&failed, "exit", "exits"}, {&failed, "fatal error", "meets a fatal error"},
		{&leaked, "receive", "waits"}, {&report.Finding{Kind: heisen.Deadlock}, "acquire", "waits"}, {&report.Finding{Kind: heisen.Race}, "read", "reads"},
	} {
		if got := Does(test.f, &report.Access{Op: test.op}); got != test.does {
			t.Errorf("%s %s: %q, want %q", test.f.Kind, test.op, got, test.does)
		}
		if got, want := Does(test.f, &report.Access{Op: test.op, Variable: "v"}), map[heisen.Kind]string{
			heisen.Failure: test.does, heisen.Leak: "waits for v", heisen.Deadlock: "waits for v", heisen.Race: "reads v"}[test.f.Kind]; got != want {
			t.Errorf("%s %s of v: %q, want %q", test.f.Kind, test.op, got, want)
		}
	}
	if got := WaitReason(&leaked); got != "sync.Cond.Wait" {
		t.Errorf("it waits for %q", got)
	}
}

// TestLeaks checks what is said of goroutines that wait for ever: for what, and why that does not happen.
func TestLeaks(t *testing.T) {
	for _, test := range []struct {
		reason, name string
		wait         *report.Wait
		want         string
	}{
		{"chan send", "results", &report.Wait{Missing: "received from it"}, "to send to results. No other goroutine has received from it."},
		{"chan receive", "", nil, "to receive from a channel."},
		{"chan receive (nil chan)", "done", &report.Wait{}, "to receive from done."},
		{"select", "", nil, "in a select statement."},
		{"sync.Mutex.Lock", "s.mu", &report.Wait{Users: []report.User{{Goroutine: "goroutine 3", Holds: true, Ended: true, Site: "/x/b.go:7"}}},
			"for s.mu. Goroutine 3, which has ended, holds it, acquired at b.go:7."},
		{"sync.RWMutex.Lock", "s.mu", &report.Wait{Users: []report.User{{Goroutine: "goroutine 3", Holds: true}, {Goroutine: "g2", Holds: true, Site: "b.go:8"}}},
			"for s.mu. Goroutine 3 holds it. G2 holds it, acquired at b.go:8."},
		{"sync.WaitGroup.Wait", "wg", &report.Wait{Users: []report.User{{Goroutine: "g2", Site: "b.go:8"}}}, "for wg."},
		{"sync.Cond.Wait", "c", &report.Wait{Missing: "signaled it"}, "for c to be signaled. No other goroutine has signaled it."},
		{"sync.Mutex.Lock", "", nil, "for something that can no longer happen."},
	} {
		f := report.Finding{Kind: heisen.Leak, Message: "a goroutine waits for ever: " + test.reason, Wait: test.wait,
			Accesses: []report.Access{{Goroutine: "goroutine 2", Variable: test.name, Site: "/x/a.go:1"}}}
		if got, want := Sentence(&f), "Goroutine 2 waits for ever at a.go:1, "+test.want; got != want {
			t.Errorf("%s\nwant %s", got, want)
		}
	}
}

// TestSubjectWithoutName: a finding without a name has a place, so that two of one kind are told apart.
func TestSubjectWithoutName(t *testing.T) {
	at := func(f report.Finding, site string) *report.Finding {
		f.Accesses = []report.Access{{Op: "call", Goroutine: "goroutine 2", Object: "0x0", Site: site}}
		return &f
	}
	for _, test := range []struct {
		f    *report.Finding
		want string
	}{
		{at(report.Finding{Kind: heisen.Misuse}, "/x/a_test.go:3"), "Misuse at a_test.go:3"},
		{at(report.Finding{Kind: heisen.Unstoppable}, "/x/a.go:3"), "Unstoppable goroutine at a.go:3"},
		{at(report.Finding{Kind: heisen.Leak, Variable: "c"}, "/x/a.go:3"), "Goroutine leak: c"},
		{&report.Finding{Kind: heisen.Failure}, "Failing execution"},
	} {
		if got := Subject(test.f); got != test.want {
			t.Errorf("%q, want %q", got, test.want)
		}
	}
	f := at(report.Finding{Kind: heisen.Misuse, Message: "Fatal of a test is called"}, "/x/a_test.go:3")
	if got, want := Sentence(f), "Fatal of a test is called, by goroutine 2 at a_test.go:3."; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if got := Does(f, &f.Accesses[0]); got != "calls Fatal" {
		t.Errorf("it %s", got)
	}
}

// TestAddresses: an address is no subject, so that the place is, and memory without a name is called that.
func TestAddresses(t *testing.T) {
	f := report.Finding{Kind: heisen.Race, Accesses: []report.Access{
		{Op: "write", Goroutine: "goroutine 1", Object: "0xc000010020", Site: "a.go:1", LocksUnknown: true},
		{Op: "read", Goroutine: "goroutine 2", Object: "0xc000010020", Site: "a.go:2", LocksUnknown: true},
	}}
	want := "Goroutine 1 writes memory at a.go:1, and goroutine 2 reads it at a.go:2. Nothing orders the two: there is no happens-before edge between them."
	if got := Sentence(&f); got != want || Subject(&f) != "Data race at a.go:1" {
		t.Errorf("%s: %s\nwant Data race at a.go:1: %s", Subject(&f), got, want)
	}
}

// noFile finds no file of a package.
func noFile(string, string) (string, bool) { return "", false }

// TestSiteInPackage: the file of a message is looked for in the folder of the package if no step tells it.
func TestSiteInPackage(t *testing.T) {
	f := report.Finding{Kind: heisen.Failure, Package: "example.com/m/p", Printed: []string{"no place", "a_test.go:9: got 1"}}
	find := func(pkg, name string) (string, bool) { return "/repo/" + pkg + "/" + name, true }
	if got := SiteOf(&f, find); got != "/repo/example.com/m/p/a_test.go:9" {
		t.Errorf("%q", got)
	}
	f.Witness = []report.Step{{Site: "/src/a_test.go:1"}}
	if got := SiteOf(&f, find); got != "/src/a_test.go:9" {
		t.Errorf("with a step: %q", got)
	}
}
