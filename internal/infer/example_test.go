package infer_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/heisen-go/heisen/internal/infer"
)

func Example() {
	dir, err := os.MkdirTemp("", "example")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	os.WriteFile(filepath.Join(dir, "go.mod"), []byte("module example.com/cache\n\ngo 1.25\n"), 0o666)
	os.WriteFile(filepath.Join(dir, "cache.go"), []byte(`package cache

type Cache struct {
	hits int
	set  map[string]bool
}

func (c *Cache) Add(key string) {
	if c.set[key] {
		c.hits++
		return
	}
	c.set[key] = true
}
`), 0o666)
	found, err := infer.Infer(context.Background(), infer.Source{Dir: dir})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, s := range found.Sections {
		fmt.Printf("line %d: %s of %s, ends at line %d\n", s.Entry.Line, s.Pattern, s.Variable, s.Ends[0].At.Line)
	}
	// Output:
	// line 9: test-and-use of c.set, ends at line 13
	// line 10: load-and-store of c.hits, ends at line 10
}
