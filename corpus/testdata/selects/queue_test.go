package selects

import "testing"

// A mailQueue delivers mails until it is closed.
type mailQueue struct {
	mails  chan string
	closed chan struct{}
}

func (q *mailQueue) deliver() {
	for {
		select {
		case <-q.mails:
		case <-q.closed:
			return
		}
	}
}

// post waits for the queue to take the mail, also when the queue is closed.
func (q *mailQueue) post(mail string) bool {
	q.mails <- mail // want leak
	return true
}

func (q *mailQueue) postOrFail(mail string) bool {
	select {
	case q.mails <- mail:
		return true
	case <-q.closed:
		return false
	}
}

func closeDuring(post func(*mailQueue, string) bool) {
	q := &mailQueue{mails: make(chan string), closed: make(chan struct{})}
	go q.deliver()
	posted := make(chan bool, 2)
	for _, mail := range []string{"hello", "bye"} {
		go func() { posted <- post(q, mail) }()
	}
	<-posted
	close(q.closed)
}

// TestQueue closes the queue when the first of two mails is posted.
func TestQueue(t *testing.T) { closeDuring((*mailQueue).post) }

func TestQueueFixed(t *testing.T) { closeDuring((*mailQueue).postOrFail) }
