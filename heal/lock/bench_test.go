package lock

import (
	"sync"
	"testing"
)

// BenchmarkLock compares a lock with a sync.RWMutex: a goroutine that is alone, and many that contend.
func BenchmarkLock(b *testing.B) {
	var l Lock
	var mu sync.RWMutex
	for _, mode := range []struct {
		name string
		mode Mode
		lock func()
		free func()
	}{
		{"shared", Shared, mu.RLock, mu.RUnlock},
		{"exclusive", Exclusive, mu.Lock, mu.Unlock},
	} {
		for _, contended := range []string{"no", "yes"} {
			run := func(b *testing.B, f func()) {
				b.ReportAllocs()
				if contended == "no" {
					for b.Loop() {
						f()
					}
					return
				}
				b.RunParallel(func(pb *testing.PB) {
					for pb.Next() {
						f()
					}
				})
			}
			b.Run("mode="+mode.name+"/contended="+contended+"/lock=Lock", func(b *testing.B) {
				run(b, func() {
					var h Held
					h.Acquire(&l, mode.mode, 1)
					h.Release()
				})
			})
			b.Run("mode="+mode.name+"/contended="+contended+"/lock=RWMutex", func(b *testing.B) {
				run(b, func() {
					mode.lock()
					mode.free()
				})
			})
		}
	}
}

// BenchmarkAgain acquires a lock for a second access, and degrades it.
func BenchmarkAgain(b *testing.B) {
	var l Lock
	b.ReportAllocs()
	for b.Loop() {
		var h Held
		h.Acquire(&l, Update, 1)
		h.Acquire(&l, Exclusive, 2)
		h.Degrade(2, Shared)
		h.Release()
	}
}

// BenchmarkPause pauses and resumes a lock that nobody else wants.
func BenchmarkPause(b *testing.B) {
	var l Lock
	var h Held
	h.Acquire(&l, Exclusive, 1)
	b.ReportAllocs()
	for b.Loop() {
		h.Pause()
		h.Resume()
	}
}
