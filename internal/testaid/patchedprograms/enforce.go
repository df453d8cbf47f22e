package main

import (
	"context"
	"fmt"
	"io"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/internal/cli"
	"github.com/heisen-go/heisen/internal/testaid/racyprograms"
)

// profiled is the number of runs for the profile. In each one, goroutines take turns by another seed.
const profiled = 4

// enforce keeps the programs as they are, and explores them with the locks that keep what runs showed that passed. What heisen
// names is not protected, so a program may lose updates if one of its variables is named, but it may never deadlock.
func (s settings) enforce(ctx context.Context, folder string) (*result, error) {
	r := &result{programs: s.programs, reasons: map[string][]string{}}
	if err := write(folder, map[string]string{"go.mod": goMod}); err != nil {
		return nil, err
	}
	for i := range s.programs {
		p := racyprograms.Generate(s.seed + uint64(i))
		if err := write(filepath.Join(folder, p.Name), map[string]string{"c.go": p.Source, "c_test.go": p.Tests}); err != nil {
			return nil, err
		}
	}
	profile, into := filepath.Join(folder, "passing.profile"), filepath.Join(folder, "healed")
	for seed := range profiled {
		if status, said := command(ctx, "heal", "-C", folder, "-profile", profile, "-seed", fmt.Sprint(seed+1), "./..."); status != cli.Clean && status != 1 {
			return nil, fmt.Errorf("heisen heal -profile: exit status %d\n%s", status, said)
		}
	}
	status, said := command(ctx, "heal", "-C", folder, "-enforce", profile, "-into", into, "./...")
	if status != cli.Clean && status != cli.Findings {
		return nil, fmt.Errorf("heisen heal -enforce: exit status %d\n%s", status, said)
	}
	named := r.name(said)
	r.patched, r.refused = s.programs-len(named), len(named)
	found, err := s.fuzz(ctx, folder, "-overlay", filepath.Join(into, "overlay.json"))
	if err != nil {
		return nil, err
	}
	for _, f := range found {
		lost := strings.Contains(f.String(), "test failed")
		if f.Kind != heisen.Race && (!lost || !named[f.Package]) {
			r.wrong = append(r.wrong, fmt.Sprintf("%s: %s", f.Package, f.String()))
		}
	}
	return r, nil
}

var (
	left    = regexp.MustCompile(`(example\.com/racy/p[0-9]+)\.[^ :]*:? (gets no lock: |some pairs in |its pairs in |a pair in )(.*)`)
	program = regexp.MustCompile(`example\.com/racy/p[0-9]+[^ ]*`)
)

// name returns the packages with something that is not protected, and notes the reasons. Pairs of a test itself do not matter: its
// goroutines are in the methods.
func (r *result) name(said string) map[string]bool {
	named := map[string]bool{}
	for _, m := range left.FindAllStringSubmatch(said, -1) {
		if strings.HasPrefix(m[3], m[1]+".Test") {
			continue
		}
		named[m[1]] = true
		reason := kind(program.ReplaceAllString(m[2]+m[3], "..."))
		r.reasons[reason] = append(r.reasons[reason], filepath.Base(m[1]))
	}
	return named
}

// command runs heisen, and returns the exit status and what it says on standard error.
func command(ctx context.Context, args ...string) (int, string) {
	var said strings.Builder
	status := cli.Main(ctx, cli.Tool{}, args, cli.Streams{In: strings.NewReader(""), Out: io.Discard, Err: &said})
	return status, said.String()
}
