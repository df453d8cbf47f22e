package source

import (
	"cmp"
	"slices"
	"strings"
)

// Choice is what is known about an access: its expression, the statement that has it and, for an operation that
// synchronizes, which one it is. The
// expression and the verb are empty if none or more than one fits. All are empty if nothing is known.
type Choice struct {
	Variable, Statement, Verb string
	// Alternatives are the expressions that fit, the likeliest first, if there are two or three.
	Alternatives []string
	// Identity names the declaration of the variable, if that is known, and those of the variables that contain it.
	Identity []string
}

// maxAlternatives bounds the expressions that are told of an access.
const maxAlternatives = 3

// Choose chooses an expression for each access to the same storage. Of the candidates of an access,
// only those remain that fit the other accesses best. What counts is the access that a candidate fits
// worst, and then all accesses together.
func Choose(excerpts []*Excerpt) []Choice {
	choices := make([]Choice, len(excerpts))
	for i, e := range excerpts {
		bestWorst, bestTotal := -1, -1
		var remaining []candidate
		for _, c := range e.candidates {
			worst, total := same, 0
			for j, other := range excerpts {
				if j != i && len(other.candidates) > 0 {
					fit := closest(&c, other.candidates)
					worst, total = min(worst, fit), total+fit
				}
			}
			switch cmp.Or(cmp.Compare(worst, bestWorst), cmp.Compare(total, bestTotal)) {
			case 1:
				bestWorst, bestTotal, remaining = worst, total, []candidate{c}
			case 0:
				remaining = append(remaining, c)
			}
		}
		choices[i] = only(remaining)
	}
	return choices
}

// only returns the expression and the statement of all candidates, as far as they have only one.
// A candidate of rankRemote may be no variable, or out of reach of other goroutines. It counts only if
// there are no others.
func only(candidates []candidate) (choice Choice) {
	candidates = prefer(candidates, func(c candidate) bool { return c.rank > rankRemote })
	identity := commonIdentity(candidates)
	var texts []string
	for i, c := range candidates {
		if i == 0 {
			choice = Choice{Statement: c.statement, Verb: c.verb}
		}
		if !slices.Contains(texts, c.text) {
			texts = append(texts, c.text)
		}
		if c.statement != choice.Statement {
			choice.Statement = ""
		}
		if c.verb != choice.Verb {
			choice.Verb = ""
		}
	}
	choice.Identity = identity
	switch n := len(texts); {
	case n == 1:
		choice.Variable = texts[0]
	case n <= maxAlternatives:
		choice.Alternatives = texts
	}
	return choice
}

// closest returns the sameness of c with the candidate that is most likely the same.
func closest(c *candidate, others []candidate) (best int) {
	for i := range others {
		best = max(best, sameness(c, &others[i]))
	}
	return best
}

// Degrees of sameness.
const (
	different   = iota // as far as types are known
	constructed        // perhaps the same, but constructed in the statement
	maybe
	sameName
	same
)

// sameness says how likely a and b denote the same storage, or one a part of the other. A value that
// the statement constructs is seldom the storage of another access. A type that is not known may be
// any type.
func sameness(a, b *candidate) int {
	remote := a.rank <= rankRemote || b.rank <= rankRemote
	switch {
	case a.keys[0] == b.keys[0]:
		return same
	case slices.Contains(a.keys, b.keys[0]) || slices.Contains(b.keys, a.keys[0]):
		if remote {
			return constructed
		}
		return same
	case lastName(a.text) == lastName(b.text):
		return sameName
	case a.typ != "" && a.typ == b.typ, !remote && (a.typ == "" || b.typ == ""):
		return maybe
	}
	return different
}

// lastName returns the last identifier of an expression outside of brackets.
func lastName(text string) string {
	if i := strings.IndexAny(text, "[("); i > 0 {
		text = text[:i]
	}
	return text[strings.LastIndexAny(text, ".*")+1:]
}
