package sidebyside

import "sync"

// office sells seats. It checks whether there is one and takes it in two critical sections.
type office struct {
	mu          sync.Mutex
	seats, sold int
	last        string
}

func (o *office) sell() {
	o.mu.Lock()
	free := o.seats > 0
	o.mu.Unlock()
	if !free {
		return
	}
	o.mu.Lock()
	o.seats--
	o.sold++
	o.mu.Unlock()
}
