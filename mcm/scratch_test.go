package mcm

import (
	"fmt"
	"os"
	"strconv"
	"testing"
	"time"

	"github.com/heisen-go/heisen/bench/workload"
)

func TestScratch(t *testing.T) {
	name := os.Getenv("P")
	env := func(k string, d int) int {
		if s := os.Getenv(k); s != "" {
			n, _ := strconv.Atoi(s)
			return n
		}
		return d
	}
	n, th, samples, factor := env("N", 1000), env("T", 4), env("S", 322), env("F", 1)
	w := Window{Records: profiles[name](workload.Params{Threads: th, Events: n, Seed: uint64(env("SEED", 1))})}
	start := time.Now()
	m, err := NewModel(w, Budget(defaultConflicts*factor, defaultPropagations*factor))
	if err != nil {
		t.Fatal(err)
	}
	pairs := pairsOf(m)
	fmt.Println(name, n, th, len(pairs), "pairs; model", time.Since(start), "cells", len(m.cells), "reads", len(m.reads))
	step := max(1, len(pairs)/samples)
	var worst time.Duration
	asked := 0
	start = time.Now()
	for k := 0; k < len(pairs); k += step {
		p := pairs[k]
		at := time.Now()
		v, _, err := m.Race(p[0], p[1])
		if err != nil {
			t.Fatal(err)
		}
		asked++
		d := time.Since(at)
		worst = max(worst, d)
		if v == Unknown && os.Getenv("V") != "" {
			fmt.Println("unknown", p, d)
		}
	}
	el := time.Since(start)
	fmt.Printf("%d asked in %v, %v each, worst %v\n%+v\n", asked, el, el/time.Duration(asked), worst, m.stats)
	if s := m.solving.solver; s != nil {
		fmt.Printf("solver %+v\n", s.Stats())
	}
	if x := m.solving.explore; x != nil {
		fmt.Println("looked", x.looked)
	}
}
