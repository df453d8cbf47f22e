package rwmutex

import (
	"sync"
	"testing"
)

// tokens renews those that have expired.
type tokens struct {
	mu    sync.RWMutex
	valid map[string]bool
}

// check wants the write lock while it has the read lock.
func (k *tokens) check(name string) {
	k.mu.RLock()
	defer k.mu.RUnlock()
	if !k.valid[name] {
		k.mu.Lock() // want leak
		k.valid[name] = true
		k.mu.Unlock()
	}
}

// checkAndRenew gives the read lock up first, and looks again.
func (k *tokens) checkAndRenew(name string) {
	k.mu.RLock()
	valid := k.valid[name]
	k.mu.RUnlock()
	if !valid {
		k.mu.Lock()
		if !k.valid[name] {
			k.valid[name] = true
		}
		k.mu.Unlock()
	}
}

func (k *tokens) expire(name string) {
	k.mu.Lock() // want leak
	defer k.mu.Unlock()
	k.valid[name] = false
}

func checkDuring(k *tokens, check func(string)) {
	expired := make(chan struct{})
	go func() {
		k.expire("ann")
		close(expired)
	}()
	go check("ann")
	select {
	case <-expired:
	default:
	}
}

// TestTokens checks a token while another goroutine lets it expire.
func TestTokens(t *testing.T) {
	k := &tokens{valid: map[string]bool{"ann": true}}
	checkDuring(k, k.check)
}

func TestTokensFixed(t *testing.T) {
	k := &tokens{valid: map[string]bool{"ann": true}}
	checkDuring(k, k.checkAndRenew)
}
