package source

import (
	"flag"
	"fmt"
	"go/build"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"testing"

	"go.uber.org/goleak"

	"github.com/heisen-go/heisen"
)

// mapStore never drops an entry.
type mapStore map[string]entry

func (m mapStore) Get(key string) (entry, bool)          { e, ok := m[key]; return e, ok }
func (m mapStore) Set(key string, e entry, _ int64) bool { m[key] = e; return true }
func (m mapStore) Wait()                                 {}
func (m mapStore) Close()                                {}

// forgetful drops every so many-th Set and loses every so many-th Get.
type forgetful struct {
	mapStore
	sets, gets, each int
}

func (f *forgetful) Get(key string) (entry, bool) {
	if f.gets++; f.gets%f.each == 0 {
		return entry{}, false
	}
	return f.mapStore.Get(key)
}

func (f *forgetful) Set(key string, e entry, cost int64) bool {
	if f.sets++; f.sets%f.each == 0 {
		return true // ristretto does not report this either
	}
	return f.mapStore.Set(key, e, cost)
}

// TestForgetting: a cache that drops entries gives the same excerpts as one that does not.
func TestForgetting(t *testing.T) {
	frames := append(libraryFrames(t, "bufio", "container/heap", "text/tabwriter", "errors"),
		heisen.Frame{File: "missing.go", Line: 1})
	sure := newTestCache(t)
	sure.store = mapStore{}
	for _, each := range []int{1, 2, 3, 7} {
		c := newTestCache(t)
		c.store = &forgetful{mapStore: mapStore{}, each: each}
		for range 2 {
			for _, f := range frames {
				for _, op := range []heisen.Op{heisen.Read, heisen.Write} {
					want, got := sure.At(f, op, 0), c.At(f, op, 0)
					if got.Line != want.Line || got.Statement != want.Statement || got.Variable() != want.Variable() {
						t.Fatalf("each %d, %v: %+v, want %+v", each, f, got, want)
					}
				}
			}
		}
	}
}

// TestBound: the cached entries stay within the bound, and the excerpts are the same.
func TestBound(t *testing.T) {
	frames := libraryFrames(t, "bufio", "container/heap", "text/tabwriter", "errors", "path", "container/list")
	tiny, sure := NewCache(1), newTestCache(t)
	defer tiny.Close()
	for range 3 {
		for _, f := range frames {
			if want, got := sure.At(f, heisen.Write, 0), tiny.At(f, heisen.Write, 0); got.Statement != want.Statement || got.Variable() != want.Variable() {
				t.Fatalf("%v: %+v, want %+v", f, got, want)
			}
		}
	}
}

// TestClose: closing leaves no goroutine, twice is allowed, and lookups still work.
func TestClose(t *testing.T) {
	before := goleak.IgnoreCurrent()
	frame := libraryFrames(t, "errors")[0]
	for range 2 {
		c := NewCache(DefaultMemory)
		want := c.At(frame, heisen.Read, 0).Line
		c.Close()
		c.Close()
		if got := c.At(frame, heisen.Read, 0).Line; got != want {
			t.Errorf("%q after Close, %q before", got, want)
		}
	}
	NewCache(DefaultMemory).Close()
	(*Cache)(nil).Close()
	goleak.VerifyNone(t, before)
}

// libraryFrames returns some lines of each file of packages of the standard library.
func libraryFrames(t testing.TB, packages ...string) (frames []heisen.Frame) {
	t.Helper()
	for _, name := range packages {
		p, err := build.Default.Import(name, "", 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range p.GoFiles {
			for line := 40; line < 160; line += 30 {
				frames = append(frames, heisen.Frame{Func: name + ".f", File: filepath.Join(p.Dir, file), Line: line})
			}
		}
	}
	return frames
}

var benchmarkPackages = []string{
	"bufio", "bytes", "container/heap", "container/list", "encoding/json", "errors", "fmt", "io", "net/http", "net/url",
	"os", "path", "regexp", "sort", "strings", "text/tabwriter",
}

// BenchmarkCache looks up the two accesses of a finding, in findings that are spread over 16
// packages of the standard library with 2.2 MB of source. All packages were looked at before.
// memory=1GiB holds them all, memory=24MiB all but net/http, which has half of the source. It
// reports the time of a finding and how much memory the cache keeps. New places are looked up in
// repeat=no, and known places in repeat=yes, which is what the steps of a witness mostly are.
func BenchmarkCache(b *testing.B) {
	frames := libraryFrames(b, benchmarkPackages...)
	for _, cache := range []struct {
		name string
		make func() *Cache
	}{
		{"cache=none/memory=0", func() *Cache { c := NewCache(1); c.store = noStore{}; return c }},
		{"cache=map/memory=unbounded", func() *Cache { c := NewCache(1); c.store = mapStore{}; return c }},
		{"cache=ristretto/memory=24MiB", func() *Cache { return NewCache(24 << 20) }},
		{"cache=ristretto/memory=48MiB", func() *Cache { return NewCache(48 << 20) }},
		{"cache=ristretto/memory=1GiB", func() *Cache { return NewCache(1 << 30) }},
	} {
		for _, repeat := range []string{"no", "yes"} {
			b.Run("repeat="+repeat+"/"+cache.name, func(b *testing.B) {
				before := inUse()
				c := cache.make()
				defer c.Close()
				for i := 0; i < len(frames); i += 4 {
					c.At(frames[i], heisen.Read, 0)
				}
				rng := rand.New(rand.NewPCG(1, 1))
				n := 0
				for b.Loop() {
					i := rng.IntN(len(frames))
					first, second := frames[i], frames[(i+1)%len(frames)]
					if repeat == "no" { // in another function, by its name
						n++
						first.Func, second.Func = strconv.Itoa(n), strconv.Itoa(n)
					}
					c.At(first, heisen.Read, 0)
					c.At(second, heisen.Write, 0)
				}
				b.ReportMetric(float64(inUse()-before)/(1<<20), "MiB-kept")
			})
		}
	}
}

var calibrate = flag.Bool("calibrate", false, "measure the memory of packages against their estimated cost")

// TestCost compares the estimate of a package's memory with what it takes.
func TestCost(t *testing.T) {
	if !*calibrate {
		t.Skip("without -calibrate")
	}
	for _, name := range benchmarkPackages {
		before := inUse()
		c := newTestCache(t)
		c.store = mapStore{}
		c.At(libraryFrames(t, name)[0], heisen.Read, 0)
		taken := inUse() - before
		fmt.Fprintf(os.Stderr, "%-16s %8d bytes of source, %10d taken, %10d estimated, %.1f bytes a byte\n",
			name, c.last.size, taken, c.last.cost(), float64(taken)/float64(c.last.size))
	}
}

// inUse returns how many bytes are reachable.
func inUse() int64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}
