package main

import (
	"errors"
	"io/fs"
	"slices"
	"testing"

	"github.com/heisen-go/heisen/internal/build"
	"github.com/heisen-go/heisen/internal/testaid/leakprograms"
)

// TestPrograms tries some programs of each kind, and one without a leak.
func TestPrograms(t *testing.T) {
	if testing.Short() {
		t.Skip("it builds and runs programs")
	}
	toolchain, err := build.FindToolchain(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	programs, err := leakprograms.Read(toolchain.Root, t.TempDir(), false)
	if errors.Is(err, fs.ErrNotExist) {
		t.Skipf("this Go has no such programs: %v", err) // before Go 1.26
	}
	if err != nil {
		t.Fatal(err)
	}
	leaks, flaky := 0, 0
	for _, p := range programs {
		for _, l := range p.Leaks {
			leaks++
			if l.Flaky {
				flaky++
			}
		}
	}
	if len(programs) < 60 || leaks < 90 || flaky < 50 {
		t.Errorf("%d programs with %d leaks, of which %d are flaky", len(programs), leaks, flaky)
	}
	status, err := command(t.Context(), []string{"-time", "0", "-run", "^(ChanRecv|Mixed|NoLeakGlobal|DoubleSend|Cockroach7504|Cockroach13197|Etcd5509|Syncthing4829)$"})
	if status != 0 || err != nil {
		t.Errorf("status %d, error %v", status, err)
	}
	status, err = command(t.Context(), []string{"-runs", "-run", "^(ChanRecv|Mixed|NoLeakGlobal|DoubleSend)$"})
	if status != 0 || err != nil {
		t.Errorf("ordinary runs: status %d, error %v", status, err)
	}
}

// TestLeaksInProfile reads the leaked goroutines of a profile, and no others.
func TestLeaksInProfile(t *testing.T) {
	const profile = `goroutine 1 [running]:
main.main()
	/x/main.go:38 +0x22c

goroutine 19 [chan receive (leaked)]:
sync.inner(0x1, {0x2, 0x3})
	/go/sync.go:1 +0x2d
main.ChanRecv.func1(0xc000123)
	/x/simple.go:70 +0x2d
created by main.ChanRecv in goroutine 1
	/x/simple.go:69 +0x3e

goroutine 20 [select]:
main.other()
	/x/simple.go:70 +0x2d
created by main.ChanRecv in goroutine 1
	/x/simple.go:69 +0x3e
`
	if got := leaksInProfile(profile); !slices.Equal(got, []string{"ChanRecv.func1() [chan receive]"}) {
		t.Errorf("%q", got)
	}
}
