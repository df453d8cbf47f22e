package static

import "testing"

// TestBindings: the call of a variable with one value may call that only, and a variable that may have others may be any value of its
// type.
func TestBindings(t *testing.T) {
	const source = `package p

import (
	"errors"
	"slices"
	"strings"
)

func direct()  {}
func other()   {}
func another() {}

type T struct{}

func (T) method() {}

var (
	fixed       = direct
	declaredOnly func()
	setTwice    = direct
	addressed   = direct
	Exported    = direct
	join        = errors.Join
	upper       func(string) string = strings.ToUpper
	both, pair  = direct, other
	first, last = two()
	field       struct{ fixed func() }
)

func two() (func(), func()) { return direct, other }

func calls(param func(), list []func(), channel chan func(), x T, v any) (result func()) {
	fixed()    // direct
	(fixed)()  // direct
	both()     // direct
	pair()     // other
	go fixed() // direct
	join(nil)
	upper("")
	setTwice()     // direct other another T.method
	addressed()    // direct other another T.method
	Exported()     // direct other another T.method
	first()        // direct other another T.method
	declaredOnly() // direct other another T.method
	field.fixed()  // direct other another T.method
	param()        // direct other another T.method

	local := func() {}
	local() // literal
	func() { // literal
		local() // literal
	}()
	var declared = other
	declared() // other
	var walk func(int)
	walk = func(n int) { walk(n - 1) }
	walk(1) // literal
	again := direct
	again() // direct other another T.method
	again = other
	method := x.method
	method()      // direct other another T.method
	copied := fixed
	copied() // direct
	for _, each := range list {
		each() // direct other another T.method
	}
	received, ok := <-channel
	received() // direct other another T.method
	if asserted, ok := v.(func()); ok {
		asserted() // direct other another T.method
	}
	switch f := v.(type) {
	case func():
		f() // direct other another T.method
	}
	result = direct
	result() // direct other another T.method
	param = direct
	param() // direct other another T.method
	slices.SortFunc([]int{}, compare) // literal
	_ = ok
	return result
}

var compare = func(a, b int) int { return a - b }

func set() {
	setTwice = another
	another := &addressed
	_ = another
}
`
	expectCalls(t, source, "calls", 28)
}
