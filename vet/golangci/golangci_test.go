package golangci_test

import (
	"strings"
	"testing"

	"github.com/golangci/plugin-module-register/register"
	"golang.org/x/tools/go/analysis"

	_ "github.com/heisen-go/heisen/vet/golangci"
)

// load gets the plugin's analyzers as golangci-lint does.
func load(t *testing.T, conf any) ([]*analysis.Analyzer, error) {
	t.Helper()
	construct, err := register.GetPlugin("heisen")
	if err != nil {
		t.Fatal(err)
	}
	p, err := construct(conf)
	if err != nil {
		return nil, err
	}
	if mode := p.GetLoadMode(); mode != register.LoadModeTypesInfo {
		t.Errorf("load mode %q, but the analyzers need types", mode)
	}
	return p.BuildAnalyzers()
}

func TestPlugin(t *testing.T) {
	for _, test := range []struct {
		conf    any
		atomics string
	}{
		{nil, "false"},
		{map[string]any{}, "false"},
		{map[string]any{"atomics": true}, "true"},
		{map[string]any{"atomics": false}, "false"},
	} {
		analyzers, err := load(t, test.conf)
		if err != nil {
			t.Fatal(err)
		}
		if err := analysis.Validate(analyzers); err != nil {
			t.Fatal(err)
		}
		var names []string
		for _, a := range analyzers {
			names = append(names, a.Name)
			if got := a.Flags.Lookup("atomics").Value.String(); got != test.atomics {
				t.Errorf("settings %v: %s has atomics %s, want %s", test.conf, a.Name, got, test.atomics)
			}
		}
		if got := strings.Join(names, " "); got != "lostupdate stalecheck" {
			t.Errorf("the plugin has %s", got)
		}
	}
}

func TestWrongSettings(t *testing.T) {
	for _, conf := range []any{map[string]any{"atomic": true}, map[string]any{"atomics": "yes"}, "atomics"} {
		if _, err := load(t, conf); err == nil || !strings.Contains(err.Error(), "settings of heisen") {
			t.Errorf("settings %v: %v, want an error about them", conf, err)
		}
	}
}
