package heisen

import "errors"

// ErrOption is wrapped by the error of every constructor that was given a wrong option: a value out
// of bounds, options that contradict each other, or a nil option.
var ErrOption = errors.New("wrong option")
