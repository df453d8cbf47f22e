package channel

import (
	"errors"
	"sync/atomic"
	"testing"
)

// A limiter lets a number of uploads run at the same time.
type limiter struct {
	slots chan struct{}
	sent  atomic.Int32
}

var errEmpty = errors.New("empty")

// upload does not give its slot back when it fails.
func (l *limiter) upload(file string) error {
	l.slots <- struct{}{} // want leak
	if file == "" {
		return errEmpty
	}
	l.sent.Add(1)
	<-l.slots
	return nil
}

func (l *limiter) uploadAndRelease(file string) error {
	l.slots <- struct{}{}
	defer func() { <-l.slots }()
	if file == "" {
		return errEmpty
	}
	l.sent.Add(1)
	return nil
}

func uploadAll(upload func(string) error, files ...string) {
	failed := make(chan error, len(files))
	for _, f := range files {
		go func() { failed <- upload(f) }()
	}
	<-failed
}

// TestLimit uploads three files, of which two are empty, at most two at a time.
func TestLimit(t *testing.T) {
	l := &limiter{slots: make(chan struct{}, 2)}
	uploadAll(l.upload, "", "a", "")
}

func TestLimitFixed(t *testing.T) {
	l := &limiter{slots: make(chan struct{}, 2)}
	uploadAll(l.uploadAndRelease, "", "a", "")
}
