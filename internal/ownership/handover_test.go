package ownership

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/heisen-go/heisen/internal/ssaload"
)

// TestRandomHandovers is about random programs that make objects, store them in each other, hand them to goroutines, await
// these, and use the objects in between, in ways that are right and wrong.
func TestRandomHandovers(t *testing.T) {
	if testing.Short() {
		t.Skip("builds and runs programs")
	}
	for seed := range uint64(2) {
		dir := module(t, map[string]string{"main.go": randomHandovers(rand.New(rand.NewPCG(seed, 2)), 150)})
		r, err := Analyze(t.Context(), ssaload.Source{Dir: dir})
		if err != nil {
			t.Fatal(err)
		}
		checkReports(t, r, raceReports(t, dir, "run", "-race", "."), 40, 800)
	}
}

// randomHandovers returns a program with so many types of objects, and a function for each that hands them over.
func randomHandovers(random *rand.Rand, types int) string {
	var out strings.Builder
	out.WriteString("package main\n\nimport \"sync\"\n\nfunc main() {\n\tvar all sync.WaitGroup\n")
	for i := range types {
		switch random.IntN(4) {
		case 0: // while no other goroutine runs, if the ones before are awaited
			fmt.Fprintf(&out, "\tspawn%d()\n", i)
		case 1:
			fmt.Fprintf(&out, "\tall.Go(spawn%[1]d)\n\tall.Go(spawn%[1]d)\n\tall.Wait()\n", i)
		case 2:
			fmt.Fprintf(&out, "\tall.Go(func() { spawn%d() })\n", i)
		case 3:
			fmt.Fprintf(&out, "\t{\n\t\tvar mine sync.WaitGroup\n\t\tmine.Add(1)\n\t\tgo func() {\n\t\t\tdefer mine.Done()\n\t\t\tspawn%d()\n\t\t}()\n\t\tmine.Wait()\n\t}\n", i)
		}
	}
	out.WriteString("\tall.Wait()\n}\n")
	for i := range types {
		randomSpawner(&out, random, i)
	}
	return out.String()
}

// uses are what is done with an object o.
var uses = []string{
	"o.n++", "o.list = append(o.list, o.n)", "if len(o.list) > 0 { o.list[0]++ }", "o.next = &t%[1]d{n: o.n}", "if o.next != nil { o.next.n++ }",
	"o.helper()", "func() { o.n-- }()", "o.part.m[1]++", "p := &o.part; p.k++", "o.seen = append(o.seen, &o.part)",
	"for _, p := range o.seen { p.k++ }", "if o.values == nil { o.values = map[string]*part%[1]d{} }; o.values[\"x\"] = &part%[1]d{}",
	"if p := o.values[\"x\"]; p != nil { p.k++ }", "o.do = func() { o.n++ }", "if o.do != nil { o.do() }", "q := o; q.n += len(q.list)",
	"o.any = &o.part", "if p, ok := o.any.(*part%[1]d); ok { p.k++ }", "c := *o; c.n++; o.list = c.list", "o.next = o",
	"pick%[1]d(o, &part%[1]d{}).k++", "x := &o.n; *x++", "pp := &o.next; if *pp != nil { (*pp).n++ }", "copy(o.seen, []*part%[1]d{{}, {}})",
}

// leaks are what lets others know an object o, or a part of it.
var leaks = []string{
	"mu%[1]d.Lock(); global%[1]d = o; mu%[1]d.Unlock()", "mu%[1]d.Lock(); if global%[1]d != nil { global%[1]d.n++ }; mu%[1]d.Unlock()", "select { case ch%[1]d <- o: default: }",
	"select { case x := <-ch%[1]d: x.n++; default: }", "mu%[1]d.Lock(); if global%[1]d != nil { o.next = global%[1]d.next }; mu%[1]d.Unlock()",
	"any%[1]d.Store(1, o)", "if x, ok := any%[1]d.Load(1); ok { x.(*t%[1]d).n++ }", "mu%[1]d.Lock(); kept%[1]d = append(kept%[1]d, &o.part); mu%[1]d.Unlock()",
	"mu%[1]d.Lock(); for _, p := range kept%[1]d { p.k++ }; mu%[1]d.Unlock()", "mu%[1]d.Lock(); lists%[1]d = append(lists%[1]d, o.list...); mu%[1]d.Unlock()",
	"mu%[1]d.Lock(); if o.do != nil { do%[1]d = o.do }; mu%[1]d.Unlock()", "mu%[1]d.Lock(); if do%[1]d != nil { do%[1]d() }; mu%[1]d.Unlock()",
}

func randomSpawner(out *strings.Builder, random *rand.Rand, number int) {
	fmt.Fprintf(out, `
type t%[1]d struct {
	n      int
	list   []int
	next   *t%[1]d
	part   part%[1]d
	seen   []*part%[1]d
	values map[string]*part%[1]d
	do     func()
	any    any
}

type part%[1]d struct {
	k int
	m [3]int
}

var (
	mu%[1]d     sync.Mutex
	global%[1]d *t%[1]d
	ch%[1]d     = make(chan *t%[1]d, 2)
	any%[1]d    sync.Map
	kept%[1]d   []*part%[1]d
	lists%[1]d  []int
	do%[1]d     func()
)

func (o *t%[1]d) helper() { o.n += len(o.seen) }

func pick%[1]d(o *t%[1]d, p *part%[1]d) *part%[1]d {
	if o.n%%2 == 0 {
		return &o.part
	}
	return p
}
`, number)
	// Few kinds of uses, and mostly none that lets others know the object.
	var kinds []string
	for range 4 {
		kinds = append(kinds, uses[random.IntN(len(uses))])
	}
	for random.IntN(3) == 0 {
		kinds = append(kinds, leaks[random.IntN(len(leaks))])
	}
	some := func(most int) string {
		var text strings.Builder
		for range random.IntN(most + 1) {
			use := kinds[random.IntN(len(kinds))]
			if strings.Contains(use, "%") {
				use = fmt.Sprintf(use, number)
			}
			fmt.Fprintf(&text, "\t{ %s }\n", use)
		}
		return text.String()
	}
	fmt.Fprintf(out, "\nfunc (o *t%[1]d) run() {\n\tdefer func() { recover() }()\n%s}\n\nfunc (o *t%[1]d) use() {\n%s}\n", number, some(4), some(2))
	fmt.Fprintf(out, "\nfunc spawn%d() {\n\tdefer func() { recover() }()\n\tvar done sync.WaitGroup\n\tdone.Wait()\n", number)
	rarely := func(text string) string {
		if random.IntN(4) == 0 {
			return text
		}
		return ""
	}
	object := fmt.Sprintf("&t%d{}", number)
	if random.IntN(3) == 0 {
		object = fmt.Sprintf("&t%[1]d{next: &t%[1]d{}}", number)
	}
	starts := []string{
		"done.Go(o.run)", "done.Go(func() { o.run() })", "done.Add(1); go func() { defer done.Done(); o.run() }()", "done.Add(1); go func(o *t%[1]d) { defer done.Done(); o.run() }(o)",
		"go o.run()", "done.Go(all[i].run)", "done.Add(1); go func() { o.run(); done.Done() }()", "done.Add(1); go func() { done.Done(); o.run() }()", "done.Go(func() { o.run(); go o.use() })",
		"done.Go(func() { o.run(); " + strings.ReplaceAll(strings.TrimSpace(some(1)), "\n", "; ") + " })",
	}
	start := starts[random.IntN(len(starts))]
	if strings.Contains(start, "%[1]d") {
		start = fmt.Sprintf(start, number)
	}
	fmt.Fprintf(out, "\tall := make([]*t%[1]d, 3)\n", number)
	switch random.IntN(4) {
	case 0: // one object for all goroutines
		fmt.Fprintf(out, "\to := %s\n\tfor i := range all {\n\t\tall[i] = o\n", object)
	case 1:
		fmt.Fprintf(out, "\tfor i := range all {\n\t\tall[i] = %s\n\t\to := all[i]\n", object)
	default:
		fmt.Fprintf(out, "\tfor i := range all {\n\t\to := %s\n\t\tall[i] = o\n", object)
	}
	out.WriteString(rarely("\t\to.use()\n") + "\t\t_ = o\n")
	if random.IntN(2) == 0 {
		out.WriteString("\t\to.n = i\n")
	}
	fmt.Fprintf(out, "\t\t%s\n", start)
	out.WriteString(rarely("\t\to.use()\n") + rarely("\t\tdone.Go(o.run)\n") + rarely("\t\tif i > 0 { all[i-1].use() }\n"))
	out.WriteString("\t}\n")
	out.WriteString(rarely("\tall[1].use()\n"))
	if random.IntN(5) > 0 {
		out.WriteString("\tdone.Wait()\n")
	}
	fmt.Fprintf(out, "\tfor _, o := range all {\n\t\t_ = o\n%s\t}\n}\n", some(2))
}
