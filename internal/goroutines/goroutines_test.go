package goroutines

import (
	"context"
	"errors"
	"reflect"
	"runtime/pprof"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

type locked struct {
	mu sync.Mutex
	rw sync.RWMutex
}

// TestReason lets a goroutine wait for everything that it can wait for, and looks for it by its label.
func TestReason(t *testing.T) {
	stop := make(chan int)
	defer close(stop)
	var l locked
	l.mu.Lock()
	l.rw.Lock()
	cond := sync.NewCond(new(sync.Mutex))
	var group sync.WaitGroup
	group.Add(1)
	for reason, wait := range map[string]func(){
		"chan send":          func() { make(chan int) <- 1 },
		"chan receive":       func() { <-stop },
		"select (no cases)":  func() { select {} },
		"sync.Mutex.Lock":    func() { l.mu.Lock() },
		"sync.RWMutex.RLock": func() { l.rw.RLock() },
		"sync.RWMutex.Lock":  func() { l.rw.Lock() },
		"sync.WaitGroup.Wait": func() {
			group.Wait()
		},
		"sync.Cond.Wait": func() {
			cond.L.Lock()
			cond.Wait()
		},
		"select": func() {
			select {
			case <-stop:
			case <-make(chan int):
			}
		},
		"": func() { time.Sleep(time.Hour) },
	} {
		labels := pprof.Labels("reason", reason+".")
		pprof.Do(context.Background(), labels, func(context.Context) { go wait() })
		var got *Group
		for range 1000 {
			if got = find(t, reason+"."); got != nil && got.Reason() == reason {
				break
			}
			time.Sleep(time.Millisecond)
		}
		switch {
		case got == nil:
			t.Errorf("%q: no goroutine has the label", reason)
		case got.Reason() != reason || got.Count != 1:
			t.Errorf("%d goroutine(s) wait for %q, want %q", got.Count, got.Reason(), reason)
		case reason != "" && !strings.HasPrefix(got.Callers()[0].Function, "github.com/heisen-go/heisen/internal/goroutines.TestReason."):
			t.Errorf("%q: the caller is %s", reason, got.Callers()[0].Function)
		}
	}
}

func find(t *testing.T, label string) *Group {
	all, err := Profile(All)
	if err != nil {
		t.Fatal(err)
	}
	if i := slices.IndexFunc(all, func(g Group) bool { return g.Labels["reason"] == label }); i >= 0 {
		return &all[i]
	}
	return nil
}

func TestNoProfile(t *testing.T) {
	if _, err := Profile("none"); !errors.Is(err, ErrNoProfile) {
		t.Errorf("error %v", err)
	}
}

func FuzzParse(f *testing.F) {
	f.Add("goroutine profile: total 3\n2 @ 0x47fbee 0x41495c\n# labels: {\"a\":\"b\"}\n#\t0x4dfd3d\tmain.f+0x1d\t/f.go:16\n\n1 @ 0x1\n")
	f.Add("1 @ x\n\n-1 @ 0x1\n\n# labels: {\n2 @")
	f.Fuzz(func(t *testing.T, text string) {
		for _, g := range parse(text) {
			if g.Count < 1 {
				t.Errorf("%d goroutines", g.Count)
			}
			g.Reason()
			if len(g.Callers()) > len(g.Stack()) {
				t.Error("the callers are no part of the stack")
			}
		}
	})
}

// TestDump compares a dump with what is known of goroutines: where they wait, and who has started them.
func TestDump(t *testing.T) {
	stop := make(chan bool)
	defer close(stop)
	started := make(chan bool)
	go func() {
		close(started)
		waitHere(stop, 1)
	}()
	<-started
	for range 1000 {
		if g := waiting(Dump()); g != nil {
			callers := g.Callers()
			if g.Reason != "chan receive" || len(callers) != 2 || callers[0].Line == 0 || !strings.HasSuffix(callers[0].File, "goroutines_test.go") ||
				g.Creator.Function != "github.com/heisen-go/heisen/internal/goroutines.TestDump" || g.Parent == 0 || g.Leaked {
				t.Errorf("got %+v", *g)
			}
			return
		}
		time.Sleep(time.Millisecond)
	}
	t.Error("the goroutine is not in the dump")
}

//go:noinline
func waitHere(c chan bool, n int) bool { return <-c && n > 0 }

func waiting(all []Goroutine) *Goroutine {
	for i := range all {
		if c := all[i].Callers(); len(c) > 0 && strings.HasSuffix(c[0].Function, ".waitHere") && all[i].Reason == "chan receive" {
			return &all[i]
		}
	}
	return nil
}

func TestParseDump(t *testing.T) {
	const text = `goroutine 7 gp=0xc000 m=nil [sync.Mutex.Lock (leaked), 3 minutes, locked to thread]:
sync.(*Mutex).Lock(...)
	/go/src/sync/mutex.go:46
main.(*T[...]).f(0x1?, {0x2, 0x3})
	C:/a b/main.go:16 +0x1d
created by main.main in goroutine 1
	C:/a b/main.go:17 +0x66

goroutine 8 [running]:
	goroutine running on other thread; stack unavailable
created by main.g
	/b.go:1

not a goroutine
`
	want := []Goroutine{
		{
			ID: 7, Reason: "sync.Mutex.Lock", Leaked: true, Parent: 1, Creator: Frame{"main.main", "C:/a b/main.go", 17},
			Stack: []Frame{{"sync.(*Mutex).Lock", "/go/src/sync/mutex.go", 46}, {"main.(*T[...]).f", "C:/a b/main.go", 16}},
		},
		{ID: 8, Reason: "running", Creator: Frame{"main.g", "/b.go", 1}},
	}
	if got := parseDump(text); !reflect.DeepEqual(got, want) {
		t.Errorf("got\n%+v, want\n%+v", got, want)
	}
}

func FuzzParseDump(f *testing.F) {
	f.Add("goroutine 7 [chan send, 3 minutes]:\nmain.f(0x1)\n\t/f.go:16 +0x1\ncreated by main.main in goroutine 1\n\t/f.go:1\n")
	f.Add("goroutine 7 [\n\ngoroutine x []:\n(")
	f.Fuzz(func(t *testing.T, text string) {
		for _, g := range parseDump(text) {
			if len(g.Callers()) > len(g.Stack) {
				t.Error("the callers are no part of the stack")
			}
		}
	})
}
