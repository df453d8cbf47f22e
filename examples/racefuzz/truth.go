package racefuzz

import (
	"fmt"
	"strings"
)

// Truth says which pairs of accesses in a program race.
type Truth struct {
	marks map[Line]string
	pairs map[[2]Place]Pair
	races map[[2]Place]bool
}

// Truth returns the Truth about the program's pairs.
func (p *Program) Truth() (*Truth, error) {
	lines, err := p.Lines()
	if err != nil {
		return nil, err
	}
	t := &Truth{map[Line]string{}, map[[2]Place]Pair{}, map[[2]Place]bool{}}
	for mark, line := range lines {
		t.marks[line] = mark
	}
	for _, pair := range p.Apart {
		t.pairs[pair.places()] = pair
	}
	for _, pair := range p.Races {
		t.pairs[pair.places()], t.races[pair.places()] = pair, true
	}
	return t, nil
}

// folder is the folder of this package, as it appears in the names of files.
const folder = "/examples/racefuzz/"

// Place returns the place of an operation at a line of a file, whose name is absolute. If the line
// has no mark, the file and the line take its place.
func (t *Truth) Place(op, file string, line int) Place {
	at := Line{file, line}
	if i := strings.LastIndex(file, folder); i >= 0 {
		at.File = file[i+len(folder):]
	}
	if mark, ok := t.marks[at]; ok {
		return Place(op + " " + mark)
	}
	return Place(fmt.Sprintf("%s %v", op, at))
}

// Of returns the pair of two places, in any order, and whether it races. known is false for all
// other pairs.
func (t *Truth) Of(a, b Place) (pair Pair, races, known bool) {
	id := Pair{A: a, B: b}.places()
	pair, known = t.pairs[id]
	return pair, t.races[id], known
}

// places returns the two places in alphabetical order.
func (p Pair) places() [2]Place {
	if p.B < p.A {
		return [2]Place{p.B, p.A}
	}
	return [2]Place{p.A, p.B}
}
