// Package option applies functional options, in the one shape that all constructors of the module
// share:
//
//	type Option func(*config) error
//
//	func NewX(opts ...Option) (*X, error) {
//		c := config{...} // the defaults
//		if err := option.Apply("x.NewX", &c, opts); err != nil {
//			return nil, err
//		}
//		...
//	}
//
// The configuration is unexported, so that only the package itself makes options. A wrong option,
// a nil one included, is an error that wraps heisen.ErrOption.
package option

import (
	"fmt"

	"github.com/heisen-go/heisen"
)

// Apply applies the options to config in their order and stops at the first that fails. The error
// starts with constructor, the name of the function that was called, such as "tree.NewFilter".
func Apply[C any, O ~func(*C) error](constructor string, config *C, opts []O) error {
	for i, o := range opts {
		if o == nil {
			return fmt.Errorf("%s: %w: option %d is nil", constructor, heisen.ErrOption, i+1)
		}
		if err := o(config); err != nil {
			return fmt.Errorf("%s: %w", constructor, err)
		}
	}
	return nil
}

// Errorf returns an error that wraps heisen.ErrOption. The text names the option and what is wrong
// with its value: Errorf("WithSeeds: %d seeds, want at least 1", n).
func Errorf(format string, args ...any) error {
	return fmt.Errorf("%w: %w", heisen.ErrOption, fmt.Errorf(format, args...))
}
