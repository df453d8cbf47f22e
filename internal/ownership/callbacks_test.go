package ownership

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/heisen-go/heisen/internal/ssaload"
)

// TestRandomCallbacks is about random types whose methods are called through interfaces: by container/heap, by package sort, by
// functions of the program, by reflection, and by whoever gets them from a variable. Locks are in objects of which there is one
// or are several.
func TestRandomCallbacks(t *testing.T) {
	if testing.Short() {
		t.Skip("builds and runs programs")
	}
	dir := module(t, map[string]string{"main.go": callbacksProgram(rand.New(rand.NewPCG(0, 7)), 120)})
	r, err := Analyze(t.Context(), ssaload.Source{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	safe := 0
	for _, v := range r.Variables {
		if v.Safe && strings.HasPrefix(v.Name.Type, "state") && v.Name.Name == "todo" {
			safe++
		}
	}
	if safe < 8 {
		t.Errorf("%d queues are proved, want at least 8", safe)
	}
	checkReports(t, r, raceReports(t, dir, "run", "-race", "."), 30, 100)
}

// callbacksProgram returns a program of so many types, each with goroutines of its own.
func callbacksProgram(random *rand.Rand, types int) string {
	var out strings.Builder
	out.WriteString(`package main

import (
	"container/heap"
	"fmt"
	"io"
	"sort"
	"sync"
)

func safely(f func()) {
	defer func() { recover() }() // a race may leave what makes no sense
	f()
}

type lesser interface{ Less(i, j int) bool }

func compare(l lesser) bool { return l.Less(0, 0) }

func same(x any) any { return x }

func main() {
	var done sync.WaitGroup
`)
	for i := range types {
		fmt.Fprintf(&out, "\trun%d(&done)\n", i)
	}
	out.WriteString("\tdone.Wait()\n\tsort.Sort(sort.IntSlice{2, 1})\n}\n")
	for i := range types {
		callbacksType(&out, random, i)
	}
	return out.String()
}

// callbacks are statements about a state s; # is the number of the type. Most of them are harmless under the lock.
var callbacks = []string{
	"heap.Push(&s.todo, &item#{n: 3, list: []int{1}})", "heap.Push(&s.todo, &item#{n: 3, list: []int{1}})", "if len(s.todo) > 3 { _ = heap.Pop(&s.todo).(*item#).n }",
	"if len(s.todo) > 3 { it := heap.Pop(&s.todo).(*item#); next := &item#{n: it.n, list: append(it.list[:len(it.list):len(it.list)], 4)}; heap.Push(&s.todo, next) }",
	"if len(s.todo) > 3 { it := heap.Pop(&s.todo).(*item#); next := &item#{n: it.n, list: append(it.list[:0], 4)}; heap.Push(&s.todo, next) }",
	"if len(s.todo) > 3 { it := s.todo[1]; heap.Push(&s.todo, &item#{list: append(it.list[:len(it.list):cap(it.list)], 4)}) }",
	"sort.Sort(s.todo)", "sort.Sort(&s.todo)", "if len(s.todo) > 0 { _ = compare(s.todo) }", "if len(s.todo) > 0 { _ = compare(&s.todo) }",
	"if len(s.todo) > 0 { _ = same(s.todo[0]).(*item#).n }", "if len(s.todo) > 0 { s.todo[0].list[0]++ }", "if len(s.todo) > 0 { s.todo[0].n++; heap.Fix(&s.todo, 0) }",
	"sort.Sort(sort.Reverse(&s.todo))", "p := &s.todo; *p = append(*p, &item#{list: []int{2}})", "q := s.todo; if len(q) > 1 { q[0], q[1] = q[1], q[0] }",
	"fmt.Fprint(io.Discard, holder#{&inner#{}})", "global#++", "x := &inner#{}; _ = fmt.Stringer(x).String()",
	"heap.Init(&s.todo)", "s.todo = s.todo[:len(s.todo):len(s.todo)]",
}

// unfollowed are statements by which queues and items get where they are not followed.
var unfollowed = []string{
	"any# = &s.todo", "any# = s.todo", "if l, ok := any#.(lesser); ok { l.Less(0, 0) }", "less# = &s.todo", "if l := less#; l != nil { l.Less(0, 0) }",
	"fmt.Fprint(io.Discard, len(s.todo), s.todo)", "f := s.todo.Len; _ = f()", "f := (*queue#).Len; _ = f(&s.todo)", "ch# <- &s.todo", "select { case l := <-ch#: l.Less(0, 0); default: }",
	"other# = &s.todo", "if p := other#; p != nil { *p = append(*p, &item#{list: []int{3}}) }", "go func() { heap.Push(&s.todo, &item#{list: []int{1}}) }()", "defer heap.Push(&s.todo, &item#{list: []int{1}})",
	"t := *s; heap.Push(&t.todo, &item#{list: []int{1}})", "var q queue#; heap.Push(&q, &item#{list: []int{1}}); s.todo = q", "var x lesser = &s.todo; func() { x.Less(0, 0) }()",
	"generic(&s.todo)", "made# = append(made#, state#{})", "p := (*[]*item#)(&s.todo); *p = append(*p, &item#{list: []int{3}})",
}

func callbacksType(out *strings.Builder, random *rand.Rand, number int) {
	if number == 0 {
		out.WriteString("\nfunc generic[T interface{ Len() int }](x T) int { return x.Len() }\n")
	}
	text := func(s string) string { return strings.ReplaceAll(s, "#", fmt.Sprint(number)) }
	out.WriteString(text(`
type item# struct {
	n    int
	list []int
}

type queue# []*item#

func (q queue#) Len() int           { return len(q) }
func (q queue#) Less(i, j int) bool { return q[i].n < q[j].n }
func (q queue#) Swap(i, j int)      { q[i], q[j] = q[j], q[i] }
func (q *queue#) Push(x any)        { *q = append(*q, x.(*item#)) }
func (q *queue#) Pop() any {
	last := (*q)[len(*q)-1]
	*q = (*q)[:len(*q)-1]
	return last
}

type inner# struct{ n int }

func (i *inner#) String() string { global#++; return "" }

type holder# struct{ In *inner# }

type state# struct {
	mu   sync.Mutex
	todo queue#
}

var (
	global# int
	any#    any
	less#   lesser
	other#  *queue#
	made#   []state#
	ch# = make(chan lesser, 1000)
)
`))
	choice := make([]string, 3)
	for i := range choice {
		if choice[i] = callbacks[random.IntN(len(callbacks))]; random.IntN(6) == 0 {
			choice[i] = unfollowed[random.IntN(len(unfollowed))]
		}
	}
	const methods = 3
	forgets := random.IntN(3) == 0
	for m := range methods {
		fmt.Fprintf(out, "\nfunc (s *state%d) m%d() {\n", number, m)
		if !forgets || random.IntN(2) == 0 {
			out.WriteString("\ts.mu.Lock()\n\tdefer s.mu.Unlock()\n")
		}
		for range 1 + random.IntN(3) {
			fmt.Fprintf(out, "\t{ %s }\n", text(choice[random.IntN(len(choice))]))
		}
		out.WriteString("}\n")
	}
	make1, make2 := "all := []*state#{{}}", ""
	switch random.IntN(4) {
	case 0: // two of them that share a queue's items
		make1, make2 = "all := []*state#{{}, {}}", "all[1].todo = all[0].todo"
	case 1: // made in a loop
		make1, make2 = "var all []*state#; for range 2 { all = append(all, &state#{}) }", "all[1].todo = all[0].todo"
	}
	fmt.Fprintf(out, `
func run%[1]d(done *sync.WaitGroup) {
	%[2]s
	first := all[0]
	first.mu.Lock()
	for i := range 4 {
		heap.Push(&first.todo, &item%[1]d{n: i, list: make([]int, 1, 4)})
	}
	first.mu.Unlock()
	%[3]s
	for i := range 3 {
		s := all[i %% len(all)]
		done.Go(func() {
			for range 20 {
				safely(s.m0)
				safely(s.m1)
				safely(s.m2)
			}
		})
	}
}
`, number, text(make1), text(make2))
}
