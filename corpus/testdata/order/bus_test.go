package order

import (
	"sync"
	"testing"
)

// A bus delivers messages to those who have subscribed before.
type bus struct {
	mu          sync.Mutex
	subscribers []chan string
}

func (b *bus) subscribe() <-chan string {
	b.mu.Lock()
	defer b.mu.Unlock()
	c := make(chan string, 4)
	b.subscribers = append(b.subscribers, c)
	return c
}

func (b *bus) publish(message string) (receivers int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, c := range b.subscribers {
		c <- message
	}
	return len(b.subscribers)
}

// TestBus publishes without waiting for the subscriber to subscribe.
func TestBus(t *testing.T) {
	var b bus
	go func() { b.subscribe() }()
	published := make(chan int)
	go func() { published <- b.publish("ready") }()
	if <-published == 0 {
		t.Error("nobody got the message") // want failure "test failed: TestBus"
	}
}

func TestBusFixed(t *testing.T) {
	var b bus
	subscribed := make(chan struct{})
	go func() {
		b.subscribe()
		close(subscribed)
	}()
	<-subscribed
	published := make(chan int)
	go func() { published <- b.publish("ready") }()
	if <-published == 0 {
		t.Error("nobody got the message")
	}
}
