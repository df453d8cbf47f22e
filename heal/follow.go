package heal

import "slices"

// follow finds out for which reasons the lock may be held at each node.
func (p *placer) follow() {
	p.origins = make([]map[int]bool, p.g.Nodes())
	p.held = make([][]onOff, p.g.Nodes())
	for node := range p.origins {
		p.origins[node] = map[int]bool{}
		p.held[node] = make([]onOff, len(p.holds))
	}
	if p.g.Nodes() == 0 {
		return
	}
	p.origins[0][none] = true
	for i := range p.holds {
		p.held[0][i].off = true
	}
	for changed := []int{0}; len(changed) > 0; {
		node := changed[len(changed)-1]
		changed = changed[:len(changed)-1]
		for _, next := range p.g.succs[node] {
			if p.pass(node, next) {
				changed = append(changed, next)
			}
		}
	}
}

// pass takes what may be held at a node along an edge, and reports whether that was new.
func (p *placer) pass(node, next int) (news bool) {
	for origin := range p.after(node) {
		if p.wanted(node, origin, next) == Free {
			origin = none
		}
		if !p.origins[next][origin] {
			p.origins[next][origin], news = true, true
		}
	}
	for i := range p.holds {
		before, then := p.heldAfter(node, i), &p.held[next][i]
		old := *then
		if p.keeps(i, node, next) {
			then.on, then.off = then.on || before.on, then.off || before.off
		} else {
			then.off = true
		}
		news = news || *then != old
	}
	return news
}

// after returns the accesses that may be the reason for which the lock is held at the end of a node.
func (p *placer) after(node int) map[int]bool {
	if p.acquires(node) {
		return map[int]bool{node: true}
	}
	return p.origins[node]
}

// wanted returns the mode in which the lock stays held for the access origin on an edge.
func (p *placer) wanted(node, origin, next int) Mode {
	if next == Exit || p.access[node] && origin != node {
		return Free // the access at the node is the latest one now
	}
	return p.mode(origin, next)
}

// mode returns the mode in which the lock is held for the access origin when control comes to a node.
func (p *placer) mode(origin, node int) (mode Mode) {
	for _, pair := range p.pairs {
		if pair.First == origin && pair.arrives(node) {
			mode = max(mode, pair.Mode)
		}
	}
	return mode
}

// heldAfter says whether a hold may be on, and off, at the end of a node.
func (p *placer) heldAfter(node, hold int) onOff {
	if p.holds[hold].First == node {
		return onOff{on: true}
	}
	return p.held[node][hold]
}

// keeps reports whether a hold that is on stays so on an edge.
func (p *placer) keeps(hold, node, next int) bool {
	h := p.holds[hold]
	return next != Exit && h.First != h.Second && h.live[node] && h.live[next] && !slices.Contains(h.Ends, node)
}

// acquires reports whether the access of a node is a reason to hold the lock. It is one if it is the first of
// a pair, or if the lock may not be held as the access needs it.
func (p *placer) acquires(node int) bool {
	if !p.access[node] {
		return false
	}
	if slices.ContainsFunc(p.pairs, func(pair livePair) bool { return pair.First == node }) {
		return true
	}
	return p.heldFor(node) < p.need(node)
}

// heldFor returns the mode in which the lock is held at least at a node, once the holds that begin there have been
// acquired.
func (p *placer) heldFor(node int) Mode {
	least := p.arrivesWith(node)
	for _, h := range p.holds {
		if h.First == node {
			least = max(least, h.Mode)
		}
	}
	return least
}

// arrivesWith returns the mode in which the lock is held at least when control comes to a node.
func (p *placer) arrivesWith(node int) Mode {
	if len(p.origins[node]) == 0 {
		return Free // control does not come there
	}
	least := Exclusive
	for origin := range p.origins[node] {
		least = min(least, p.mode(origin, node))
	}
	for i, h := range p.holds {
		if !p.held[node][i].off {
			least = max(least, h.Mode)
		}
	}
	return least
}

// placement turns what was found into operations.
func (p *placer) placement() *Placement {
	p.out.Constraints = make([][]Pair, p.g.Nodes())
	for node := range p.origins {
		for _, pair := range p.pairs {
			if pair.live[node] {
				p.out.Constraints[node] = append(p.out.Constraints[node], pair.Pair)
			}
		}
		if len(p.origins[node]) == 0 {
			continue
		}
		for i, h := range p.holds {
			if h.First == node {
				p.out.Acquisitions = append(p.out.Acquisitions, Acquisition{node, h.Mode, i, h.Rank})
			}
		}
		if p.acquires(node) {
			p.out.Acquisitions = append(p.out.Acquisitions, Acquisition{node, p.need(node), none, 0})
		}
		for _, next := range p.g.successors(node) {
			p.release(node, next)
		}
	}
	return &p.out
}

// release adds the operations of an edge.
func (p *placer) release(node, next int) {
	after := p.after(node)
	var releases []Release
	for origin := range after {
		before := p.mode(origin, node)
		if origin == node { // perhaps more, if the lock was held before
			before = max(p.need(node), p.strongest(node))
		}
		if left := p.wanted(node, origin, next); left < before {
			releases = append(releases, Release{node, next, origin, none, left, len(after) == 1})
		}
	}
	slices.SortFunc(releases, func(a, b Release) int { return a.Access - b.Access })
	p.out.Releases = append(p.out.Releases, releases...)
	for i := range p.holds {
		if at := p.heldAfter(node, i); at.on && !p.keeps(i, node, next) {
			p.out.Releases = append(p.out.Releases, Release{node, next, none, i, Free, !at.off})
		}
	}
}

// strongest returns the strongest mode in which the lock may be held for an access when control comes to a
// node.
func (p *placer) strongest(node int) (mode Mode) {
	for origin := range p.origins[node] {
		mode = max(mode, p.mode(origin, node))
	}
	return mode
}
