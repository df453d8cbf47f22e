package main

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/vclock"
)

// flusher is a detector that ends with an error.
type flusher struct{ err error }

func (flusher) Handle(heisen.Event) {}
func (f flusher) Flush() error      { return f.err }

// TestForgotten: forgotten accesses are a note of the detectors that may forget, and an error of all others.
// Other errors stay errors.
func TestForgotten(t *testing.T) {
	forgot := fmt.Errorf("%w: 7", vclock.ErrForgotten)
	p := &program{subject: subject{name: "pond"}}
	for _, test := range []struct {
		err   error
		note  func(error)
		fails bool
	}{
		{nil, p.note("HB"), false},
		{forgot, p.note("HB"), false},
		{forgot, nil, true},
		{vclock.ErrEndedThread, p.note("HB"), true},
		{errors.Join(forgot, vclock.ErrTooManyThreads), p.note("HB"), true},
	} {
		if err := (&part{Detector: flusher{test.err}, forgot: test.note}).Flush(); (err != nil) != test.fails {
			t.Errorf("%v: %v", test.err, err)
		}
	}
	if len(p.notes) != 1 || p.notes[0] != "pond, HB: races may be missing, since accesses of ended threads were forgotten: 7" {
		t.Errorf("%q", p.notes)
	}
}

// TestPrintTables: each table is followed by that of the thesis, and the first by the notes.
func TestPrintTables(t *testing.T) {
	for _, test := range []struct {
		races, costs [][]any
		lines        int
	}{
		{[][]any{{"a", 1}}, [][]any{{"a", 2}}, 1 + 2 + 8 + 2 + 1 + 2 + 6 + 2},
		{[][]any{{"a", 1}}, nil, 1 + 2 + 8 + 2},
		{nil, [][]any{{"a", 2}}, 1 + 2 + 6 + 2},
	} {
		var b strings.Builder
		if err := printTables(&b, test.races, test.costs, []string{"a note"}); err != nil {
			t.Fatal(err)
		}
		if n := strings.Count(b.String(), "\n|"); n != test.lines {
			t.Errorf("%d lines of tables, want %d\n%s", n, test.lines, &b)
		}
		if strings.Count(b.String(), "|\n\n- a note\n\n| published") != 1 {
			t.Errorf("the note is not below the first table:\n%s", &b)
		}
	}
}
