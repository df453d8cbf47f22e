package ownership

import (
	"fmt"
	"go/token"
	"slices"

	"golang.org/x/tools/go/ssa"
)

// Line is the reads, or the writes, on a line of the source.
type Line struct {
	Position
	Write bool
}

// Remarks says why lines are not in the plan: for each access that is not proved to be safe, what it is of, and the first
// reason. They are for those who want to know what rule is missing. It costs about as much as making the plan from proofs.
func (r *Result) Remarks() map[Line][]string {
	return r.analysis.line(true).remarks
}

// remarkOn says why an access is not safe.
func remarkOn(x *access, v *verdict) string {
	switch {
	case x.atomic:
		return "an atomic operation"
	case v == nil || len(v.reasons) == 0:
		return fmt.Sprintf("%s: nothing is known of it", x.memory)
	}
	return fmt.Sprintf("%s: %s", x.memory, v.reasons[0].Text)
}

// remark adds a remark to the lines of an instruction.
func (l *lining) remark(f *function, ins ssa.Instruction, write bool, text string) {
	if l.remarks == nil {
		l.remarks = map[Line][]string{}
	}
	for _, pos := range l.positions(f, ins) {
		file := l.a.fset.File(pos)
		if file == nil || l.units[file] == nil {
			continue
		}
		at := l.units[file].of(pos)
		if at == nil {
			continue
		}
		for _, part := range append([][2]token.Pos{{at.from, at.to}}, at.more...) {
			for line := file.Line(part[0]); line <= file.Line(min(part[1], token.Pos(file.Base()+file.Size()))); line++ {
				key := Line{Position{file.Name(), line}, write}
				if !slices.Contains(l.remarks[key], text) {
					l.remarks[key] = append(l.remarks[key], text)
				}
			}
		}
	}
}
