package main

import "math"

const (
	workers = 3
	step    = 0.001
	sample  = 10 // number of moves between two energies
)

// vector is a position, a velocity or a force.
type vector [3]float64

// system is the particles.
type system struct {
	place, speed []vector // of each particle
	force        []vector // the sum of those of the workers
	partial      [workers][]vector
	potential    [workers]float64
	kinetic      [workers]float64
	energies     []float64

	move     int // number of the current move; every worker sets it
	barriers *barrier
}

// newSystem puts particles on a grid, with velocities whose sum is zero.
func newSystem(n int) *system {
	s := &system{place: make([]vector, n), speed: make([]vector, n), force: make([]vector, n), barriers: newBarrier()}
	for id := range s.partial {
		s.partial[id] = make([]vector, n)
	}
	side := int(math.Ceil(math.Cbrt(float64(n))))
	for i := range n {
		s.place[i] = vector{float64(i % side), float64(i / side % side), float64(i / side / side)}
		s.speed[i] = vector{math.Sin(float64(i)), math.Cos(float64(i)), math.Sin(float64(2 * i))}
	}
	return s
}

// run does a worker's part of all moves.
func (s *system) run(id, moves int, fixed bool) {
	for m := 1; m <= moves; m++ {
		if !fixed || id == 0 {
			s.move = m // race:move
		}
		s.push(id)
		if id == 0 && s.move%sample == 1 && m > sample { // race:report
			s.energies = append(s.energies, s.energy())
		}
		s.barriers.wait()
		s.forces(id)
		s.barriers.wait()
		if id == 0 {
			s.reduce()
		}
		s.barriers.wait()
		s.accelerate(id)
		s.barriers.wait()
	}
	if id == 0 && moves%sample == 0 && moves > 0 {
		s.energies = append(s.energies, s.energy())
	}
}

// push moves the worker's particles.
func (s *system) push(id int) {
	for i := id; i < len(s.place); i += workers {
		for k := range s.place[i] {
			s.place[i][k] += step * s.speed[i][k] // race:push
		}
	}
}

// forces computes the forces of the worker's pairs.
func (s *system) forces(id int) {
	mine := s.partial[id]
	clear(mine)
	s.potential[id] = 0 // race:potential.clear
	for i := id; i < len(s.place); i += workers {
		for j := i + 1; j < len(s.place); j++ {
			var d vector
			r2 := 0.1 // particles never come too close
			for k := range d {
				d[k] = s.place[i][k] - s.place[j][k] // race:distance
				r2 += d[k] * d[k]
			}
			r6 := 1 / (r2 * r2 * r2)
			s.potential[id] += r6*r6 - r6 // race:potential
			pull := (2*r6*r6 - r6) / r2
			for k := range d {
				mine[i][k] += pull * d[k] // race:partial.mine
				mine[j][k] -= pull * d[k] // race:partial.other
			}
		}
	}
}

// reduce adds up what the workers have computed.
func (s *system) reduce() {
	for i := range s.force {
		s.force[i] = vector{} // race:force.clear
		for id := range s.partial {
			for k := range s.force[i] {
				s.force[i][k] += s.partial[id][i][k] // race:force
			}
		}
	}
}

// accelerate changes the speed of the worker's particles.
func (s *system) accelerate(id int) {
	s.kinetic[id] = 0 // race:kinetic.clear
	for i := id; i < len(s.speed); i += workers {
		for k := range s.speed[i] {
			s.speed[i][k] += step * s.force[i][k]              // race:speed
			s.kinetic[id] += s.speed[i][k] * s.speed[i][k] / 2 // race:kinetic
		}
	}
}

// energy adds up the workers' energies.
func (s *system) energy() (sum float64) {
	for id := range workers {
		sum += s.potential[id] + s.kinetic[id] // race:energy
	}
	return sum
}

// momentum adds up the speeds.
func (s *system) momentum() (sum vector) {
	for _, v := range s.speed {
		for k := range sum {
			sum[k] += v[k]
		}
	}
	return sum
}
