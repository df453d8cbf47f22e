package mcm

import (
	"fmt"
	"math/rand/v2"
	"strings"

	"github.com/heisen-go/heisen/racefuzz"
)

// program is a random program: goroutines with a few statements each. Package racefuzz can execute all
// its schedules, and so finds which of its accesses race.
type program [][]statement

type statement struct {
	do    string
	which int
	value int
	if1   bool // execute it only if the value that was read last is not 0
	place string
}

// kinds are the kinds of random programs.
var kinds = []struct {
	name       string
	operations []string
}{
	{"channels", []string{"send", "send", "receive", "receive", "close"}},
	{"polls", []string{"send", "send", "receive", "try", "try", "any", "close"}},
	{"wait groups", []string{"add", "done", "done", "wait"}},
	{"atomics", []string{"load", "load", "store", "increase", "swap", "swap"}},
	{"locks", []string{"section", "section", "shared section"}},
	{"nested locks", []string{"section", "nested sections"}},
	{"all", []string{"send", "receive", "try", "any", "close", "add", "done", "wait", "load", "store", "increase", "swap", "section", "shared section"}},
}

// randomProgram returns a random program of some operations, with accesses in between. Small programs
// have few executions.
func randomProgram(rng *rand.Rand, operations []string, small bool) program {
	goroutines := 2 + rng.IntN(2)
	size := 9 - 2*goroutines
	if small {
		size -= 2
	}
	p := make(program, goroutines)
	for i := range p {
		var steps []statement
		add := func(s statement) {
			s.place = fmt.Sprintf("%d.%d", i, len(steps))
			steps = append(steps, s)
		}
		access := func() {
			s := statement{do: []string{"read", "write", "write", "update", "copy"}[rng.IntN(5)], which: rng.IntN(2), value: 1 + rng.IntN(2)}
			s.if1 = len(steps) > 0 && rng.IntN(4) == 0
			add(s)
		}
		for room := size + rng.IntN(2); room > 0; room-- {
			if rng.IntN(5) < 2 {
				access()
				continue
			}
			s := statement{do: operations[rng.IntN(len(operations))], which: rng.IntN(2), value: 1 + rng.IntN(2)}
			section, shared := "lock", "rlock"
			switch s.do {
			case "section":
				if rng.IntN(4) == 0 {
					section = "wlock"
				}
				add(statement{do: section, which: s.which})
				access()
				if rng.IntN(2) == 0 {
					access()
				}
				add(statement{do: strings.Replace(section, "lock", "unlock", 1), which: s.which})
				room--
			case "nested sections":
				add(statement{do: "lock", which: s.which})
				add(statement{do: "lock", which: 1 - s.which})
				access()
				add(statement{do: "unlock", which: s.which})
				add(statement{do: "unlock", which: 1 - s.which})
				room -= 2
			case "shared section":
				add(statement{do: shared})
				access()
				add(statement{do: "runlock"})
				room--
			default:
				add(s)
			}
		}
		p[i] = steps
	}
	return p
}

// main is the program as a model for package racefuzz. Channel 0 has no buffer, channel 1 a buffer of
// one or two elements.
func (p program) main(main *racefuzz.G) {
	vars := []*racefuzz.Var{main.NewVar("x"), main.NewVar("y")}
	flags := []*racefuzz.Var{main.NewVar("f"), main.NewVar("g")}
	locks := []*racefuzz.Mutex{main.NewMutex("L"), main.NewMutex("M")}
	rw := main.NewRWMutex("R")
	channels := []*racefuzz.Chan{main.NewChan("c", 0), main.NewChan("d", 1+len(p)%2)}
	group := main.NewWaitGroup("w")
	for i, steps := range p {
		main.Go(fmt.Sprint(i), func(g *racefuzz.G) {
			read := 0
			for _, s := range steps {
				if s.if1 && read == 0 {
					continue
				}
				g.At(s.place)
				switch s.do {
				case "read":
					read = vars[s.which].Read(g)
				case "write":
					vars[s.which].Write(g, s.value)
				case "update":
					vars[s.which].Write(g, vars[s.which].Read(g)+s.value)
				case "copy":
					vars[1-s.which].Write(g, vars[s.which].Read(g))
				case "load":
					read = flags[s.which].Load(g)
				case "store":
					flags[s.which].Store(g, s.value)
				case "increase":
					read = flags[s.which].Add(g, 1) - 1
				case "swap":
					read = 0
					if flags[s.which].CompareAndSwap(g, s.value-1, s.value) {
						read = 1
					}
				case "lock":
					locks[s.which].Lock(g)
				case "unlock":
					locks[s.which].Unlock(g)
				case "rlock":
					rw.RLock(g)
				case "runlock":
					rw.RUnlock(g)
				case "wlock":
					rw.Lock(g)
				case "wunlock":
					rw.Unlock(g)
				case "send":
					channels[s.which].Send(g, i)
				case "receive":
					read, _ = channels[s.which].Receive(g)
				case "try":
					_, _, received := channels[s.which].TryReceive(g)
					if read = 0; received {
						read = 1
					}
				case "any":
					read, _, _ = g.ReceiveAny(channels...)
				case "close":
					channels[s.which].Close(g)
				case "add":
					group.Add(g, s.value)
				case "done":
					group.Done(g)
				case "wait":
					group.Wait(g)
				default:
					panic(s.do)
				}
			}
		})
	}
}

// assigns reports whether a statement sets what conditional statements look at.
func (s *statement) assigns() bool {
	switch s.do {
	case "read", "load", "increase", "swap", "receive", "try", "any":
		return true
	}
	return false
}

// decides reports whether a conditional statement may look at what a statement has read.
func (p program) decides(goroutine, at int) bool {
	if !p[goroutine][at].assigns() {
		return false
	}
	for _, s := range p[goroutine][at+1:] {
		switch {
		case s.if1:
			return true
		case s.assigns():
			return false
		}
	}
	return false
}

// String lists the statements of each goroutine.
func (p program) String() string {
	var b strings.Builder
	for i, steps := range p {
		fmt.Fprintf(&b, "goroutine %d:", i)
		for _, s := range steps {
			fmt.Fprintf(&b, " %s(%d,%d)", s.do, s.which, s.value)
			if s.if1 {
				b.WriteString("?")
			}
		}
		b.WriteString("\n")
	}
	return b.String()
}
