package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/heisen-go/heisen/bench/download"
	"github.com/heisen-go/heisen/bench/results"
	"github.com/heisen-go/heisen/heal"
	"github.com/heisen-go/heisen/internal/enforce"
)

// publicModules are small modules of bench/modules, without those that start no goroutines. Tests that take longer than profileTime
// under the profiler leave a module out, which the table says.
var publicModules = []string{
	"github.com/alitto/pond/v2@v2.5.0",
	"github.com/gorilla/websocket@v1.5.3",
	"github.com/hashicorp/golang-lru/v2@v2.0.7",
	"github.com/Jeffail/tunny@v0.1.4",
	"github.com/jackc/puddle/v2@v2.2.2",
	"github.com/panjf2000/ants/v2@v2.11.3",
	"github.com/patrickmn/go-cache@v2.1.0+incompatible",
	"github.com/rs/zerolog@v1.34.0",
	"github.com/sirupsen/logrus@v1.9.3",
	"github.com/sourcegraph/conc@v0.3.0",
}

// profileTime bounds the tests of a module under the profiler.
const profileTime = 5 * time.Minute

// share is what becomes of the atomic pairs of a module that no lock of it keeps so.
type share struct {
	pairs, unwritten, tests, apart, protected, interrupted int
	reasons                                                map[string]int
}

// coverage prints how many atomic pairs of public modules get a lock, and why others get none.
func coverage(ctx context.Context, w io.Writer, dir string, selected []string) error {
	command := filepath.Join(dir, "heisen")
	if out, err := exec.CommandContext(ctx, "go", "build", "-o", command, "./cmd/heisen").CombinedOutput(); err != nil {
		return fmt.Errorf("building heisen: %w\n%s", err, out)
	}
	table := results.NewTable("module", "pairs", "of what nothing writes", "in tests", "in two calls", "others", "with a lock", "share", "of these, with a wait")
	reasons := map[string]int{}
	left := 0
	var skipped []string
	for i, path := range publicModules {
		name, _, _ := strings.Cut(path, "@")
		if len(selected) > 0 && !slices.ContainsFunc(selected, func(s string) bool { return strings.Contains(path, s) }) {
			continue
		}
		module := filepath.Join(dir, fmt.Sprint("module", i))
		if err := download.Module(ctx, path, module); err != nil {
			return err
		}
		fmt.Fprintf(os.Stderr, "%s: profiling its tests\n", name)
		s, err := shareOf(ctx, command, module)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil {
			why, _, _ := strings.Cut(err.Error(), "\n")
			skipped = append(skipped, fmt.Sprintf("%s is left out: %s", name, why))
			continue
		}
		others := s.pairs - s.unwritten - s.tests - s.apart
		text := "–"
		if others > 0 {
			text = fmt.Sprintf("%d %%", 100*s.protected/others)
		}
		table.Add(name, s.pairs, s.unwritten, s.tests, s.apart, others, s.protected, text, s.interrupted)
		for reason, n := range s.reasons {
			reasons[reason] += n
			left += n
		}
	}
	if err := table.Print(w); err != nil {
		return err
	}
	for _, line := range skipped {
		fmt.Fprintln(w, line)
	}
	fmt.Fprintln(w)
	why := results.NewTable("why a pair gets no lock", "pairs", "share")
	for _, reason := range slices.SortedFunc(maps.Keys(reasons), func(a, b string) int { return cmp.Or(reasons[b]-reasons[a], strings.Compare(a, b)) }) {
		why.Add(reason, reasons[reason], fmt.Sprintf("%d %%", 100*reasons[reason]/left))
	}
	return why.Print(w)
}

// shareOf profiles the tests of a module that pass, and plans locks for it.
func shareOf(ctx context.Context, command, module string) (*share, error) {
	file := filepath.Join(module, "passing.profile")
	limited, cancel := context.WithTimeout(ctx, profileTime)
	defer cancel()
	out, err := exec.CommandContext(limited, command, "heal", "-C", module, "-profile", file, "-pkgs", "work", "./...").CombinedOutput()
	var exit *exec.ExitError
	if err != nil && !(errors.As(err, &exit) && exit.ExitCode() == 1) {
		return nil, fmt.Errorf("profiling: %w\n%s", err, out)
	}
	f, err := os.Open(file)
	if err != nil {
		return nil, fmt.Errorf("no test passes: %w\n%s", err, out)
	}
	defer f.Close()
	profile, err := enforce.DecodeProfile(f)
	if err != nil {
		return nil, err
	}
	program, err := enforce.Load(ctx, module, nil)
	if err != nil {
		return nil, err
	}
	current, _, err := program.Current(profile)
	if err != nil {
		return nil, err
	}
	plan, err := program.Plan(ctx, current)
	if err != nil {
		return nil, err
	}
	return sharesOf(current, plan), nil
}

// sharesOf divides the pairs of a profile. A pair without a lock counts for the reason of its function, or else for that of its
// variable.
func sharesOf(profile *heal.Profile, plan *enforce.Plan) *share {
	s := &share{reasons: map[string]int{}, interrupted: len(plan.Interruptions)}
	members := map[string]string{} // names of groups, by variable
	for _, v := range plan.Variables {
		for _, m := range v.Members {
			members[m] = v.Name
		}
	}
	refused := map[string][]enforce.Refusal{}
	for _, r := range plan.Refused {
		refused[r.Variable] = append(refused[r.Variable], r)
	}
	inTest := func(l heal.Location) bool { return strings.HasSuffix(l.File, "_test.go") }
	for _, v := range profile.Atomic() {
		for _, pair := range v.Pairs {
			s.pairs++
			switch fate := plan.Fate(v.Name, pair); {
			case fate == enforce.Unwritten:
				s.unwritten++
			case inTest(pair.First) || inTest(pair.Second):
				s.tests++
			case fate == enforce.Apart:
				s.apart++
			case fate == enforce.Kept:
				s.protected++
			default:
				s.reasons[reasonFor(pair, refused[cmp.Or(members[v.Name], v.Name)])]++
			}
		}
	}
	return s
}

// reasonFor returns why a pair gets no lock.
func reasonFor(pair heal.ProfiledPair, refused []enforce.Refusal) string {
	reason := "not said"
	for _, r := range refused {
		if r.Function == pair.First.Func {
			return general(r.Reason)
		}
		if r.Function == "" && !r.Tests {
			reason = general(r.Reason)
		}
	}
	return reason
}

var places = regexp.MustCompile(` (at|from here to|to) [^ ]+\.go:[0-9]+`)

// general leaves places out of a reason.
func general(reason string) string {
	return places.ReplaceAllString(reason, "")
}
