package fasttrack

import (
	"math/rand/v2"
	"testing"

	"github.com/heisen-go/heisen"
)

// TestPartners is TestFirstRaces where the same two threads pass objects to each other for a while,
// then others do. Most accesses are ordered, so lost order shows as a false race.
func TestPartners(t *testing.T) {
	checkRandom(t, 2_000, 16, handovers)
}

func handovers(rng *rand.Rand) (trace []heisen.Record) {
	const threads, most, objects, words = 5, 40, 5, 3
	type times [most]int
	var know [most]times
	var left, shared [objects]times // released by the readers of the lock
	var last [words]struct{ thread, time int }
	live, begun, rare := make([]int, threads), threads, 8<<rng.IntN(4)
	add := func(id int, op heisen.Op, at int) {
		trace = append(trace, heisen.Record{Op: op, Thread: heisen.Thread(id + 1), Object: heisen.Object(at), Len: 1, Site: heisen.Site(len(trace))})
	}
	join := func(a *times, b times) {
		for i := range a {
			a[i] = max(a[i], b[i])
		}
	}
	access := func(id int) {
		at := rng.IntN(words)
		if l := last[at]; know[id][l.thread] < l.time && rng.IntN(rare) != 0 {
			return
		}
		if rng.IntN(4) == 0 {
			add(id, heisen.Read, 8*at)
			return
		}
		add(id, heisen.Write, 8*at)
		last[at].thread, last[at].time = id, know[id][id]
	}
	for i := range live {
		live[i] = i
		know[i][i] = 1
	}
	for len(trace) < 200 {
		if i, parent := rng.IntN(threads), live[rng.IntN(threads)]; live[i] != parent && begun < most && rng.IntN(6) == 0 {
			add(live[i], heisen.End, 0)
			live[i] = begun
			add(parent, heisen.Fork, begun+1)
			know[begun] = know[parent]
			know[begun][begun] = 1
			know[parent][parent]++
			begun++
		}
		pair := [2]int{live[rng.IntN(threads)], live[rng.IntN(threads)]}
		through := [2]int{rng.IntN(objects), rng.IntN(objects)}
		for i := range 2 + rng.IntN(16) {
			id, at := pair[i%2], through[rng.IntN(2)]
			if rng.IntN(8) == 0 {
				id = live[rng.IntN(threads)]
			}
			takes, leaves := heisen.AtomicUpdate, heisen.AtomicUpdate // that is one step
			switch at {
			case 0:
				if rng.IntN(4) == 0 {
					takes, leaves, left[at] = heisen.AtomicWrite, heisen.AtomicWrite, times{}
				}
			case 1:
				takes, leaves = heisen.Receive, heisen.Send
			case 2:
				takes, leaves = heisen.Acquire, heisen.Release
			case 3, 4:
				if takes, leaves = heisen.AcquireShared, heisen.ReleaseShared; rng.IntN(4) == 0 {
					takes, leaves = heisen.Acquire, heisen.Release
				}
			}
			if takes != heisen.Receive || rng.IntN(3) != 0 { // else it only sends
				join(&know[id], left[at])
				if takes == heisen.Acquire {
					join(&know[id], shared[at])
				}
				add(id, takes, 64+8*at)
			}
			if takes != leaves {
				access(id)
				add(id, leaves, 64+8*at)
			}
			if leaves == heisen.ReleaseShared {
				join(&shared[at], know[id])
			} else {
				join(&left[at], know[id])
			}
			know[id][id]++
			access(id)
		}
	}
	return trace
}
