// Command raytracer renders spheres. Goroutines take the lines of the picture in turn. The scene does not
// change, and each goroutine has its own rays.
package main

import (
	"flag"
	"fmt"
	"math"
	"sync"
)

type vector struct{ x, y, z float64 }

func (a *vector) dot(b *vector) float64 { return a.x*b.x + a.y*b.y + a.z*b.z }

func (a *vector) minus(b *vector) *vector { return &vector{a.x - b.x, a.y - b.y, a.z - b.z} }

func (a *vector) along(d *vector, t float64) *vector {
	return &vector{a.x + d.x*t, a.y + d.y*t, a.z + d.z*t}
}

func (a *vector) unit() *vector {
	length := math.Sqrt(a.dot(a))
	return &vector{a.x / length, a.y / length, a.z / length}
}

// sphere is a thing in the scene.
type sphere struct {
	center  vector
	radius  float64
	color   float64
	mirrors float64
}

type light struct {
	at         vector
	brightness float64
}

// scene is what there is to see.
type scene struct {
	spheres []*sphere
	lights  []*light
}

type ray struct{ from, to *vector }

// hit returns the distance to a sphere along a ray, and whether it is met.
func (s *sphere) hit(r *ray) (float64, bool) {
	toCenter := s.center.minus(r.from)
	along := toCenter.dot(r.to)
	square := s.radius*s.radius - toCenter.dot(toCenter) + along*along
	if square < 0 {
		return 0, false
	}
	t := along - math.Sqrt(square)
	return t, t > 1e-6
}

func (s *scene) first(r *ray) (*sphere, float64) {
	var found *sphere
	distance := math.Inf(1)
	for _, sp := range s.spheres {
		if t, ok := sp.hit(r); ok && t < distance {
			found, distance = sp, t
		}
	}
	return found, distance
}

// trace returns the brightness that is seen along a ray.
func (t *tracer) trace(r *ray, depth int) float64 {
	t.rays++
	sp, distance := t.scene.first(r)
	if sp == nil {
		return 0.1
	}
	at := r.from.along(r.to, distance)
	normal := at.minus(&sp.center).unit()
	sum := 0.05
	for _, l := range t.scene.lights {
		to := l.at.minus(at).unit()
		if shade := to.dot(normal); shade > 0 {
			if blocked, _ := t.scene.first(&ray{at, to}); blocked == nil {
				sum += shade * l.brightness * sp.color
			}
		}
	}
	if depth > 0 && sp.mirrors > 0 {
		sum += sp.mirrors * t.trace(&ray{at, r.to.along(normal, -2*r.to.dot(normal)).unit()}, depth-1)
	}
	return sum
}

// tracer is the state of one goroutine.
type tracer struct {
	scene *scene
	rays  int
}

// picture gives out lines and adds up what was seen.
type picture struct {
	size int

	mu   sync.Mutex
	next int
	sum  int
	rays int
}

func (p *picture) line() (int, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.next == p.size {
		return 0, false
	}
	p.next++
	return p.next - 1, true
}

func (p *picture) add(sum, rays int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.sum += sum
	p.rays += rays
}

func (t *tracer) run(p *picture) {
	total := 0
	for y, more := p.line(); more; y, more = p.line() {
		for x := range p.size {
			to := &vector{float64(x)/float64(p.size) - 0.5, float64(y)/float64(p.size) - 0.5, 1}
			seen := t.trace(&ray{&vector{0, 0, -8}, to.unit()}, 4)
			total += int(min(seen, 1) * 255)
		}
	}
	p.add(total, t.rays)
}

func main() {
	n := flag.Int("n", 700, "`lines` and columns")
	flag.Parse()
	s := &scene{lights: []*light{{vector{-10, -10, -10}, 0.8}, {vector{10, -5, -5}, 0.4}}}
	for i := range 64 {
		s.spheres = append(s.spheres, &sphere{vector{float64(i%4) - 1.5, float64(i/4%4) - 1.5, float64(i/16) - 1.5}, 0.4, 0.5 + float64(i%3)/6, float64(i%2) * 0.4})
	}
	p := &picture{size: *n}
	var done sync.WaitGroup
	for range 4 {
		t := &tracer{scene: s}
		done.Go(func() { t.run(p) })
	}
	done.Wait()
	fmt.Println("sum", p.sum, "rays", p.rays)
}
