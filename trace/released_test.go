package trace_test

import (
	"io"
	"strings"
	"testing"

	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/trace"
)

// TestReleasedByOthers: a thread that releases a lock of another one ends that one's hold of it.
func TestReleasedByOthers(t *testing.T) {
	const text = `T0|acq(m)|1
T0|acq(n)|2
T1|rel(m)|3
T0|w(x)|4
T1|acq(m)|5
T0|rel(m)|6
T1|w(x)|7
T2|rel(n)|8
T2|rel(n)|9
T0|w(x)|10
`
	r, err := trace.NewSTDReader(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	var held []string
	batch := make([]heisen.Record, 1) // names of locks are read while they are known
	for {
		n, err := r.Next(batch)
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if n == 1 && batch[0].Op == heisen.Write {
			names := ""
			for _, l := range r.Symbols().Locks(batch[0].Context) {
				names += r.Symbols().Name(l.Lock)
			}
			held = append(held, names)
		}
	}
	if got := strings.Join(held, "|"); got != "n||" {
		t.Errorf("held at the writes: %s", got)
	}
}
