package trace

import (
	"errors"
	"slices"
	"strings"
)

// Gaps is what a recording leaves out of what its program did. The zero value leaves out nothing that is known. What a detector
// concludes from events that are missing may be wrong, so an analyzer must look at the gaps of a trace first.
type Gaps struct {
	// Repeated means that accesses are missing that a filter found redundant for detectors that follow happens-before or compare
	// locksets.
	Repeated bool
	// Packages are patterns of packages, as in the go command. Accesses in packages that match none of them are missing. If there
	// are no patterns, the accesses of all packages are there.
	Packages []string
	// Hidden are the import paths of packages that are missing with their synchronization. Calls of them are Hide and Reveal events.
	Hidden []string
	// Unseen is what may have synchronized without an event, such as "assembly in package p".
	Unseen []string
}

// The first words of gaps in a trace.
const (
	gapRepeated = "repeated"
	gapPackages = "outside"
	gapHidden   = "hidden"
	gapUnseen   = "unseen"
)

// texts returns the gaps as they stand in a trace, each a text.
func (g *Gaps) texts() (all []string) {
	if g.Repeated {
		all = append(all, gapRepeated)
	}
	for _, list := range g.lists() {
		for _, name := range *list.names {
			all = append(all, list.word+" "+name)
		}
	}
	return all
}

type gapList struct {
	word  string
	names *[]string
}

func (g *Gaps) lists() []gapList {
	return []gapList{{gapPackages, &g.Packages}, {gapHidden, &g.Hidden}, {gapUnseen, &g.Unseen}}
}

var errGap = errors.New("unknown gap")

// add adds the gap that a text stands for.
func (g *Gaps) add(text string) error {
	if text == gapRepeated {
		g.Repeated = true
		return nil
	}
	word, name, _ := strings.Cut(text, " ")
	for _, list := range g.lists() {
		if list.word == word && name != "" {
			*list.names = append(*list.names, name)
			return nil
		}
	}
	return errGap
}

// clone returns a copy that shares nothing with g.
func (g *Gaps) clone() Gaps {
	return Gaps{g.Repeated, slices.Clone(g.Packages), slices.Clone(g.Hidden), slices.Clone(g.Unseen)}
}
