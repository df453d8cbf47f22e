package main

import (
	"context"
	"sync"
)

// pool is workers that share tasks.
type pool struct {
	tasks []*task

	mu       sync.Mutex
	waiting  []*task // guarded by mu
	answered int     // guarded by mu
	left     int     // workers that have not left, guarded by mu
}

// work runs tasks until there are none.
func (p *pool) work(ctx context.Context, run func(*task, context.Context) error) {
	for t := p.next(); t != nil; t = p.next() {
		if err := run(t, ctx); err == nil {
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

// close takes back the tasks that wait, and returns those that do not.
func (p *pool) close() []*task {
	p.mu.Lock()
	defer p.mu.Unlock()
	begun := p.tasks[:len(p.tasks)-len(p.waiting)]
	p.waiting = nil
	return begun
}

// done reports whether all workers have left.
func (p *pool) done() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.left == 0
}
