// Package positional has a struct that is copied, so that it cannot have a mutex.
package positional

// A point is copied.
type point struct{ x, y int }

type shape struct {
	corner point
	copies []point
}

func move(s *shape, by int) point {
	s.corner.x += by
	return point{1, 2}
}

func mirror(p point) point { return point{p.y, p.x} }
