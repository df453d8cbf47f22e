package workload

import (
	"math/rand/v2"
	"slices"

	"github.com/heisen-go/heisen"
)

// ShortLived returns a random trace of s.Threads threads, of which at most alive run at a time, with at
// least s.Events events. Each thread is forked by another one, and ends after some events. With joins,
// some threads that have ended are joined. It ignores s.Wild and s.Hidden.
func ShortLived(rng *rand.Rand, s Small, alive int, joins bool) []heisen.Record {
	s.Wild, s.Hidden = false, nil
	g := &random{Small: s, rng: rng}
	g.state = make([]threadState, s.Threads)
	g.state[0] = running
	g.locks = make([]lockState, s.Syncs)
	g.open = make([]int, s.Threads)
	running, over := []int{0}, []int(nil)
	for next := 1; len(g.out) < s.Events || next < s.Threads; {
		t := running[rng.IntN(len(running))]
		if s.Lives && rng.IntN(15) == 0 {
			g.life(t)
			continue
		}
		switch n := rng.IntN(14); {
		case n <= 1 && next < s.Threads && len(running) < alive:
			g.add(t, heisen.Record{Op: heisen.Fork, Object: heisen.Object(next)})
			running = append(running, next)
			next++
		case n <= 3 && len(running) > 1 && !g.holds(t):
			g.add(t, heisen.Record{Op: heisen.End, Object: heisen.Object(t)})
			running = slices.DeleteFunc(running, func(u int) bool { return u == t })
			over = append(over, t)
		case n == 4 && joins && len(over) > 0:
			i := rng.IntN(len(over))
			g.add(t, heisen.Record{Op: heisen.Join, Object: heisen.Object(over[i])})
			over = slices.Delete(over, i, i+1)
		case n < 9:
			g.access(t)
		case n < 12:
			g.lock(t)
		case n < 13:
			g.add(t, heisen.Record{Op: pick(rng, heisen.Send, heisen.Receive), Object: g.sync()})
		default:
			g.add(t, heisen.Record{
				Op:     pick(rng, heisen.AtomicRead, heisen.AtomicWrite, heisen.AtomicUpdate),
				Object: g.variable(), Len: uint16(g.size()),
			})
		}
	}
	return g.out
}
