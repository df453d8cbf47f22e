package datarace

import (
	"errors"
	"sync"
	"testing"
)

var errInvalid = errors.New("invalid")

func validate(field string) error {
	if field == "" {
		return errInvalid
	}
	return nil
}

// validateAll has one variable for the errors of all goroutines.
func validateAll(fields []string) (err error) {
	var wg sync.WaitGroup
	for _, f := range fields {
		wg.Go(func() {
			if e := validate(f); e != nil {
				err = e // want race
			}
		})
	}
	wg.Wait()
	return err
}

func validateEach(fields []string) error {
	errs := make([]error, len(fields))
	var wg sync.WaitGroup
	for i, f := range fields {
		wg.Go(func() { errs[i] = validate(f) })
	}
	wg.Wait()
	return errors.Join(errs...)
}

// TestErrors validates a form with two empty fields.
func TestErrors(t *testing.T) {
	if err := validateAll([]string{"", "name", ""}); !errors.Is(err, errInvalid) {
		t.Errorf("error %v", err)
	}
}

func TestErrorsFixed(t *testing.T) {
	if err := validateEach([]string{"", "name", ""}); !errors.Is(err, errInvalid) {
		t.Errorf("error %v", err)
	}
}
