package cli_test

import (
	"context"
	"os/exec"
	"regexp"
	"strings"
	"testing"
	"time"
)

// hardForMcm is a program whose threads access variables mostly with their locks, so that whether some of
// the accesses may race depends on the order of all others. A step has three or four events. Its arguments
// are the number of steps of each thread, and whether the program then makes the file ready and stays.
const hardForMcm = `package main

import (
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"sync"
	"time"
)

const variables, locks = 300, 20

var (
	memory [variables][8]int64
	mus    [locks]sync.Mutex
	first  int
)

func step(rng *rand.Rand) {
	v := rng.IntN(variables)
	if rng.IntN(50) > 0 {
		mus[v%locks].Lock()
		defer mus[v%locks].Unlock()
	}
	if memory[v][0] < int64(rng.IntN(3)) || rng.IntN(2) == 0 {
		memory[v][0] = int64(rng.IntN(3))
	}
}

func main() {
	steps, _ := strconv.Atoi(os.Args[1])
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			first++
			rng := rand.New(rand.NewPCG(uint64(i), 1))
			for range steps {
				step(rng)
			}
		})
	}
	wg.Wait()
	if os.Args[2] == "stay" {
		os.WriteFile("ready", nil, 0o666)
		time.Sleep(time.Hour)
	}
	fmt.Println("done")
}
`

// toldByFastTrack matches the summary's line of a finding by fasttrack, and perhaps other detectors.
var toldByFastTrack = regexp.MustCompile(`(?m)^  [0-9a-f]{16} \((\w+(, | and ))*fasttrack((, | and )\w+)*\): `)

// TestMemoryLive: at a limit of memory, the analysis of a running program ends, and the program goes on.
// What was found so far is reported.
func TestMemoryLive(t *testing.T) {
	dir := writeFiles(t, map[string]string{"go.mod": "module example.com/m\n\ngo 1.25\n", "main.go": hardForMcm})
	for _, test := range []struct {
		limit   string
		detect  string
		stopped bool
	}{
		{"100M", "hb,fasttrack", true},
		{"100M", "hb,fasttrack,leak", true},
		{"0", "hb,fasttrack", false},
	} {
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
		cmd := exec.CommandContext(ctx, "heisen", "run", "-pkgs", "work", "-max-memory", test.limit, "-detect", test.detect, ".", "80000", "end")
		cmd.Dir = dir
		var stdout, stderr strings.Builder
		cmd.Stdout, cmd.Stderr = &stdout, &stderr
		err := cmd.Run()
		cancel()
		want := 66
		if test.stopped {
			want = 1
		}
		if status := cmd.ProcessState.ExitCode(); status != want || stdout.String() != "done\n" {
			t.Errorf("%v: exit status %d (%v), output %q\n%s", test, status, err, stdout.String(), stderr.String())
		}
		if !toldByFastTrack.MatchString(stderr.String()) {
			t.Errorf("%v: nothing is reported\n%s", test, stderr.String())
		}
		message := "heisen run: example.com/m: stopped at the limit of 100 MiB of memory, which -max-memory can raise: detectors were given its first "
		if said := strings.Contains(stderr.String(), message); said != test.stopped {
			t.Errorf("%v: stopped %v\n%s", test, said, stderr.String())
		}
	}
}
