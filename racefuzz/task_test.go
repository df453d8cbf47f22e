package racefuzz_test

import (
	"fmt"
	"testing"

	core "github.com/heisen-go/heisen/internal/core/strategies"
	"github.com/heisen-go/heisen/racefuzz"
)

// TestCore compares the constants of the public types with those of the core.
func TestCore(t *testing.T) {
	for public, core := range map[racefuzz.Kind]core.Kind{
		racefuzz.Resume: core.Resume, racefuzz.Access: core.Access, racefuzz.Lock: core.Lock,
		racefuzz.Sync: core.Sync, racefuzz.Yield: core.Yield,
	} {
		if uint8(public) != uint8(core) {
			t.Errorf("kind %d, and %d in the core", public, core)
		}
	}
	for public, core := range map[racefuzz.Roles]core.Roles{
		racefuzz.First: core.First, racefuzz.Second: core.Second, racefuzz.Entry: core.Entry,
		racefuzz.Remote: core.Remote, racefuzz.End: core.End, racefuzz.Inner: core.Inner,
	} {
		if uint8(public) != uint8(core) {
			t.Errorf("role %d, and %d in the core", public, core)
		}
	}
	for public, core := range map[racefuzz.MeetingKind]core.MeetingKind{
		racefuzz.Race: core.Race, racefuzz.Violation: core.Violation,
	} {
		if uint8(public) != uint8(core) {
			t.Errorf("kind of meeting %d, and %d in the core", public, core)
		}
	}
	if racefuzz.NoTask != core.NoTask {
		t.Error("NoTask differs")
	}
}

func TestConstantNames(t *testing.T) {
	for v, want := range map[fmt.Stringer]string{
		racefuzz.Resume: "resume", racefuzz.Yield: "yield", racefuzz.Kind(9): "kind 9",
		racefuzz.Race: "race", racefuzz.Violation: "violation", racefuzz.MeetingKind(7): "meeting 7",
		racefuzz.Roles(0): "none", racefuzz.First | racefuzz.Inner: "first,inner", racefuzz.Entry | 128: "entry,0x80",
	} {
		if got := v.String(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
