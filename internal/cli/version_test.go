package cli

import (
	"runtime/debug"
	"testing"
)

// TestVersionOf: a version of go install is told as it is, a build in a clone with its commit.
func TestVersionOf(t *testing.T) {
	vcs := func(modified string) []debug.BuildSetting {
		return []debug.BuildSetting{{Key: "-buildmode", Value: "exe"}, {Key: "vcs", Value: "git"}, {Key: "vcs.revision", Value: "f24866cefc"},
			{Key: "vcs.time", Value: "2026-11-30T04:40:00Z"}, {Key: "vcs.modified", Value: modified}}
	}
	for _, test := range []struct {
		info *debug.BuildInfo
		want string
	}{
		{nil, "of an unknown version"},
		{&debug.BuildInfo{}, "of an unknown version"},
		{&debug.BuildInfo{Main: debug.Module{Version: "v0.1.0"}}, "v0.1.0"},
		{&debug.BuildInfo{Main: debug.Module{Version: "(devel)"}}, "(devel)"},
		{&debug.BuildInfo{Main: debug.Module{Version: "v0.1.0"}, Settings: vcs("false")}, "v0.1.0, commit f24866cefc of 2026-11-30"},
		{&debug.BuildInfo{Main: debug.Module{Version: "v0.0.0-20261130044000-f24866cefc+dirty"}, Settings: vcs("true")},
			"v0.0.0-20261130044000-f24866cefc+dirty, commit f24866cefc of 2026-11-30 with changes"},
	} {
		if got := versionOf(test.info); got != test.want {
			t.Errorf("%+v: %q, want %q", test.info, got, test.want)
		}
	}
}
