// Command callbacks has types whose methods other code calls, and locks in objects of which there is one.
package main

import (
	"container/heap"
	"fmt"
	"sort"
	"sync"
)

// Good: there is one state, and all calls of the queue's methods are made under its lock.

type job struct {
	n     int    // want read-only
	parts []part // want read-only; elements read-only
}

type part int

type queue []*job

func (q queue) Len() int           { return len(q) }
func (q queue) Less(i, j int) bool { return q[i].n < q[j].n }
func (q queue) Swap(i, j int)      { q[i], q[j] = q[j], q[i] }
func (q *queue) Push(x any)        { *q = append(*q, x.(*job)) }
func (q *queue) Pop() any {
	last := (*q)[len(*q)-1]
	*q = (*q)[:len(*q)-1]
	return last
}

type state struct {
	mu   sync.Mutex
	todo queue // want guarded by main.state.mu of another object
}

func (s *state) put(j *job) {
	s.mu.Lock()
	defer s.mu.Unlock()
	heap.Push(&s.todo, j)
}

func (s *state) take() *job {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.todo) == 0 {
		return nil
	}
	return heap.Pop(&s.todo).(*job)
}

func (s *state) work() {
	for j := s.take(); j != nil; j = s.take() {
		if n := len(j.parts); n < 4 {
			s.put(&job{n: j.n + 1, parts: append(j.parts[:n:n], 1)})
			s.put(&job{n: j.n + 2, parts: append(j.parts[:len(j.parts):len(j.parts)], 2)})
		}
	}
}

// Bad: there are two of them, and they may share a queue.

type pair struct {
	mu   sync.Mutex
	todo numbers // want unsafe: without
}

type numbers []int

func (n numbers) Len() int           { return len(n) }
func (n numbers) Less(i, j int) bool { return n[i] < n[j] }
func (n numbers) Swap(i, j int)      { n[i], n[j] = n[j], n[i] }

func newPair() *pair { return &pair{} }

func (p *pair) sort() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.todo = append(p.todo, 1)
	sort.Sort(&p.todo)
}

// Bad: somebody calls the methods without the lock.

type leak struct {
	mu   sync.Mutex
	todo names // want unsafe: receiver is a copy
}

type names []string

func (n names) Len() int           { return len(n) }
func (n names) Less(i, j int) bool { return n[i] < n[j] }
func (n names) Swap(i, j int)      { n[i], n[j] = n[j], n[i] }

var found sort.Interface // want unsafe: read without

func (l *leak) add(name string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.todo = append(l.todo, name)
	sort.Sort(&l.todo)
	found = &l.todo
}

// Bad: the call reads the slice for the method, which does not.

type counted struct {
	mu   sync.Mutex
	todo list // want unsafe: read without
}

type list []int8

func (l list) Len() int { return len(l) }

func length(x interface{ Len() int }) int { return x.Len() }

func (c *counted) add() int {
	c.mu.Lock()
	c.todo = append(c.todo, 1)
	c.mu.Unlock()
	return length(&c.todo)
}

// Bad: append may write in place.

type loose struct {
	bits []bit // want read-only; elements unsafe: written without a lock
}

type bit int

func (l *loose) grow() *loose { return &loose{bits: append(l.bits[:len(l.bits):cap(l.bits)], 1)} }

func (l *loose) shrink() *loose { return &loose{bits: append(l.bits[:1:2], 1)} }

// Bad: package fmt calls the method, and nobody else does.

var printed int // want unsafe: written without a lock

type inner struct {
	n int // want unsafe: reflection
}

func (i *inner) String() string {
	printed++
	return fmt.Sprint(i.n)
}

type outer struct {
	In *inner // want unsafe: reflection
}

func main() {
	s, l, b, c := &state{}, &leak{}, &loose{bits: []bit{1, 2}}, &counted{}
	p, q := newPair(), newPair()
	q.todo = p.todo
	s.put(&job{parts: []part{1}})
	var done sync.WaitGroup
	for range 2 {
		done.Go(s.work)
		done.Go(p.sort)
		done.Go(q.sort)
		done.Go(func() {
			l.add("x")
			_ = found.Less(0, 0)
			b.grow().shrink()
			c.add()
			fmt.Println(outer{&inner{}})
		})
	}
	done.Wait()
}
