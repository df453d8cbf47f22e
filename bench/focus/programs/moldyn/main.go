// Command moldyn simulates particles that attract and repel each other. Each goroutine computes the forces
// of a part of the pairs into an array of its own. Barriers separate the phases.
package main

import (
	"flag"
	"fmt"
	"math"
	"sync"
)

// barrier lets n goroutines wait for each other.
type barrier struct {
	mu      sync.Mutex
	all     *sync.Cond
	n       int
	arrived int
	round   int
}

func newBarrier(n int) *barrier {
	b := &barrier{n: n}
	b.all = sync.NewCond(&b.mu)
	return b
}

func (b *barrier) wait() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.arrived++; b.arrived == b.n {
		b.arrived = 0
		b.round++
		b.all.Broadcast()
		return
	}
	for round := b.round; round == b.round; {
		b.all.Wait()
	}
}

type vector struct{ x, y, z float64 }

// particle belongs to the goroutine that moves it, between barriers; others read its position.
type particle struct {
	position, velocity, force vector
}

// worker is the state of one goroutine.
type worker struct {
	id     int
	world  *world
	forces []vector
	energy float64
}

type world struct {
	side      float64
	particles []particle
	workers   []*worker
	phase     *barrier
	steps     int

	mu     sync.Mutex
	energy float64
}

func newWorld(perSide, workers, steps int) *world {
	w := &world{side: float64(perSide) * 1.7, phase: newBarrier(workers), steps: steps}
	for i := range perSide {
		for j := range perSide {
			for k := range perSide {
				w.particles = append(w.particles, particle{
					position: vector{float64(i) * 1.7, float64(j) * 1.7, float64(k) * 1.7},
					velocity: vector{float64((i*7+j)%5-2) * 0.01, float64((j*5+k)%7-3) * 0.01, float64((k*3+i)%3-1) * 0.01},
				})
			}
		}
	}
	for id := range workers {
		w.workers = append(w.workers, &worker{id: id, world: w, forces: make([]vector, len(w.particles))})
	}
	return w
}

func (w *world) nearest(d float64) float64 {
	if d > w.side/2 {
		return d - w.side
	}
	if d < -w.side/2 {
		return d + w.side
	}
	return d
}

// attract computes the forces of every n-th row of pairs.
func (k *worker) attract() {
	w := k.world
	for i := range k.forces {
		k.forces[i] = vector{}
	}
	k.energy = 0
	const cut = 6.25
	for i := k.id; i < len(w.particles); i += len(w.workers) {
		p := &w.particles[i]
		for j := i + 1; j < len(w.particles); j++ {
			q := &w.particles[j]
			d := vector{w.nearest(p.position.x - q.position.x), w.nearest(p.position.y - q.position.y), w.nearest(p.position.z - q.position.z)}
			square := d.x*d.x + d.y*d.y + d.z*d.z
			if square > cut {
				continue
			}
			inverse := 1 / square
			sixth := inverse * inverse * inverse
			strength := 48 * inverse * sixth * (sixth - 0.5)
			k.energy += 4 * sixth * (sixth - 1)
			f, g := &k.forces[i], &k.forces[j]
			f.x += d.x * strength
			f.y += d.y * strength
			f.z += d.z * strength
			g.x -= d.x * strength
			g.y -= d.y * strength
			g.z -= d.z * strength
		}
	}
	w.mu.Lock()
	w.energy += k.energy
	w.mu.Unlock()
}

// move adds the forces of all goroutines on every n-th particle, and moves it.
func (k *worker) move() {
	w := k.world
	const dt = 0.002
	for i := k.id; i < len(w.particles); i += len(w.workers) {
		p := &w.particles[i]
		p.force = vector{}
		for _, other := range w.workers {
			p.force.x += other.forces[i].x
			p.force.y += other.forces[i].y
			p.force.z += other.forces[i].z
		}
		p.velocity.x += p.force.x * dt
		p.velocity.y += p.force.y * dt
		p.velocity.z += p.force.z * dt
		p.position.x = math.Mod(p.position.x+p.velocity.x*dt+w.side, w.side)
		p.position.y = math.Mod(p.position.y+p.velocity.y*dt+w.side, w.side)
		p.position.z = math.Mod(p.position.z+p.velocity.z*dt+w.side, w.side)
	}
}

func (k *worker) run() {
	for range k.world.steps {
		k.attract()
		k.world.phase.wait()
		k.move()
		k.world.phase.wait()
	}
}

func main() {
	n := flag.Int("n", 80, "`steps`")
	flag.Parse()
	w := newWorld(10, 4, *n)
	var done sync.WaitGroup
	for _, k := range w.workers {
		done.Go(k.run)
	}
	done.Wait()
	fmt.Printf("energy %.2f\n", w.energy)
}
