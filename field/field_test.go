package field

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"runtime"
	"runtime/pprof"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/internal/testaid/leakprofile"
	"github.com/heisen-go/heisen/internal/testaid/must"
	"github.com/heisen-go/heisen/report"
)

//go:noinline
func receives(c chan int) int { return <-c + 1 }

// leak starts goroutines that wait for ever at one place.
func leak(n int) {
	for range n {
		go receives(make(chan int))
	}
	for range 100 {
		time.Sleep(time.Millisecond)
		runtime.Gosched()
	}
}

func of(found []report.Finding, function string) (all []report.Finding) {
	for _, f := range found {
		if len(f.Accesses[0].Stack) > 0 && strings.HasSuffix(f.Accesses[0].Stack[0].Func, function) {
			all = append(all, f)
		}
	}
	return all
}

// TestLeaks looks for goroutines that wait for ever, beside one that only waits for another.
func TestLeaks(t *testing.T) {
	leakprofile.Need(t)
	var lines, text bytes.Buffer
	var called []report.Finding
	w := must.Make(New(WithOutput(&lines), WithLogger(slog.New(slog.NewTextHandler(&text, nil))), WithFunc(func(f report.Finding) { called = append(called, f) })))
	slow := make(chan int)
	go func() { <-slow }()
	pprof.Do(context.Background(), pprof.Labels("job", "test"), func(context.Context) { leak(3) })
	for range 2 { // it is told once
		found, err := w.Look()
		if err != nil {
			t.Fatal(err)
		}
		mine := of(found, ".receives")
		if len(mine) != 1 || len(of(found, ".TestLeaks.func1")) > 0 {
			t.Fatalf("found %+v", found)
		}
		f := &mine[0]
		if f.Kind != heisen.Leak || f.Count != 3 || f.Accesses[0].Op != "receive" || !strings.HasPrefix(f.Accesses[0].Goroutine, "goroutine ") ||
			report.FormatLabels(f.Accesses[0].Labels) != "{job: test}" || len(f.Goroutines) == 0 || !strings.HasSuffix(f.Goroutines[0].Stack[0].Func, ".leak") || f.Certainty() != report.Confirmed {
			t.Errorf("got %+v", *f)
		}
	}
	read, err := report.ReadJSON(&lines)
	if err != nil || len(of(read, ".receives")) != 1 || len(of(called, ".receives")) != 1 || strings.Count(text.String(), ".receives ") != 1 {
		t.Errorf("written %+v, error %v; called with %+v; logged %s", read, err, called, &text)
	}
	close(slow)
}

// TestHandler reads the pages of a Watcher.
func TestHandler(t *testing.T) {
	w := must.Make(New(WithShare(1e-9)))
	leak(1)
	for _, c := range []struct {
		method, query string
		status        int
		kind, want    string
	}{
		{http.MethodGet, "", http.StatusOK, "text/plain; charset=utf-8", "looked at "},
		{http.MethodGet, "?format=text", http.StatusOK, "text/plain; charset=utf-8", "looked at "},
		{http.MethodGet, "?format=json", http.StatusOK, "application/jsonl", ""},
		{http.MethodGet, "?format=xml", http.StatusBadRequest, "text/plain; charset=utf-8", `format "xml"`},
		{http.MethodPost, "", http.StatusMethodNotAllowed, "text/plain; charset=utf-8", "only GET"},
	} {
		answer := httptest.NewRecorder()
		w.ServeHTTP(answer, httptest.NewRequest(c.method, "/"+c.query, nil))
		if answer.Code != c.status || answer.Header().Get("Content-Type") != c.kind || !strings.Contains(answer.Body.String(), c.want) {
			t.Errorf("%s %s: status %d, header %v:\n%s", c.method, c.query, answer.Code, answer.Header(), answer.Body)
		}
		if c.query == "?format=json" {
			if _, err := report.ReadJSON(answer.Body); err != nil {
				t.Error(err)
			}
		}
	}
	looked := w.looked
	if _, err := w.lookWithin(); err != nil || w.looked != looked {
		t.Errorf("it looked beyond the share: error %v", err)
	}
}

func TestWithoutProfile(t *testing.T) {
	_, err := must.Make(New()).Look()
	if has := !leakprofile.Missing(); has != (err == nil) || !has && !errors.Is(err, ErrNoProfile) {
		t.Errorf("the profile is there: %v; error %v", has, err)
	}
}

// TestRun lets Run look after an interval and at a signal, and ends it.
func TestRun(t *testing.T) {
	var mu sync.Mutex
	var text bytes.Buffer
	looked := func(w *Watcher) time.Time {
		w.mu.Lock()
		defer w.mu.Unlock()
		return w.looked
	}
	await := func(w *Watcher, after time.Time) {
		for range 5000 {
			if looked(w).After(after) {
				return
			}
			time.Sleep(time.Millisecond)
		}
		t.Error("it has not looked")
	}
	run := func(opts ...Option) (w *Watcher, end func()) {
		w = must.Make(New(append(opts, WithLogger(slog.New(slog.NewTextHandler(lockedWriter{&mu, &text}, nil))))...))
		ctx, cancel := context.WithCancelCause(context.Background())
		why, ended := errors.New("over"), make(chan error)
		go func() { ended <- w.Run(ctx) }()
		return w, func() {
			cancel(why)
			if err := <-ended; !errors.Is(err, why) {
				t.Errorf("error %v", err)
			}
		}
	}
	w, end := run(WithInterval(time.Millisecond), WithShare(1))
	await(w, time.Time{})
	await(w, looked(w))
	end()
	if missing := leakprofile.Missing(); missing && strings.Count(text.String(), "leaks cannot be looked for") != 1 {
		t.Errorf("logged %s", &text)
	}
	if runtime.GOOS == "windows" {
		return // no process sends a signal to itself
	}
	w, end = run(WithSignals(syscall.SIGHUP))
	defer end()
	for i := 0; looked(w).IsZero() && i < 5000; i++ { // until Run has asked for signals, the process ends by them
		time.Sleep(time.Millisecond)
		if i == 100 {
			raise(t)
		}
	}
	await(w, time.Time{})
}

func raise(t *testing.T) {
	self, err := os.FindProcess(os.Getpid())
	if err == nil {
		err = self.Signal(syscall.SIGHUP)
	}
	if err != nil {
		t.Error(err)
	}
}

type lockedWriter struct {
	mu *sync.Mutex
	w  *bytes.Buffer
}

func (l lockedWriter) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.w.Write(p)
}

func TestOptions(t *testing.T) {
	for name, o := range map[string]Option{
		"interval": WithInterval(0), "share": WithShare(0), "share above 1": WithShare(1.1), "not a share": WithShare(nan()),
		"signal": WithSignals(nil), "output": WithOutput(nil), "function": WithFunc(nil), "nil": nil,
	} {
		if _, err := New(o); !errors.Is(err, heisen.ErrOption) {
			t.Errorf("%s: error %v", name, err)
		}
	}
}

func nan() float64 {
	zero := 0.0
	return zero / zero
}

// TestReleases runs the tests that need the profile with releases that have it.
func TestReleases(t *testing.T) { leakprofile.Rerun(t, "Leaks|Handler|Run|Profile") }
