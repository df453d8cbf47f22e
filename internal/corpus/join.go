package corpus

import (
	"bytes"
	"cmp"
	"fmt"
	"maps"
	"slices"
)

// Join returns what several memories of the same package know together. It depends neither on their order nor on how often one of them is among
// them, and of memories that have the same program, some can be joined first. Nothing is counted twice: the executions of a test are those
// before the last run, and of that run each Work once. A finding is in the state that the last run gave it. Of several processes of that run,
// it is gone only if none has found it.
//
// What tests have done is kept of one program, that of the last run. Others is the number of memories that have another one of that run.
func Join(memories ...*Memory) (all *Memory, others int) {
	all = new(Memory)
	for _, m := range memories {
		all.Package = max(all.Package, m.Package)
		all.Runs = max(all.Runs, m.Runs)
		if m.Used > all.Used || m.Used == all.Used && m.Program > all.Program {
			all.Used, all.Program = m.Used, m.Program
		}
	}
	tests, findings := map[string]Test{}, map[string]Finding{}
	for _, m := range memories {
		for _, f := range m.Findings {
			joinInto(findings, f.Fingerprint, f, joinFindings)
		}
		if m.Program != all.Program {
			if m.Used == all.Used {
				others++
			}
			continue
		}
		all.Rounds = max(all.Rounds, m.Rounds)
		for _, t := range m.Tests {
			joinInto(tests, t.Name, t, joinTests)
		}
	}
	all.Tests = inOrder(tests)
	all.Findings = inOrder(findings)
	return all, others
}

func joinInto[T any](all map[string]T, key string, one T, join func(a, b T) T) {
	if old, known := all[key]; known {
		one = join(old, one)
	}
	all[key] = one
}

// inOrder returns the values of a map by their keys, or nil.
func inOrder[T any](all map[string]T) (sorted []T) {
	for _, key := range slices.Sorted(maps.Keys(all)) {
		sorted = append(sorted, all[key])
	}
	return sorted
}

// joinTests returns what two processes know of a test of the same program.
func joinTests(a, b Test) Test {
	if a.Run < b.Run {
		a, b = b, a
	}
	if a.Run == b.Run {
		a.Executions, a.Took = max(a.Executions, b.Executions), max(a.Took, b.Took)
		a.Work = joinWork(a.Work, b.Work)
	}
	a.All = max(a.All, b.All)
	a.Behaviors, a.Orders = union(a.Behaviors, b.Behaviors), union(a.Orders, b.Orders)
	return a
}

// joinWork returns the work in both lists. Of the same work in both, that counts which has more.
func joinWork(a, b []Work) []Work {
	all := map[string]Work{}
	for _, w := range slices.Concat(a, b) {
		joinInto(all, w.ID, w, func(a, b Work) Work { return Work{a.ID, max(a.Executions, b.Executions), max(a.Took, b.Took)} })
	}
	return inOrder(all)
}

// joinFindings returns what two processes know of a finding.
func joinFindings(a, b Finding) Finding {
	one := a
	if compareEvidence(&a, &b) < 0 {
		one = b
	}
	if compareStates(&a, &b) < 0 {
		a, b = b, a
	}
	one.Stated, one.Gone, one.Fixed = a.Stated, a.Gone, a.Fixed // of its evidence, one has the run
	if compareStates(&a, &b) == 0 {
		one.Gone, one.Fixed = min(a.Gone, b.Gone), a.Fixed || b.Fixed
	}
	one.First, one.Last = min(a.First, b.First), max(a.Last, b.Last)
	one.Harmful = a.Harmful || b.Harmful
	return one
}

// compareStates compares what was stated last: of one run, that it was found counts more than that it was not.
func compareStates(a, b *Finding) int {
	found := func(f *Finding) int { return 1 - min(len(f.Gone), 1) }
	return cmp.Or(cmp.Compare(a.Stated, b.Stated), found(a)-found(b))
}

// compareEvidence compares what shows the finding. A schedule counts more than none, then the run that has found it last, then the shorter text.
func compareEvidence(a, b *Finding) int {
	x, y := evidence(a), evidence(b)
	scheduled := func(f *Finding) int {
		if f.Schedule == nil {
			return 0
		}
		return 1
	}
	return cmp.Or(scheduled(a)-scheduled(b), cmp.Compare(a.Found, b.Found), len(y)-len(x), bytes.Compare(y, x))
}

// evidence returns what compareEvidence compares, as a text that is equal for equal evidence.
func evidence(f *Finding) []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, "%q %q\n", f.Subject, f.Tests)
	if f.Schedule != nil {
		text, err := f.Schedule.MarshalText()
		fmt.Fprintf(&b, "%s%v\n", text, err)
		writeOrder(&b, &f.Order)
	}
	return b.Bytes()
}

// union returns the numbers of both, ascending.
func union(a, b []uint64) []uint64 {
	all := slices.Concat(a, b)
	slices.Sort(all)
	return slices.Compact(all)
}
