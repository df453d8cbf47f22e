package library

import (
	"sync"
	"testing"
)

func TestLog(t *testing.T) {
	l := &log{}
	var wg sync.WaitGroup
	wg.Add(3)
	go func() { defer wg.Done(); l.info("a") }()
	go func() { defer wg.Done(); l.warn("b") }()
	go func() { defer wg.Done(); l.clear() }()
	wg.Wait()
}
