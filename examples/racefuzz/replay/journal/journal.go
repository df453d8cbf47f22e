// Package journal logs the steps of goroutines in their order.
package journal

import (
	"fmt"
	"io"
	"strings"
	"sync"
)

// Journal is a list of lines. The zero value is empty. Goroutines can share it.
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

// Len returns the number of lines.
func (j *Journal) Len() int {
	j.mu.Lock()
	defer j.mu.Unlock()
	return len(j.lines)
}

// Print writes all lines, and a last one which says that the program has succeeded.
func (j *Journal) Print(w io.Writer, program string) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	_, err := fmt.Fprintf(w, "%s\n%s: done\n", strings.Join(j.lines, "\n"), program)
	return err
}
