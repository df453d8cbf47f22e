package diagram

import (
	"slices"

	"github.com/heisen-go/heisen/internal/plural"
)

// narrow leaves out goroutines of a schedule that say little about the finding, if there are more lanes than a screen shows. Those of the
// finding stay, and those that one of them comes after directly. What the others order stays ordered.
func (b *builder) narrow() {
	keep := make([]bool, len(b.d.Lanes))
	for i := range b.f.Accesses {
		if lane, drawn := b.lanes[b.f.Accesses[i].Thread]; drawn {
			keep[lane] = true
		}
	}
	for i := range b.f.Blocked {
		if lane, drawn := b.lanes[b.f.Blocked[i].Thread]; drawn {
			keep[lane] = true
		}
	}
	if len(keep) <= maxLanes || !slices.Contains(keep, true) {
		return
	}
	own := slices.Clone(keep)
	for _, e := range b.d.Edges {
		if own[b.d.Events[e.To].Lane] {
			keep[b.d.Events[e.From].Lane] = true
		}
	}
	if count(keep) > maxWaits {
		keep = own
	}
	if left := len(keep) - count(keep); left > 0 {
		b.note("The steps of " + plural.Of(left, "other goroutine") + " are not shown.")
		b.keepLanes(keep)
	}
}

func count(all []bool) (n int) {
	for _, is := range all {
		if is {
			n++
		}
	}
	return n
}

// keepLanes removes all other lanes, with their events and bars, and the rows in which nothing is left.
func (b *builder) keepLanes(keep []bool) {
	lanes := make([]int, len(keep)) // new numbers
	n := 0
	for i, kept := range keep {
		lanes[i] = n
		if kept {
			b.d.Lanes[n] = b.d.Lanes[i]
			n++
		}
	}
	b.d.Lanes = b.d.Lanes[:n]
	for thread, lane := range b.lanes {
		if delete(b.lanes, thread); keep[lane] {
			b.lanes[thread] = lanes[lane]
		}
	}
	used := make([]int, b.d.Rows+1) // first how many events a row has, then how many rows before it have some
	var events []Event
	var old []int // their numbers
	for i, e := range b.d.Events {
		if keep[e.Lane] {
			used[e.Row] = 1
			events, old = append(events, e), append(old, i)
		}
	}
	before := 0
	for row, is := range used {
		used[row] = before
		before += is
	}
	b.d.Edges = keptEdges(events, old, keep)
	for i := range events {
		events[i].Lane, events[i].Row = lanes[events[i].Lane], used[events[i].Row]
	}
	b.d.Events, b.d.Rows = events, before
	b.d.Bars = slices.DeleteFunc(b.d.Bars, func(bar Bar) bool { return !keep[bar.Lane] })
	for i := range b.d.Bars {
		bar := &b.d.Bars[i]
		// Both ends are events of the lane, the first or the last row, or the release by a goroutine that may have gone.
		bar.Lane, bar.From, bar.To = lanes[bar.Lane], used[bar.From], max(used[bar.From], used[bar.To+1]-1)
	}
}

// keptEdges returns the edges between events with the given numbers by which the order between them is the one that their clocks have, and
// none that follows from others. The events have the lanes that the clocks know.
func keptEdges(events []Event, old []int, keep []bool) (edges []Edge) {
	known := make([][]int, len(keep)) // by lane: of each other lane the latest event that the lane has come after, plus one
	for i := range events {
		e := &events[i]
		var from []int
		for lane, kept := range keep {
			if !kept || lane == e.Lane {
				continue
			}
			latest := -1
			for k := range i {
				if events[k].Lane == lane && old[k] < e.clock[lane] {
					latest = k
				}
			}
			if latest >= 0 && (known[e.Lane] == nil || known[e.Lane][lane] <= latest) {
				from = append(from, latest)
			}
		}
		if known[e.Lane] == nil {
			known[e.Lane] = make([]int, len(keep))
		}
		for _, k := range from {
			follows := slices.ContainsFunc(from, func(j int) bool {
				return j != k && events[j].clock[events[k].Lane] > old[k]
			})
			if !follows {
				edges = append(edges, Edge{Order, k, i, ""})
			}
			known[e.Lane][events[k].Lane] = k + 1
		}
	}
	return edges
}
