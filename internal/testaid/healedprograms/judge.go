package main

import (
	"cmp"
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

// groupsOf returns the names of the groups of a plan, by the variables in them.
func groupsOf(plan *enforce.Plan) map[string]string {
	out := map[string]string{}
	for _, v := range plan.Variables {
		for _, m := range v.Members {
			out[m] = v.Name
		}
	}
	return out
}

// claimsOf returns what a plan promises of the pairs of a profile in a file: of pairs of accesses to one variable, and to any
// of a group. What it says to be left out, or to be interrupted, is not promised.
func claimsOf(file string, profile *heal.Profile, plan *enforce.Plan) claims {
	out := claims{}
	groups := groupsOf(plan)
	groupOf := func(variable string) string { return cmp.Or(groups[variable], variable) }
	for _, v := range slices.Concat(profile.Atomic(), profile.Grouped(groupOf).Atomic()) {
		if !slices.ContainsFunc(plan.Variables, func(p enforce.PlannedVariable) bool { return p.Name == groupOf(v.Name) }) {
			continue
		}
		for _, pair := range v.Pairs {
			left := slices.ContainsFunc(plan.Refused, func(r enforce.Refusal) bool {
				return r.Variable == groupOf(v.Name) && (r.Tests || r.Function == pair.First.Func)
			}) ||
				slices.ContainsFunc(plan.Interruptions, func(i enforce.Interruption) bool {
					return i.Variable == groupOf(v.Name) && i.Function == pair.First.Func
				})
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
// claimed. It knows only what the program has noted. Groups has the groups of variables.
func (c claims) violations(places []place, groups map[string]string, all []event) (wrong []claim, pairs int) {
	wrong, pairs = c.violationsOf(places, all)
	if len(groups) == 0 {
		return wrong, pairs
	}
	places = slices.Clone(places)
	for i := range places {
		places[i].variable = groups[places[i].variable]
	}
	all = slices.DeleteFunc(slices.Clone(all), func(e event) bool { return places[e.place].variable == "" })
	more, also := c.violationsOf(places, all)
	return append(wrong, more...), pairs + also
}

// violationsOf does so for pairs of accesses to what places name.
func (c claims) violationsOf(places []place, all []event) (wrong []claim, pairs int) {
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
