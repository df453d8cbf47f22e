package heisen

import "errors"

var (
	// ErrOption is wrapped by the error of every function that was called with a wrong option or
	// argument: a value out of bounds, options that contradict each other, a nil option, or nil in
	// the place of an argument that must not be nil. The error names the function and the argument.
	// For some wrong arguments a package has a more specific error instead, such as order.ErrNode;
	// the documentation of the function names it.
	ErrOption = errors.New("wrong option")

	// ErrZero is wrapped by the error of every method whose receiver is a zero value that is not
	// ready to use.
	ErrZero = errors.New("receiver was not made by its constructor")

	// ErrOp is wrapped by the error of Flush of a detector that was given an event whose op is not
	// Valid. The detector has ignored the event.
	ErrOp = errors.New("op is not valid")

	// ErrFlushed is wrapped by the error of Flush of a detector that was given events after the last
	// Flush, which ended the stream. The detector has ignored them.
	ErrFlushed = errors.New("event after the end of the stream")

	// ErrReleaseUnheld is wrapped by the error of Flush of a detector that knows its stream from the
	// beginning, and has seen the release of a lock that nobody held.
	ErrReleaseUnheld = errors.New("release of a lock that nobody holds")
)
