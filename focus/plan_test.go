package focus_test

import (
	"bytes"
	"errors"
	"io"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"

	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/focus"
)

// bankPlan has everything that a plan can have.
func bankPlan() *focus.Plan {
	field := func(typ, name string) focus.Variable {
		return focus.Variable{Package: "example.com/bank", Type: typ, Name: name}
	}
	return &focus.Plan{
		Variables: map[focus.Variable]focus.Protection{
			field("Account", "balance"): {Owner: focus.Owner{Kind: focus.Guarded, Guard: focus.Guard{SameObject: true, Path: "mu"}}, Unsafe: true},
			field("Account", "name"):    {Owner: focus.Owner{Kind: focus.ReadOnly}},
			field("Account", "mu"):      {Owner: focus.Owner{Kind: focus.Self}},
			field("Bank", "next"):       {Owner: focus.Owner{Kind: focus.Unique}},
			field("", "total"):          {Owner: focus.Owner{Kind: focus.Guarded, Guard: focus.Guard{Variable: field("", "mu"), Shared: true}}},
			field("entry", "value"):     {Owner: focus.Owner{Kind: focus.Guarded, Guard: focus.Guard{Variable: field("Bank", "mu")}}},
			field("scratch", "buffer"):  {Owner: focus.Owner{Kind: focus.Local}, Unsafe: true},
			field("", "debug"):          {Unsafe: true},
		},
		Functions: map[focus.Function]focus.Properties{
			"example.com/bank.(*Account).add": {Typed: true, Requires: []focus.Guard{{SameObject: true, Path: "mu"}, {Variable: field("", "mu"), Shared: true}},
				Files: []string{"bank.go", "my file.go"}},
			"example.com/bank.(*Account).Deposit": {Typed: true, Atomic: true, Files: []string{"bank.go"}},
			"example.com/bank.main":               {},
		},
		Files: map[string]focus.File{
			"bank.go":    {Hash: focus.HashOf([]byte("package bank\n")), Reads: focus.Lines{{7, 9}, {12, 12}}, Writes: focus.Lines{{12, 12}}},
			"my file.go": {Hash: focus.HashOf(nil)},
		},
	}
}

const bankFile = `heisen plan 1

file bank.go 9eaf0edaa44a896c825d7f245d790322f3c76d1117fbedb34087c134b955fba8
	reads 7-9 12
	writes 12
file "my file.go" e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855

variable example.com/bank.Account.balance unsafe guarded field mu
variable example.com/bank.Account.mu safe synchronization
variable example.com/bank.Account.name safe read-only
variable example.com/bank.Bank.next safe handed-over
variable example.com/bank.debug unsafe unknown
variable example.com/bank.entry.value safe guarded variable example.com/bank.Bank.mu
variable example.com/bank.scratch.buffer unsafe local
variable example.com/bank.total safe guarded variable example.com/bank.mu shared

function example.com/bank.(*Account).Deposit typed atomic
	uses bank.go
function example.com/bank.(*Account).add typed
	requires field mu
	requires variable example.com/bank.mu shared
	uses bank.go
	uses "my file.go"
function example.com/bank.main untyped
`

func encode(t *testing.T, p *focus.Plan) string {
	t.Helper()
	var b bytes.Buffer
	if err := p.Encode(&b); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestPlanFile(t *testing.T) {
	got := encode(t, bankPlan())
	if got != bankFile {
		t.Errorf("(-want +got)\n%s", cmp.Diff(bankFile, got))
	}
	plan, err := focus.DecodePlan(strings.NewReader("heisen plan 1\n# a comment\n" + got[len("heisen plan 1\n"):]))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(bankPlan(), plan); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

func TestWrongPlanFiles(t *testing.T) {
	hash := focus.HashOf(nil).String()
	for _, test := range []struct{ text, message string }{
		{"", `line 1: the first line must be "heisen plan 1"`},
		{"heisen sections 1", `line 1: the first line must be "heisen plan 1"`},
		{"heisen plan 2", `line 1: unknown version "2" of the format, want 1`},
		{"heisen plan 1\nlock mu", `line 2: "lock" is none of file, reads, writes, variable, function, requires, uses`},
		{"heisen plan 1\n\nfile a.go 00", `line 3: want the form: file PATH HASH, with 64 hexadecimal digits`},
		{"heisen plan 1\nfile a.go " + strings.ToUpper(hash), `line 2: want the form`},
		{"heisen plan 1\nfile a.go " + strings.Repeat("x", 64), `line 2: encoding/hex`},
		{"heisen plan 1\nfile a.go " + hash + "\nfile a.go " + hash, `line 3: the file "a.go" appears twice`},
		{"heisen plan 1\nfile \"a.go " + hash, `line 2: invalid quoted word`},
		{"heisen plan 1\nfile \"a.go\"x " + hash, `line 2: want a blank after "a.go"`},
		{"heisen plan 1\nfile \"\" " + hash, `a file has no name`},
		{"heisen plan 1\nreads 1", `line 2: "reads" comes before the first file`},
		{"heisen plan 1\nfile a.go " + hash + "\nwrites", `line 3: writes needs at least one range of lines`},
		{"heisen plan 1\nfile a.go " + hash + "\nreads 1\nreads 2", `line 4: "reads" appears twice for "a.go"`},
		{"heisen plan 1\nfile a.go " + hash + "\nreads x", `line 3: "x" is not a range of lines`},
		{"heisen plan 1\nfile a.go " + hash + "\nreads 1-", `line 3: "1-" is not a range of lines`},
		{"heisen plan 1\nfile a.go " + hash + "\nreads 0", `line 3: the lines 0-0 are not in order`},
		{"heisen plan 1\nfile a.go " + hash + "\nreads 7-3", `line 3: the lines 7-3 are not in order`},
		{"heisen plan 1\nfile a.go " + hash + "\nreads 1-" + strconv.Itoa(math.MaxInt) + " 3", `line 3: the lines 3-3 are not in order`},
		{"heisen plan 1\nfile a.go " + hash + "\nreads 3-7 8", `line 3: the lines 8-8 are not in order`},
		{"heisen plan 1\nvariable a.b local", `line 2: want the form: variable NAME safe|unsafe OWNER`},
		{"heisen plan 1\nvariable a safe local", `line 2: not the name of a variable`},
		{"heisen plan 1\nvariable a.b safe owned", `line 2: "owned" is none of unknown, local, read-only, handed-over, guarded, synchronization`},
		{"heisen plan 1\nvariable a.b safe local mu", `line 2: unexpected "mu"`},
		{"heisen plan 1\nvariable a.b safe unknown", `variable a.b: its owner is unknown, and it is safe`},
		{"heisen plan 1\nvariable a.b safe guarded mu", `line 2: want a lock of the form: field|variable NAME [shared]`},
		{"heisen plan 1\nvariable a.b safe guarded field mu exclusive", `line 2: want a lock of the form`},
		{"heisen plan 1\nvariable a.b safe guarded lock mu", `line 2: "lock" is neither field nor variable`},
		{"heisen plan 1\nvariable a.b safe guarded variable mu", `line 2: not the name of a variable`},
		{"heisen plan 1\nvariable a.b safe guarded field \"\"", `a lock in the same object has no path`},
		{"heisen plan 1\nvariable a.b safe local\nvariable a.b safe local", `line 3: the variable "a.b" appears twice`},
		{"heisen plan 1\nfunction a.f", `line 2: want the form: function NAME typed|untyped [atomic]`},
		{"heisen plan 1\nfunction a.f typed movable", `line 2: want the form`},
		{"heisen plan 1\nfunction a.f typed\nfunction a.f typed", `line 3: the function "a.f" appears twice`},
		{"heisen plan 1\nfunction \"\" typed", `a function has no name`},
		{"heisen plan 1\nrequires field mu", `line 2: "requires" comes before the first function`},
		{"heisen plan 1\nfunction a.f typed\nrequires mu", `line 3: want a lock of the form`},
		{"heisen plan 1\nfunction a.f typed\nuses", `line 3: want the form: uses PATH`},
		{"heisen plan 1\nfunction a.f typed\nuses a.go", `function a.f: the plan has no file "a.go"`},
	} {
		plan, err := focus.DecodePlan(strings.NewReader(test.text))
		if plan != nil || !errors.Is(err, focus.ErrPlan) || !strings.Contains(err.Error(), test.message) {
			t.Errorf("%q: %v, want %q", test.text, err, test.message)
		}
	}
}

func TestPlanChecks(t *testing.T) {
	variable := focus.Variable{Package: "a", Name: "b"}
	for _, plan := range []*focus.Plan{
		{Variables: map[focus.Variable]focus.Protection{{}: {Unsafe: true}}},
		{Variables: map[focus.Variable]focus.Protection{variable: {Owner: focus.Owner{Kind: 99}}}},
		{Variables: map[focus.Variable]focus.Protection{variable: {Owner: focus.Owner{Kind: focus.Local, Guard: focus.Guard{Path: "mu"}}}}},
		{Variables: map[focus.Variable]focus.Protection{variable: {Owner: focus.Owner{Kind: focus.Guarded, Guard: focus.Guard{SameObject: true, Path: "mu", Variable: variable}}}}},
		{Variables: map[focus.Variable]focus.Protection{variable: {Owner: focus.Owner{Kind: focus.Guarded, Guard: focus.Guard{Path: "mu", Variable: variable}}}}},
		{Files: map[string]focus.File{"a.go": {Writes: focus.Lines{{2, 1}}}}},
		{Functions: map[focus.Function]focus.Properties{"f": {Requires: make([]focus.Guard, 1)}}},
	} {
		if err := plan.Encode(io.Discard); !errors.Is(err, focus.ErrPlan) {
			t.Errorf("%+v: error %v", plan, err)
		}
	}
}

func TestPlanReadAndWriteErrors(t *testing.T) {
	broken := errors.New("broken")
	if _, err := focus.DecodePlan(iotest.ErrReader(broken)); !errors.Is(err, broken) {
		t.Errorf("reading: %v", err)
	}
	_, w := io.Pipe()
	if err := w.CloseWithError(broken); err != nil {
		t.Fatal(err)
	}
	if err := bankPlan().Encode(w); err == nil || errors.Is(err, focus.ErrPlan) {
		t.Errorf("writing: %v", err)
	}
	if _, err := focus.DecodePlan(nil); !errors.Is(err, heisen.ErrOption) {
		t.Errorf("nil reader: %v", err)
	}
}

func TestStalePlan(t *testing.T) {
	plan := bankPlan()
	unchanged := func(file string) (focus.Hash, bool) { f, ok := plan.Files[file]; return f.Hash, ok }
	if stale := plan.Stale(unchanged); stale != nil {
		t.Errorf("nothing has changed, and %q are stale", stale)
	}
	if left := plan.Without(); !reflect.DeepEqual(left, plan) {
		t.Errorf("(-want +got)\n%s", cmp.Diff(plan, left))
	}
	for _, test := range []struct {
		hash  func(string) (focus.Hash, bool)
		stale []string
		typed map[focus.Function]bool
	}{
		{func(string) (focus.Hash, bool) { return focus.Hash{}, false }, []string{"bank.go", "my file.go"}, nil},
		{func(file string) (focus.Hash, bool) {
			if file == "my file.go" {
				return focus.HashOf([]byte("x")), true
			}
			return unchanged(file)
		}, []string{"my file.go"}, map[focus.Function]bool{"example.com/bank.(*Account).Deposit": true}},
	} {
		stale := plan.Stale(test.hash)
		if !reflect.DeepEqual(stale, test.stale) {
			t.Errorf("%q are stale, want %q", stale, test.stale)
		}
		left := plan.Without(stale...)
		for f, properties := range left.Functions {
			if properties.Typed != test.typed[f] || properties.Atomic || len(properties.Requires) != len(plan.Functions[f].Requires) {
				t.Errorf("%q are stale: %s has %+v", stale, f, properties)
			}
		}
		for path, file := range left.Files {
			if file.Reads != nil || file.Writes != nil || file.Hash != plan.Files[path].Hash {
				t.Errorf("%q are stale: %s has %+v", stale, path, file)
			}
		}
		for v := range left.Variables {
			if left.Safe(v) || left.Variables[v].Owner != plan.Variables[v].Owner {
				t.Errorf("%q are stale: %v has %+v", stale, v, left.Variables[v])
			}
		}
		if err := left.Check(); err != nil {
			t.Errorf("%q are stale: %v", stale, err)
		}
	}
	if !reflect.DeepEqual(plan, bankPlan()) {
		t.Error("Without has changed the plan")
	}
}

func TestLines(t *testing.T) {
	given := []int{9, 3, 4, 9, 5, 0, 7, -1}
	lines := focus.LinesOf(given)
	if want := (focus.Lines{{3, 5}, {7, 7}, {9, 9}}); !reflect.DeepEqual(lines, want) {
		t.Fatalf("%v, want %v", lines, want)
	}
	for line := -2; line < 12; line++ {
		if want := line > 0 && slices.Contains(given, line); lines.Contains(line) != want {
			t.Errorf("%v contains %d: %v", lines, line, !want)
		}
	}
	if focus.LinesOf(nil).Contains(1) {
		t.Error("no lines contain 1")
	}
	if got := lines.String(); got != "3-5 7 9" {
		t.Errorf("String: %q", got)
	}
}

func TestSafeVariables(t *testing.T) {
	plan := bankPlan()
	for v, protection := range plan.Variables {
		if plan.Safe(v) == protection.Unsafe {
			t.Errorf("%v: safe is %v", v, plan.Safe(v))
		}
	}
	if plan.Safe(focus.Variable{Package: "example.com/bank", Name: "unknown"}) {
		t.Error("a variable that the plan does not have is safe")
	}
}

// FuzzDecodePlan: what is accepted is written in a form that is read as the same plan.
func FuzzDecodePlan(f *testing.F) {
	f.Add([]byte(bankFile))
	f.Add([]byte("heisen plan 1\nfunction \"a b\" typed\nrequires field \"\\n\" shared\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		plan, err := focus.DecodePlan(bytes.NewReader(data))
		if err != nil {
			if !errors.Is(err, focus.ErrPlan) {
				t.Fatal(err)
			}
			return
		}
		text := encode(t, plan)
		again, err := focus.DecodePlan(strings.NewReader(text))
		if err != nil || !reflect.DeepEqual(plan, again) {
			t.Fatalf("%v\n%s", err, text)
		}
	})
}
