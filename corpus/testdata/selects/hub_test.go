package selects

import "testing"

// A hub sends messages to its subscribers. Subscribers leave by a message to the hub.
type hub struct {
	messages, leaving chan string
	subscriber        chan string
}

// run sends to a subscriber that may be waiting to leave.
func (h *hub) run() {
	for {
		select {
		case m, ok := <-h.messages:
			if !ok {
				return
			}
			if h.subscriber != nil {
				h.subscriber <- m // want leak
			}
		case <-h.leaving:
			h.subscriber = nil
		}
	}
}

// runAndListen also takes leaves while it sends.
func (h *hub) runAndListen() {
	for {
		select {
		case m, ok := <-h.messages:
			if !ok {
				return
			}
			select {
			case h.subscriber <- m: // waits for a leave if there is no subscriber
			case <-h.leaving:
				h.subscriber = nil
			}
		case <-h.leaving:
			h.subscriber = nil
		}
		if h.subscriber == nil {
			for range h.messages {
			}
			return
		}
	}
}

func subscribe(run func(*hub)) {
	h := &hub{messages: make(chan string), leaving: make(chan string), subscriber: make(chan string)}
	messages := h.subscriber
	go run(h)
	go func() {
		<-messages
		h.leaving <- "had enough" // want leak
	}()
	go func() {
		for range 3 {
			h.messages <- "news" // want leak
		}
		close(h.messages)
	}()
}

// TestHub has a subscriber that leaves after the first message.
func TestHub(t *testing.T) { subscribe((*hub).run) }

func TestHubFixed(t *testing.T) { subscribe((*hub).runAndListen) }
