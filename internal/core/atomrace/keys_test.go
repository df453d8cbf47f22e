package atomrace

import "testing"

// TestKeys: sections are on the part of an object that the access at their entry concerns, or on the whole
// object. A thread enters at location 1 and leaves at location 2, where nothing is allowed.
func TestKeys(t *testing.T) {
	const object, other = 0x1000, 0x2000
	type step struct {
		thread    uint32
		loc       uint32
		addr, key uint64
		write     bool
	}
	for _, test := range []struct {
		name  string
		steps []step // the last thread ends its accesses
		want  uint32
	}{
		{"another key", []step{{1, 1, object, 7, false}, {2, 0, object, 9, true}, {1, 2, object, 7, true}}, 0},
		{"the same key", []step{{1, 1, object, 7, false}, {2, 0, object, 7, true}, {1, 2, object, 7, true}}, 1},
		{"the same key of another object", []step{{1, 1, object, 7, false}, {2, 0, other, 7, true}, {1, 2, object, 7, true}}, 0},
		{"a read of the same key", []step{{1, 1, object, 7, false}, {2, 0, object, 7, false}, {1, 2, object, 7, true}}, 1},
		{"any key of the whole", []step{{1, 1, object, 0, false}, {2, 0, object, 9, true}, {1, 2, object, 7, true}}, 1},
		{"the whole of the whole", []step{{1, 1, object, 0, false}, {2, 0, object, 0, true}, {1, 2, object, 0, true}}, 1},
		{"an end at another key", []step{{1, 1, object, 7, false}, {2, 0, object, 7, true}, {1, 2, object, 9, true}}, 0},
		{"an end at the whole", []step{{1, 1, object, 7, false}, {2, 0, object, 7, true}, {1, 2, object, 0, true}}, 0},
		{"entered again with another key", []step{{1, 1, object, 7, false}, {1, 1, object, 9, false}, {2, 0, object, 7, true}, {1, 2, object, 7, true}}, 0},
		{"followed from there", []step{{1, 1, object, 7, false}, {1, 1, object, 9, false}, {2, 0, object, 9, true}, {1, 2, object, 9, true}}, 1},
	} {
		table, threads := new(Table), map[uint32]*Thread{1: {}, 2: {}}
		table.AddEnd(table.AddSection(1, 0, false, false), 2, false, false)
		var hits Hits
		for _, s := range test.steps {
			table.Before(threads[s.thread], &Access{Addr: s.addr, Size: 1, ID: uint64(s.thread) << 32, Loc: s.loc, Key: s.key, Write: s.write}, &hits)
			table.After(threads[s.thread], &hits)
			if s.thread == 2 && hits.NumViolations != 0 {
				t.Errorf("%s: %d violations by the other thread", test.name, hits.NumViolations)
			}
		}
		if hits.NumViolations != test.want {
			t.Errorf("%s: %d violations, want %d", test.name, hits.NumViolations, test.want)
		}
		if test.want != 0 && hits.Violations[0].Addr != object {
			t.Errorf("%s: a violation on %#x", test.name, hits.Violations[0].Addr)
		}
	}
}

// TestKeysNested: the sections of a recursion are on different parts at the same time.
func TestKeysNested(t *testing.T) {
	table, a, b := new(Table), new(Thread), new(Thread)
	table.AddEnd(table.AddSection(1, 0, false, true), 2, false, false)
	var hits Hits
	access := func(th *Thread, id, key uint64, loc uint32, write bool) uint32 {
		table.Before(th, &Access{Addr: 64, Size: 1, ID: id << 32, Loc: loc, Key: key, Write: write}, &hits)
		table.After(th, &hits)
		return hits.NumViolations
	}
	access(a, 1, 7, 1, false)
	access(a, 1, 9, 1, false)
	access(b, 2, 7, 0, true)
	if n := access(a, 1, 9, 2, true); n != 0 {
		t.Errorf("%d violations of the inner section", n)
	}
	if n := access(a, 1, 7, 2, true); n != 1 {
		t.Errorf("%d violations of the outer section", n)
	}
}
