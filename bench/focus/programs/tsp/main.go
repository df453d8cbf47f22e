// Command tsp finds the shortest tour through all cities by branch and bound. Workers take partial tours
// from a shared queue, and search below short ones on their own.
package main

import (
	"container/heap"
	"flag"
	"fmt"
	"sync"
)

// distances between cities. Nobody changes it once it is made.
type distances struct {
	n   int
	all []int
}

func (d *distances) between(a, b int) int { return d.all[a*d.n+b] }

func newDistances(n int) *distances {
	d := &distances{n: n, all: make([]int, n*n)}
	random := uint32(7)
	next := func() int { random = random*1664525 + 1013904223; return int(random>>16) % 1000 }
	xs, ys := make([]int, n), make([]int, n)
	for i := range xs {
		xs[i], ys[i] = next(), next()
	}
	for i := range n {
		for j := range n {
			d.all[i*n+j] = max(xs[i]-xs[j], xs[j]-xs[i]) + max(ys[i]-ys[j], ys[j]-ys[i])
		}
	}
	return d
}

// tour is a path from city 0 through some of the others. A worker at a time has it.
type tour struct {
	cities  []int
	visited uint64
	length  int
	bound   int // no completion is shorter
}

// queue is a heap of tours with the lowest bounds first.
type queue []*tour

func (q queue) Len() int           { return len(q) }
func (q queue) Less(i, j int) bool { return q[i].bound < q[j].bound }
func (q queue) Swap(i, j int)      { q[i], q[j] = q[j], q[i] }
func (q *queue) Push(t any)        { *q = append(*q, t.(*tour)) }
func (q *queue) Pop() any {
	last := len(*q) - 1
	t := (*q)[last]
	*q = (*q)[:last]
	return t
}

// search is the state that workers share.
type search struct {
	dist *distances

	mu      sync.Mutex
	more    *sync.Cond
	todo    queue
	working int

	best     sync.RWMutex
	shortest int
	route    []int
}

func (s *search) limit() int {
	s.best.RLock()
	defer s.best.RUnlock()
	return s.shortest
}

func (s *search) found(length int, cities []int) {
	s.best.Lock()
	defer s.best.Unlock()
	if length < s.shortest {
		s.shortest = length
		s.route = append(s.route[:0], cities...)
	}
}

// take returns the next tour, or nil if there are none left.
func (s *search) take() *tour {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.working--
	for len(s.todo) == 0 && s.working > 0 {
		s.more.Wait()
	}
	if len(s.todo) == 0 {
		s.more.Broadcast()
		return nil
	}
	s.working++
	return heap.Pop(&s.todo).(*tour)
}

func (s *search) put(t *tour) {
	s.mu.Lock()
	heap.Push(&s.todo, t)
	s.mu.Unlock()
	s.more.Signal()
}

// bound adds to a tour the distance to the nearest neighbor for each city that is left.
func (s *search) bound(t *tour) int {
	sum := t.length
	for c := range s.dist.n {
		if t.visited>>c&1 != 0 && c != t.cities[len(t.cities)-1] {
			continue
		}
		nearest := 1 << 30
		for to := range s.dist.n {
			if to != c && (t.visited>>to&1 == 0 || to == 0) {
				nearest = min(nearest, s.dist.between(c, to))
			}
		}
		sum += nearest
	}
	return sum
}

// alone is how many cities a worker visits without the queue.
const alone = 8

func (s *search) work() {
	for t := s.take(); t != nil; t = s.take() {
		if t.bound >= s.limit() {
			continue
		}
		if s.dist.n-len(t.cities) <= alone {
			p := &path{search: s, limit: s.limit()}
			p.cities = append(p.cities, t.cities...)
			p.visit(t.visited, t.length)
			continue
		}
		last := t.cities[len(t.cities)-1]
		for c := range s.dist.n {
			if t.visited>>c&1 != 0 {
				continue
			}
			next := &tour{cities: append(t.cities[:len(t.cities):len(t.cities)], c), visited: t.visited | 1<<c, length: t.length + s.dist.between(last, c)}
			if next.bound = s.bound(next); next.bound < s.limit() {
				s.put(next)
			}
		}
	}
}

// path is what one worker extends city by city.
type path struct {
	search *search
	cities []int
	limit  int
	steps  int
}

func (p *path) visit(visited uint64, length int) {
	d := p.search.dist
	last := p.cities[len(p.cities)-1]
	if p.steps++; p.steps%1000 == 0 {
		p.limit = p.search.limit()
	}
	if length >= p.limit {
		return
	}
	if len(p.cities) == d.n {
		if length += d.between(last, 0); length < p.limit {
			p.search.found(length, p.cities)
			p.limit = length
		}
		return
	}
	for c := range d.n {
		if visited>>c&1 == 0 {
			p.cities = append(p.cities, c)
			p.visit(visited|1<<c, length+d.between(last, c))
			p.cities = p.cities[:len(p.cities)-1]
		}
	}
}

func main() {
	n := flag.Int("n", 15, "`cities`, at most 63")
	flag.Parse()
	const workers = 4
	s := &search{dist: newDistances(*n), working: workers, shortest: 1 << 30}
	s.more = sync.NewCond(&s.mu)
	s.put(&tour{cities: []int{0}, visited: 1})
	var done sync.WaitGroup
	for range workers {
		done.Go(s.work)
	}
	done.Wait()
	fmt.Println("shortest tour", s.shortest, s.route[0])
}
