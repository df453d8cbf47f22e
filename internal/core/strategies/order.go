package strategies

// orderObjects is the number of places for the objects of operations, a power of two. Objects that
// share a place count as one.
const (
	orderObjectBits = 8
	orderObjects    = 1 << orderObjectBits
)

// noteOrder updates Order with the next operation of a task that continues. Each object has a hash of
// the operations on it, in their order. Order is the sum of these hashes, so the order of operations on
// different objects does not matter.
func (s *Scheduler) noteOrder(t *Task) {
	if t.Kind == Resume || t.Kind == Yield {
		return
	}
	const mix = 0x9E3779B97F4A7C15
	object := &s.objects[t.Addr*mix>>(64-orderObjectBits)]
	h := (*object^uint64(t.ID)*mix^t.Seq)*mix + 1
	h ^= h >> 29
	s.Order += h - *object
	*object = h
}
