package report

import (
	"slices"
	"testing"

	"github.com/heisen-go/heisen"
)

// TestInterleavings: the four rows of table 1 and no other are unserializable. An atomic operation
// counts like a plain one.
func TestInterleavings(t *testing.T) {
	var reads, writes []heisen.Op
	for op := range heisen.Op(heisen.NumOps) {
		switch {
		case op == heisen.AtomicUpdate: // below
		case op.IsWrite():
			writes = append(writes, op)
		case op.IsAccess():
			reads = append(reads, op)
		}
	}
	if len(reads) != 2 || len(writes) != 2 {
		t.Fatalf("reads %v, writes %v", reads, writes)
	}
	for _, test := range []struct {
		entry, other, end []heisen.Op
		want              []string
	}{
		{reads, reads, reads, nil},
		{reads, reads, writes, nil},
		{reads, writes, reads, []string{"read-write-read"}},
		{reads, writes, writes, []string{"read-write-write"}},
		{writes, reads, reads, nil},
		{writes, reads, writes, []string{"write-read-write"}},
		{writes, writes, reads, []string{"write-write-read"}},
		{writes, writes, writes, nil},
	} {
		for _, entry := range test.entry {
			for _, other := range test.other {
				for _, end := range test.end {
					got := interleavings([]heisen.Access{{Op: entry}, {Op: other, Thread: 1}, {Op: end}})
					if !slices.Equal(got, test.want) {
						t.Errorf("%v, %v, %v: %v, want %v", entry, other, end, got, test.want)
					}
				}
			}
		}
	}
	for _, test := range []struct {
		ops  [3]heisen.Op
		want []string
	}{
		{[3]heisen.Op{heisen.AtomicUpdate, heisen.Read, heisen.Read}, nil},
		{[3]heisen.Op{heisen.AtomicUpdate, heisen.Write, heisen.Write}, []string{"read-write-write"}},
		{[3]heisen.Op{heisen.Write, heisen.AtomicUpdate, heisen.Write}, []string{"write-read-write"}},
		{[3]heisen.Op{heisen.Read, heisen.AtomicUpdate, heisen.Read}, []string{"read-write-read"}},
		{[3]heisen.Op{heisen.Write, heisen.Write, heisen.AtomicUpdate}, []string{"write-write-read"}},
	} {
		if got := interleavings([]heisen.Access{{Op: test.ops[0]}, {Op: test.ops[1], Thread: 1}, {Op: test.ops[2]}}); !slices.Equal(got, test.want) {
			t.Errorf("%v: %v, want %v", test.ops, got, test.want)
		}
	}
	if got := interleavings([]heisen.Access{
		{Op: heisen.Write}, {Op: heisen.Read, Thread: 1}, {Op: heisen.Write, Thread: 2}, {Op: heisen.AtomicRead, Thread: 1}, {Op: heisen.Write},
	}); !slices.Equal(got, []string{"write-read-write"}) {
		t.Errorf("of three others: %v", got)
	}
}

// TestIsSection: a section begins and ends with one thread, and all accesses in between are by
// others.
func TestIsSection(t *testing.T) {
	for _, test := range []struct {
		kind    heisen.Kind
		threads []heisen.Thread
		want    bool
	}{
		{heisen.Atomicity, []heisen.Thread{0, 1, 0}, true},
		{heisen.Atomicity, []heisen.Thread{3, 1, 2, 1, 3}, true},
		{heisen.Race, []heisen.Thread{0, 1, 0}, false},
		{heisen.Atomicity, nil, false},
		{heisen.Atomicity, []heisen.Thread{0, 0}, false},
		{heisen.Atomicity, []heisen.Thread{0, 1, 2}, false},
		{heisen.Atomicity, []heisen.Thread{0, 1, 0, 1}, false},
		{heisen.Atomicity, []heisen.Thread{0, 1, 0, 2, 0}, false},
	} {
		f := Finding{Kind: test.kind}
		for _, thread := range test.threads {
			f.Accesses = append(f.Accesses, Access{Thread: thread})
		}
		if got := isSection(&f); got != test.want {
			t.Errorf("%s of %v: %v", test.kind, test.threads, got)
		}
	}
}
