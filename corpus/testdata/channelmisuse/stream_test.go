package channelmisuse

import (
	"sync"
	"testing"
)

// A stream has a reader that closes the channel when it has enough.
type stream struct {
	frames chan int
	enough chan struct{}
}

func (s *stream) produce() {
	for i := range 3 {
		s.frames <- i // want failure "send on closed channel", race
	}
}

// consume closes the channel of the sender.
func (s *stream) consume() {
	<-s.frames
	close(s.frames) // want race
}

func (s *stream) produceUntilEnough() {
	for i := range 3 {
		select {
		case s.frames <- i:
		case <-s.enough:
			return
		}
	}
}

func (s *stream) consumeAndTell() {
	<-s.frames
	close(s.enough)
}

func play(produce, consume func(*stream)) {
	s := &stream{frames: make(chan int, 3), enough: make(chan struct{})}
	var wg sync.WaitGroup
	wg.Go(func() { produce(s) })
	wg.Go(func() { consume(s) })
	wg.Wait()
}

// TestStream reads one of three frames.
func TestStream(t *testing.T) { play((*stream).produce, (*stream).consume) }

func TestStreamFixed(t *testing.T) { play((*stream).produceUntilEnough, (*stream).consumeAndTell) }
