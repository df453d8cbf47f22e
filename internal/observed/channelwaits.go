package observed

import (
	"slices"
	"strings"

	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/internal/recorder"
	"github.com/heisen-go/heisen/internal/scc"
)

// Goroutines that wait for ever for each other over channels are one leak, and so are those that wait for one of them. Who waits for whom is
// known from what they have done before: a sender waits for those that have received from the channel, or have been ready to, and wait for ever
// for something else. A goroutine that has done both may have used the channel as a lock or semaphore, and need not do the other again; nobody
// waits for it. Several goroutines that hold the same struct do not wait for each other because of that.

// A channelSide is the goroutines that have used a channel in one way only.
type channelSide struct {
	channel heisen.Object
	sends   bool
}

// leakGroups says which of some blocked goroutines are one leak. root has for each one the number of the group that it waits for in the end,
// among others perhaps, or that it is in; a group is a circle, or one goroutine that waits for none of the others. inside says that it is in it.
func leakGroups(blocked []recorder.Blocked) (root []int, inside []bool) {
	sides, numbers := map[channelSide][]int{}, map[channelSide]int{}
	for i := range blocked {
		if blocked[i].Unstoppable || blocked[i].Behind { // it goes on, or waits for somebody else, perhaps for one that waits for it
			continue
		}
		for _, u := range blocked[i].Uses {
			if u.Sends != u.Receives {
				side := channelSide{u.Channel, u.Sends}
				if sides[side] == nil {
					numbers[side] = len(blocked) + len(numbers)
				}
				sides[side] = append(sides[side], i)
			}
		}
	}
	users := make([][]int, len(numbers))
	for side, number := range numbers {
		users[number-len(blocked)] = sides[side]
	}
	next := func(i int) (others []int) {
		if i >= len(blocked) {
			return users[i-len(blocked)]
		}
		for _, awaited := range awaitedSides(&blocked[i]) {
			if number, known := numbers[awaited]; known {
				others = append(others, number)
			}
		}
		return others
	}
	root, inside = make([]int, len(blocked)), make([]bool, len(blocked))
	of, component := make([]int, len(blocked)+len(numbers)), make([]int, len(blocked)+len(numbers)) // of each node, sides included
	for group, nodes := range scc.Components(len(of), next) {                                       // those that a component leads to come before it
		for _, node := range nodes {
			component[node] = group + 1
		}
		to, leads := group, false
		for _, node := range nodes {
			for _, other := range next(node) {
				if component[other] != group+1 {
					to, leads = of[other], true
				}
			}
		}
		for _, node := range nodes {
			if of[node] = to; node < len(blocked) {
				root[node], inside[node] = to, !leads
			}
		}
	}
	return root, inside
}

// awaitedSides returns the sides for which a goroutine waits.
func awaitedSides(g *recorder.Blocked) (all []channelSide) {
	reason, _, _ := strings.Cut(g.Reason, " (")
	channels := g.Channels
	if g.Unstoppable {
		return nil
	}
	switch reason {
	case "chan send", "chan receive":
		channels = []heisen.Object{g.Object}
	case "select":
	default:
		return nil
	}
	for _, u := range g.Uses {
		if !slices.Contains(channels, u.Channel) {
			continue
		}
		switch {
		case reason == "chan send", reason == "select" && u.Sends && !u.Receives:
			all = append(all, channelSide{u.Channel, false})
		case reason == "chan receive", reason == "select" && u.Receives && !u.Sends:
			all = append(all, channelSide{u.Channel, true})
		}
	}
	return all
}

// firstOfLeaks reports which of some blocked goroutines their leaks are told by: of a circle those at the place with the least fingerprint.
// Those that are behind others do not count.
func firstOfLeaks(blocked []recorder.Blocked, fingerprints []string) (first []bool) {
	root, inside := leakGroups(blocked)
	least := map[int]string{}
	for i := range blocked {
		if known, is := least[root[i]]; inside[i] && !blocked[i].Behind && (!is || fingerprints[i] < known) {
			least[root[i]] = fingerprints[i]
		}
	}
	first = make([]bool, len(blocked))
	for i := range blocked {
		first[i] = inside[i] && fingerprints[i] == least[root[i]]
	}
	return first
}
