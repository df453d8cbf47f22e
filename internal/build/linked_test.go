package build

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestLinked: flags for the linker are added to each -ldflags that the go command knows, and nothing else changes.
func TestLinked(t *testing.T) {
	for _, c := range []struct {
		goflags    string
		args, want []string
	}{
		{"", nil, []string{"-ldflags=-x -race"}},
		{"-v", []string{"."}, []string{"-ldflags=-x -race", "."}},
		{"", []string{"-ldflags=-s -w", "."}, []string{"-ldflags=-x -race", "-ldflags=-s -w -x -race", "."}},
		{"", []string{"--ldflags=-s", "-v", "-ldflags", "-w", "."}, []string{"-ldflags=-x -race", "-ldflags=-s -x -race", "-v", "-ldflags=-w -x -race", "."}},
		{"", []string{"-ldflags=all=-s"}, []string{"-ldflags=-x -race", "-ldflags=all=-s -x -race"}},
		{"", []string{"-ldflags="}, []string{"-ldflags=-x -race", "-ldflags=-x -race"}},
		{"", []string{"-ldflags"}, []string{"-ldflags=-x -race"}},
		{"", []string{".", "-args", "-ldflags=-s"}, []string{"-ldflags=-x -race", ".", "-args", "-ldflags=-s"}},
		{`-v "-ldflags=-X a=b" --ldflags=-s`, []string{"-ldflags=-w"}, []string{"-ldflags=-x -race", "-ldflags=-X a=b -x -race", "-ldflags=-s -x -race", "-ldflags=-w -x -race"}},
	} {
		b := &Builder{Toolchain: &Toolchain{Flags: c.goflags}}
		b.AddLinkerFlags("-x")
		if diff := cmp.Diff(c.want, b.linked(c.args)); diff != "" {
			t.Errorf("%q, %q (-want +got)\n%s", c.goflags, c.args, diff)
		}
	}
}
