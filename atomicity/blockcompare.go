package atomicity

import "github.com/heisen-go/heisen"

// compare makes the blocks of a transaction, compares them with those of other threads, and stores
// them.
func (d *Blocks) compare(t heisen.Thread, b *builder) {
	sets := lockSets{d.locks}
	for i := range b.used {
		v := &b.variables[i]
		stored := v.stored
		if d.blocks.variables[v.id] != stored {
			continue // its memory was reused within the transaction
		}
		for k := range v.pairs {
			p := &v.pairs[k]
			one := block{events: [2]event{p.first, p.last}, pattern: p.pattern}
			one.throughout, _ = sets.between(b, &p.first, &p.last)
			at, compared := known(stored.blocks, &one)
			if compared {
				continue
			}
			for s := range stored.singles {
				d.interrupt(sets, &one, &stored.singles[s])
			}
			d.blocks.put(&stored.blocks, &stored.next[0], at, &one, stored)
		}
		d.singles(sets, b, v, stored)
	}
	for i := range b.used {
		for j := range b.used {
			x, y := &b.variables[i], &b.variables[j]
			if x.id < y.id && d.blocks.variables[x.id] == x.stored && d.blocks.variables[y.id] == y.stored {
				d.compareTwo(sets, b, x, y)
			}
		}
	}
}

// singles compares the accesses to a variable with 1v-blocks, and stores them.
func (d *Blocks) singles(sets lockSets, b *builder, v *accessed, stored *variableBlocks) {
	add := func(e event, initial, final bool) {
		held, _ := sets.between(b, &e, &e)
		one := single{event: e, held: held, initial: initial, final: final}
		for k := range stored.blocks {
			d.interrupt(sets, &stored.blocks[k], &one)
		}
		d.blocks.putSingle(stored, &one)
	}
	for k := range v.initial {
		add(v.initial[k], true, false)
	}
	for k := range v.writes {
		add(v.writes[k], false, false)
	}
	if v.written {
		add(v.final, false, true)
	}
}

// interrupt reports if an access can come between those of a 1v-block.
func (d *Blocks) interrupt(sets lockSets, b *block, s *single) {
	first, last := &b.events[0], &b.events[1]
	if first.Thread == s.Thread || !b.pattern.unserializable(s) ||
		s.moment.before(first.moment) || last.moment.before(s.moment) || sets.exclude(b.throughout, s.held) {
		return
	}
	d.report("another thread can come in between", first.Access, s.Access, last.Access)
}

// unserializable reports whether s within a 1v-block makes it unserializable.
func (p pattern) unserializable(s *single) bool {
	switch p {
	case toRead:
		return !s.initial // read-write-read, write-write-read
	case writeToWrite:
		return s.initial // write-read-write
	}
	return s.final // read-write-write
}

// compareTwo makes the 2v-blocks of two variables, compares and stores them.
func (d *Blocks) compareTwo(sets lockSets, b *builder, x, y *accessed) {
	stored := d.blocks.two(x.id, y.id)
	x.each(func(e *event, eWrites bool) {
		y.each(func(f *event, fWrites bool) {
			if b.two++; b.two > b.bounds.pairs {
				x.stored.drop(&b.dropped)
				return
			}
			two := block{events: [2]event{*e, *f}, write: [2]bool{eWrites, fWrites}}
			two.throughout, two.ever = sets.between(b, e, f)
			at, compared := known(stored.blocks, &two)
			if compared {
				return
			}
			for k := range stored.blocks {
				d.cross(sets, &two, &stored.blocks[k])
			}
			d.blocks.put(&stored.blocks, &stored.next, at, &two, x.stored, y.stored)
		})
	})
}

// each calls visit with the accesses that 2v-blocks have, and whether they write.
func (v *accessed) each(visit func(e *event, writes bool)) {
	for i := range v.initial {
		visit(&v.initial[i], false)
	}
	if v.written {
		visit(&v.final, true)
	}
}

// cross reports if two 2v-blocks of the same variables can come in opposite orders.
func (d *Blocks) cross(sets lockSets, a, b *block) {
	if a.events[0].Thread == b.events[0].Thread || !a.write[0] && !b.write[0] || !a.write[1] && !b.write[1] {
		return
	}
	for first := range 2 {
		d.crossFrom(sets, a, b, first)
	}
}

// crossFrom reports if the access of a to the first variable can come before that of b, and that of b
// to the other variable before that of a.
func (d *Blocks) crossFrom(sets lockSets, a, b *block, first int) {
	a1, a2, b1, b2 := &a.events[first], &a.events[1-first], &b.events[first], &b.events[1-first]
	if b1.moment.before(a1.moment) || a2.moment.before(b2.moment) {
		return
	}
	const message = "another thread can come in between, after one variable and before another"
	switch {
	case a1.time < a2.time && b1.time <= b2.time: // b within a
		if !sets.exclude(a.throughout, b.ever) {
			d.report(message, a1.Access, b1.Access, b2.Access, a2.Access)
		}
	case a1.time < a2.time: // each begins before the other ends
		if !sets.exclude(a.throughout, b.throughout) {
			d.report(message, a1.Access, b2.Access, b1.Access, a2.Access)
		}
	case b2.time < b1.time: // a within b
		if !sets.exclude(b.throughout, a.ever) {
			d.report(message, b2.Access, a2.Access, a1.Access, b1.Access)
		}
	}
}

func (d *Blocks) report(message string, accesses ...heisen.Access) {
	var key [5]uint64
	for i, a := range accesses {
		key[i] = uint64(a.Site)<<8 | uint64(a.Op)
	}
	if _, known := d.reported[key]; known {
		return
	}
	// The first and the last access are of one thread, those of two variables in the middle of another one.
	last := len(accesses) - 1
	if d.same.one(&accesses[0], &accesses[last]) || last == 3 && accesses[1].Thread == accesses[2].Thread && d.same.one(&accesses[1], &accesses[2]) {
		return
	}
	d.reported[key] = struct{}{}
	d.violations++
	d.sink(heisen.Finding{
		Detector: "blocks",
		Kind:     heisen.Atomicity,
		Object:   accesses[0].Object,
		Message:  "a transaction may not be atomic: " + message,
		Accesses: append([]heisen.Access(nil), accesses...),
	})
}
