package static

import (
	"go/ast"
	"strings"
	"testing"
)

// TestWaits: the statement of each line takes as long as the comment at its end says: without a comment, it does not wait.
func TestWaits(t *testing.T) {
	const body = `
	<-c                                          // any delay
	c <- 1                                       // any delay
	select {                                     // any delay
	case <-c:
	case c <- <-d:                               // any delay
	}
	select {
	case v, ok := <-c:
		_, _ = v, ok
	default:
	}
	for range c {                                // any delay
	}
	for range seq {                              // any delay
	}
	for range 3 {
	}
	f()                                          // any delay
	w.Write(nil)                                 // any delay
	l.Lock()                                     // any delay
	mu.Lock()
	wg.Wait()                                    // any delay
	wg.Add(1)
	fmt.Println(1)                               // some delay
	log.Fatal(1)                                 // some delay
	fmt.Fprintln(os.Stderr, 1)                   // some delay
	fmt.Fprintln(w, 1)                           // any delay
	fmt.Fprintln(&buffer, 1)
	json.NewEncoder(&buffer).Encode(1)
	encoder.Encode(1)
	changed.Encode(1)                            // any delay
	io.Copy(&buffer, strings.NewReader(""))      // any delay
	time.Sleep(1)                                // some delay
	os.Remove("")                                // some delay
	os.ReadFile("")                              // any delay
	_ = strings.ToUpper("")
	_ = len("")
	sort.Slice(nil, less)                        // any delay
	sort.Slice(nil, func(i, j int) bool { return i < j })
	time.AfterFunc(1, f)
	go f()
	known()
`
	const head = `package p

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"iter"
	"log"
	"os"
	"sort"
	"strings"
	"sync"
	"time"
)

func known() {}

func body(c chan int, d chan int, seq iter.Seq[int], f func(), w io.Writer, l sync.Locker, mu *sync.Mutex, wg *sync.WaitGroup, less func(i, j int) bool) {
	var buffer bytes.Buffer
	encoder := json.NewEncoder(&buffer)
	changed := json.NewEncoder(&buffer)
	changed = json.NewEncoder(w)
`
	for name, more := range map[string]string{
		"plain": "", "reads its output": "\n\tos.Pipe()\n", "has bubbles": "",
	} {
		source := head + body + more + "}\n"
		if name == "has bubbles" {
			source = strings.Replace(source, `"time"`, "\"testing/synctest\"\n\t\"time\"", 1) + "\nvar _ = synctest.Wait\n"
		}
		p := load(t, source)
		g := NewCallGraph(p)
		waits := FindWaits(g)
		got := map[int]Delay{}
		for _, fn := range p.Functions {
			if fn.Name() != "body" {
				continue
			}
			Own(fn.Body, func(n ast.Node) {
				delay := NoDelay
				if expr, ok := n.(*ast.CallExpr); ok {
					if c := g.Call(expr); !c.Started {
						delay = waits.Delay(c)
					}
				} else if waits.Operation(fn.Info(), n) != "" {
					delay = AnyDelay
				}
				line := p.Fset.Position(n.Pos()).Line
				got[line] = max(got[line], delay)
			})
		}
		for i, line := range strings.Split(source, "\n") {
			_, comment, _ := strings.Cut(line, "// ")
			want := map[string]Delay{"": NoDelay, "some delay": SomeDelay, "any delay": AnyDelay}[comment]
			switch {
			case name == "reads its output" && (strings.Contains(line, "log.Fatal") || strings.Contains(line, "Println(1") || strings.Contains(line, "os.Stderr")),
				name == "has bubbles" && strings.Contains(line, "Sleep"):
				want = AnyDelay
			case strings.Contains(line, "json.NewEncoder(w)"), strings.Contains(line, "os.Pipe"):
				continue
			}
			if got[i+1] != want {
				t.Errorf("%s: %s: delay %v", name, strings.TrimSpace(line), got[i+1])
			}
		}
	}
}

// TestWaitsIn: a wait is found through calls, with its place.
func TestWaitsIn(t *testing.T) {
	p := load(t, `package p

import "fmt"

type T struct{ c chan int }

func (t T) String() string { <-t.c; return "" }

func direct(c chan int) { <-c }
func called(c chan int) { direct(c) }
func printed(t T)       { _ = fmt.Sprint(t) }
func recursive(n int)   { recursive(n - 1) }
func started(c chan int) { go direct(c) }
func literal(c chan int) { func() { <-c }() }
func value(c chan int) func() { return func() { <-c } }
`)
	g := NewCallGraph(p)
	waits := FindWaits(g)
	want := map[string]string{
		"String": "a channel operation", "direct": "a channel operation", "called": "the call of direct, which may wait at p.go:9",
		"printed": "the call of fmt.Sprint, which may wait at p.go:7", "literal": "the call of (func() literal), which may wait at p.go:14",
	}
	for _, fn := range p.Functions {
		if fn.Parent != nil {
			continue
		}
		what := ""
		if wait := waits.In(fn, fn.Body); wait != nil {
			what = wait.What
		}
		if what != want[fn.Name()] {
			t.Errorf("%s waits in %q, want %q", fn.Name(), what, want[fn.Name()])
		}
	}
}
