package racetag

import (
	"encoding/json"
	"os/exec"
	"slices"
	"testing"
)

func TestAdd(t *testing.T) {
	for _, c := range []struct{ tags, want []string }{
		{nil, []string{"race"}},
		{[]string{"a", "b"}, []string{"race", "a", "b"}},
		{[]string{"!race"}, nil},
		{[]string{"a", "!race", "b"}, []string{"a", "b"}},
	} {
		if got := Add(c.tags); !slices.Equal(got, c.want) || (got == nil) != (c.want == nil) {
			t.Errorf("Add(%q) = %q, want %q", c.tags, got, c.want)
		}
	}
}

// TestCompiles compares the ports with those for which the go command builds with -race.
func TestCompiles(t *testing.T) {
	out, err := exec.Command("go", "tool", "dist", "list", "-json").Output()
	if err != nil {
		t.Fatal(err)
	}
	var ports []struct{ GOOS, GOARCH string }
	if err := json.Unmarshal(out, &ports); err != nil || len(ports) < 20 {
		t.Fatal(err, len(ports))
	}
	known := 0
	for _, p := range ports {
		cmd := exec.Command("go", "list", "-race", "-f", "{{.Name}}", "runtime")
		cmd.Env = append(cmd.Environ(), "GOOS="+p.GOOS, "GOARCH="+p.GOARCH, "CGO_ENABLED=1", "GOFLAGS=")
		text, err := cmd.CombinedOutput()
		if got := Compiles(p.GOOS, p.GOARCH); got != (err == nil) {
			t.Errorf("%s/%s: %v, but go list -race: %v\n%s", p.GOOS, p.GOARCH, got, err, text)
		}
		if err == nil {
			known++
		}
	}
	if known < 5 {
		t.Errorf("%d ports have the race detector", known)
	}
}
