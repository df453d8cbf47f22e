package main

import "sync"

// pool has the tasks that workers share.
type pool struct {
	mu       sync.Mutex
	waiting  []*task // guarded by mu
	answered int     // guarded by mu
	left     int     // workers that have not left, guarded by mu
}

// work runs tasks until there are none.
func (p *pool) work(run func(*task)) {
	for t := p.next(); t != nil; t = p.next() {
		run(t)
		if t.failed == nil {
			p.answer()
		}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.left--
}

// next takes a task, if there is one.
func (p *pool) next() *task {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.waiting) == 0 {
		return nil
	}
	t := p.waiting[0]
	p.waiting = p.waiting[1:]
	return t
}

// answer counts an answer.
func (p *pool) answer() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.answered++
}

func (p *pool) answers() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.answered
}

// close removes the tasks that no worker has taken.
func (p *pool) close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.waiting = nil
}

// done reports whether all workers have left.
func (p *pool) done() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.left == 0
}
