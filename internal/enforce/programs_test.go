package enforce

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

var (
	programs  = flag.Int("programs", 16, "`number` of random programs of TestRandomPrograms")
	firstSeed = flag.Uint64("seed", 1, "seed of the first random program")
)

// betweenAccesses are statements between a read of b.level and the write that depends on it. Those that wait for another
// goroutine end once it has come, which accesses b.level before.
var betweenAccesses = []string{
	"runtime.Gosched()",
	"b.helper()",
	"sort.Slice(b.list, func(i, j int) bool { b.compared.Add(1); return b.list[i] < b.list[j] })",
	"func() { runtime.Gosched() }()",
	"for i := range 3 { b.count(i) }",
	"b.seen.Store(x, true)",
	"defer b.helper()",
	"defer func() { recover() }()",
	"for b.gate.Load() == 0 { runtime.Gosched() }",
	"for ok := false; !ok; { select { case <-b.open: ok = true; default: runtime.Gosched() } }",
	"<-b.open",
	"for !b.isOpen() { time.Sleep(10 * time.Microsecond) }",
	"b.again()",
	"defer b.again()",
	"defer func() { for b.gate.Load() == 0 { runtime.Gosched() } }()",
	"b.each(func(i int) { for b.gate.Load() == 0 { runtime.Gosched() } })",
	"b.late()",
	"func() { defer func() { recover() }(); b.panics() }()",
}

const programHead = `package %s

import (
	"runtime"
	"sort"
	"sync"
	"sync/atomic"
	"time"
)

var _ = sort.Slice
var _ = time.Sleep

type B struct {
	level, other int
	mu           sync.Mutex
	list         []int
	compared     atomic.Int64
	seen         sync.Map
	gate         atomic.Int32
	isReady      bool // guarded by mu
	open         chan bool
}

func New() *B { return &B{open: make(chan bool)} }

func (b *B) helper() { b.mu.Lock(); defer b.mu.Unlock(); b.other++; runtime.Gosched() }

func (b *B) count(i int) { b.mu.Lock(); b.other += i; b.mu.Unlock() }

func (b *B) isOpen() bool { b.mu.Lock(); defer b.mu.Unlock(); return b.isReady }

func (b *B) again() { if b.gate.Load() == 0 { time.Sleep(10 * time.Microsecond); b.again() } }

func (b *B) each(f func(int)) { for i := range 2 { f(i) } }

func (b *B) late() { defer b.again(); b.helper() }

func (b *B) panics() { runtime.Gosched(); panic(b.other) }

func (b *B) get() int { return b.level }

func (b *B) set(n int) { b.level = n } // set

// Come accesses level, and then lets the others go on.
func (b *B) Come() {
	if b.level > 1000 { // look
		b.level = 0
	}
	b.mu.Lock()
	b.isReady = true
	b.mu.Unlock()
	b.gate.Store(1)
	close(b.open)
}
`

const programTest = `package %s

import (
	"os"
	"strings"
	"sync"
	"testing"
	"time"
)

func TestTake(t *testing.T) {
	exact := strings.Contains(os.Getenv("EXACT"), ",%[1]s,")
	for round := range 20 {
		b := New()
		var wg sync.WaitGroup
		for range 3 {
			wg.Go(b.Take)
		}
		wg.Go(func() { time.Sleep(time.Duration(round%%3) * 200 * time.Microsecond); b.Come() })
		wg.Wait()
		if exact && b.level != 3 {
			t.Fatal("level ", b.level)
		}
	}
}
`

// randomProgram returns a package with a type B, and the lines and kinds of the two accesses of a pair in its method Take.
func randomProgram(pkg string, r *rand.Rand) (text string, first, second jsonUse) {
	read, readOp := "x := b.level // first", "read"
	if r.IntN(3) == 0 {
		read, readOp = "x := b.get() // first", "call"
	}
	between := ""
	for range 1 + r.IntN(3) {
		between += "\t" + betweenAccesses[r.IntN(len(betweenAccesses))] + "\n"
	}
	write, mark, writeOp := "b.level = x + 1 // second", "// second", "write"
	switch r.IntN(6) {
	case 0:
		write, writeOp = "b.set(x + 1) // second", "call"
	case 1:
		write, mark = "defer b.set(x + 1)", "// set"
	case 2:
		write = "defer func() {\n\t\tb.level = x + 1 // second\n\t}()"
	case 3:
		write, writeOp = "func() { b.set(x + 1) }() // second", "call"
	}
	text = fmt.Sprintf(programHead, pkg) + "\nfunc (b *B) Take() {\n\t" + read + "\n" + between + "\t" + write + "\n\truntime.Gosched()\n}\n"
	at := func(part string) int { return strings.Count(text[:strings.Index(text, part)], "\n") + 1 }
	file := pkg + "/b.go"
	return text, jsonUse{"f", file, at("// first"), readOp}, jsonUse{"f", file, at(mark), writeOp}
}

// TestRandomPrograms: random programs that wait, poll, defer, recover and call back come to their ends, and a pair of which
// nothing is named is atomic. Without locks, many of them lose updates; with locks that are not given up where a goroutine
// polls, they hang.
func TestRandomPrograms(t *testing.T) {
	files := map[string]string{"go.mod": "module example.com/m\n\ngo 1.25\n"}
	pairs := map[string][]any{}
	for i := range *programs {
		pkg := fmt.Sprintf("p%d", i)
		text, first, second := randomProgram(pkg, rand.New(rand.NewPCG(*firstSeed+uint64(i), 50)))
		files[pkg+"/b.go"], files[pkg+"/b_test.go"] = text, fmt.Sprintf(programTest, pkg)
		look := strings.Count(text[:strings.Index(text, "// look")], "\n") + 1
		pairs["example.com/m/"+pkg+".B.level"] = []any{
			jsonPair{first, second, "exclusive"},
			jsonPair{jsonUse{"f", first.File, look, "read"}, jsonUse{"f", first.File, look + 1, "write"}, "exclusive"},
		}
	}
	p := module(t, files)
	placeIn(p.root, pairs)
	pl := plan(t, p, decodeProfile(t, pairs))
	exact := ","
	for i := range *programs {
		pkg := fmt.Sprintf("p%d", i)
		variable := "example.com/m/" + pkg + ".B.level"
		if !slices.ContainsFunc(pl.Refused, func(r Refusal) bool { return r.Variable == variable }) &&
			!slices.ContainsFunc(pl.Interruptions, func(i Interruption) bool { return i.Variable == variable }) {
			exact += pkg + ","
		}
	}
	if n := strings.Count(exact, ",") - 1; n == 0 || n == *programs {
		t.Errorf("nothing is named of %d of %d programs", n, *programs)
	}
	t.Setenv("EXACT", exact)
	t.Logf("exact: %s", exact)
	goWith(t, pl, "vet", "./...")
	goWith(t, pl, "test", "-timeout=60s", "./...")
}
