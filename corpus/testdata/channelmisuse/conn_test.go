package channelmisuse

import (
	"sync"
	"testing"
)

// A conn can be closed by its reader and by its writer.
type conn struct {
	done chan struct{}
	once sync.Once
}

// close looks whether the channel is closed, and closes it then.
func (c *conn) close() {
	select {
	case <-c.done:
	default:
		close(c.done) // want failure "close of closed channel"
	}
}

func (c *conn) closeOnce() { c.once.Do(func() { close(c.done) }) }

func hangUp(close func(*conn)) {
	c := &conn{done: make(chan struct{})}
	var wg sync.WaitGroup
	for range 2 { // reader and writer
		wg.Go(func() { close(c) })
	}
	wg.Wait()
	<-c.done
}

// TestConn closes a connection from both sides.
func TestConn(t *testing.T) { hangUp((*conn).close) }

func TestConnFixed(t *testing.T) { hangUp((*conn).closeOnce) }
