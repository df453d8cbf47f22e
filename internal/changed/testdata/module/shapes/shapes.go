// Package shapes has values that are called in many ways.
package shapes

import "fmt"

// A Shape has an area.
type Shape interface{ Area() int }

type Square struct{ side int }

func NewSquare(side int) *Square { return &Square{side: side} }
func (s *Square) Area() int      { return s.side * s.side }

// Grow is called by its name only.
func (s *Square) Grow() { s.side++ }

func (s *Square) String() string { return fmt.Sprint("square ", s.side) }

type Disc struct{ Square }

func (d Disc) Area() int { return 3 * d.side }

// Sum calls a method through an interface.
func Sum(all ...Shape) (n int) {
	for _, s := range all {
		n += s.Area()
	}
	return n
}

// Largest calls a method through a constraint.
func Largest[S Shape](all ...S) (n int) {
	for _, s := range all {
		n = max(n, s.Area())
	}
	return n
}

func twice(n int) int { return 2 * n }

// Apply calls what it gets.
func Apply(f func(int) int, n int) int { return f(n) }

// Twice passes a function on.
func Twice(n int) int { return Apply(twice, n) }

const (
	low = iota
	middle
	high
)

// High is a constant of a group.
func High() int { return high }

var names = map[string]func() int{"high": High}

// ByName calls what a table has.
func ByName(name string) int { return names[name]() }
