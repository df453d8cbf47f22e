package infer

import (
	"cmp"
	"slices"

	"golang.org/x/tools/go/ssa"

	"github.com/heisen-go/heisen/section"
)

// walk follows the entry on all paths and notes in f.met the accesses to the variable.
func (f *follower) walk() {
	block := f.entry.ins.Block()
	fr := &frame{fn: f.entry.ins.Parent(), path: f.entry.path, key: f.entry.key, start: block, rules: f.pattern.rules}
	if v := f.entry.value(); v != nil {
		fr.derived = f.derived([]ssa.Value{v}, block)
	}
	next := slices.Index(block.Instrs, f.entry.ins) + 1
	exits := f.follow(fr, block, next, state{holds: f.hold(f.p.locks.at(f.entry.ins), fr.path)})
	f.returnFrom(fr, exits)
}

// section follows the entry and returns the section that it begins, if there is one.
//
// At run time, a section ends at any access to its variable at the place of an end, in a call of one
// of the functions that the end names, however control came there. The analysis therefore follows
// all paths, including those on which the section is over. If such a path reaches the place of an
// end, there is no section in calls of that function.
func (f *follower) section() (found, bool) {
	f.walk()
	wrong, ok := f.contradicted()
	if !ok {
		return found{}, false
	}
	out := found{pattern: f.pattern.name, entry: f.entry, locked: true}
	index := map[place]int{}
	safe := map[place]map[*ssa.Function]bool{} // whether all accesses there are
	for _, m := range f.met {
		if !m.end || wrong[m.top] {
			continue
		}
		at := f.p.place(m.access)
		if _, known := index[at]; !known {
			index[at] = len(out.ends)
			out.ends = append(out.ends, foundEnd{access: m.access})
			safe[at] = map[*ssa.Function]bool{}
		}
		before, known := safe[at][m.top]
		safe[at][m.top] = m.safe && (before || !known)
		out.above = max(out.above, m.above)
		out.locked = out.locked && m.safe
	}
	for at, i := range index {
		f.limit(&out.ends[i], safe[at], len(wrong) > 0, out.locked)
	}
	slices.SortFunc(out.ends, func(a, b foundEnd) int { return cmp.Compare(a.at, b.at) })
	return out, len(out.ends) > 0
}

// contradicted returns the callers in which a place is reached both as an end and when the section
// is over. It returns false if that happens in the entry's function.
func (f *follower) contradicted() (wrong map[*ssa.Function]bool, ok bool) {
	above := 0
	ends := map[place][]meeting{}
	for _, m := range f.met {
		if m.end {
			ends[f.p.place(m.access)] = append(ends[f.p.place(m.access)], m)
			above = max(above, m.above)
		}
	}
	wrong = map[*ssa.Function]bool{}
	for _, m := range f.met {
		if m.end || m.above > above {
			continue
		}
		for _, end := range ends[f.p.place(m.access)] {
			switch {
			case end.above == 0 && m.above == 0, f.pattern.pairs:
				return nil, false
			case end.top == m.top || m.above < end.above:
				wrong[end.top] = true
			default:
				wrong[m.top] = true
			}
		}
	}
	return wrong, true
}

// limit completes an end. safe has the functions in which the section ends there, and whether a lock
// is held until then. others says that the end may be reached in other functions although the
// section is over.
func (f *follower) limit(end *foundEnd, safe map[*ssa.Function]bool, others, locked bool) {
	end.allow = section.Reads | section.Writes
	protected, called := false, false
	for fn, held := range safe {
		called = called || fn != f.entry.ins.Parent()
		if held && !locked {
			protected = true
			continue
		}
		end.allow = allowed(f.entry.mode, end.mode)
		end.in = append(end.in, fn)
	}
	if len(end.in) == 0 || f.pattern.pairs || !others && !protected && !(called && f.unknown) {
		end.in = nil
	}
	slices.SortFunc(end.in, func(a, b *ssa.Function) int { return cmp.Compare(a.Pos(), b.Pos()) })
}

// allowed returns the kinds of remote accesses that may come between two accesses to a variable:
// those that leave the interleaving serializable, by table 1 of the paper.
func allowed(first, last section.Modes) section.Modes {
	if first == section.Writes && last == section.Writes {
		return section.Writes
	}
	return section.Reads
}

// place is the place of an access in compiled code.
type place struct {
	file string
	line int
	mode section.Modes
}

func (p *program) place(a *access) place {
	at := p.pass.Fset.Position(a.at)
	return place{at.Filename, at.Line, a.mode}
}
