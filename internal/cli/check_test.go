package cli

import (
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// TestShellWords: a shell takes the words as they were.
func TestShellWords(t *testing.T) {
	sh, err := exec.LookPath("sh")
	if err != nil {
		t.Skip("there is no shell")
	}
	want := []string{"./...", "-run=^(A|B)$", "it's", "a b", `"`, "$HOME", "*", `\`, "ü", "a;b", "`date`", "-tags=a,b"}
	out, err := exec.Command(sh, "-c", `printf '%s\n' `+shellWords(want)).Output()
	if err != nil {
		t.Fatal(err)
	}
	if got := strings.Split(strings.TrimSuffix(string(out), "\n"), "\n"); !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	if got := shellWords([]string{"-short", "./..."}); got != "-short ./..." {
		t.Errorf("plain words are %s", got)
	}
}
