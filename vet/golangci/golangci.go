// Package golangci makes the analyzers of package vet a module plugin of golangci-lint. Importing it registers
// the plugin "heisen"; it has no other use. The file .custom-gcl.yml names it:
//
//	version: v2.15.0
//	plugins:
//	  - module: github.com/heisen-go/heisen
//	    import: github.com/heisen-go/heisen/vet/golangci
//	    version: main
//
// docs/ci.md shows how to build and configure golangci-lint with it.
package golangci

import (
	"fmt"

	"github.com/golangci/plugin-module-register/register"
	"golang.org/x/tools/go/analysis"

	"github.com/heisen-go/heisen/vet"
)

func init() { register.Plugin("heisen", newPlugin) }

// settings are what a configuration of golangci-lint can set.
type settings struct {
	Atomics bool `json:"atomics"` // the flag atomics of all analyzers
}

type plugin struct{ settings settings }

func newPlugin(conf any) (register.LinterPlugin, error) {
	s, err := register.DecodeSettings[settings](conf)
	if err != nil {
		return nil, fmt.Errorf("settings of heisen: %w", err)
	}
	return plugin{s}, nil
}

// BuildAnalyzers returns the analyzers with the settings applied.
func (p plugin) BuildAnalyzers() ([]*analysis.Analyzer, error) {
	analyzers := vet.Analyzers()
	if p.settings.Atomics {
		for _, a := range analyzers {
			if err := a.Flags.Set("atomics", "true"); err != nil {
				return nil, fmt.Errorf("analyzer %s: %w", a.Name, err)
			}
		}
	}
	return analyzers, nil
}

// GetLoadMode returns that the analyzers need types.
func (plugin) GetLoadMode() string { return register.LoadModeTypesInfo }
