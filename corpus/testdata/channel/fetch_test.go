package channel

import (
	"errors"
	"testing"
	"time"
)

// fetchOrFail asks a backend and gives up after a while. Its goroutine sends on a channel that nobody
// receives from then.
func fetchOrFail(backend func() string, results chan string) (string, error) {
	go func() {
		results <- backend() // want leak
	}()
	select {
	case r := <-results:
		return r, nil
	case <-time.After(time.Second):
		return "", errors.New("timeout")
	}
}

func slowBackend() string {
	time.Sleep(time.Second)
	return "page"
}

// TestFetch asks a backend that needs as long as the timeout is.
func TestFetch(t *testing.T) {
	fetchOrFail(slowBackend, make(chan string))
}

func TestFetchFixed(t *testing.T) {
	fetchOrFail(slowBackend, make(chan string, 1))
}
