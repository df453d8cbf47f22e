// Package journal notes what goroutines do, in the order in which they do it.
package journal

import (
	"fmt"
	"io"
	"strings"
	"sync"
)

// Journal is lines of text. Its zero value has none, and goroutines can share it.
type Journal struct {
	mu    sync.Mutex
	lines []string
}

// Notef adds a line.
func (j *Journal) Notef(format string, args ...any) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.lines = append(j.lines, fmt.Sprintf(format, args...))
}

// Len returns how many lines there are.
func (j *Journal) Len() int {
	j.mu.Lock()
	defer j.mu.Unlock()
	return len(j.lines)
}

// Print writes all lines, and a last one that says that a program has ended as it
// should.
func (j *Journal) Print(w io.Writer, program string) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	_, err := fmt.Fprintf(w, "%s\n%s: done\n", strings.Join(j.lines, "\n"), program)
	return err
}
