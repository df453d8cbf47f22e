package main

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/heal"
	"github.com/heisen-go/heisen/internal/enforce"
)

// end is one of the accesses of a pair: the operation and the line, as in a profile.
type end struct {
	line int
	op   string
}

// claim is a pair of accesses to a variable.
type claim struct {
	variable      string
	first, second end
}

// claims are the pairs that are atomic in each execution with locks, by what may not come between.
type claims map[claim]heal.Mode

var ops = map[heisen.Op]string{heisen.Read: "read", heisen.Write: "write", heisen.Call: "call"}

// claimsOf returns what a plan promises of the pairs of a profile in a file. What it says to be left out, or to be
// interrupted, is not promised.
func claimsOf(file string, profile *heal.Profile, plan *enforce.Plan) claims {
	out := claims{}
	for _, v := range profile.Atomic() {
		if !slices.ContainsFunc(plan.Variables, func(p enforce.PlannedVariable) bool { return p.Name == v.Name }) {
			continue
		}
		for _, pair := range v.Pairs {
			left := slices.ContainsFunc(plan.Refused, func(r enforce.Refusal) bool {
				return r.Variable == v.Name && (r.Tests || r.Function == pair.First.Func)
			}) ||
				slices.ContainsFunc(plan.Interruptions, func(i enforce.Interruption) bool { return i.Variable == v.Name && i.Function == pair.First.Func })
			if left || pair.First.File != file || pair.Second.File != file {
				continue
			}
			out[claim{v.Name, end{pair.First.Line, ops[pair.First.Op]}, end{pair.Second.Line, ops[pair.Second.Op]}}] = pair.Mode
		}
	}
	return out
}

// event is an access that a program has noted.
type event struct {
	goroutine, place, object int
	calls                    []call
}

// call is a call of a function. The first one of an event is its goroutine.
type call struct{ id, at int }

// eventsIn returns the accesses in the output of a program.
func eventsIn(output string) (all []event, err error) {
	for line := range strings.Lines(output) {
		rest, is := strings.CutPrefix(line, "note: ")
		if !is {
			continue
		}
		var numbers []int
		for _, field := range strings.Fields(rest) {
			n, err := strconv.Atoi(field)
			if err != nil {
				return nil, fmt.Errorf("%q: %w", line, err)
			}
			numbers = append(numbers, n)
		}
		if len(numbers) < 5 || len(numbers)%2 == 0 {
			return nil, fmt.Errorf("%q is no note", line)
		}
		e := event{goroutine: numbers[0], place: numbers[1], object: numbers[2]}
		for i := 3; i < len(numbers); i += 2 {
			e.calls = append(e.calls, call{numbers[i], numbers[i+1]})
		}
		all = append(all, e)
	}
	return all, nil
}

// violations returns the claims that an execution contradicts, each once, and how many pairs it has of which something is
// claimed. It knows only what the program has noted.
func (c claims) violations(places []place, all []event) (wrong []claim, pairs int) {
	for i, first := range all {
		variable := places[first.place].variable
		same := func(e event) bool { return e.object == first.object && places[e.place].variable == variable }
		read, written := false, false // by others, since
		for _, second := range all[i+1:] {
			if !same(second) {
				continue
			}
			if second.goroutine != first.goroutine {
				read = read || places[second.place].op == "read"
				written = written || places[second.place].op == "write"
				continue
			}
			pair := frontier(places, first, second)
			pair.variable = variable
			mode := c[pair]
			if mode > heal.Free {
				pairs++
			}
			if (written && mode > heal.Free || read && mode == heal.Exclusive) && !slices.Contains(wrong, pair) {
				wrong = append(wrong, pair)
			}
			break
		}
	}
	return wrong, pairs
}

// frontier returns what two accesses of a goroutine are in the innermost call that has both: accesses or calls.
func frontier(places []place, first, second event) claim {
	common := 0
	for common < min(len(first.calls), len(second.calls)) && first.calls[common] == second.calls[common] {
		common++
	}
	at := func(e event) end {
		if common < len(e.calls) {
			return end{places[e.calls[common].at].line, "call"}
		}
		return end{places[e.place].line, places[e.place].op}
	}
	return claim{first: at(first), second: at(second)}
}
