package main

import (
	"slices"
	"strings"
	"testing"

	"github.com/heisen-go/heisen/internal/testaid/heisencmd"
	"github.com/heisen-go/heisen/internal/testaid/tier"
)

func TestMain(m *testing.M) { heisencmd.Main(m) }

// TestRepaired: under noise, all bugs of table 1 show, none under an overlay made from passing runs, and none with a
// patch but two: that of closer is no data race, and a patch does not repair that of apache-44402 and says so.
func TestRepaired(t *testing.T) {
	tier.Need(t, tier.CI)
	runs := tier.Pick(0, 0, 200, 1000)
	t.Setenv("GOWORK", "off")
	all, notes, err := repair(t.Context(), t.TempDir(), runs, 4, 0)
	if err != nil {
		t.Fatal(err)
	}
	if len(all) != 13 {
		t.Errorf("%d bugs", len(all))
	}
	for _, r := range all {
		if r.wrong[buggy] == 0 {
			t.Errorf("%s does not show", r.name)
		}
		if r.wrong[overlaid] > 0 {
			t.Errorf("%s: %d of %d runs under the overlay went wrong; %q", r.name, r.wrong[overlaid], runs, notes)
		}
		refused := r.name == "apache-44402" && slices.ContainsFunc(notes, func(n string) bool {
			return strings.Contains(n, "is not repaired: setIdle is called to check and change next in several steps")
		})
		if r.wrong[patched] > 0 && r.name != "closer" && !refused {
			t.Errorf("%s: %d of %d runs with the patch went wrong; %q", r.name, r.wrong[patched], runs, notes)
		}
	}
}
