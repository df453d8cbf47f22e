package cli_test

import (
	"strings"
	"testing"

	"github.com/heisen-go/heisen/internal/cli"
	"github.com/heisen-go/heisen/internal/recorder"
)

// TestModes: what programs record depends on the detectors that need the most. Every list of detectors has a mode.
func TestModes(t *testing.T) {
	inside := map[string]bool{"fasttrack": true, "atomrace": true, "leak": true, "unstoppable": true}
	whole := map[string]bool{"eraser": true, "serial": true, "blocks": true, "reduction": true, "mcm": true, "syncp": true}
	names := cli.DetectorNames()
	for bits := range 1 << len(names) {
		var list []string
		var all, unrepeated, order, races bool
		for i, name := range names {
			if bits>>i&1 == 0 {
				continue
			}
			list = append(list, name)
			switch {
			case whole[name]:
				all = true
			case name == "fasttrack":
				races = true
			case name == "lockorder":
				order = true
			case !inside[name]:
				unrepeated = true
			}
		}
		needs := recorder.FindingsOnly
		switch {
		case all:
			needs = recorder.Everything
		case unrepeated:
			needs = recorder.Unrepeated
		case order && races:
			needs = recorder.RacesAndLockOrder
		case order:
			needs = recorder.LockOrder
		case races:
			needs = recorder.Races
		}
		if len(list) == 0 {
			continue
		}
		chosen, err := cli.Choose(strings.Join(list, ","))
		if err != nil {
			t.Fatal(err)
		}
		if got := chosen.Mode(); got != needs {
			t.Errorf("%v: mode %d, want %d", list, got, needs)
		}
	}
}

// TestUsual: a word stands for what most users want.
func TestUsual(t *testing.T) {
	for list, want := range map[string]recorder.Mode{"usual": recorder.RacesAndLockOrder, "atomrace,usual": recorder.RacesAndLockOrder, "usual,hb": recorder.Unrepeated} {
		chosen, err := cli.Choose(list)
		if err != nil {
			t.Fatal(err)
		}
		if got := chosen.Mode(); got != want {
			t.Errorf("%s: mode %d, want %d", list, got, want)
		}
	}
}
