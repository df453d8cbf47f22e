package main

import (
	"bytes"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

var printed = regexp.MustCompile(`^(\d+) requests: (\d+) answered, (\d+) not found, (\d+) refused\n(\d+) served, worst (\d+), last error "(.*)"\n$`)

// numbers returns the numbers that a run printed. It checks that each request had one answer, which
// holds in the server with races, too.
func numbers(t *testing.T, out []byte, requests int) (served, missing, worst int, lastError string) {
	t.Helper()
	found := printed.FindSubmatch(out)
	if found == nil {
		t.Fatalf("printed %q", out)
	}
	var n [7]int
	for i := range n[:6] {
		var err error
		if n[i], err = strconv.Atoi(string(found[i+1])); err != nil {
			t.Fatal(err)
		}
	}
	if n[0] != requests || n[1]+n[2]+n[3] != requests {
		t.Errorf("of %d requests:\n%s", requests, out)
	}
	return n[4], n[2], n[5], string(found[7])
}

func TestFixed(t *testing.T) {
	for _, requests := range []int{0, 1, batch * workers, 4000} {
		var out bytes.Buffer
		run(&out, requests, true)
		served, missing, worst, lastError := numbers(t, out.Bytes(), requests)
		if served != requests || missing > requests/strayEvery {
			t.Errorf("of %d requests:\n%s", requests, &out)
		}
		if requests == 4000 && (worst <= 20 || worst >= 120 || !strings.HasSuffix(lastError, ": no such link")) {
			t.Errorf("of %d requests:\n%s", requests, &out)
		}
	}
}

// TestRacy runs the server without its lock, in a process of its own because a race detector in
// this one would report it.
func TestRacy(t *testing.T) {
	binary := filepath.Join(t.TempDir(), "server")
	if out, err := exec.Command("go", "build", "-o", binary, ".").CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	for range 5 {
		out, err := exec.Command(binary, "-requests", "2000").Output()
		if err != nil {
			t.Fatal(err)
		}
		if served, _, _, _ := numbers(t, out, 2000); served > 2000 {
			t.Errorf("counted more than there were:\n%s", out)
		}
	}
	for _, args := range [][]string{{"-requests", "-1"}, {"-requests", "x"}, {"more"}} {
		if out, err := exec.Command(binary, args...).Output(); err == nil || len(out) > 0 {
			t.Errorf("%v: error %v, printed %q", args, err, out)
		}
	}
}
