package broken

import "sync"

// Cache: Add looks a number up and puts it back, in two critical sections.
type Cache struct {
	mu sync.Mutex
	m  map[string]int
}

func (c *Cache) reset() {
	c.mu.Lock()
	defer c.mu.Unlock()
	clear(c.m)
}

func (c *Cache) get(k string) (int, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	v, ok := c.m[k]
	return v, ok
}

func (c *Cache) put(k string, v int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.m[k] = v
}

func (c *Cache) Add(k string) {
	v, ok := c.get(k)
	if !ok {
		v = 100
	}
	c.put(k, v+1)
}

// Registry: Register inserts what it has not found.
type Registry struct {
	mu    sync.RWMutex
	names map[string]int
}

func (r *Registry) reset() {
	r.mu.Lock()
	defer r.mu.Unlock()
	clear(r.names)
}

func (r *Registry) Contains(name string) bool {
	r.mu.RLock()
	defer r.mu.RUnlock()
	_, ok := r.names[name]
	return ok
}

func (r *Registry) insert(name string, id int) {
	r.mu.Lock()
	r.names[name] = id
	r.mu.Unlock()
}

func (r *Registry) Register(name string, id int) bool {
	if r.Contains(name) {
		return false
	}
	r.insert(name, id)
	return true
}

// Sessions: Open adds a session if there is room.
type Sessions struct {
	mu  sync.Mutex
	all map[int]bool
}

func (s *Sessions) reset() {
	s.mu.Lock()
	defer s.mu.Unlock()
	clear(s.all)
}

func (s *Sessions) size() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.all)
}

func (s *Sessions) add(id int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.all[id] = true
}

func (s *Sessions) Open(id int) bool {
	if s.size() >= 1 {
		return false
	}
	s.add(id)
	return true
}

// Set is generic: AddNew adds what is not in it.
type Set[T comparable] struct {
	mu sync.Mutex
	m  map[T]struct{}
}

func (s *Set[T]) reset() {
	s.mu.Lock()
	defer s.mu.Unlock()
	clear(s.m)
}

func (s *Set[T]) has(v T) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, ok := s.m[v]
	return ok
}

func (s *Set[T]) add(v T) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.m[v] = struct{}{}
}

func (s *Set[T]) AddNew(v T) bool {
	if !s.has(v) {
		s.add(v)
		return true
	}
	return false
}

// guarded is embedded: its methods are those of Tags too.
type guarded struct {
	mu sync.Mutex
	m  map[string]string
}

func (g *guarded) lookup(k string) string {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.m[k]
}

func (g *guarded) set(k, v string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.m[k] = v
}

type Tags struct {
	guarded
}

func (t *Tags) reset() {
	t.mu.Lock()
	defer t.mu.Unlock()
	clear(t.m)
}

// Tag sets a tag that is not set.
func (t *Tags) Tag(k, v string) {
	if t.lookup(k) == "" {
		t.set(k, v)
	}
}
