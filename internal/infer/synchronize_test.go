package infer_test

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/heisen-go/heisen/internal/infer"
	"github.com/heisen-go/heisen/section"
)

// TestSynchronizations has a section from the read to the write of n in each function. A comment says what is wanted.
func TestSynchronizations(t *testing.T) {
	const source = `package main

import (
	"fmt"
	"sort"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

var (
	n    int
	a    atomic.Int64
	mu   sync.Mutex
	wg   sync.WaitGroup
	c    = make(chan int)
	f    = func() {}
	s    fmt.Stringer
	word string
)

func main() {
	go none()
	go locked()
}

func none()     { x := n; compute(3); word = strings.ToUpper(word); a.Add(1); n = x + 1 } // -
func twice()    { x := n; mu.Lock(); n = x + 1; mu.Unlock() }                             // -
func locked()   { x := n; deeper(); n = x + 1 }                                           // deepest receives from a channel
func deeper()   { compute(1); deepest() }
func deepest()  { defer deeper(); <-c }
func sends()    { x := n; c <- 1; n = x + 1 }             // sends sends on a channel
func receives() { x := n; y := <-c; n = x + y }           // receives receives from a channel
func ranges()   { x := n; for y := range c { x += y }; n = x } // ranges receives from a channel
func selects()  { x := n; select { case <-c: case c <- 1: }; n = x + 1 } // selects selects
func closes()   { x := n; close(c); n = x + 1 }           // -
func starts()   { x := n; go compute(1); n = x + 1 }      // -
func value()    { x := n; f(); n = x + 1 }                // value calls a function value
func method()   { x := n; s.String(); n = x + 1 }         // method calls the method String of an interface
func prints()   { x := n; word = fmt.Sprint(s); n = x + 1 } // -
func sorts()    { x := n; sort.Ints(nil); n = x + 1 }     // -
func less()     { x := n; sort.Sort(nil); n = x + 1 }     // -
func adds()     { x := n; new(sync.WaitGroup).Add(1); n = x + 1 } // -
func sleeps()   { x := n; time.Sleep(1); n = x + 1 }      // -
func before()   { wg.Wait(); x := n; n = x + 1; wg.Wait() } // -
func deferred() { mu.Lock(); defer wg.Wait(); x := n; word = string(rune(x)) } // deferred calls (*sync.WaitGroup).Wait
func defers()   { defer wg.Wait(); mu.Lock(); x := n; n = x + 1 } // -
func branch() { // -
	x := n
	if x > 3 {
		<-c
		return
	}
	n = x + 1
	mu.Unlock()
}
func loop() { // loop sends on a channel
	x := n
	for i := range 3 {
		x += i
		if x > 2 {
			c <- x
		}
	}
	n = x
}

func compute(n int) int {
	if n == 0 {
		return 1
	}
	return n * compute(n-1)
}
`
	dir := write(t, map[string]string{"go.mod": "module example.com/sync\n\ngo 1.25\n", "main.go": source})
	file := filepath.ToSlash(filepath.Join(dir, "main.go"))
	var sections []section.Section
	var names, want []string
	functionOf := map[int]string{} // by line
	lines := strings.Split(source, "\n")
	for i, line := range lines {
		if name, ok := strings.CutPrefix(line, "func "); ok {
			name, _, _ = strings.Cut(name, "(")
			functionOf[i+1] = name
			_, comment, ok := strings.Cut(line, "// ")
			if !ok {
				continue
			}
			entry := i + 1
			for ; !strings.Contains(lines[entry-1], "x := n"); entry++ {
			}
			end := entry
			for ; !strings.Contains(lines[end-1], "n = x"); end++ {
			}
			sections = append(sections, section.Section{
				Entry: section.Location{File: file, Line: entry, Mode: section.Reads},
				Ends:  []section.End{{At: section.Location{File: file, Line: end, Mode: section.Writes}}},
			})
			names = append(names, name)
			if comment != "-" {
				want = append(want, name+": "+comment)
			}
		}
	}
	found, err := infer.Synchronizations(context.Background(), infer.Source{Dir: dir}, sections)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, s := range found {
		if filepath.ToSlash(s.File) != file {
			t.Errorf("file %s", s.File)
		}
		line := s.Line
		for functionOf[line] == "" {
			line--
		}
		got = append(got, fmt.Sprintf("%s: %s %s", names[s.Section], functionOf[line], s.What))
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}
