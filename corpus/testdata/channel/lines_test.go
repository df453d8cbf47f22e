package channel

import (
	"strings"
	"testing"
)

// split sends the lines of a text. It does not close the channel if a line is too long.
func split(text string, lines chan<- string) {
	for _, line := range strings.Split(text, "\n") {
		if len(line) > 8 {
			return
		}
		lines <- line
	}
	close(lines)
}

func splitAndClose(text string, lines chan<- string) {
	defer close(lines)
	for _, line := range strings.Split(text, "\n") {
		if len(line) > 8 {
			return
		}
		lines <- line
	}
}

func count(text string, split func(string, chan<- string)) {
	lines := make(chan string)
	numbers := make(chan int, 10)
	go split(text, lines)
	go func() {
		n := 0
		for range lines { // want leak
			n++
			numbers <- n
		}
	}()
	<-numbers
}

// TestLines counts the lines of a text with a long line.
func TestLines(t *testing.T) { count("one\ntwo\nthree and four", split) }

func TestLinesFixed(t *testing.T) { count("one\ntwo\nthree and four", splitAndClose) }
