package contexts

import (
	"context"
	"testing"
)

// A mirror asks several servers for a page and takes the first answer.
type mirror struct {
	release chan struct{} // slow servers answer then
}

func (m *mirror) ask(ctx context.Context, server string) string {
	if server == "fast" {
		return "page"
	}
	select { // want leak
	case <-m.release:
		return "page"
	case <-ctx.Done():
		return ""
	}
}

// first ends with the first answer, but its requests have another context.
func (m *mirror) first(ctx context.Context, servers ...string) string {
	_, cancel := context.WithCancel(ctx)
	defer cancel()
	return m.race(context.WithoutCancel(ctx), servers)
}

func (m *mirror) firstAndCancel(ctx context.Context, servers ...string) string {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	return m.race(ctx, servers)
}

func (m *mirror) race(ctx context.Context, servers []string) string {
	answers := make(chan string, len(servers))
	for _, s := range servers {
		go func() { answers <- m.ask(ctx, s) }()
	}
	for range servers {
		if a := <-answers; a != "" {
			return a
		}
	}
	return ""
}

// TestMirror asks a fast and a slow server.
func TestMirror(t *testing.T) {
	m := &mirror{release: make(chan struct{})}
	if page := m.first(t.Context(), "fast", "slow"); page == "" {
		t.Error("no page")
	}
}

func TestMirrorFixed(t *testing.T) {
	m := &mirror{release: make(chan struct{})}
	if page := m.firstAndCancel(t.Context(), "fast", "slow"); page == "" {
		t.Error("no page")
	}
}
