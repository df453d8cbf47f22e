package dpor

import (
	"errors"
	"fmt"
	"slices"
	"testing"
)

// program has the steps of each task: an object and a mode, or several.
type program [][][]Use

// execute makes an execution and returns the order of tasks. A host may ask for each choice, or make the
// choices of Prefix and report the steps afterwards.
func (p program) execute(x *Explorer, afterwards bool) (order []uint32) {
	forced := x.Prefix()
	asleep := map[uint32][]Use{}
	x.Sleeping(func(task uint32, uses []Use) { asleep[task] = uses })
	next := make([]int, len(p))
	since := make([]int, len(p))
	x.Start()
	for step := 0; ; step++ {
		var enabled []uint32
		for i := range p {
			if next[i] < len(p[i]) {
				enabled = append(enabled, uint32(i))
			}
		}
		if len(enabled) == 0 {
			break
		}
		prefer := enabled[0]
		if afterwards {
			if step < len(forced) {
				prefer = forced[step]
			} else if i := slices.IndexFunc(enabled, func(t uint32) bool { _, sleeps := asleep[t]; return !sleeps }); i >= 0 {
				prefer = enabled[i]
			}
		}
		i := x.Choose(enabled, prefer)
		if x.Redundant() {
			break
		}
		task := enabled[i]
		uses := p[task][next[task]]
		if afterwards && task != prefer {
			panic("the explorer wants another task")
		}
		if step >= len(forced)-1 {
			for t, u := range asleep {
				if conflict(u, uses) {
					delete(asleep, t)
				}
			}
		}
		x.Did(Step{Task: task, Since: since[task], Uses: uses})
		order = append(order, task)
		next[task]++
		since[task] = step + 1
	}
	x.End(nil)
	return order
}

// TestHosts: both kinds of hosts make the same executions, one of each class.
func TestHosts(t *testing.T) {
	w := func(o uint64) []Use { return []Use{{o, Write}} }
	r := func(o uint64) []Use { return []Use{{o, Read}} }
	for _, c := range []struct {
		name    string
		classes int
		program program
	}{
		{"none", 1, program{}},
		{"apart", 1, program{{w(1), w(1)}, {w(2), w(2)}}},
		{"three writers", 6, program{{w(1)}, {w(1)}, {w(1)}}},
		{"two steps each", 6, program{{w(1), w(1)}, {w(1), w(1)}}},
		{"readers", 1, program{{r(1)}, {r(1)}, {r(1)}}},
		{"raises and lowers", 4, program{{{{1, Raise}}}, {{{1, Raise}}}, {{{1, Lower}}}}},
		{"everything", 3, program{{{{Everything, Write}}}, {w(1), r(2)}}},
		{"crossed", 3, program{{w(1), r(2)}, {w(2), r(1)}}},
		{"several objects", 8, program{{{{1, Write}, {2, Write}}}, {w(1), w(3)}, {w(2), w(3)}}},
	} {
		for _, afterwards := range []bool{false, true} {
			var x Explorer
			seen := map[string]bool{}
			for n := 0; x.More(); n++ {
				if n > 1000 {
					t.Fatal("there is no end")
				}
				order := fmt.Sprint(c.program.execute(&x, afterwards))
				if !x.Redundant() && seen[order] {
					t.Errorf("%s: %s again", c.name, order)
				}
				seen[order] = true
			}
			if x.Executions() != c.classes || x.Err() != nil {
				t.Errorf("%s, afterwards %t: %d executions, want %d; %v", c.name, afterwards, x.Executions(), c.classes, x.Err())
			}
		}
	}
}

// TestFixed: steps of a fixed task keep their place.
func TestFixed(t *testing.T) {
	w := []Use{{1, Write}}
	x := Explorer{Fixed: func(task uint32) bool { return task == 0 }}
	for x.More() {
		program{{w, w}, {w}, {w}}.execute(&x, false)
	}
	if x.Executions() != 2 {
		t.Errorf("%d executions, want 2", x.Executions())
	}
}

// TestMisled: a host that reports something else in the same prefix gets an error.
func TestMisled(t *testing.T) {
	w := []Use{{1, Write}}
	for name, second := range map[string]program{
		"another task":  {{w}, {w}, {w}},
		"no second one": {{w}, {}},
	} {
		var x Explorer
		program{{w}, {w}}.execute(&x, false)
		second.execute(&x, false)
		if !errors.Is(x.Err(), ErrNondeterministic) || x.More() {
			t.Errorf("%s: %v", name, x.Err())
		}
	}
}
