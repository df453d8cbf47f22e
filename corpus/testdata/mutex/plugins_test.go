package mutex

import (
	"slices"
	"sync"
	"testing"
)

// A host runs plugins. It tells them of events, and a plugin may leave at any time.
type host struct {
	mu      sync.Mutex
	plugins []*plugin
}

type plugin struct {
	mu     sync.Mutex
	host   *host
	events int
}

// notify holds the host's lock while it takes those of the plugins.
func (h *host) notify() {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, p := range h.plugins {
		p.handle() // want deadlock, leak
	}
}

// notifyCopy tells the plugins that are there when it begins.
func (h *host) notifyCopy() {
	h.mu.Lock()
	plugins := slices.Clone(h.plugins)
	h.mu.Unlock()
	for _, p := range plugins {
		p.handle()
	}
}

func (h *host) remove(p *plugin) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.plugins = slices.DeleteFunc(h.plugins, func(other *plugin) bool { return other == p })
}

func (p *plugin) handle() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.events++
}

// leave holds the plugin's lock while it takes that of the host.
func (p *plugin) leave() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.events = 0
	p.host.remove(p)
}

func leaveDuring(h *host, notify func()) {
	h.plugins = []*plugin{{host: h}, {host: h}}
	second := h.plugins[1]
	var wg sync.WaitGroup
	wg.Go(notify)
	wg.Go(second.leave)
	wg.Wait()
}

// TestPlugins has a plugin leave while the host tells all plugins of an event.
func TestPlugins(t *testing.T) {
	h := new(host)
	leaveDuring(h, h.notify)
}

func TestPluginsFixed(t *testing.T) {
	h := new(host)
	leaveDuring(h, h.notifyCopy)
}
