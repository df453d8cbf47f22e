package confirm

import "sync"

// Bounds on what is kept of a program's output, in bytes. A panic's message comes
// first or last.
const (
	maxHead = 64 << 10
	maxTail = 256 << 10
)

// said keeps the start and the end of what is written to it. It may be written to by
// several goroutines.
type said struct {
	mu   sync.Mutex
	head []byte
	tail []byte
	gone int // bytes between them
}

// Write implements io.Writer.
func (s *said) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := len(p)
	take := min(maxHead-len(s.head), len(p))
	s.head = append(s.head, p[:take]...)
	s.tail = append(s.tail, p[take:]...)
	if over := len(s.tail) - maxTail; over > maxTail {
		s.gone += over
		s.tail = append(s.tail[:0], s.tail[over:]...)
	}
	return n, nil
}

// text returns what was kept.
func (s *said) text() []byte {
	s.mu.Lock()
	defer s.mu.Unlock()
	text := append([]byte(nil), s.head...)
	if s.gone > 0 {
		text = append(text, "\n...\n"...)
	}
	return append(text, s.tail...)
}
