// Package embedded has a struct with an embedded mutex.
package embedded

import "sync"

type meter struct {
	sync.Mutex
	sum, count float64
}

func (m *meter) add(x float64) {
	m.Lock()
	m.sum += x
	m.count++
	m.Unlock()
}

func (m *meter) reset() {
	m.sum = 0
	m.count = 0
}

func (m *meter) mean() float64 {
	if m.count == 0 {
		return 0
	}
	return m.sum / m.count
}
