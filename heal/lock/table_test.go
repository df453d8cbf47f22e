package lock

import "testing"

// TestTable: an object always has the same lock, objects side by side have different ones, and many objects use all of
// them.
func TestTable(t *testing.T) {
	type object [3]int
	var table Table
	all := make([]object, 64<<tableBits)
	used := map[*Lock]int{}
	for i := range all {
		l := Of(&table, &all[i])
		if l != Of(&table, &all[i]) {
			t.Fatal("an object has two locks")
		}
		if i > 0 && l == Of(&table, &all[i-1]) {
			t.Errorf("objects %d and %d have one lock", i-1, i)
		}
		used[l]++
	}
	if len(used) != 1<<tableBits {
		t.Errorf("%d locks are used", len(used))
	}
	for _, n := range used {
		if n > 128 {
			t.Errorf("%d of %d objects have one lock", n, len(all))
		}
	}
	if none := (*object)(nil); Of(&table, none) == nil || Of[object](nil, &all[0]) != nil {
		t.Error("locks of no object, or of no table")
	}
}

// TestTableNoAllocation: an object whose lock is acquired stays on the stack.
func TestTableNoAllocation(t *testing.T) {
	var table Table
	if got := testing.AllocsPerRun(100, func() {
		var object [4]int
		var h Held
		defer h.Release()
		h.Acquire(Of(&table, &object), Exclusive, 1)
		object[1]++
	}); got > 0 {
		t.Errorf("%v allocations", got)
	}
}
