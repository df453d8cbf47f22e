package cond

import (
	"sync"
	"sync/atomic"
	"testing"
)

// A player can be paused. Its flag changes without the lock of the condition.
type player struct {
	mu     sync.Mutex
	resume *sync.Cond
	paused atomic.Bool
	played atomic.Int32
}

func (p *player) play() {
	p.mu.Lock()
	for p.paused.Load() {
		p.resume.Wait() // want leak
	}
	p.mu.Unlock()
	p.played.Add(1)
}

// goOn may come between the player's look at the flag and its wait.
func (p *player) goOn() {
	p.paused.Store(false)
	p.resume.Broadcast()
}

func (p *player) goOnLocked() {
	p.mu.Lock()
	p.paused.Store(false)
	p.mu.Unlock()
	p.resume.Broadcast()
}

func playPaused(goOn func(*player)) {
	p := new(player)
	p.resume = sync.NewCond(&p.mu)
	p.paused.Store(true)
	go p.play()
	go goOn(p)
}

// TestPause starts a paused player and lets it go on.
func TestPause(t *testing.T) { playPaused((*player).goOn) }

func TestPauseFixed(t *testing.T) { playPaused((*player).goOnLocked) }
