package trace_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/internal/testaid/must"
	"github.com/heisen-go/heisen/trace"
)

func validate(t *testing.T, text string, options ...trace.ValidatorOption) *trace.Validator {
	t.Helper()
	v, err := trace.Validate(context.Background(), must.Make(trace.NewSTDReader(strings.NewReader(text))), options...)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func TestCorpusIsValid(t *testing.T) {
	corpus(t, func(t *testing.T, _ string, text []byte) {
		v := validate(t, string(text))
		for _, p := range v.Problems() {
			t.Error(p)
		}
		if v.Total() != 0 || v.Events() == 0 {
			t.Errorf("%d problems in %d events", v.Total(), v.Events())
		}
	})
}

// warnings are the kinds of problems that executions can have.
var warnings = []error{
	trace.ErrReleaseForeign, trace.ErrFreeUnknown,
	trace.ErrStillHeld, trace.ErrStillInside, trace.ErrStillHidden,
}

func TestValidateKinds(t *testing.T) {
	for _, c := range []struct {
		text string // lines separated by blanks
		kind error
		want string
	}{
		{"A|rel(L)", trace.ErrReleaseUnheld, "event 1: thread A: release of a lock that nobody holds: L"},
		{"A|acq(L) A|rel(L) A|rel(L)", trace.ErrReleaseUnheld, "event 3: thread A: release of a lock that nobody holds: L"},
		{"A|rrel(L)", trace.ErrReleaseUnheld, "event 1: thread A: release of a lock that nobody holds: L"},
		{"A|acq(L) B|rel(L)", trace.ErrReleaseForeign, "event 2: thread B: release of a lock that another thread holds: L (see event 1)"},
		{"A|racq(L) B|rrel(L)", trace.ErrReleaseForeign, "event 2: thread B: release of a lock that another thread holds: L (see event 1)"},
		{"A|acq(L) B|acq(L) B|rel(L)", trace.ErrAcquireHeld, "event 2: thread B: acquire of a lock that is held: L (see event 1)"},
		{"A|acq(L) A|acq(L) A|rel(L)", trace.ErrAcquireHeld, "event 2: thread A: acquire of a lock that is held: L (see event 1)"},
		{"A|racq(L) B|acq(L) B|rel(L)", trace.ErrAcquireHeld, "event 2: thread B: acquire of a lock that is held: L (see event 1)"},
		{"A|acq(L) B|racq(L) B|rrel(L)", trace.ErrAcquireHeld, "event 2: thread B: acquire of a lock that is held: L (see event 1)"},
		{"A|acq(L) A|rrel(L)", trace.ErrMode, "event 2: thread A: release in another mode than the acquire: L (see event 1)"},
		{"A|racq(L) A|rel(L)", trace.ErrMode, "event 2: thread A: release in another mode than the acquire: L (see event 1)"},
		{"A|fork(B) B|r(x) C|fork(B)", trace.ErrForkTwice, "event 3: thread C: thread is forked twice: fork of B (see event 1)"},
		{"B|r(x) A|fork(B)", trace.ErrBeforeFork, "event 2: thread A: thread acts before its fork: fork of B (see event 1)"},
		{"A|fork(A)", trace.ErrSelf, "event 1: thread A: thread forks or joins itself: fork of A"},
		{"A|join(A)", trace.ErrSelf, "event 1: thread A: thread forks or joins itself: join of A"},
		{"A|r(x) A|start", trace.ErrBeginNotFirst, "event 2: thread A: begin is not the thread's first event (see event 1)"},
		{"A|stop A|r(x) A|r(x)", trace.ErrAfterEnd, "event 2: thread A: thread acts after its end: read (see event 1)"},
		{"A|join(B)", trace.ErrJoinUnknown, "event 1: thread A: join of an unknown thread: join of B"},
		{"A|fork(B) A|join(B) B|r(x) B|r(x)", trace.ErrAfterJoin, "event 3: thread B: thread acts after it was joined: read (see event 2)"},
		{"A|end", trace.ErrExitWithoutEnter, "event 1: thread A: exit without enter"},
		{"A|begin B|end A|end", trace.ErrExitWithoutEnter, "event 2: thread B: exit without enter"},
		{"A|return", trace.ErrReturnWithoutCall, "event 1: thread A: return without call"},
		{"A|hide(f) A|reveal(g)", trace.ErrRevealOther, "event 2: thread A: reveal of another call than the one hidden last: g (see event 1)"},
		{"A|hide(f) A|hide(g) A|reveal(f)", trace.ErrRevealOther, "event 3: thread A: reveal of another call than the one hidden last: f (see event 2)"},
		{"A|reveal(f)", trace.ErrRevealWithoutHide, "event 1: thread A: reveal without hide"},
		{"A|alloc(x,0)", trace.ErrRange, "event 1: thread A: address range is empty or wraps around: alloc of 0 bytes at x"},
		{"A|alloc(0xc000000000,18446744073709551615)", trace.ErrRange, "event 1: thread A: address range is empty or wraps around: alloc of 18446744073709551615 bytes at 0xc000000000"},
		{"A|free(x,8)", trace.ErrFreeUnknown, "event 1: thread A: free of a range that no alloc started: x"},
		{"A|acq(L)", trace.ErrStillHeld, "event 1: thread A: trace ends while a lock is held: L"},
		{"A|r(x) A|racq(L)", trace.ErrStillHeld, "event 2: thread A: trace ends while a lock is held: L"},
		{"A|begin", trace.ErrStillInside, "event 1: thread A: trace ends within a transaction"},
		{"A|hide(f)", trace.ErrStillHidden, "event 1: thread A: trace ends within hidden code"},
	} {
		v := validate(t, strings.ReplaceAll(c.text, " ", "\n")+"\n")
		if len(v.Problems()) != 1 || v.Total() != 1 {
			t.Errorf("%s: problems %v, want one", c.text, v.Problems())
			continue
		}
		var err error = v.Problems()[0]
		if !errors.Is(err, c.kind) || err.Error() != c.want {
			t.Errorf("%s:\n got %v\nwant %s", c.text, err, c.want)
		}
		warning := slices.Contains(warnings, c.kind)
		if v.Problems()[0].Warning != warning || (v.Errors() == 0) != warning {
			t.Errorf("%s: warning %v, %d errors", c.text, v.Problems()[0].Warning, v.Errors())
		}
	}
}

// What real programs do is no problem.
func TestValidateAccepts(t *testing.T) {
	for _, text := range []string{
		"A|racq(L) B|racq(L) A|racq(L) A|rrel(L) B|rrel(L) A|rrel(L) C|acq(L) C|rel(L)", // readers share, also with themselves
		"A|recv(m) A|send(m) B|recv(m)",                      // the first send to a channel slot
		"A|alloc(x,8) A|w(x) A|alloc(x,8) A|free(x,8)",       // collected in between without a word
		"A|fork(B) B|start B|call B|return B|stop A|join(B)", // a whole life
		"A|r(x) B|r(x)", // threads whose start was not seen
		"A|fork(B) A|join(B)",
		"A|begin A|begin A|end A|end A|hide(f) A|hide(g) A|reveal(g) A|reveal(f)",
	} {
		if v := validate(t, strings.ReplaceAll(text, " ", "\n")+"\n"); v.Total() != 0 {
			t.Errorf("%s: %v", text, v.Problems())
		}
	}
}

func TestValidateInvalidOp(t *testing.T) {
	v, err := trace.Validate(context.Background(), heisen.Slice([]heisen.Record{{Op: 99}, {Op: heisen.Read}}))
	if err != nil || v.Total() != 1 || !errors.Is(v.Problems()[0], trace.ErrOp) {
		t.Errorf("%v, %v", v.Problems(), err)
	}
	if got := v.Problems()[0].Error(); got != "event 1: thread T0: op is not valid: op 99" {
		t.Error(got)
	}
}

func TestValidateKeepsSome(t *testing.T) {
	text := strings.Repeat("A|end\n", 1000)
	if v := validate(t, text); len(v.Problems()) != 100 || v.Total() != 1000 {
		t.Errorf("%d kept of %d", len(v.Problems()), v.Total())
	}
	if v := validate(t, text, trace.WithMaxProblems(0)); len(v.Problems()) != 0 || v.Errors() != 1000 {
		t.Errorf("%d kept of %d", len(v.Problems()), v.Total())
	}
	if _, err := trace.NewValidator(nil, trace.WithMaxProblems(-1)); err == nil {
		t.Error("misused option is no error")
	}
}

// A damaged trace is validated as far as it goes.
func TestValidateDamagedTrace(t *testing.T) {
	v, err := trace.Validate(context.Background(), must.Make(trace.NewSTDReader(strings.NewReader("A|end\nA|rubbish\n"))))
	var syntax *trace.SyntaxError
	if !errors.As(err, &syntax) || v.Total() != 1 {
		t.Errorf("%v, %d problems", err, v.Total())
	}
}
