package trace_test

import (
	"bytes"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/internal/testaid/must"
	"github.com/heisen-go/heisen/trace"
)

func TestStats(t *testing.T) {
	records, _ := readSTD(t, `A|acq(L)|1
A|racq(M)|2
A|fork(B)|3
B|w(x)|4
A|r(x)|4
A|r(x)|4
A|w(y)|5
A|call|6
A|call|6
A|return|7
A|rrel(M)|8
A|rel(L)|9
B|send(m)
A|recv(m)
B|stop
A|join(B)
C|alloc(z,100)
`)
	s := &trace.Stats{}
	handleAll(s, records)
	const want = `events                           17
threads                           3
threads alive at once             2
variables                         2
variables shared                  1
locks                             2
locks held at once                2
messages                          1
sites                             9
contexts                          7
calls open at once                2
bytes allocated                 100
  read                            2
  write                           2
  acquire                         1
  release                         1
  acquire-shared                  1
  release-shared                  1
  fork                            1
  end                             1
  join                            1
  send                            1
  receive                         1
  call                            2
  return                          1
  alloc                           1
`
	var got bytes.Buffer
	n, err := s.WriteTo(&got)
	if err != nil || n != int64(got.Len()) {
		t.Errorf("WriteTo: %d, %v", n, err)
	}
	if diff := cmp.Diff(squeeze(want), squeeze(got.String())); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if err := s.Flush(); err != nil {
		t.Error(err)
	}
}

// Numbers out of all proportion cost no memory.
func TestStatsHostileNumbers(t *testing.T) {
	s := &trace.Stats{}
	handleAll(s, []heisen.Record{{Op: heisen.Read, Thread: math.MaxUint32, Site: math.MaxUint32, Context: math.MaxUint32}, {Op: 200}})
	if s.Threads != 1 || s.Sites != 1 || s.Contexts != 1 || s.Events != 2 {
		t.Errorf("%+v", s)
	}
}

func TestPrinter(t *testing.T) {
	symbols := heisen.NewSymbols()
	site := symbols.AddSite(heisen.SiteInfo{Frames: []heisen.Frame{{Func: "main.f", File: "f.go", Line: 3}}})
	symbols.SetName(8, "evil\nname")
	ctx := symbols.Context(symbols.Acquire(symbols.Call(heisen.Cursor{}, site), heisen.HeldLock{Lock: 8}))
	records := []heisen.Record{
		{Op: heisen.Write, Thread: 3, Object: 0xc000000000, Site: site, Context: ctx, Len: 4, Value: 9, Flags: heisen.HasValue},
		{Op: heisen.Fork, Object: 3},
		{Op: heisen.Alloc, Object: 16, Value: 64},
		{Op: 99},
	}
	const want = `       1  T3       write          0xc000000000 = 9  4 bytes  at f.go:3  holding "evil\nname"  calls 1
       2  T0       fork           T3
       3  T0       alloc          0x10  64 bytes
       4  T0       op?            -
`
	var got bytes.Buffer
	p := must.Make(trace.NewPrinter(&got, symbols))
	handleAll(p, records)
	if err := p.Flush(); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got.String()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	// Without symbols there are numbers.
	var bare bytes.Buffer
	p = must.Make(trace.NewPrinter(&bare, nil))
	p.Handle(records[0].Event())
	if err := p.Flush(); err != nil {
		t.Fatal(err)
	}
	if want := "       1  T3       write          0xc000000000 = 9  4 bytes  at ?"; !strings.HasPrefix(bare.String(), want) {
		t.Errorf("%q", bare.String())
	}
}
