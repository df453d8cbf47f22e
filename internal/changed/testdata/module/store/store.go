// Package store has files, and runs code at its start.
package store

import (
	_ "embed"
	"errors"

	"example.com/m/shapes"
	"example.com/m/words"
)

//go:embed data/names
var file string

// ErrMissing has a plain value.
var ErrMissing = errors.New("missing")

var started = begin()

func begin() int { return shapes.High() }

// Names reads what is embedded.
func Names() []string { return words.Split(file) }

// Find may fail.
func Find(name string) error {
	if started == 0 {
		return ErrMissing
	}
	return nil
}

type failure struct{ text string }

type failed = failure

func (f failed) Error() string { return f.text }

// Fail returns an error whose method has another name of its type as the receiver.
func Fail() error { return failure{"failed"} }
