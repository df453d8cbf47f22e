package recorder

import "testing"

// TestCase: the compiler numbers the cases of a select that send from the first on, and those that receive
// from the last on.
func TestCase(t *testing.T) {
	of := func(index, sends, cases uint64) Behavior {
		return Behavior(uint64(Selected)<<56 | cases<<48 | sends<<40 | index<<32 | 7)
	}
	for _, c := range []struct {
		b             Behavior
		send, receive int
	}{
		{of(0, 2, 5), 0, -1}, {of(1, 2, 5), 1, -1},
		{of(4, 2, 5), -1, 0}, {of(3, 2, 5), -1, 1}, {of(2, 2, 5), -1, 2},
		{of(0xff, 2, 5), -1, -1},
	} {
		if send, receive := c.b.Case(); send != c.send || receive != c.receive {
			t.Errorf("%#x: %d and %d, want %d and %d", uint64(c.b), send, receive, c.send, c.receive)
		}
	}
}

// TestCorruptBehaviors: words of an unknown kind, or beyond the program's text, are errors.
func TestCorruptBehaviors(t *testing.T) {
	s := &Stream{}
	s.hello.size = 100
	for _, w := range []uint64{0, 7 << 56, uint64(Started)<<56 | 101} {
		if err := s.addBehaviors([]uint64{w}); err == nil {
			t.Errorf("%#x is accepted", w)
		}
	}
	hashes := []uint64{uint64(Ordered)<<56 | 1<<31, uint64(Nested)<<56 | 1<<31}
	if err := s.addBehaviors(hashes); err != nil || len(s.execution.Behaviors) != len(hashes) {
		t.Errorf("error %v, behaviors %v", err, s.execution.Behaviors)
	}
}
