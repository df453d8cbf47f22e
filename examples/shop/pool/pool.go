// Package pool runs jobs in workers.
package pool

import (
	"context"
	"sync"
	"time"
)

// Job is a job with a result.
type Job func(ctx context.Context) (int, error)

type result struct {
	n   int
	err error
}

// Pool is a set of workers.
type Pool struct {
	jobs chan func()
	wg   sync.WaitGroup
	once sync.Once
}

// New starts n workers.
func New(n int) *Pool {
	p := &Pool{jobs: make(chan func())}
	for range n {
		p.wg.Go(func() {
			for job := range p.jobs {
				job()
			}
		})
	}
	return p
}

// Do runs a job in a worker and waits for the result.
func (p *Pool) Do(ctx context.Context, job Job) (int, error) {
	done := make(chan result, 1)
	select {
	case p.jobs <- func() { n, err := job(ctx); done <- result{n, err} }:
	case <-ctx.Done():
		return 0, ctx.Err()
	}
	select {
	case r := <-done:
		return r.n, r.err
	case <-ctx.Done():
		return 0, ctx.Err()
	}
}

// Close waits for the workers.
func (p *Pool) Close() {
	p.once.Do(func() { close(p.jobs) })
	p.wg.Wait()
}

// First runs job with a deadline of its own.
func First(job func() int, within time.Duration) (int, bool) {
	out := make(chan int)
	go func() { out <- job() }()
	select {
	case n := <-out:
		return n, true
	case <-time.After(within):
		return 0, false
	}
}
