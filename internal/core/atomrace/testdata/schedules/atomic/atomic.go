// Package atomic replaces sync/atomic: before each operation the scheduler chooses which thread
// continues. Threads are coroutines, so an operation is one step.
package atomic

// Step is called before each operation.
var Step func()

// Steps counts operations.
var Steps uint64

type integer interface{ uint32 | uint64 }

type value[T integer] struct{ v T }

type (
	Uint32 struct{ value[uint32] }
	Uint64 struct{ value[uint64] }
)

// Pause is a step that does nothing.
func Pause() {
	Step()
	Steps++
}

func (x *value[T]) Load() T {
	Pause()
	return x.v
}

func (x *value[T]) Store(v T) {
	Pause()
	x.v = v
}

func (x *value[T]) Add(d T) T {
	Pause()
	x.v += d
	return x.v
}

func (x *value[T]) Swap(v T) (old T) {
	Pause()
	old, x.v = x.v, v
	return old
}

func (x *value[T]) CompareAndSwap(old, v T) bool {
	Pause()
	if x.v != old {
		return false
	}
	x.v = v
	return true
}
