package option_test

import (
	"errors"
	"testing"

	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/internal/option"
)

type config struct{ n int }

type setter func(*config) error

func withN(n int) setter {
	return func(c *config) error {
		if n < 0 {
			return option.Errorf("withN: %d, want at least 0", n)
		}
		c.n = n
		return nil
	}
}

func TestApply(t *testing.T) {
	for _, test := range []struct {
		name string
		opts []setter
		n    int
		err  string
	}{
		{"none", nil, 7, ""},
		{"the last one counts", []setter{withN(1), withN(2)}, 2, ""},
		{"wrong", []setter{withN(1), withN(-1), withN(3)}, 1, "x.New: wrong option: withN: -1, want at least 0"},
		{"nil", []setter{withN(1), nil}, 1, "x.New: wrong option: option 2 is nil"},
	} {
		c := config{n: 7}
		err := option.Apply("x.New", &c, test.opts)
		if c.n != test.n {
			t.Errorf("%s: n is %d, want %d", test.name, c.n, test.n)
		}
		switch {
		case test.err == "" && err != nil, test.err != "" && (err == nil || err.Error() != test.err):
			t.Errorf("%s: error %v, want %q", test.name, err, test.err)
		case err != nil && !errors.Is(err, heisen.ErrOption):
			t.Errorf("%s: %v is no heisen.ErrOption", test.name, err)
		}
	}
}
