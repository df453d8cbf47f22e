package recorder

import (
	"slices"
	"testing"
)

func TestEnviron(t *testing.T) {
	env := []string{"A=1", "HEISEN_SOCKET=x", "HEISEN_SOCKETS=y", "HEISEN_SYMBOLIZE=", "HEISEN_SYMBOLIZE", "B=HEISEN_SOCKET=z", ""}
	before := slices.Clone(env)
	want := []string{"A=1", "HEISEN_SOCKETS=y", "B=HEISEN_SOCKET=z", ""}
	if got := Environ(env); !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	if !slices.Equal(env, before) {
		t.Errorf("Environ has changed its argument: %q", env)
	}
}
