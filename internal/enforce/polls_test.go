package enforce

import (
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// pollingShape is a way to wait for another goroutine by looking again and again at what it changes.
type pollingShape struct {
	fields string // of the type B, besides level
	wait   string // in a method of b, between a read of level and a write
	signal string // in another goroutine, which has written level before
	more   string // declarations
}

var pollingShapes = map[string]pollingShape{
	"atomic flag":      {"flag atomic.Bool", "for !b.flag.Load() { runtime.Gosched() }", "b.flag.Store(true)", ""},
	"old atomic":       {"flag int32", "for atomic.LoadInt32(&b.flag) == 0 { time.Sleep(time.Millisecond) }", "atomic.StoreInt32(&b.flag, 1)", ""},
	"select default":   {"c chan bool", "for ok := false; !ok; { select { case <-b.c: ok = true; default: time.Sleep(time.Millisecond) } }", "b.c <- true", ""},
	"len of channel":   {"c chan bool", "for len(b.c) == 0 { runtime.Gosched() }", "b.c <- true", ""},
	"cap and len":      {"c chan bool", "for { if cap(b.c) == len(b.c) { break }; time.Sleep(time.Millisecond) }", "b.c <- true", ""},
	"getter":           {"mu sync.Mutex; ready bool", "for !b.isReady() { time.Sleep(time.Millisecond) }", "b.mu.Lock(); b.ready = true; b.mu.Unlock()", "func (b *B) isReady() bool { b.mu.Lock(); defer b.mu.Unlock(); return b.ready }"},
	"lock in loop":     {"mu sync.RWMutex; ready bool", "for { b.mu.RLock(); ok := b.ready; b.mu.RUnlock(); if ok { break }; runtime.Gosched() }", "b.mu.Lock(); b.ready = true; b.mu.Unlock()", ""},
	"TryLock":          {"mu sync.Mutex", "for !b.mu.TryLock() { runtime.Gosched() }; b.mu.Unlock()", "b.mu.Unlock()", ""},
	"CAS":              {"turn atomic.Int32", "for !b.turn.CompareAndSwap(1, 2) { runtime.Gosched() }", "b.turn.Store(1)", ""},
	"counted":          {"flag atomic.Bool", "for range 10000 { if b.flag.Load() { break }; time.Sleep(time.Millisecond) }", "b.flag.Store(true)", ""},
	"counted, called":  {"flag atomic.Bool", "b.await(10000)", "b.flag.Store(true)", "func (b *B) await(n int) { for i := 0; i < n && !b.flag.Load(); i++ { time.Sleep(time.Millisecond) } }"},
	"called":           {"flag atomic.Bool", "b.await()", "b.flag.Store(true)", "func (b *B) await() { for !b.flag.Load() { runtime.Gosched() } }"},
	"called twice":     {"flag atomic.Bool", "b.outer()", "b.flag.Store(true)", "func (b *B) outer() { b.await() }\n\nfunc (b *B) await() { for !b.flag.Load() { runtime.Gosched() } }"},
	"literal":          {"flag atomic.Bool", "func() { for !b.flag.Load() { runtime.Gosched() } }()", "b.flag.Store(true)", ""},
	"function value":   {"flag atomic.Bool", "poll := func() { for !b.flag.Load() { runtime.Gosched() } }; poll()", "b.flag.Store(true)", ""},
	"deferred":         {"flag atomic.Bool", "b.late()", "b.flag.Store(true)", "func (b *B) late() { defer b.await() }\n\nfunc (b *B) await() { for !b.flag.Load() { runtime.Gosched() } }"},
	"deferred literal": {"flag atomic.Bool", "b.late()", "b.flag.Store(true)", "func (b *B) late() { defer func() { for !b.flag.Load() { runtime.Gosched() } }() }"},
	"deferred wait":    {"wg sync.WaitGroup", "b.late()", "b.wg.Done()", "func (b *B) late() { defer b.wg.Wait() }"},
	"recursion":        {"flag atomic.Bool", "b.again()", "b.flag.Store(true)", "func (b *B) again() { if !b.flag.Load() { time.Sleep(time.Millisecond); b.again() } }"},
	"two functions":    {"flag atomic.Bool", "b.ping(0)", "b.flag.Store(true)", "func (b *B) ping(n int) { if !b.flag.Load() { time.Sleep(time.Millisecond); b.pong(n + 1) } }\n\nfunc (b *B) pong(n int) { b.ping(n + 1) }"},
	"file":             {"name string", "for { if _, err := os.Stat(b.name); err == nil { break }; time.Sleep(time.Millisecond) }", "os.WriteFile(b.name, nil, 0o666)", ""},
	"environment":      {"name string", "for os.Getenv(b.name) == \"\" { time.Sleep(time.Millisecond) }", "os.Setenv(b.name, \"1\")", ""},
	"sync.Map":         {"m sync.Map", "for { if _, ok := b.m.Load(1); ok { break }; runtime.Gosched() }", "b.m.Store(1, 1)", ""},
	"nested":           {"flag atomic.Bool", "for range 3 { for !b.flag.Load() { runtime.Gosched() } }", "b.flag.Store(true)", ""},
	"continue":         {"flag atomic.Bool", "for { if !b.flag.Load() { runtime.Gosched(); continue }; break }", "b.flag.Store(true)", ""},
	"labeled":          {"flag atomic.Bool", "wait: for { for range 10 { if b.flag.Load() { break wait }; runtime.Gosched() } }", "b.flag.Store(true)", ""},
	"captured":         {"", "done := false; var mu sync.Mutex; go func() { b.enter(); mu.Lock(); done = true; mu.Unlock() }(); for ok := false; !ok; { mu.Lock(); ok = done; mu.Unlock(); runtime.Gosched() }", "", "func (b *B) enter() { if b.level < 100 { b.level++ } }"},
	"over all":         {"parts [3]atomic.Bool", "for done := 0; done < 3; { done = 0; for i := range b.parts { if b.parts[i].Load() { done++ } }; runtime.Gosched() }", "for i := range b.parts { b.parts[i].Store(true) }", ""},
	"under a lock":     {"mu sync.Mutex; flag atomic.Bool", "b.mu.Lock(); for !b.flag.Load() { runtime.Gosched() }; b.mu.Unlock()", "b.flag.Store(true)", ""},
}

const pollingHead = `package %s

import (
	"os"
	"runtime"
	"sync"
	"sync/atomic"
	"time"
)

var (
	_ = os.Stat
	_ = runtime.Gosched
	_ atomic.Bool
	_ = time.Sleep
	_ sync.Mutex
)

type B struct {
	level int
	%s
}

%s
`

const pollingMethods = `
func (b *B) Take() {
	x := b.level
	%s
	b.level = x + 1
}

func (b *B) Put() {
	if b.level < 100 {
		b.level++
	}
	%s
}
`

const pollingTest = `package %s

import (
	"os"
	"reflect"
	"sync"
	"testing"
	"time"
)

func TestTake(t *testing.T) {
	for round := range 10 {
		b := &B{}
		v := reflect.ValueOf(b)
		if f := v.Elem().FieldByName("c"); f.IsValid() {
			setChannel(b)
		}
		setName(b, t)
		begin(b)
		var wg sync.WaitGroup
		wg.Go(b.Take)
		wg.Go(func() { time.Sleep(time.Duration(round%%3) * time.Millisecond); b.Put() })
		wg.Wait()
	}
}

func setChannel(b *B) { %s }

func setName(b *B, t *testing.T) { %s; _ = os.Unsetenv }

func begin(b *B) { %s }
`

// TestPolling: a goroutine that waits by polling while it has begun a pair does not keep out the one for which it waits. The
// plan names the wait.
func TestPolling(t *testing.T) {
	files := map[string]string{"go.mod": "module example.com/m\n\ngo 1.25\n"}
	pairs := map[string][]any{}
	names := map[string]string{}
	for i, shape := range slices.Sorted(maps.Keys(pollingShapes)) {
		s := pollingShapes[shape]
		pkg := fmt.Sprintf("p%d", i)
		variable := "example.com/m/" + pkg + ".B.level"
		names[variable] = shape
		text := fmt.Sprintf(pollingHead, pkg, s.fields, s.more) + fmt.Sprintf(pollingMethods, s.wait, s.signal)
		channel, name, begin := "", "", ""
		switch {
		case strings.Contains(s.fields, "chan"):
			channel = "b.c = make(chan bool, 1)"
		case strings.Contains(s.fields, "wg"):
			begin = "b.wg.Add(1)"
		case shape == "TryLock":
			begin = "b.mu.Lock()"
		case shape == "file":
			name = `b.name = t.TempDir() + "/ready"`
		case shape == "environment":
			name = `b.name = "HEISEN_READY"; os.Unsetenv(b.name)`
		}
		files[pkg+"/b.go"] = text
		files[pkg+"/b_test.go"] = fmt.Sprintf(pollingTest, pkg, channel, name, begin)
		at := func(part string) int { return strings.Count(text[:strings.Index(text, part)], "\n") + 1 }
		use := func(line int, op string) jsonUse { return jsonUse{"f", pkg + "/b.go", line, op} }
		test := at("if b.level < 100")
		pairs[variable] = []any{
			jsonPair{use(at("x := b.level"), "read"), use(at("b.level = x + 1"), "write"), "exclusive"},
			jsonPair{use(test, "read"), use(test+1, "read"), "exclusive"},
			jsonPair{use(test+1, "read"), use(test+1, "write"), "exclusive"},
		}
		if shape == "captured" {
			pairs[variable] = pairs[variable][:1]
		}
	}
	p := module(t, files)
	placeIn(p.root, pairs)
	pl := plan(t, p, decodeProfile(t, pairs))
	for _, r := range pl.Refused {
		if shape := names[r.Variable]; shape != "function value" { // what it calls might need the lock
			t.Errorf("%s: %v", shape, r)
		}
		delete(names, r.Variable)
	}
	for variable, shape := range names {
		i := slices.IndexFunc(pl.Interruptions, func(i Interruption) bool { return i.Variable == variable && strings.HasSuffix(i.Function, ".Take") })
		if i < 0 {
			t.Errorf("%s: no interruption is named", shape)
		}
	}
	goWith(t, pl, "test", "-timeout", "60s", "./...")
}

// placeIn puts the files of pairs into a folder.
func placeIn(folder string, pairs map[string][]any) {
	for _, list := range pairs {
		for i, pair := range list {
			pair := pair.(jsonPair)
			pair.First.File, pair.Second.File = filepath.Join(folder, pair.First.File), filepath.Join(folder, pair.Second.File)
			list[i] = pair
		}
	}
}
