package cli

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"slices"
	"strings"
	"testing"
)

// someFlags are flags of heisen's for tests of the parser.
func someFlags() *flag.FlagSet {
	fs := flag.NewFlagSet("heisen", flag.ContinueOnError)
	fs.String("detect", "", "")
	fs.Bool("predict", false, "")
	fs.String("pkgs", "", "")
	fs.String("o", "", "") // go test has it, too
	return fs
}

// describe returns the parts of a command line in one line: heisen's flags, go's, packages and
// arguments.
func describe(parts []part) string {
	l := commandLine{parts: parts}
	var own []part
	for _, p := range parts {
		if p.owner == heisenFlag {
			own = append(own, p)
		}
	}
	return strings.Join([]string{
		strings.Join(texts(own), " "), strings.Join(texts(l.goFlags()), " "),
		strings.Join(l.packages(), " "), strings.Join(l.program(), " "),
	}, "|")
}

func TestTestGrammar(t *testing.T) {
	for _, test := range []struct{ args, want, forward string }{
		{"", "|||", ""},
		{".", "||.|", "."},
		{"-run X -v .", "|-run=X -v|.|", "-run=X -v ."},
		{". -run X -v", "|-run=X -v|.|", ". -run=X -v"},
		{"-v ./a ./b -run=X --count 2", "|-v -run=X -count=2|./a ./b|", "-v ./a ./b -run=X -count=2"},
		{"-detect hb -v -predict ./a -pkgs=x,y -run X", "-detect=hb -predict -pkgs=x,y|-v -run=X|./a|", "-v ./a -run=X"},
		{"-test.run X -test.v=true .", "|-run=X -v=true|.|", "-run=X -v=true ."},
		{"-o x -c .", "|-o=x -c|.|", "-o=x -c ."},
		{". -args -run X -detect hb", "||.|-run X -detect hb", ". -args -run X -detect hb"},
		{". --args -- x", "||.|-- x", ". -args -- x"},
		// A flag ends the list of packages, whoever it belongs to.
		{"./a -v ./b -run X", "|-v|./a|./b -run X", "./a -v -args ./b -run X"},
		{"./a -detect hb ./b -run X", "-detect=hb||./a|./b -run X", "./a -args ./b -run X"},
		// An unknown flag too, and the next word may be its value.
		{"-golden x ./a", "|||-golden x ./a", "-golden x -args ./a"},
		{". -golden x -run X y", "|-run=X|.|-golden x y", ". -golden x -run=X -args y"},
		{". -golden=x -v y -run X", "|-v|.|-golden=x y -run X", ". -golden=x -v -args y -run X"},
		{". -golden -predict y -v", "-predict||.|-golden y -v", ". -golden -args y -v"},
		{". -test.json", "||.|-test.json", ". -test.json"},
		{". ---v", "||. ---v|", ". ---v"},
		{". -", "||. -|", ". -"},
		// The old form.
		{"-detect hb . -- -run X -v", "-detect=hb|-run=X -v|.|", ". -run=X -v"},
		{"-- -v", "|-v||", "-v"},
		{". -- -detect hb -args y", "||.|-detect hb y", ". -detect hb -args y"},
		{". -- -v -- -run X", "|-v|.|-- -run X", ". -v -args -- -run X"},
		{". -v -- y", "|-v|.|y", ". -v -args y"},
		// Values that look like something else.
		{"-run -v -detect -- .", "-detect=--|-run=-v|.|", "-run=-v ."},
		{"-timeout=1s -run= .", "|-timeout=1s -run=|.|", "-timeout=1s -run= ."},
		{"-tags x -vet=all -gcflags=-N .", "|-tags=x -vet=all -gcflags=-N|.|", "."},
		// Mistakes.
		{". -detct hb", "unknown flag -detct; did you mean -detect? Flags of the tests come after -args", ""},
		{". -rnu X", "unknown flag -rnu; did you mean -run? Flags of the tests come after -args", ""},
		{". -- -pkg x", "||.|-pkg x", ". -pkg x"},
		{". -pkg x", "unknown flag -pkg; did you mean -pkgs? Flags of the tests come after -args", ""},
		{"-run", "flag needs an argument: -run", ""},
		{". -detect", "flag needs an argument: -detect", ""},
		{". -h", "flag: help requested", ""},
		{". -args -h", "||.|-h", ". -args -h"},
	} {
		args := strings.Fields(test.args)
		g := &grammar{verb: "test", own: someFlags()}
		got := ""
		if err := g.test(args); err != nil {
			got = err.Error()
		} else {
			got = describe(g.parts)
			l := commandLine{parts: g.parts}
			if forward := strings.Join(l.forTest(), " "); forward != test.forward {
				t.Errorf("%s: go test %s, want go test %s", test.args, forward, test.forward)
			}
		}
		if got != test.want {
			t.Errorf("%s:\n%s, want\n%s", test.args, got, test.want)
		}
	}
}

func TestRunGrammar(t *testing.T) {
	for _, test := range []struct{ args, want string }{
		{"", "|||"},
		{".", "||.|"},
		{"-detect hb -tags x -p=2 . -detect y", "-detect=hb|-tags=x -p=2|.|-detect y"},
		{"a.go b.go c", "||a.go b.go|c"},
		{"a.go -x b.go", "||a.go|-x b.go"},
		{". a.go", "||.|a.go"},
		{". -h", "||.|-h"},
		{"-exec time -json . x", "|-exec=time -json|.|x"},
		{"-o x .", "-o=x||.|"}, // go run has no such flag
		// The old form.
		{". -- -x -- y", "||.|-x -- y"},
		{"-- x", "|||x"},
		{"a.go -- b.go", "||a.go|b.go"},
		{". x -- y", "||.|x -- y"},
		// Mistakes.
		{"-detct hb .", "unknown flag -detct; did you mean -detect?"},
		{"-run X .", "unknown flag -run"},
		{"-ldflag=-s .", "unknown flag -ldflag; did you mean -ldflags?"},
		{"-frob .", "unknown flag -frob"},
		{"-tags", "flag needs an argument: -tags"},
		{"-h .", "flag: help requested"},
	} {
		g := &grammar{verb: "run", own: someFlags()}
		got := ""
		if err := g.run(strings.Fields(test.args)); err != nil {
			got = err.Error()
		} else {
			got = describe(g.parts)
		}
		if got != test.want {
			t.Errorf("%s:\n%s, want\n%s", test.args, got, test.want)
		}
	}
}

func TestVerbLine(t *testing.T) {
	for _, test := range []struct {
		args     string
		optional bool
		want     string
	}{
		{"-o t run -p 2 . x", false, "run: -o=t|-p=2|.|x"},
		{"-o t -tags x test -run X -o y . -detect hb", false, "test: -o=t -detect=hb|-tags=x -run=X -o=y|.|"},
		{"-o t -tags x run . -- y", false, "run: -o=t|-tags=x|.|y"},
		{"-o t", false, "neither test nor run"},
		{"-o t build .", false, `"build" is neither test nor run`},
		{"-frob run .", false, "unknown flag -frob"},
		{"-run X run .", false, "-run is not a flag of go run"},
		{"-o t run -race .", false, "-race cannot be combined with heisen: heisen looks for races itself"},
		{"-detect hb ./a -run X", true, "test: -detect=hb|-run=X|./a|"},
		{"-detect hb run ./a -run X", true, "run: -detect=hb||./a|-run X"},
		{"-golden ./a", true, "test: |||-golden ./a"},
		{"", true, "test: |||"},
	} {
		inv := &invocation{tool: Tool{Name: "heisen"}, flags: someFlags(), args: strings.Fields(test.args)}
		got := ""
		if err := inv.verbLine(test.optional); err != nil {
			got = err.Error()
		} else {
			got = inv.line.verb + ": " + describe(inv.line.parts)
		}
		if got != test.want {
			t.Errorf("%s:\n%s, want\n%s", test.args, got, test.want)
		}
	}
}

func TestRefused(t *testing.T) {
	for _, test := range []struct{ args, want string }{
		{"-race", "-race cannot be combined with heisen: heisen looks for races itself"},
		{"-race=false", ""},
		{"--msan=true", "-msan cannot be combined with heisen: the compiler instruments memory accesses for one tool at a time"},
		{"-asan", "-asan cannot be combined with heisen: the compiler instruments memory accesses for one tool at a time"},
		{". -overlay=x.json", ""},
		{". -C dir", "-C cannot be combined with heisen: it must be the first argument after the command"},
		{"-compiler gccgo", "-compiler cannot be combined with heisen: heisen needs the compiler gc"},
		{"-compiler gc", ""},
		{"-c -o x -exec y -gcflags=-N -toolexec z", ""},
		{". -args -race", ""},
	} {
		inv := &invocation{tool: Tool{Name: "heisen"}, flags: someFlags(), args: strings.Fields(test.args)}
		got := ""
		if err := inv.testLine(); err != nil {
			got = err.Error()
		}
		if got != test.want {
			t.Errorf("%s: %q, want %q", test.args, got, test.want)
		}
	}
}

func TestValues(t *testing.T) {
	inv := &invocation{flags: someFlags(), args: []string{"-tags", "a,b", "-json=1", "-count=2", "-gcflags=-N", "-gcflags", "all=-l", "-mod=mod", "-count", "3"}}
	if err := inv.testLine(); err != nil {
		t.Fatal(err)
	}
	l := &inv.line
	if count, given := l.value("count"); count != "3" || !given {
		t.Errorf("count %q, %v", count, given)
	}
	if _, given := l.value("run"); given || !l.isTrue("json") || l.isTrue("v") {
		t.Error("wrong booleans")
	}
	for _, list := range []struct{ got, want []string }{
		{l.values("gcflags"), []string{"-N", "all=-l"}},
		{l.tags(), []string{"a", "b"}},
		{l.listFlags(), []string{"-mod=mod", "-tags=a,b"}},
		{l.forTest(), []string{"-json=1", "-count=2", "-mod=mod", "-count=3"}},
	} {
		if !slices.Equal(list.got, list.want) {
			t.Errorf("%q, want %q", list.got, list.want)
		}
	}
	for _, test := range []struct{ goflags, name, want string }{
		{"-mod=mod -count=5 -v", "count", "5"},
		{"-count=5 '--test.count=6'", "count", "6"},
		{"-json", "json", "true"},
		{"-jsonx", "json", ""},
		{"'-json", "json", ""},
		{"", "json", ""},
	} {
		if got, given := inGOFLAGS(test.goflags, test.name); got != test.want || given != (test.want != "") {
			t.Errorf("GOFLAGS=%s: %q, %v", test.goflags, got, given)
		}
	}
}

// flagsOf returns the flags that a command defines.
func flagsOf(t *testing.T, c command) (flags []*flag.Flag) {
	t.Helper()
	var out bytes.Buffer
	inv := &invocation{Streams: Streams{Out: &out, Err: &out}, ctx: context.Background(), help: allHelp}
	inv.flags = flag.NewFlagSet(c.name, flag.ContinueOnError)
	if _, err := c.run(inv); !errors.Is(err, flag.ErrHelp) {
		t.Fatalf("%s: error %v", c.name, err)
	}
	inv.flags.VisitAll(func(f *flag.Flag) { flags = append(flags, f) })
	return flags
}

// FuzzCommandLine: the parser never panics, each word of a command line belongs to exactly one
// part, and go test is given what belongs to it: it takes its command line apart in the same way.
func FuzzCommandLine(f *testing.F) {
	for _, seed := range []string{
		"-run\nX\n-v\n.", "./a\n-detect\nhb\n./b", "-golden\nx\n./a\n-v", ".\n--\n-v\n--\n-x", ".\n-args\n-run\nx",
		"-o\nt\nrun\n.\nx", "test\n-o=x\n-predict\n-c", "a.go\nb.go\n--\nx", "-test.run=X\n-\n---x\n-=\n--=x",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		args := strings.Split(text, "\n")
		for _, verb := range []string{"test", "run"} {
			for _, first := range []bool{false, true} {
				g := &grammar{verb: verb, own: someFlags(), ownFirst: first}
				err := g.run(args)
				if verb == "test" {
					g.parts = nil
					err = g.test(args)
				}
				checkParts(t, args, g.parts, err)
				if err == nil && verb == "test" && !first {
					checkForward(t, commandLine{parts: g.parts})
				}
			}
		}
		inv := &invocation{flags: someFlags(), args: args}
		inv.verbLine(true)
		inv = &invocation{flags: someFlags(), args: args}
		inv.parse()
	})
}

// checkParts checks that the words of the parts are the arguments, or a beginning of them if there
// is a mistake.
func checkParts(t *testing.T, args []string, parts []part, err error) {
	t.Helper()
	var words []string
	for _, p := range parts {
		words = append(words, p.words...)
	}
	if len(words) > len(args) || !slices.Equal(words, args[:len(words)]) || err == nil && len(words) != len(args) {
		t.Fatalf("%q are %q, error %v", args, words, err)
	}
}

// checkForward checks that go test, which does not know heisen's flags, understands what it is
// given as heisen does.
func checkForward(t *testing.T, l commandLine) {
	t.Helper()
	g := &grammar{verb: "test", own: flag.NewFlagSet("go", flag.ContinueOnError)}
	forward := l.forTest()
	if err := g.test(forward); err != nil {
		t.Fatalf("%q: %v", forward, err)
	}
	again := commandLine{parts: g.parts}
	if !slices.Equal(again.packages(), l.packages()) || !slices.Equal(again.program(), l.program()) ||
		!slices.Equal(texts(again.goFlags()), texts(l.goFlags(handled...))) {
		t.Fatalf("%q is %s, want %s", forward, describe(again.parts), describe(l.parts))
	}
}
