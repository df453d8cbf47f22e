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
	whole := map[string]bool{"eraser": true, "serial": true, "blocks": true, "reduction": true, "mcm": true}
	names := cli.DetectorNames()
	for bits := range 1 << len(names) {
		var list []string
		needs := recorder.FindingsOnly
		for i, name := range names {
			if bits>>i&1 == 0 {
				continue
			}
			list = append(list, name)
			switch {
			case whole[name]:
				needs = recorder.Everything
			case needs == recorder.Everything:
			case !inside[name]:
				needs = recorder.Unrepeated
			case name == "fasttrack" && needs == recorder.FindingsOnly:
				needs = recorder.Races
			}
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
