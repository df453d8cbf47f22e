package enforce

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/heal"
)

// recorded makes a profile of events in a module. Each event is thread, op and a marked line.
func recorded(t *testing.T, p *Program, file, function string, events []string) *Profile {
	t.Helper()
	name := filepath.Join(p.root, file)
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	symbols := heisen.NewSymbols()
	r, err := p.NewRecorder(symbols)
	if err != nil {
		t.Fatal(err)
	}
	var records []heisen.Record
	for _, e := range events {
		word := strings.Fields(e)
		line := 0
		for i, l := range strings.Split(string(text), "\n") {
			if strings.Contains(l, "// "+word[2]+":") {
				line = i + 1
			}
		}
		if line == 0 {
			t.Fatalf("no line %s", word[2])
		}
		site := symbols.AddSite(heisen.SiteInfo{Frames: []heisen.Frame{{Func: function, File: name, Line: line}}})
		op := map[string]heisen.Op{"r": heisen.Read, "w": heisen.Write}[word[1]]
		records = append(records, heisen.Record{Op: op, Thread: heisen.Thread(word[0][0] - '0'), Object: 0x1000, Site: site})
	}
	r.HandleRecords(records)
	profile, notes, err := r.Finish()
	if err != nil || len(notes) > 0 {
		t.Fatal(err, notes)
	}
	return profile
}

// TestProfile: a recorded profile is written, read, merged and applied to a source in which its functions have moved or
// changed.
func TestProfile(t *testing.T) {
	source := func(before, condition string) map[string]string {
		text := strings.Replace(figure1, "func foo", before+"func foo", 1)
		return map[string]string{"main.go": strings.Replace(text, "pointer != nil {", condition+" {", 1)}
	}
	p := module(t, source("", "pointer != nil"))
	first := recorded(t, p, "main.go", "main.foo", []string{"1 r test", "2 r test", "1 r use", "2 r use"})
	var b bytes.Buffer
	if err := first.Encode(&b); err != nil {
		t.Fatal(err)
	}
	again, err := DecodeProfile(bytes.NewReader(b.Bytes()))
	if err != nil || !reflect.DeepEqual(first, again) {
		t.Fatalf("%v\n%s", err, &b)
	}
	v := first.Pairs.Atomic()
	if len(v) != 1 || v[0].Name != "example.com/m.pointer" || len(v[0].Pairs) != 1 || v[0].Pairs[0].Mode != heal.Shared {
		t.Fatalf("%+v", v)
	}
	if at := v[0].Pairs[0].First; at.Line != 5 || at.Op != heisen.Read || at.File != "main.go" {
		t.Errorf("first at %+v", at)
	}

	// A run in which the pair is not atomic counts.
	again.Merge(recorded(t, p, "main.go", "main.foo", []string{"1 r test", "2 w clear", "1 r use", "2 r test"}))
	for _, v := range again.Pairs.Atomic() {
		if slices.ContainsFunc(v.Pairs, func(pair heal.ProfiledPair) bool { return pair.First.Line == 5 && pair.Second.Line == 6 }) {
			t.Errorf("after merging: %+v", v)
		}
	}

	moved := module(t, source("// It has moved.\n\n\n", "pointer != nil"))
	current, stale, err := moved.Current(first)
	if err != nil || len(stale) > 0 {
		t.Fatal(err, stale)
	}
	if pl := plan(t, moved, current); len(pl.Refused) > 0 || len(pl.Variables) != 1 || pl.Variables[0].Pairs != 1 {
		t.Errorf("moved: %v %v", pl.Variables, pl.Refused)
	}
	changed := module(t, source("", "nil != pointer"))
	current, stale, err = changed.Current(first)
	if err != nil || len(current.Atomic()) > 0 {
		t.Fatal(err, current.Atomic())
	}
	if want := "main.go:7: example.com/m.foo has changed since the profile was made"; !slices.Equal(stale, []string{want}) {
		t.Errorf("stale %q", stale)
	}
	// A profile of the new source takes the place of the old one.
	first.Merge(recorded(t, changed, "main.go", "main.foo", []string{"1 r test", "2 r test", "1 r test"}))
	if v := first.Pairs.Atomic(); len(v) != 1 || len(v[0].Pairs) != 1 || v[0].Pairs[0].Second.Line != 5 {
		t.Errorf("%+v", v)
	}
}

// TestAliased: a variable that is accessed by another name, or only perhaps, is in no profile.
func TestAliased(t *testing.T) {
	p := module(t, map[string]string{"main.go": `package main

var x, y int

var p = &y

func f() {
	x = 1 // x:
	*p = 2 // other:
	x, y = y, x // both:
}

func main() { f() }
`})
	symbols := heisen.NewSymbols()
	r, err := p.NewRecorder(symbols)
	if err != nil {
		t.Fatal(err)
	}
	site := func(line int) heisen.Site {
		return symbols.AddSite(heisen.SiteInfo{Frames: []heisen.Frame{{Func: "main.f", File: filepath.Join(p.root, "main.go"), Line: line}}})
	}
	a, b, other := site(8), site(10), site(12)
	for thread := heisen.Thread(1); thread < 3; thread++ {
		for _, rec := range []heisen.Record{
			{Op: heisen.Write, Object: 0x1000, Site: a}, {Op: heisen.Write, Object: 0x1000, Site: other},
			{Op: heisen.Write, Object: 0x2000, Site: b}, {Op: heisen.Write, Object: 0x2000, Site: b},
			{Op: heisen.Write, Object: 0x3000, Site: b}, {Op: heisen.Write, Object: 0x3000, Site: a},
		} {
			rec.Thread = thread
			r.HandleRecords([]heisen.Record{rec})
		}
	}
	_, notes, err := r.Finish()
	if want := []string{"main.go:12: example.com/m.x is accessed by another name and left out"}; err != nil || !slices.Equal(notes, want) {
		t.Errorf("%v %q", err, notes)
	}
}

// TestMade: writes where a struct is made need no lock, and what nothing else writes gets none.
func TestMade(t *testing.T) {
	p := module(t, map[string]string{"main.go": `package main

import "sync"

type account struct {
	mu            sync.Mutex
	balance, bank int
	open          bool
}

func (a *account) add() {
	a.mu.Lock()
	a.balance++
	a.mu.Unlock()
	if a.bank > 0 {
		println(a.bank)
	}
	if !a.open {
		a.open = true
	}
}

func main() {
	a := &account{balance: 1, bank: 2}
	a.add()
	*a = account{}
}
`})
	if p.written["example.com/m.account.bank"] == false {
		t.Error("the whole struct is written in main")
	}
	symbols := heisen.NewSymbols()
	r, err := p.NewRecorder(symbols)
	if err != nil {
		t.Fatal(err)
	}
	for line, want := range map[int]bool{13: false, 24: true, 26: false} {
		site := symbols.AddSite(heisen.SiteInfo{Frames: []heisen.Frame{{Func: "main.f", File: filepath.Join(p.root, "main.go"), Line: line}}})
		if got := r.makes("example.com/m.account.balance", heal.Use{Site: site, Write: true}); got != want {
			t.Errorf("line %d makes the variable: %v", line, got)
		}
	}

	source := strings.Replace(madeSource, "BANK", "println(a.bank)", 1)
	plan := planFor(t, source)
	if got := plan.names; !slices.Equal(got, []string{"example.com/m.account.open"}) {
		t.Errorf("locks for %q", got)
	}
	plan = planFor(t, strings.Replace(madeSource, "BANK", "a.bank = 1", 1))
	if got := plan.names; !slices.Contains(got, "example.com/m.account.bank") {
		t.Errorf("locks for %q", got)
	}
}

const madeSource = `package main

type account struct {
	bank int
	open bool
}

func (a *account) use() {
	if a.bank > 0 {
		BANK
	}
	if !a.open {
		a.open = true
	}
}

func main() {
	a := &account{bank: 2}
	a.use()
}
`

// planFor plans locks for all pairs of reads on lines 9 and 10, and of a read and a write on lines 12 and 13.
func planFor(t *testing.T, source string) *Plan {
	t.Helper()
	p := module(t, map[string]string{"main.go": source})
	op := heisen.Read
	if strings.Contains(source, "a.bank =") {
		op = heisen.Write
	}
	symbols := heisen.NewSymbols()
	r, err := p.NewRecorder(symbols)
	if err != nil {
		t.Fatal(err)
	}
	for thread := heisen.Thread(1); thread < 3; thread++ {
		for _, at := range []struct {
			object heisen.Object
			line   int
			op     heisen.Op
		}{{0x1000, 9, heisen.Read}, {0x1000, 10, op}, {0x2000, 12, heisen.Read}, {0x2000, 13, heisen.Write}} {
			site := symbols.AddSite(heisen.SiteInfo{Frames: []heisen.Frame{{Func: "main.(*account).use", File: filepath.Join(p.root, "main.go"), Line: at.line}}})
			r.HandleRecords([]heisen.Record{{Op: at.op, Thread: thread, Object: at.object, Site: site, Len: 8}})
		}
	}
	profile, _, err := r.Finish()
	if err != nil {
		t.Fatal(err)
	}
	current, _, err := p.Current(profile)
	if err != nil {
		t.Fatal(err)
	}
	if len(current.Atomic()) != 2 {
		t.Fatalf("%+v", current.Atomic())
	}
	plan, err := p.Plan(t.Context(), current)
	if err != nil {
		t.Fatal(err)
	}
	return plan
}

func TestWrongProfile(t *testing.T) {
	for text, want := range map[string]string{
		"{":                           "unexpected end",
		`{"format":"heisen profile"}`: `format "heisen profile"`,
		`{"format":"heisen profile of passing runs","version":2}`: "version 2, want 1",
		`{"format":"heisen profile of passing runs","version":1}`: "invalid profile",
	} {
		if _, err := DecodeProfile(strings.NewReader(text)); !errors.Is(err, ErrProfile) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
}

// TestBrokenProfile: what is broken in a profile costs the function that it is about, and that is named. The rest works.
func TestBrokenProfile(t *testing.T) {
	const source = `package main

var a, b int

func one() {
	if a == 0 { // test:
		a = 1 // act:
	}
}

func two() {
	if b == 0 { // test2:
		b = 1 // act2:
	}
}

func main() { go one(); one(); two() }
`
	const name = "example.com/m.one"
	pair := func(p *Profile, change func(at *heal.Location)) {
		p.Pairs = p.Pairs.Rewrite(func(_ string, at heal.Location) (heal.Location, bool) {
			if at.Func == name {
				change(&at)
			}
			return at, true
		})
	}
	function := func(p *Profile, change func(f *Function)) {
		f := p.Functions[name]
		change(&f)
		p.Functions[name] = f
	}
	for want, damage := range map[string]func(p *Profile){
		"": func(*Profile) {},
		`the profile of example.com/m.one is broken: it has file "../main.go", line 5 and hash `:              func(p *Profile) { function(p, func(f *Function) { f.File = "../main.go" }) },
		`the profile of example.com/m.one is broken: it has file "main.go", line 0 and hash `:                 func(p *Profile) { function(p, func(f *Function) { f.Line = 0 }) },
		`the profile of example.com/m.one is broken: it has file "main.go", line 5 and hash "12"`:             func(p *Profile) { function(p, func(f *Function) { f.Hash = "12" }) },
		"main.go:5: example.com/m.one has changed since the profile was made":                                 func(p *Profile) { function(p, func(f *Function) { f.Hash = strings.Repeat("0", 64) }) },
		"the profile of example.com/m.one is broken: it has pairs, but not what the function was":             func(p *Profile) { delete(p.Functions, name) },
		"the profile of example.com/m.one is broken: main.go:6 of a pair of example.com/m.a is not in the fu": func(p *Profile) { pair(p, func(at *heal.Location) { at.Line += 4 }) },
		"the profile of example.com/m.one is broken: x.go:2 of a pair of example.com/m.a is not in the funct": func(p *Profile) { pair(p, func(at *heal.Location) { at.File = "x.go" }) },
		"main.go: example.com/m.none is gone since the profile was made": func(p *Profile) {
			p.Functions["example.com/m.none"] = p.Functions[name]
			delete(p.Functions, name)
			pair(p, func(at *heal.Location) { at.Func = "example.com/m.none" })
		},
	} {
		p := module(t, map[string]string{"main.go": source})
		profile := recorded(t, p, "main.go", "main.one", []string{"1 r test", "2 r test", "1 w act", "2 r test"})
		profile.Merge(recorded(t, p, "main.go", "main.two", []string{"1 r test2", "1 w act2", "2 r test2", "2 w act2"}))
		damage(profile)
		var b bytes.Buffer
		err := profile.Encode(&b)
		if err == nil {
			profile, err = DecodeProfile(&b)
		}
		if err != nil {
			t.Fatal(err)
		}
		current, stale, err := p.Current(profile)
		if err != nil {
			t.Fatal(err)
		}
		if len(stale) != 1 && want != "" || want == "" && len(stale) > 0 || len(stale) > 0 && !strings.HasPrefix(stale[0], want) {
			t.Errorf("got %q, want %s", stale, want)
		}
		for _, v := range current.Variables() {
			if want != "" && v.Name == "example.com/m.a" && len(v.Pairs) > 0 {
				t.Errorf("%s: there are pairs of a: %+v", want, v)
			}
		}
		if pl := plan(t, p, current); !slices.Contains(pl.names, "example.com/m.b") {
			t.Errorf("%s: b gets no lock: %v", want, pl.Refused)
		}
	}
}

// FuzzDecodeProfile: what is read is written and read again as the same.
func FuzzDecodeProfile(f *testing.F) {
	f.Add(`{"format":"heisen profile of passing runs","version":1,"functions":{"m.f":{"file":"a.go","line":3,"hash":"` + strings.Repeat("0", 64) + `"}},"pairs":{"format":"heisen profile","version":2,"variables":[{"name":"x","pairs":[{"first":{"func":"m.f","file":"a.go","line":1,"op":"read"},"second":{"func":"m.f","file":"a.go","line":2,"op":"write"},"atomic":"exclusive"}]}]}}`)
	f.Fuzz(func(t *testing.T, text string) {
		p, err := DecodeProfile(strings.NewReader(text))
		if err != nil {
			if !errors.Is(err, ErrProfile) {
				t.Fatal(err)
			}
			return
		}
		var b bytes.Buffer
		if err := p.Encode(&b); err != nil {
			t.Fatal(err)
		}
		again, err := DecodeProfile(bytes.NewReader(b.Bytes()))
		if err != nil || !reflect.DeepEqual(p, again) {
			t.Fatalf("%v: %s", err, &b)
		}
	})
}
