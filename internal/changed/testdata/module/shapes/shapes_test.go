package shapes

import (
	"fmt"
	"testing"
)

func TestSum(t *testing.T) {
	if n := Sum(NewSquare(2), Disc{*NewSquare(1)}); n != 7 {
		t.Error(n)
	}
}

func TestLargest(t *testing.T) {
	if n := Largest(NewSquare(2), NewSquare(1)); n != 4 {
		t.Error(n)
	}
}

func TestGrow(t *testing.T) {
	s := NewSquare(1)
	s.Grow()
}

func TestTwice(t *testing.T) {
	if Twice(1) != 2 {
		t.Error("not 2")
	}
}

func TestByName(t *testing.T) {
	if ByName("high") != 2 {
		t.Error("not 2")
	}
}

func TestFormat(t *testing.T) {
	if s := fmt.Sprint(NewSquare(1)); s != "square 1" {
		t.Error(s)
	}
}

func TestNothing(t *testing.T) {}

func ExampleHigh() {
	fmt.Println(High())
	// Output: 2
}

func FuzzTwice(f *testing.F) {
	f.Add(1)
	f.Fuzz(func(t *testing.T, n int) { Twice(n) })
}
