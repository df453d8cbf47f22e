package unhook

import (
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/heisen-go/heisen/focus"
	"github.com/heisen-go/heisen/internal/build"
)

// marked is a program with functions that are expanded in place, literals, methods, type parameters and calls in a circle.
const marked = `package main

import (
	"fmt"
	"strings"
)

type part struct{ n, m int }

type whole struct {
	parts []part
	sum   int
	next  *whole
}

func (p *part) add(n int) { p.n += n; p.m++ }

//go:noinline
func (w *whole) total() (sum int) {
	for i := range w.parts {
		sum += w.parts[i].n
		w.parts[i].add(1)
	}
	return sum
}

// twice calls total, which has a loop.
//
//go:noinline
func (w *whole) twice() int {
	w.sum = w.total() + w.total()
	return w.sum
}

//go:noinline
func (w *whole) depth() int {
	if w.next == nil {
		return w.sum
	}
	return w.next.depth() + 1
}
func close(w *whole) int {
	for range 3 {
		w.sum++
		defer func() { w.sum-- }()
	}
	return w.sum
}

/* A comment of several
   lines
*/
func behind(w *whole) {
	for i := range w.parts { w.parts[i].m = i; func() { w.sum++; for range 2 { w.sum++ } }() }
}

func each[T any](list []T, f func(*T)) {
	for i := range list {
		f(&list[i])
	}
}

//go:noinline
func names(w *whole) string {
	var b strings.Builder
	for _, p := range w.parts {
		fmt.Fprint(&b, p.n)
		w.sum--
	}
	return b.String()
}

//
//go:noinline
func value(w whole) int {
	for w.sum = range w.parts {
		w.parts[w.sum].n--
	}
	return w.sum
}

func main() {
	w := &whole{parts: make([]part, 5), next: &whole{sum: 2}}
	each(w.parts, func(p *part) { p.n++ })
	behind(w)
	fmt.Println(w.total(), w.twice(), w.depth(), close(w), names(w), value(*w), w.sum, w.parts)
}
`

// TestMark: a program that is marked, and then loses its needless hooks, has hooks on the same lines as one that loses them
// without being marked, and does the same. Which lines are needless is random.
func TestMark(t *testing.T) {
	if testing.Short() {
		t.Skip("builds programs")
	}
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	// The go command repeats a listing from its cache, where it can be missing if somebody removed files. This one is always new.
	again := fmt.Sprintf("package main\n\n// %s\n", dir)
	for name, text := range map[string]string{"go.mod": "module example.com/marked\n\ngo 1.25\n", "main.go": marked, "new.go": again} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	source := Source{Folders: map[string]string{filepath.ToSlash(dir): ".", "example.com/marked": "."}}
	last := strings.Count(marked, "\n")
	random := rand.New(rand.NewPCG(1, 1))
	builds := func(plan *focus.Plan, flags ...string) (changed []byte, left [2]map[string]bool) {
		t.Helper()
		var printed [2]string
		for i := range left {
			b, err := build.New(t.Context(), dir, "")
			if err != nil {
				t.Fatal(err)
			}
			if i == 1 {
				var listing *Listing
				err := b.Listing(t.Context(), dir, ListingFlags, flags, false, []string{"."}, func(r io.Reader) (err error) {
					listing, err = ReadListing(r, dir, source, plan)
					return err
				})
				if err != nil {
					t.Fatal(err)
				}
				changed = Mark([]byte(marked), func(line int, name string) Hooks { return listing.Of("main.go", line, name) })
				if changed != nil {
					if err := b.Replace(map[string][]byte{filepath.Join(dir, "main.go"): changed}); err != nil {
						t.Fatal(err)
					}
				}
			}
			exe := filepath.Join(t.TempDir(), "program")
			if err := b.Build(t.Context(), dir, exe, flags, "."); err != nil {
				t.Fatal(err)
			}
			if _, err := Program(exe, source.Needless(plan)); err != nil {
				t.Fatal(err)
			}
			left[i] = map[string]bool{}
			for of := range hooks(t, exe) {
				if !strings.Contains(of, "racefunc") {
					left[i][strings.TrimSuffix(of, "range")] = true
				}
			}
			printed[i] = output(t, exe)
		}
		if printed[0] != printed[1] {
			t.Errorf("the program prints %q, and marked %q", printed[0], printed[1])
		}
		return changed, left
	}
	typed := map[focus.Function]focus.Properties{}
	for _, m := range regexp.MustCompile(`(?m)^func (?:\(\w+ (\*?\w+)\) )?(\w+)`).FindAllStringSubmatch(marked, -1) {
		name := focus.Function("example.com/marked." + m[2])
		if receiver, pointer := strings.CutPrefix(m[1], "*"); pointer {
			name = focus.Function("example.com/marked.(*" + receiver + ")." + m[2])
		} else if receiver != "" {
			name = focus.Function("example.com/marked." + receiver + "." + m[2])
		}
		typed[name] = focus.Properties{Typed: true}
	}
	all := &focus.Plan{Functions: typed, Files: map[string]focus.File{"main.go": {Reads: focus.Lines{{First: 1, Last: last}}, Writes: focus.Lines{{First: 1, Last: last}}}}}
	for _, flags := range [][]string{nil, {"-trimpath"}} {
		text, _ := builds(all, flags...)
		var names []string
		lines := strings.Split(string(text), "\n")
		for i, line := range lines {
			if line == norace {
				names = append(names, regexp.MustCompile(`(?m)^func (?:\(.*?\) )?(\w+)`).FindStringSubmatch(strings.Join(lines[i:], "\n"))[1])
			}
		}
		// add is expanded in place; close has no line for the directive, and behind none that is its own; each has type parameters;
		// twice, depth and main have no loop and call others; names has code of another package.
		if want := []string{"total", "value"}; !slices.Equal(names, want) {
			t.Errorf("%v: marked %v, want %v", flags, names, want)
		}
	}
	some := 0
	for range 4 {
		var safe [2][]int
		for line := range last {
			for kind := range safe {
				if random.IntN(8) > 0 {
					safe[kind] = append(safe[kind], line+1)
				}
			}
		}
		plan := &focus.Plan{Functions: typed, Files: map[string]focus.File{"main.go": {Reads: focus.LinesOf(safe[0]), Writes: focus.LinesOf(safe[1])}}}
		text, left := builds(plan)
		some += strings.Count(string(text), norace)
		if diff := cmp.Diff(left[0], left[1]); diff != "" {
			t.Errorf("reads %v, writes %v\n%s\n(-unmarked +marked)\n%s", plan.Files["main.go"].Reads, plan.Files["main.go"].Writes, text, diff)
		}
	}
	if some == 0 {
		t.Error("nothing was ever marked")
	}
}

// TestMarkedLines is about which functions can have the directive, and that all lines keep their numbers.
func TestMarkedLines(t *testing.T) {
	for name, c := range map[string]struct{ source, want string }{
		"blank line":        {"package p\n\nfunc f() { for {} }\n", "package p\n//go:norace\nfunc f() { for {} }\n"},
		"comment":           {"package p\n\n// f is f.\nfunc f() { for {} }\n", "package p\n\n//go:norace\nfunc f() { for {} }\n"},
		"empty comment":     {"package p\n//\nfunc f() { for {} }", "package p\n//go:norace\nfunc f() { for {} }"},
		"no line":           {"package p\nfunc f() { for {} }\n", ""},
		"function in front": {"package p\n\nfunc g() {}\nfunc f() { for {} }\n", ""},
		"comment behind":    {"package p\nvar x int // x\nfunc f() { for {} }\n", ""},
		"directive":         {"package p\n//go:noinline\nfunc f() { for {} }\n", ""},
		"above a directive": {"package p\n\n//go:noinline\nfunc f() { for {} }\n", "package p\n//go:norace\n//go:noinline\nfunc f() { for {} }\n"},
		"export":            {"package p\n//export f\nfunc f() { for {} }\n", ""},
		"block comment":     {"package p\n/*\n\n*/ func f() { for {} }\n", ""},
		"string":            {"package p\nvar s = `\n\n`; func f() { for {} }\n", ""},
		"C":                 {"package p\n\nimport \"C\"\n\nfunc f() { for {} }\n", ""},
		"other numbers":     {"package p\n\n//line x.go:1\n\nfunc f() { for {} }\n", ""},
		"type parameters":   {"package p\n\nfunc f[T any]() { for {} }\n\nfunc (l list[T]) f() { for {} }\n", ""},
		"no loop":           {"package p\n\nfunc f() { go func() { for {} }() }\n", ""},
		"no body":           {"package p\n\nfunc f()\n", ""},
		"another function":  {"package p\n\nfunc g() { for {} }\n", ""},
		"syntax":            {"package p\n\nfunc f( { for {} }\n", ""},
	} {
		got := Mark([]byte(c.source), func(_ int, name string) Hooks {
			if name == "f" {
				return NeedlessIn
			}
			return Needed
		})
		if string(got) != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
	const quiet = "package p\n\nfunc f() {}\n"
	if got := Mark([]byte(quiet), func(int, string) Hooks { return NeedlessAt }); strings.Count(string(got), norace) != 1 {
		t.Errorf("%q", got)
	}
}

// TestReadListing is about listings with what is rare.
func TestReadListing(t *testing.T) {
	typed := map[focus.Function]focus.Properties{"m.f": {Typed: true}, "m.(*t).f": {Typed: true}, "m/cmd.f": {Typed: true}, "m.(*u).f": {}}
	plan := &focus.Plan{Functions: typed, Files: map[string]focus.File{"a.go": {Reads: focus.Lines{{First: 10, Last: 20}}}, "b/a.go": {Reads: focus.Lines{{First: 10, Last: 20}}}}}
	text := func(symbol, at string, calls ...string) (s string) {
		s = fmt.Sprintf("%s STEXT size=1\n\t0x0000 00000 (%s)\tTEXT\t%[1]s(SB), ABIInternal, $8-8\n", symbol, at)
		for _, call := range calls {
			s += "\t0x0001 00001 " + call + "\n"
		}
		return s
	}
	const read, write = "(/m/a.go:12)\tCALL\truntime.raceread(SB)", "(/m/a.go:12)\tCALL\truntime.racewrite(SB)"
	const lea, unlock = "(/m/a.go:12)\tLEAQ\tm..autotmp_11+144(SP), AX", "(/m/a.go:12)\tCALL\tsync.(*Mutex).Unlock(SB)"
	const deferproc, deferreturn = "(/m/a.go:12)\tCALL\truntime.deferprocStack(SB)", "(/m/a.go:12)\tCALL\truntime.deferreturn(SB)"
	const frame = "(/m/a.go:12)\tCALL\truntime.racefuncenter(SB)"
	for name, c := range map[string]struct {
		listing string
		want    Hooks
	}{
		"needless":            {"# m\n" + text("m.f", "/m/a.go:10", frame, read), NeedlessAt},
		"range":               {text("m.f", "/m/a.go:10", "(/m/a.go:12)\tCALL\truntime.racereadrange(SB)"), NeedlessAt},
		"method":              {text("m.(*t).f", "/m/a.go:10", read), NeedlessAt},
		"untyped":             {text("m.(*u).f", "/m/a.go:10", read), Needed},
		"unknown function":    {text("m.(*v).f", "/m/a.go:10", read), Needed},
		"program":             {"# m/cmd\n" + text("main.f", "/m/a.go:10", read), NeedlessAt},
		"tested program":      {"# m/cmd [m/cmd.test]\n" + text("main.f", "/m/a.go:10", read), NeedlessAt},
		"other program":       {"# m/other\n" + text("main.f", "/m/a.go:10", read), Needed},
		"no hooks":            {text("m.f", "/m/a.go:10", frame), Needed},
		"write":               {text("m.f", "/m/a.go:10", read, write), Needed},
		"expanded code":       {text("m.f", "/m/a.go:10", read, "(/go/src/strings/b.go:12)\tCALL\truntime.raceread(SB)"), Needed},
		"call":                {text("m.f", "/m/a.go:10", read, "(/m/a.go:12)\tCALL\tfmt.Println(SB)"), NeedlessIn},
		"indirect call":       {text("m.f", "/m/a.go:10", read, "(/m/a.go:12)\tCALL\tAX"), NeedlessIn},
		"tail call":           {text("m.f", "/m/a.go:10", read, "(/m/a.go:12)\tJMP\tm.g(SB)"), NeedlessIn},
		"jump":                {text("m.f", "/m/a.go:10", read, "(/m/a.go:12)\tJMP\t44"), NeedlessAt},
		"lock":                {text("m.f", "/m/a.go:10", read, "(/m/a.go:12)\tCALL\tsync.(*Mutex).Lock(SB)"), NeedlessAt},
		"deferred unlock":     {text("m.f", "/m/a.go:10", read, deferproc, deferreturn) + text("m.f.deferwrap1", "/m/a.go:12", unlock), NeedlessAt},
		"deferred call":       {text("m.f", "/m/a.go:10", read, deferproc, deferreturn) + text("m.f.deferwrap1", "/m/a.go:12", "(/m/a.go:12)\tCALL\tm.g(SB)"), NeedlessIn},
		"deferred literal":    {text("m.f", "/m/a.go:10", read, deferproc, deferreturn), NeedlessIn},
		"deferred both":       {text("m.f", "/m/a.go:10", read, deferproc, deferproc, deferreturn) + text("m.f.deferwrap1", "/m/a.go:12", unlock), NeedlessIn},
		"deferred access":     {text("m.f", "/m/a.go:10", read, deferproc, deferreturn) + text("m.f.deferwrap1", "/m/a.go:12", read, unlock), NeedlessIn},
		"deferred elsewhere":  {text("m.f", "/m/a.go:10", read, deferproc, deferreturn) + "# n\n" + text("m.f.deferwrap1", "/m/a.go:12", unlock), NeedlessIn},
		"of the frame":        {text("m.f", "/m/a.go:10", read, lea, write), NeedlessAt},
		"of the frame, arm64": {text("m.f", "/m/a.go:10", read, "(/m/a.go:12)\tMOVD\t$m..autotmp_4-16(SP), R0", write), NeedlessAt},
		"of another":          {text("m.f", "/m/a.go:10", read, "(/m/a.go:12)\tLEAQ\tm.x(SB), AX", write), Needed},
		"in the frame":        {text("m.f", "/m/a.go:10", read, "(/m/a.go:12)\tMOVQ\tm.x+8(SP), AX", write), Needed},
		"two of the frame":    {text("m.f", "/m/a.go:10", read, lea, write, write), Needed},
		"jump to the hook":    {text("m.f", "/m/a.go:10", read, "(/m/a.go:12)\tJEQ\t1", lea, write), Needed},
		"jump, arm64":         {text("m.f", "/m/a.go:10", read, "(/m/a.go:12)\tCBZ\tR1, 1", lea, write), Needed},
		"jump elsewhere":      {text("m.f", "/m/a.go:10", read, "(/m/a.go:12)\tJEQ\t2", lea, write), NeedlessAt},
		"unknown jump":        {text("m.f", "/m/a.go:10", read, "(/m/a.go:12)\tJMP\tCX", lea, write), Needed},
		"trimmed":             {text("m.f", "m/a.go:10", strings.ReplaceAll(read, "/m/", "m/")), NeedlessAt},
		"expanded elsewhere":  {"./a.go:10:6: can inline f\n" + text("m.f", "/m/a.go:10", read), Needed},
		"expanded, other dir": {"b/../a.go:10:6: can inline f\n" + text("m.f", "/m/a.go:10", read), Needed},
		"another expanded":    {"./b/a.go:10:6: can inline f\n" + text("m.f", "/m/a.go:10", read), NeedlessAt},
		"two versions":        {"# m\n" + text("m.f", "/m/a.go:10", read) + "# m [m.test]\n" + text("m.f", "/m/a.go:10", read), NeedlessAt},
		"a version needs it":  {"# m\n" + text("m.f", "/m/a.go:10", write) + "# m [m.test]\n" + text("m.f", "/m/a.go:10", read), Needed},
		"two of the name":     {"# m\n" + text("m.f", "/m/a.go:10", read) + text("m.(*t).f", "/m/a.go:10", read), Needed},
		"another line":        {text("m.f", "/m/a.go:11", read), Needed},
		"literal":             {text("m.f.func1", "/m/a.go:10", read), Needed},
		"nothing":             {"", Needed},
	} {
		l, err := ReadListing(strings.NewReader(c.listing), "/m", Source{Folders: map[string]string{"/m": ".", "m": "."}}, plan)
		if err != nil {
			t.Fatal(err)
		}
		if got := l.Of("a.go", 10, "f"); got != c.want {
			t.Errorf("%s: %d, want %d", name, got, c.want)
		}
	}
}
