package ownership

import "slices"

// classes numbers the variables that locks are, so that sets of them are sets of bits. Number 0 is the zero
// variable: a lock without a name, which may be any.
type classes map[memory]int

const anyClass = 0

func newClasses() classes { return classes{memory{}: anyClass} }

func (c classes) number(class memory) int {
	n, ok := c[class]
	if !ok {
		n = len(c)
		c[class] = n
	}
	return n
}

// classSet is a set of numbers of classes, as bits. Its methods do not change it.
type classSet []uint64

func (s classSet) has(class int) bool {
	return class/64 < len(s) && s[class/64]>>(class%64)&1 != 0
}

// with returns the set with another class.
func (s classSet) with(class int) classSet {
	if s.has(class) {
		return s
	}
	out := make(classSet, max(len(s), class/64+1))
	copy(out, s)
	out[class/64] |= 1 << (class % 64)
	return out
}

// without returns the set without a class.
func (s classSet) without(class int) classSet {
	if !s.has(class) {
		return s
	}
	out := slices.Clone(s)
	out[class/64] &^= 1 << (class % 64)
	return out
}

// union returns the classes of both sets. It is s itself if there are no others in t.
func (s classSet) union(t classSet) classSet {
	var out classSet
	for i, word := range t {
		switch {
		case i < len(s) && word&^s[i] == 0 || word == 0:
			continue
		case out == nil:
			out = make(classSet, max(len(s), len(t)))
			copy(out, s)
		}
		out[i] |= word
	}
	if out == nil {
		return s
	}
	return out
}

// equal reports whether both sets have the same classes.
func (s classSet) equal(t classSet) bool {
	n := min(len(s), len(t))
	some := func(word uint64) bool { return word != 0 }
	return slices.Equal(s[:n], t[:n]) && !slices.ContainsFunc(s[n:], some) && !slices.ContainsFunc(t[n:], some)
}
