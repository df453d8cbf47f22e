package waitgroup

import (
	"errors"
	"sync"
	"testing"
)

var errFormat = errors.New("unknown format")

func thumbnail(image string) error {
	if image == "notes.txt" {
		return errFormat
	}
	return nil
}

// scale forgets the wait group when an image cannot be scaled.
func scale(wg *sync.WaitGroup, image string, failed chan<- error) {
	if err := thumbnail(image); err != nil {
		failed <- err
		return
	}
	wg.Done()
}

func scaleAndDone(wg *sync.WaitGroup, image string, failed chan<- error) {
	defer wg.Done()
	if err := thumbnail(image); err != nil {
		failed <- err
	}
}

func scaleAll(t *testing.T, scale func(*sync.WaitGroup, string, chan<- error), images ...string) {
	var wg sync.WaitGroup
	failed, done := make(chan error, len(images)), make(chan bool)
	wg.Add(len(images))
	for _, image := range images {
		go scale(&wg, image, failed)
	}
	go func() {
		wg.Wait() // want leak
		close(done)
	}()
	select {
	case err := <-failed:
		if err != errFormat {
			t.Error(err)
		}
	case <-done:
	}
}

// TestThumbnails scales a file that is no image.
func TestThumbnails(t *testing.T) { scaleAll(t, scale, "a.png", "notes.txt", "b.png") }

func TestThumbnailsFixed(t *testing.T) { scaleAll(t, scaleAndDone, "a.png", "notes.txt", "b.png") }
