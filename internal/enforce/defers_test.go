package enforce

import (
	"fmt"
	"maps"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// deferringShapes are functions that look at b.n and then change it in a deferred call. The lines of the pair are marked.
var deferringShapes = map[string]string{
	"literal": `func (b *B) Take() {
	if b.n == 0 { // first
		return
	}
	defer func() {
		b.n-- // second
	}()
	runtime.Gosched()
}`,
	"method": `func (b *B) Take() {
	if b.n == 0 { // first
		return
	}
	defer b.done()
	runtime.Gosched()
}

func (b *B) done() {
	b.n-- // second
}`,
	"arguments": `func (b *B) Take() {
	if b.n == 0 { // first
		return
	}
	defer b.add(-1)
	runtime.Gosched()
}

func (b *B) add(n int) {
	b.n += n // second
}`,
	"before": `func (b *B) Take() {
	ok := false
	defer func() {
		if ok {
			b.n-- // second
		}
	}()
	ok = b.n > 0 // first
	runtime.Gosched()
}`,
	"conditional": `func (b *B) Take() {
	some := b.n > 0 // first
	if some {
		defer func() {
			b.n-- // second
		}()
	}
	runtime.Gosched()
}`,
	"unlocks": `func (b *B) Take() {
	if b.n == 0 { // first
		return
	}
	defer func() {
		b.n-- // second
	}()
	b.mu.Lock()
	defer b.mu.Unlock()
	b.other++
	runtime.Gosched()
}`,
	"panics": `func (b *B) Take() {
	defer func() {
		if recover() != nil {
			b.n-- // second
		}
	}()
	if b.n == 0 { // first
		return
	}
	runtime.Gosched()
	panic("taken")
}`,
	"in a loop": `func (b *B) Take() {
	for range 2 {
		b.take()
	}
}

func (b *B) take() {
	if b.n == 0 { // first
		return
	}
	for range 1 {
		defer func() {
			b.n-- // second
		}()
	}
	runtime.Gosched()
}`,
	"waits after": `func (b *B) Take() {
	var wg sync.WaitGroup
	wg.Go(b.get)
	defer wg.Wait()
	if b.n == 0 { // first
		return
	}
	defer func() {
		b.n-- // second
	}()
	runtime.Gosched()
}

func (b *B) get() { b.seen = b.n > 0 }`,
	"called": `func (b *B) Take() {
	b.other++
	b.take()
}

func (b *B) take() {
	if b.n == 0 { // first
		return
	}
	defer func(d int) {
		b.n += d // second
	}(-1)
	runtime.Gosched()
}`,
}

// TestDeferred: a pair whose second access is in a deferred call is atomic.
func TestDeferred(t *testing.T) {
	files := map[string]string{"go.mod": "module example.com/m\n\ngo 1.25\n"}
	pairs := map[string][]any{}
	for i, shape := range slices.Sorted(maps.Keys(deferringShapes)) {
		pkg := fmt.Sprintf("p%d", i)
		text := "package " + pkg + "\n\nimport (\n\t\"runtime\"\n\t\"sync\"\n)\n\ntype B struct {\n\tn, other int\n\tseen bool\n\tmu sync.Mutex\n}\n\n" + deferringShapes[shape] + "\n"
		files[pkg+"/b.go"] = text
		files[pkg+"/b_test.go"] = "package " + pkg + `

import (
	"sync"
	"testing"
)

func TestTake(t *testing.T) {
	for range 300 {
		b := &B{n: 1}
		var wg sync.WaitGroup
		wg.Go(b.Take)
		wg.Go(b.Take)
		wg.Wait()
		if b.n != 0 {
			t.Fatal("n = ", b.n)
		}
	}
}
`
		at := func(part string) int { return strings.Count(text[:strings.Index(text, part)], "\n") + 1 }
		pairs["example.com/m/"+pkg+".B.n"] = []any{jsonPair{
			jsonUse{"f", pkg + "/b.go", at("// first"), "read"}, jsonUse{"f", pkg + "/b.go", at("// second"), "write"}, "exclusive",
		}}
	}
	p := module(t, files)
	for _, list := range pairs {
		pair := list[0].(jsonPair)
		pair.First.File, pair.Second.File = filepath.Join(p.root, pair.First.File), filepath.Join(p.root, pair.Second.File)
		list[0] = pair
	}
	pl := plan(t, p, decodeProfile(t, pairs))
	if len(pl.Refused)+len(pl.Interruptions) > 0 || len(pl.Variables) != len(deferringShapes) {
		t.Fatal(pl.Variables, pl.Refused, pl.Interruptions)
	}
	plain := exec.Command("go", "test", "./...")
	plain.Dir = p.root
	if out, err := plain.CombinedOutput(); err == nil {
		t.Errorf("nothing is wrong without locks:\n%s", out)
	}
	goWith(t, pl, "vet", "./...")
	goWith(t, pl, "test", "-timeout=60s", "./...")
}

// TestLost: a pair that the source does not show in one function is named with its place.
func TestLost(t *testing.T) {
	const source = `package main

type box struct{ n int }

func (b *box) take() {
	if b.n > 0 { // test:
		b.n-- // act:
	}
}

func (b *box) put() func() {
	b.n++ // put:
	return func() {
		b.n = 0 // clear:
	}
}

func main() {}
`
	p := module(t, map[string]string{"main.go": source})
	pl := plan(t, p, pairsOf(t, p, "main.go", "example.com/m.box.n", [][3]string{{"testr", "actw", "exclusive"}, {"putw", "clearw", "exclusive"}}))
	if len(pl.Refused) != 1 || len(pl.Variables) != 1 {
		t.Fatal(pl.Variables, pl.Refused)
	}
	want := "main.go:12: example.com/m.box.n: some pairs in f are left out: the source does not show how control comes from here to main.go:14"
	if got := pl.Refused[0].String(); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}
