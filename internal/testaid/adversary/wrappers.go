package main

import "fmt"

// A wrapper runs what it wraps in a certain way, and waits for its end.
type wrapper struct {
	open, end string
	most      int  // if it is not zero, open has a %d for a number from 1 to most
	plain     bool // it may stand around a bug: it runs once, and recovers from nothing
	repeats   bool // it runs what it wraps several times
	tests     bool // it starts subtests
	bubble    bool // it is a bubble of testing/synctest
	noTests   bool // no subtests may start in it
	outside   bool // it needs something outside of the program, such as a thread of its own
}

// write returns what stands before and after.
func (w *wrapper) write(g *generator) (open, end string) {
	if w.most == 0 {
		return w.open, w.end
	}
	return fmt.Sprintf(w.open, 1+g.IntN(w.most)), w.end
}

var wrappers = []wrapper{
	{open: "func() {", end: "}()", plain: true},
	{open: "for range 2 {", end: "}", repeats: true},
	{open: "{ var all sync.WaitGroup; all.Go(func() {", end: "}); all.Wait() }", plain: true},
	{open: "{ var all sync.WaitGroup; for range %d { all.Go(func() {", end: "}) }; all.Wait() }", most: 3, repeats: true},
	{open: "{ done := make(chan bool); go func() { defer close(done)", end: "}(); <-done }", plain: true},
	{open: "{ done := make(chan int, 1); go func() { ", end: "; done <- 1 }(); select { case <-done: case <-time.After(time.Hour): t.Error(\"wrong: an hour has passed\") } }"},
	{open: "func() { defer func() { if v := recover(); v != \"planned\" { panic(v) } }()", end: "; panic(\"planned\") }()"},
	{open: "func() { defer func() {", end: "}() }()", plain: true},
	{open: "deep(%d, func() {", end: "})", most: 200, plain: true},
	{open: "apply(%d, func(int) {", end: "})", most: 9, plain: true},
	{open: "apply(map[string]int{}, func(m map[string]int) { m[\"a\"] = 1", end: "; sink(m[\"a\"]) })"},
	{open: "reflect.ValueOf(func() {", end: "}).Call(nil)", plain: true},
	{open: "(interface{ do() })(&doer{func() {", end: "}}).do()", plain: true},
	{open: "map[string]func(){\"f\": func() {", end: "}}[\"f\"]()"},
	{open: "new(sync.Once).Do(func() {", end: "})"},
	{open: "sync.OnceFunc(func() {", end: "})()"},
	{open: "{ var mu sync.Mutex; mu.Lock(); func() { defer mu.Unlock()", end: "}() }"},
	{open: "{ var mu sync.RWMutex; mu.RLock()", end: "; mu.RUnlock() }"},
	{open: "{ done := make(chan bool); time.AfterFunc(%d, func() { defer close(done)", end: "}); <-done }", most: 100000},
	{open: "{ ctx, cancel := context.WithCancel(context.Background()); done := make(chan bool); context.AfterFunc(ctx, func() { defer close(done)", end: "}); cancel(); <-done }"},
	{open: "{ ctx, cancel := context.WithTimeout(context.Background(), %d); <-ctx.Done()", end: "; cancel() }", most: 100000},
	{open: "select { default: ", end: "}"},
	{open: "{ g, _ := newGroup(%d); g.run(func() error { ", end: "; return nil }); if err := g.wait(); err != nil { t.Error(\"wrong:\", err) } }", most: 3},
	{open: "for range count(1, new(int)) {", end: "}"},
	{open: "{ next, stop := iter.Pull(func(yield func(int) bool) {", end: "; yield(1) }); next(); stop() }", noTests: true},
	{open: "func() { runtime.LockOSThread(); defer runtime.UnlockOSThread()", end: "}()", outside: true},
	{open: "runtime.GC(); func() {", end: "}(); runtime.GC()"},
	{open: "t.Cleanup(func() {", end: "})", noTests: true},
	{open: "t.Run(\"sub\", func(t *testing.T) {", end: "})", tests: true},
	{open: "t.Run(\"group\", func(t *testing.T) { for range %d { t.Run(\"parallel\", func(t *testing.T) { t.Parallel()", end: "}) } })", most: 2, tests: true, repeats: true},
	{open: "synctest.Test(t, func(t *testing.T) {", end: "})", tests: true, bubble: true},
	{open: "serve(t, func() {", end: "})", noTests: true, outside: true},
}
