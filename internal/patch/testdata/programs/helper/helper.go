// Package helper has a function that most callers call with the lock held.
package helper

import "sync"

type queue struct {
	mu    sync.Mutex
	items []int
	limit int
}

// push adds an item. The lock is held.
func (q *queue) push(n int) bool {
	if len(q.items) >= q.limit {
		return false
	}
	q.items = append(q.items, n)
	return true
}

func (q *queue) put(n int) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.push(n)
}

func (q *queue) putTwo(a, b int) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.push(a) && q.push(b)
}

func (q *queue) restart() {
	q.push(0)
}
