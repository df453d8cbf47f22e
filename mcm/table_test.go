package mcm

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/heisen-go/heisen/bench/workload"
)

func TestTable(t *testing.T) {
	for _, text := range strings.Fields(os.Getenv("TABLE")) {
		f := strings.Split(text, ",")
		size, _ := strconv.Atoi(f[1])
		threads, _ := strconv.Atoi(f[2])
		w := Window{Records: profiles[f[0]](workload.Params{Threads: threads, Events: size, Seed: 1})}
		start := time.Now()
		m, err := NewModel(w, Budget(1<<20, 1<<30))
		if err != nil {
			t.Fatal(err)
		}
		built := time.Since(start)
		pairs := 0
		var slowest time.Duration
		m.racePairs(func(places) bool { return true }, func(c candidate) {
			pairs++
			if time.Since(start) > 6*time.Second {
				return
			}
			at := time.Now()
			if _, _, err := m.ask(c); err != nil {
				t.Fatal(err)
			}
			slowest = max(slowest, time.Since(at))
		})
		if m.solving.solver != nil {
			fmt.Printf("%s: %+v\n", text, m.solving.solver.Stats())
		}
		fmt.Printf("%s: pairs %d, build %v, total %v, slowest %v, %+v\n", text, pairs, built, time.Since(start), slowest, m.Stats())
	}
}
