package main

import (
	"math"
	"sync"
)

// point is a point, or a direction.
type point struct{ x, y, z float64 }

func (p point) minus(q point) point { return point{p.x - q.x, p.y - q.y, p.z - q.z} }
func (p point) dot(q point) float64 { return p.x*q.x + p.y*q.y + p.z*q.z }
func (p point) along(d point, t float64) point {
	return point{p.x + t*d.x, p.y + t*d.y, p.z + t*d.z}
}

// unit returns p's direction.
func (p point) unit() point {
	r := 1 / math.Sqrt(p.dot(p))
	return point{p.x * r, p.y * r, p.z * r}
}

type sphere struct {
	centre point
	radius float64
}

// meets returns where a ray from p in direction d first meets the sphere.
func (s sphere) meets(p, d point) (t float64, ok bool) {
	v := s.centre.minus(p)
	b := v.dot(d)
	disc := b*b - v.dot(v) + s.radius*s.radius
	if disc < 0 {
		return 0, false
	}
	t = b - math.Sqrt(disc)
	return t, t > 1e-6
}

// scene has the spheres.
type scene struct {
	mu      sync.Mutex
	spheres []sphere
	lamp    point
}

func newScene() *scene {
	s := &scene{lamp: point{5, 5, -5}}
	for i := range 8 {
		f := float64(i)
		s.spheres = append(s.spheres, sphere{point{math.Sin(f), math.Cos(2 * f), 3 + f/4}, 0.5})
	}
	return s
}

// first returns the first sphere that a ray meets, and the point.
func (s *scene) first(p, d point) (hit *sphere, at float64) {
	for i := range s.spheres {
		if t, ok := s.spheres[i].meets(p, d); ok && (hit == nil || t < at) {
			hit, at = &s.spheres[i], t
		}
	}
	return hit, at
}

// light returns the brightness of a point of the picture, from 0 to 255; x and y are from 0 to 1.
func (s *scene) light(x, y float64) int64 {
	var eye point
	d := point{2*x - 1, 1 - 2*y, 1}.unit()
	hit, t := s.first(eye, d)
	if hit == nil {
		return 0
	}
	at := eye.along(d, t)
	toLamp := s.lamp.minus(at).unit()
	if shade, _ := s.first(at, toLamp); shade != nil {
		return 16
	}
	return 16 + int64(239*max(0, at.minus(hit.centre).unit().dot(toLamp)))
}
