package report

import (
	"strings"
	"testing"

	"github.com/heisen-go/heisen"
)

func TestLiteralOf(t *testing.T) {
	for name, want := range map[string]string{
		"main.f": "", "main.(*T).m": "", "example.com/a.b/c.f": "", "main.func1": "", "main.gen[...]": "", "runtime.goexit": "", "": "",
		"main.small.func1": "small", "main.two.small.func2": "small", "main.init.1.small.func1": "small",
		"main.nested.func1.func1": "nested", "main.nested.func1.1": "nested", "main.main.main.nested.func6.func7": "nested",
		"main.(*T).m.func1": "m", "main.main.(*T).m.func9": "m", "main.T.m.func1": "m",
		"main.gen[...].func1": "gen", "main.main.gen[...].func10": "gen", "example.com/a.b/c.gen[go.shape.struct { a/b.X }].func1.2": "gen",
		"main.init.func1.func1": "init", "main.init.init.func1.func2": "init", "main.init.0.func1": "init",
		"main.seq.func1": "seq", "main.loop.seq.func2": "seq",
		"main.loop-range1": "loop", "main.loop-range1.func1": "loop", "main.loop.loop.seq.func2.loop-range1.func3": "loop",
		"main.loop.loop.seq.func2.loop-range1.small.func4": "small", "main.f.func1-range2": "f",
		"main.main.gowrap1": "main", "main.f.deferwrap2": "f",
	} {
		if got := literalOf(name).outer; got != want {
			t.Errorf("%s: in %q, want %q", name, got, want)
		}
	}
}

func TestSameCode(t *testing.T) {
	for _, c := range []struct {
		a, b string
		want bool
	}{
		{"main.f", "main.f", true},
		{"main.f", "main.g", false},
		{"main.main.func1", "main.main.func2", false}, // of one release, with and without a change of the program
		{"main.main.func1.1", "main.main.func1.func1", true},
		{"main.main.func1.1", "main.main.func1.2", false},
		{"main.(*T).m.func1", "main.(*T).m.func2", false},
		{"main.main.(*T).m.func9", "main.(*T).m.func1", true},
		{"main.two.small.func2", "main.small.func1", true},
		{"main.loop-range1", "main.loop-range2", false},
	} {
		if got := sameCode(c.a, c.b); got != c.want {
			t.Errorf("%s and %s: %t", c.a, c.b, got)
		}
		if got := sameCode(c.b, c.a); got != c.want {
			t.Errorf("%s and %s: %t", c.b, c.a, got)
		}
	}
}

// raceOf makes a finding of two accesses, each in a function that begins on line 10 or 30.
func raceOf(t *testing.T, functions [2]string, lines [2]int, sources [2]string) (resolved, read Finding) {
	t.Helper()
	symbols := heisen.NewSymbols()
	f := heisen.Finding{Kind: heisen.Race, Message: "m"}
	for i, start := range []int{10, 30} {
		frame := heisen.Frame{Func: functions[i], File: "/src/x.go", Line: lines[i], Start: start}
		f.Accesses = append(f.Accesses, heisen.Access{
			Op: []heisen.Op{heisen.Read, heisen.Write}[i], Thread: heisen.Thread(i), Object: 8,
			Site: symbols.AddSite(heisen.SiteInfo{Frames: []heisen.Frame{frame}}),
		})
	}
	resolved = (*Resolver)(nil).Resolve(f, symbols)
	for i := range resolved.Accesses {
		resolved.Accesses[i].Source = sources[i]
	}
	var b strings.Builder
	if err := WriteJSON(&b, &resolved); err != nil {
		t.Fatal(err)
	}
	all, err := ReadJSON(strings.NewReader(b.String()))
	if err != nil || len(all) != 1 {
		t.Fatal(all, err)
	}
	return resolved, all[0]
}

// TestLiterals: a baseline has the findings of another Go release, which names function literals otherwise, and no others.
func TestLiterals(t *testing.T) {
	older := [2]string{"main.two.small.func2", "main.main.func1"}
	newer := [2]string{"main.small.func1", "main.main.func1"}
	lines, sources := [2]int{11, 35}, [2]string{"x++", "x = 2"}
	_, known := raceOf(t, older, lines, sources)
	var b Baseline
	b.Add(known)
	for name, c := range map[string]struct {
		functions [2]string
		lines     [2]int
		sources   [2]string
		contains  bool
	}{
		"the same":              {older, lines, sources, true},
		"another release":       {newer, lines, sources, true},
		"statements not known":  {newer, lines, [2]string{}, true},
		"the other order":       {[2]string{newer[1], newer[0]}, lines, sources, false},
		"another line":          {newer, [2]int{12, 35}, sources, false},
		"another statement":     {newer, lines, [2]string{"y++", "x = 2"}, false},
		"another function":      {[2]string{"main.large.func1", newer[1]}, lines, sources, false},
		"no literal":            {[2]string{"main.small", newer[1]}, lines, sources, false},
		"a second name changes": {[2]string{newer[0], "main.start.main.func7"}, lines, sources, true},
	} {
		f, _ := raceOf(t, c.functions, c.lines, c.sources)
		if got := b.Contains(&f); got != c.contains {
			t.Errorf("%s: contained: %t", name, got)
		}
	}

	// And back.
	_, known = raceOf(t, newer, lines, sources)
	var back Baseline
	back.Add(known)
	if f, _ := raceOf(t, older, lines, sources); !back.Contains(&f) {
		t.Error("the baseline of the newer release does not have the finding of the older one")
	}
}

// TestNamesOfWaits: a baseline in whose fingerprints are the names of what goroutines wait for hides the same failures under other
// names.
func TestNamesOfWaits(t *testing.T) {
	waits := func(fingerprint string, blocked ...Blocked) Finding {
		return Finding{Kind: heisen.Failure, Fingerprint: fingerprint, Message: "deadlock: no goroutine can go on", Package: "p", Blocked: blocked}
	}
	at := func(reason, name, function string, line int) Blocked {
		return Blocked{Reason: reason, Variable: name, Stack: []Frame{{function, "/src/x.go", line}}}
	}
	var b Baseline
	b.Add(waits("old", at("chan send", "", "p.f", 12), at("sync.Mutex.Lock", "s.mu", "p.g", 20)))
	mutex := at("sync.Mutex.Lock", "s.mu", "p.g", 20)
	for name, c := range map[string]struct {
		f        Finding
		contains bool
	}{
		"a name that was not known":      {waits("new", at("chan send", "c", "p.f", 12), mutex), true},
		"twice":                          {waits("new", at("chan send", "c", "p.f", 12), mutex, mutex), true},
		"a better name":                  {waits("new", at("chan send", "", "p.f", 12), at("sync.Mutex.Lock", "t.mu", "p.g", 20)), true},
		"lines were added":               {waits("new", at("chan send", "c", "p.f", 32), at("sync.Mutex.Lock", "s.mu", "p.g", 41)), true},
		"another lock":                   {waits("new", at("chan send", "c", "p.f", 32), at("sync.Mutex.Lock", "s.other", "p.g", 44)), false},
		"another function":               {waits("new", at("chan send", "c", "p.h", 12), mutex), false},
		"another reason":                 {waits("new", at("chan receive", "c", "p.f", 12), mutex), false},
		"one goroutine fewer":            {waits("new", mutex), false},
		"one goroutine more":             {waits("new", at("chan send", "c", "p.f", 12), mutex, at("chan send", "c", "p.h", 9)), false},
		"a place that is not known":      {waits("new", Blocked{Reason: "chan send"}, mutex), false},
		"not known what others wait for": {waits("new"), false},
	} {
		if got := b.Contains(&c.f); got != c.contains {
			t.Errorf("%s: contained: %t", name, got)
		}
	}
}

// TestLiteralsOfFailures: failures are compared by their messages, places, and what goroutines wait for.
func TestLiteralsOfFailures(t *testing.T) {
	failure := func(function, message, waits string) Finding {
		return Finding{
			Kind: heisen.Failure, Fingerprint: function + message + waits, Message: message, Package: "p",
			Accesses: []Access{{Op: "panic", Source: "panic(x)", Stack: []Frame{{function, "/src/x.go", 12}}}},
			Blocked:  []Blocked{{Reason: "chan receive", Variable: "c", Stack: []Frame{{waits, "/src/x.go", 12}}}},
		}
	}
	var b Baseline
	b.Add(failure("main.two.small.func2", "panic: 0xc000 of 3", "main.main.wait.func4"))
	for name, c := range map[string]struct {
		f        Finding
		contains bool
	}{
		"another release":  {failure("main.small.func1", "panic: 0xc010 of 4", "main.wait.func1"), true},
		"another message":  {failure("main.small.func1", "panic: other", "main.wait.func1"), false},
		"another function": {failure("main.large.func1", "panic: 0xc000 of 3", "main.wait.func1"), false},
		"waits elsewhere":  {failure("main.small.func1", "panic: 0xc000 of 3", "main.sleep.func1"), false},
	} {
		if got := b.Contains(&c.f); got != c.contains {
			t.Errorf("%s: contained: %t", name, got)
		}
	}
}
