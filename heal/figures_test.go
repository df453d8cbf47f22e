package heal

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// text shows the operations of a placement, with the names of nodes.
func (p *Placement) text(name func(int) string) (lines []string) {
	for _, a := range p.Acquisitions {
		reason := ""
		if a.Hold >= 0 {
			reason = " hoisted"
		}
		lines = append(lines, fmt.Sprintf("before %s acquire %v%s", name(a.Node), a.Mode, reason))
	}
	for _, r := range p.Releases {
		what, since := "release", "hoisted"
		if r.Left > Free {
			what = "degrade to " + r.Left.String()
		}
		if r.Access >= 0 {
			since = name(r.Access)
		}
		ask := "?"
		if r.Always {
			ask = ""
		}
		lines = append(lines, fmt.Sprintf("%s-%s %s%s (%s)", name(r.From), name(r.To), ask, what, since))
	}
	slices.Sort(lines)
	return lines
}

// numbered gives each node the number of a figure, which begins with 1.
func numbered(node int) string {
	if node == Exit {
		return "exit"
	}
	return fmt.Sprint(node + 1)
}

func wantLines(t *testing.T, got, want []string) {
	t.Helper()
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("got\n\t%s\nwant\n\t%s", strings.Join(got, "\n\t"), strings.Join(want, "\n\t"))
	}
}

func place(t *testing.T, g *Graph, v Variable) *Placement {
	t.Helper()
	p, err := Place(g, v)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// TestFigure1: the profile has the two reads of P only. The write, which no execution has reached, is protected,
// too; so no thread sets P to nil between the reads of another.
//
//	0: if COND1  1: P = nil  2: if P  3: ... = *P  4: end
func TestFigure1(t *testing.T) {
	g := newGraph(t, 5, [2]int{0, 1}, [2]int{0, 2}, [2]int{1, 2}, [2]int{2, 3}, [2]int{2, 4}, [2]int{3, 4})
	p := place(t, g, Variable{
		Accesses: []Access{{1, true}, {2, false}, {3, false}},
		Pairs:    []Pair{{2, 3, Shared}},
	})
	wantLines(t, p.text(func(n int) string { return fmt.Sprint(n) }), []string{
		"before 1 acquire exclusive",
		"1-2 release (1)",
		"before 2 acquire shared",
		"2-4 release (2)",
		"3-4 release (2)",
	})
}

// TestFigure7 has the part of figure 7 that the text of the paper describes: accesses at 2, 7, 9 and 12, and the
// pairs (2, 12) exclusive, (2, 7) read and (7, 12) read.
func TestFigure7(t *testing.T) {
	var edges [][2]int
	for _, e := range [][2]int{{1, 2}, {1, 3}, {2, 4}, {3, 4}, {4, 5}, {4, 6}, {6, 7}, {5, 8}, {8, 9}, {8, 10}, {7, 10}, {9, 11}, {10, 12}, {11, 13}, {12, 13}} {
		edges = append(edges, [2]int{e[0] - 1, e[1] - 1})
	}
	g := newGraph(t, 13, edges...)
	p := place(t, g, Variable{
		Accesses: []Access{{1, false}, {6, false}, {8, false}, {11, false}},
		Pairs:    []Pair{{1, 11, Exclusive}, {1, 6, Shared}, {6, 11, Shared}},
	})
	constraints := func(node int) (lines []string) {
		for _, c := range p.Constraints[node-1] {
			lines = append(lines, fmt.Sprintf("%d-%d %v", c.First+1, c.Second+1, c.Mode))
		}
		return lines
	}
	for node, want := range map[int][]string{
		1: nil,
		2: {"2-7 shared", "2-12 exclusive"},
		3: nil,
		4: {"2-7 shared", "2-12 exclusive"},
		5: {"2-12 exclusive"}, // 7 cannot be reached any more
		6: {"2-7 shared"},     // 7 comes before 12
		7: {"2-7 shared", "7-12 shared"},
		9: nil,
	} {
		if got := constraints(node); !slices.Equal(got, want) {
			t.Errorf("lc(%d) = %q, want %q", node, got, want)
		}
	}
	wantLines(t, p.text(numbered), []string{
		"before 2 acquire exclusive",
		"4-6 ?degrade to shared (2)",
		"before 7 acquire shared",
		"before 9 acquire shared", // not in a pair
		"8-9 ?release (2)",
		"9-11 release (9)",
		"before 12 acquire shared", // it may not be held: 1, 3, 4, 5, 8, 10, 12
		"12-13 release (12)",
		// There is neither release A, on 4-5, nor release B, on 7-10.
	})
}

// TestFigure8: the exclusive lock of x is acquired before the read lock of y. Another function acquires them the
// other way around. Hoisting y to before 2 protects the path 2, 4, 6 and leaves 3, 4, 6 and 5 alone.
func TestFigure8(t *testing.T) {
	var edges [][2]int
	for _, e := range [][2]int{{1, 2}, {1, 3}, {2, 4}, {3, 4}, {4, 5}, {4, 6}, {5, 7}, {6, 7}, {7, 8}} {
		edges = append(edges, [2]int{e[0] - 1, e[1] - 1})
	}
	f := Function{Graph: newGraph(t, 8, edges...), Variables: map[string]Variable{
		"x": {Accesses: []Access{{1, true}, {6, true}}, Pairs: []Pair{{1, 6, Exclusive}}},
		"y": {Accesses: []Access{{5, false}, {7, false}}, Pairs: []Pair{{5, 7, Shared}}},
	}}
	// Three accesses of x within a pair of y, so that reversing this order costs more.
	long := Function{Graph: newGraph(t, 7, [2]int{0, 1}, [2]int{1, 2}, [2]int{2, 3}, [2]int{3, 4}, [2]int{4, 5}, [2]int{5, 6}), Variables: map[string]Variable{
		"y": {Accesses: []Access{{0, true}, {6, false}}, Pairs: []Pair{{0, 6, Exclusive}}},
		"x": {Accesses: []Access{{5, true}}},
	}}
	res, err := Resolve(t.Context(), []Function{f, long})
	if err != nil {
		t.Fatal(err)
	}
	for _, h := range res.Hoists {
		if h.Function != 0 || h.Variable != "y" || h.Before != "x" {
			t.Errorf("hoist %+v", h)
		}
	}
	got := res.Placements[0]["y"].text(numbered)
	for _, want := range []string{"before 2 acquire shared hoisted", "4-5 ?release (hoisted)", "before 6 acquire shared"} {
		if !slices.Contains(got, want) {
			t.Errorf("no %q in\n\t%s", want, strings.Join(got, "\n\t"))
		}
	}
	if slices.ContainsFunc(got, func(line string) bool { return strings.HasPrefix(line, "before 3") }) {
		t.Errorf("y is acquired at 3: %q", got)
	}
}

// TestFigure2 is the bug of MySQL. The program's lock LOCK_log is acquired while log_type is held for reading,
// and log_type exclusively while LOCK_log is held. So log_type is acquired exclusively before LOCK_log (C).
func TestFigure2(t *testing.T) {
	lines := []int{805, 810, 830, 834, 867, 870, 880} // new_file
	at := func(line int) int { return slices.Index(lines, line) }
	g := newGraph(t, len(lines), [2]int{0, 1}, [2]int{0, 6}, [2]int{1, 2}, [2]int{2, 3}, [2]int{3, 4}, [2]int{4, 5}, [2]int{5, 6})
	newFile := Function{Graph: g, Variables: map[string]Variable{"log_type": {
		Accesses: []Access{{at(805), false}, {at(830), false}, {at(834), false}, {at(867), true}, {at(870), true}},
		Pairs: []Pair{
			{at(805), at(830), Shared}, {at(830), at(834), Shared}, {at(834), at(867), Shared}, {at(867), at(870), Exclusive},
		},
	}}, Locks: []LockOp{{Node: at(810), Lock: "LOCK_log", Mode: Exclusive}, {Node: at(880), Lock: "LOCK_log", Mode: Exclusive, Release: true}}}
	insert := Function{Graph: newGraph(t, 3, [2]int{0, 1}, [2]int{0, 2}, [2]int{1, 2}), Variables: map[string]Variable{"log_type": {
		Accesses: []Access{{0, false}, {1, false}}, Pairs: []Pair{{0, 1, Shared}},
	}}}
	name := func(n int) string {
		if n == Exit {
			return "exit"
		}
		return fmt.Sprint(lines[n])
	}
	res, err := Resolve(t.Context(), []Function{newFile, insert})
	if err != nil {
		t.Fatal(err)
	}
	wantLines(t, res.Placements[0]["log_type"].text(name), []string{
		"before 805 acquire update",            // A; the paper has a read lock, which two threads may hold that both want more
		"805-880 release (805)",                // B
		"before 810 acquire exclusive hoisted", // C
		"before 830 acquire update",
		"before 834 acquire update",
		"before 867 acquire exclusive", // D
		"867-870 release (hoisted)",
		"870-880 release (867)", // E
	})
	wantLines(t, res.Placements[1]["log_type"].text(func(n int) string { return []string{"exit", "311", "1922", "end"}[n+1] }), []string{
		"before 311 acquire shared", // F
		"1922-end release (311)",    // G
		"311-end release (311)",     // H
	})
}

// TestReadReadOrder: a cycle through a read lock that is acquired while another is held for reading is a
// deadlock if others want and hold the two exclusively. Such an order must not be left out.
func TestReadReadOrder(t *testing.T) {
	lock := func(first, last int) []LockOp {
		return []LockOp{{Node: first, Lock: "k", Mode: Exclusive}, {Node: last, Lock: "k", Mode: Exclusive, Release: true}}
	}
	functions := []Function{
		{Graph: newGraph(t, 3, [2]int{0, 1}, [2]int{1, 2}), Locks: lock(0, 2), Variables: map[string]Variable{
			"x": {Accesses: []Access{{1, true}}},
		}},
		{Graph: newGraph(t, 4, [2]int{0, 1}, [2]int{1, 2}, [2]int{2, 3}), Variables: map[string]Variable{
			"x": {Accesses: []Access{{0, false}, {2, false}}, Pairs: []Pair{{0, 2, Shared}}},
			"y": {Accesses: []Access{{1, false}}},
		}},
		{Graph: newGraph(t, 4, [2]int{0, 1}, [2]int{1, 2}, [2]int{2, 3}), Locks: lock(1, 3), Variables: map[string]Variable{
			"y": {Accesses: []Access{{0, true}, {2, true}}, Pairs: []Pair{{0, 2, Exclusive}}},
		}},
	}
	var plain []map[string]*Placement
	for _, f := range functions {
		placed := map[string]*Placement{}
		for name, v := range f.Variables {
			placed[name] = place(t, f.Graph, v)
		}
		plain = append(plain, placed)
	}
	w := world{functions: functions, placements: plain, starts: []int{0, 1, 2}, limit: 100000}
	if w.explore(); !strings.HasPrefix(w.wrong, "deadlock") {
		t.Fatalf("without resolution: %q, want a deadlock", w.wrong)
	}
	res, err := Resolve(t.Context(), functions)
	if err != nil {
		t.Fatal(err)
	}
	w = world{functions: functions, placements: res.Placements, starts: []int{0, 1, 2}, limit: 100000}
	if all := w.explore(); !all || w.wrong != "" || len(res.Dropped) > 0 {
		t.Errorf("resolved: %q, dropped %q", w.wrong, res.Dropped)
	}
}
