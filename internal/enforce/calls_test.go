package enforce

import "testing"

// TestCalls: which calls of a function can call functions of the module, and which may wait.
func TestCalls(t *testing.T) {
	p := module(t, map[string]string{"main.go": `package main

import (
	"fmt"
	"unsafe"
)

func value() {}

func constants(b []byte) int {
	return len(b) + cap(b) + int(unsafe.Sizeof(b)) + (len)(b) + int(uintptr(unsafe.Pointer(unsafe.SliceData(b))))
}

func known() { value(); fmt.Sprint(1) }

func unknown(f func()) { f() }

func main() { unknown(value); known(); constants(nil) }
`})
	want := map[string][2]int{"constants": {0, 0}, "known": {1, 0}, "unknown": {1, 1}}
	for _, u := range p.units {
		name := u.Decl.Name.Name
		numbers, ok := want[name]
		if !ok {
			continue
		}
		delete(want, name)
		targets, waits := 0, 0
		for _, s := range u.flow.steps {
			for _, c := range s.calls {
				targets += len(c.Targets)
				if c.waits {
					waits++
				}
			}
		}
		if got := [2]int{targets, waits}; got != numbers {
			t.Errorf("%s may call %d functions of the module, and %d calls may wait; want %v", name, got[0], got[1], numbers)
		}
	}
	if len(want) > 0 {
		t.Errorf("not seen: %v", want)
	}
}
