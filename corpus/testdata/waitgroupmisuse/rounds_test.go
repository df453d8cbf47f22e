package waitgroupmisuse

import (
	"sync"
	"sync/atomic"
	"testing"
)

// A tournament plays rounds. A referee starts each round, and waits for it with the same wait group as
// the spectators.
type tournament struct {
	wg    sync.WaitGroup
	games atomic.Int32
}

func (t *tournament) play() {
	defer t.wg.Done()
	t.games.Add(1)
}

// rounds starts a round when spectators may still be about to wait for the one before.
func rounds(t *tournament) {
	for range 2 {
		t.wg.Add(1) // want race, failure "WaitGroup"
		go t.play()
		t.wg.Wait() // want race, failure "WaitGroup"
	}
}

func watch(t *tournament, seen *atomic.Int32) {
	t.wg.Wait() // want race, failure "WaitGroup"
	seen.Store(t.games.Load())
}

// roundsFixed has a wait group for each round.
func roundsFixed(t *tournament) {
	for range 2 {
		var round sync.WaitGroup
		round.Add(1)
		go func() {
			defer round.Done()
			t.games.Add(1)
		}()
		round.Wait()
	}
}

// TestRounds plays two rounds with a spectator.
func TestRounds(t *testing.T) {
	var game tournament
	var seen atomic.Int32
	spectator := make(chan struct{})
	go func() {
		watch(&game, &seen)
		close(spectator)
	}()
	rounds(&game)
	<-spectator
}

func TestRoundsFixed(t *testing.T) {
	var game tournament
	var seen atomic.Int32
	spectator := make(chan struct{})
	go func() {
		seen.Store(game.games.Load())
		close(spectator)
	}()
	roundsFixed(&game)
	<-spectator
}
