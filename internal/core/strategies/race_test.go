package strategies

import (
	"math"
	"testing"
)

// waitingRace is a state of a race between readers and a writer of which all have arrived: how many readers
// were not chosen yet, how many are postponed, and whether the writer is.
type waitingRace struct {
	readers, postponed int
	writer             bool
}

// algorithm1 adds to each entry of odds the probability that so many reads come before the write. It follows
// Algorithm 1 of the RaceFuzzer paper through all its random choices. read is the number of reads so far, and p
// the probability of coming here.
func algorithm1(odds []float64, s waitingRace, read int, p float64) {
	free := s.readers
	if !s.writer {
		free++
	}
	if free == 0 { // only the writer is left
		odds[read] += p
		return
	}
	if s.readers > 0 {
		chosen := p * float64(s.readers) / float64(free)
		next := waitingRace{s.readers - 1, s.postponed, s.writer}
		if s.writer {
			algorithm1(odds, next, read+1, chosen/2)
			odds[read] += chosen / 2
		} else {
			next.postponed++
			algorithm1(odds, next, read, chosen)
		}
	}
	if !s.writer {
		chosen := p / float64(free)
		if s.postponed > 0 {
			odds[read] += chosen / 2
			chosen /= 2
		}
		algorithm1(odds, waitingRace{s.readers, 0, true}, read+s.postponed, chosen)
	}
}

// TestAlgorithm1 has races between readers and a writer. The write comes before or after each number of reads as
// often as in Algorithm 1 of the paper.
func TestAlgorithm1(t *testing.T) {
	const seeds = 40000
	for readers := 1; readers <= 5; readers++ {
		odds := make([]float64, readers+1)
		algorithm1(odds, waitingRace{readers: readers}, 0, 1)
		var tasks [][]step
		for range readers {
			tasks = append(tasks, []step{{kind: Access, roles: First, place: 1, addr: 100}})
		}
		tasks = append(tasks, []step{{kind: Access, roles: Second, place: 2, addr: 100, write: true}})
		before := make([]int, readers+1)
		for seed := range uint64(seeds) {
			order := run(t, Config{Strategy: RaceDirected, Seed: seed}, tasks...).order
			before[nth(order, uint32(readers), 0)]++
		}
		t.Logf("%d readers: the write comes after n reads in %v of %d, by the paper in %.3f", readers, before, seeds, odds)
		for n, p := range odds {
			want, deviation := seeds*p, math.Sqrt(seeds*p*(1-p))
			if math.Abs(float64(before[n])-want) > 5*deviation {
				t.Errorf("%d readers: the write comes after %d reads in %d of %d, want %.0f", readers, n, before[n], seeds, want)
			}
		}
	}
}

// TestPasses has a task that reads one object after the other, and a writer of a late one. If tasks pass places before
// they are postponed, the two meet more often.
func TestPasses(t *testing.T) {
	const objects, seeds = 12, 4000
	var reads []step
	for i := range uint64(objects) {
		reads = append(reads, plain, step{kind: Access, roles: First, place: 1, addr: 100 + 8*i})
	}
	write := []step{plain, plain, {kind: Access, roles: Second, place: 2, addr: 100 + 8*(objects-1), write: true}}
	met := map[uint64]int{}
	for _, depth := range []uint64{0, 16} {
		for seed := range uint64(seeds) {
			if s := run(t, Config{Strategy: RaceDirected, Seed: seed, Depth: depth}, reads, write); len(s.met) > 0 {
				met[depth]++
			}
		}
	}
	if t.Logf("meetings by depth: %v of %d", met, seeds); met[16] < 10*met[0] || met[16] < seeds/100 {
		t.Errorf("meetings by depth: %v of %d", met, seeds)
	}
}
