package controlled

import "sync"

// Bounds on the part of a program's output that is kept, in bytes. The message of a panic comes
// first or last.
const (
	maxHead = 64 << 10
	maxTail = 256 << 10
)

// output keeps the start and the end of what is written to it. Several goroutines may write to it.
type output struct {
	mu      sync.Mutex
	head    []byte
	tail    []byte
	dropped int // bytes between them
}

// Write implements io.Writer.
func (s *output) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := len(p)
	take := min(maxHead-len(s.head), len(p))
	s.head = append(s.head, p[:take]...)
	s.tail = append(s.tail, p[take:]...)
	if over := len(s.tail) - maxTail; over > maxTail {
		s.dropped += over
		s.tail = append(s.tail[:0], s.tail[over:]...)
	}
	return n, nil
}

// text returns the start and the end, with a line of dots for the part between them.
func (s *output) text() []byte {
	s.mu.Lock()
	defer s.mu.Unlock()
	text := append([]byte(nil), s.head...)
	if s.dropped > 0 {
		text = append(text, "\n...\n"...)
	}
	return append(text, s.tail...)
}
