package main

import "sync"

// page is a page that was fetched. It does not change once it is in the store.
type page struct {
	text string
	size int
}

// worker fetches pages.
type worker struct {
	fetched int
}

// spider is what the workers share.
type spider struct {
	web     site
	workers []*worker

	mu       sync.Mutex
	changed  *sync.Cond          // signals changes of the fields below
	queue    []string            // addresses that wait
	waiting  int                 // number of addresses that wait
	busy     int                 // number of workers that process a page
	seen     map[string]struct{} // addresses that were queued at any time
	store    map[string]*page
	ended    bool
	departed int // number of workers that have left
}

// newSpider returns a spider that waits for its first address.
func newSpider(web site, workers int) *spider {
	s := &spider{web: web, seen: map[string]struct{}{}, store: map[string]*page{}}
	s.changed = sync.NewCond(&s.mu)
	for range workers {
		w := new(worker)
		s.workers = append(s.workers, w)
		go s.work(w)
	}
	return s
}

// add queues an address unless it was queued before.
func (s *spider) add(address string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.enter(address)
}

// enter is add for callers that hold the lock.
func (s *spider) enter(address string) {
	if _, ok := s.seen[address]; ok {
		return
	}
	s.seen[address] = struct{}{}
	s.queue = append(s.queue, address)
	s.waiting++ // race:enter
	s.changed.Signal()
}

// take waits for an address. It returns false if the spider was stopped.
func (s *spider) take() (address string, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for len(s.queue) == 0 && !s.ended {
		s.changed.Wait()
	}
	if s.ended {
		return "", false
	}
	address = s.queue[0]
	s.queue = s.queue[1:]
	s.busy++    // race:begin
	s.waiting-- // race:take
	return address, true
}

// finish stores a page and queues what it links to.
func (s *spider) finish(address string, p *page, links []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.store[address] = p // race:store
	for _, l := range links {
		s.enter(l)
	}
	s.busy-- // race:finish
}

// work fetches pages until the spider is stopped.
func (s *spider) work(w *worker) {
	for {
		address, ok := s.take()
		if !ok {
			break
		}
		text, links := s.web.fetch(address)
		p := new(page)
		p.text = text      // race:page.text
		p.size = len(text) // race:page.size
		w.fetched++        // race:fetched
		s.finish(address, p, links)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.departed++
}

// idle reports whether there is nothing left to do. The bug: it does not lock.
func (s *spider) idle() bool {
	if s.waiting > 0 { // race:idle.waiting
		return false
	}
	return s.busy == 0 // race:idle.busy
}

// idleFixed reads both numbers while it holds the lock.
func (s *spider) idleFixed() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.waiting == 0 && s.busy == 0
}

// stop makes the workers leave, even if addresses wait.
func (s *spider) stop() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ended = true
	s.changed.Broadcast()
}

// left reports whether all workers have left.
func (s *spider) left() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.departed == len(s.workers)
}

// total returns what was fetched. The workers have left.
func (s *spider) total() (pages, bytes, fetched int) {
	for _, p := range s.store { // race:total.store
		pages++
		if p.text != "" { // race:total.text
			bytes += p.size // race:total.size
		}
	}
	for _, w := range s.workers {
		fetched += w.fetched // race:total.fetched
	}
	return pages, bytes, fetched
}
