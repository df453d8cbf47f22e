package focus_test

import (
	"errors"
	"testing"

	"github.com/heisen-go/heisen/focus"
)

var variableNames = []struct {
	text     string
	variable focus.Variable
}{
	{"example.com/bank.Account.balance", focus.Variable{Package: "example.com/bank", Type: "Account", Name: "balance"}},
	{"example.com/bank.total", focus.Variable{Package: "example.com/bank", Name: "total"}},
	{"main.total", focus.Variable{Package: "main", Name: "total"}},
	{"gopkg.in/yaml%2ev3.Node.Kind", focus.Variable{Package: "gopkg.in/yaml.v3", Type: "Node", Name: "Kind"}},
	{"main.server.stats.hits", focus.Variable{Package: "main", Type: "server", Name: "stats.hits"}},
	{"example.com/%c3%a4.größe", focus.Variable{Package: "example.com/ä", Name: "größe"}},
}

func TestVariableNames(t *testing.T) {
	for _, test := range variableNames {
		if got := test.variable.String(); got != test.text {
			t.Errorf("%+v is written %q, want %q", test.variable, got, test.text)
		}
		if got, err := focus.ParseVariable(test.text); err != nil || got != test.variable {
			t.Errorf("%q is read as %+v, %v", test.text, got, err)
		}
	}
}

func TestWrongVariableNames(t *testing.T) {
	for _, text := range []string{
		"", "main", "main.", ".x", "/", "/main.x", "main..x", "main.x.", "main.a b", "main.0", "a b.x",
		"main%2.x", "main%2E.x", "main%61.x", "gopkg.in/yaml.v3.Node.a-b", "example.com/.x", "main.func",
	} {
		if v, err := focus.ParseVariable(text); !errors.Is(err, focus.ErrName) {
			t.Errorf("%q is read as %+v, %v", text, v, err)
		}
	}
}

// FuzzParseVariable: whatever is accepted is written as it was read.
func FuzzParseVariable(f *testing.F) {
	for _, test := range variableNames {
		f.Add(test.text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		v, err := focus.ParseVariable(text)
		if err != nil {
			return
		}
		if v.String() != text {
			t.Fatalf("%q is read as %+v, which is written %q", text, v, v)
		}
		if again, err := focus.ParseVariable(v.String()); err != nil || again != v {
			t.Fatalf("%+v is read again as %+v, %v", v, again, err)
		}
	})
}

func TestOwnersInWords(t *testing.T) {
	bank := focus.Variable{Package: "example.com/bank", Type: "Bank", Name: "mu"}
	global := focus.Variable{Package: "example.com/bank", Name: "mu"}
	for _, test := range []struct {
		owner focus.Owner
		want  string
	}{
		{focus.Owner{}, "unknown"},
		{focus.Owner{Kind: focus.Local}, "local"},
		{focus.Owner{Kind: focus.ReadOnly}, "read-only"},
		{focus.Owner{Kind: focus.Unique}, "handed over"},
		{focus.Owner{Kind: focus.Self}, "synchronization"},
		{focus.Owner{Kind: 99}, "kind?"},
		{focus.Owner{Kind: focus.Guarded, Guard: focus.Guard{SameObject: true, Path: "state.mu"}}, "guarded by state.mu"},
		{focus.Owner{Kind: focus.Guarded, Guard: focus.Guard{SameObject: true, Path: "mu", Shared: true}}, "guarded by mu, which readers share"},
		{focus.Owner{Kind: focus.Guarded, Guard: focus.Guard{Variable: global}}, "guarded by example.com/bank.mu"},
		{focus.Owner{Kind: focus.Guarded, Guard: focus.Guard{Variable: bank}}, "guarded by example.com/bank.Bank.mu of another object"},
	} {
		if got := test.owner.String(); got != test.want {
			t.Errorf("got %q, want %q", got, test.want)
		}
	}
}

func TestFunctionOf(t *testing.T) {
	for _, test := range []struct{ name, main, want string }{
		{"main.f", "example.com/m", "example.com/m.f"},
		{"main.(*T).f", "example.com/m", "example.com/m.(*T).f"},
		{"main.f", "example.com/m.v2", "example.com/m%2ev2.f"},
		{"example.com/m/lib.f.func1", "example.com/m", "example.com/m/lib.f.func1"},
		{"mainly.f", "example.com/m", "mainly.f"},
	} {
		if got := focus.FunctionOf(test.name, test.main); string(got) != test.want {
			t.Errorf("FunctionOf(%q, %q) = %q, want %q", test.name, test.main, got, test.want)
		}
	}
}
