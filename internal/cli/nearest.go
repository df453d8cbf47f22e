package cli

import "slices"

// nearest returns those of the names that are most like a misspelt one, at most three, or nothing
// if none is like it. The number of edits that make names alike depends on their lengths, because
// short names with nothing in common differ in few letters.
func nearest(misspelt string, names []string) (found []string) {
	best := 2
	for _, name := range names {
		d := edits(misspelt, name)
		if d > best || d > tolerated(misspelt, name) {
			continue
		}
		if d < best {
			best, found = d, nil
		}
		if !slices.Contains(found, name) {
			found = append(found, name)
		}
	}
	slices.Sort(found)
	return found[:min(len(found), 3)]
}

// tolerated returns the number of edits that may lie between a name and its misspelling.
func tolerated(a, b string) int {
	switch {
	case min(len(a), len(b)) >= 6:
		return 2
	case max(len(a), len(b)) >= 3:
		return 1
	}
	return 0
}

// edits returns the number of bytes to insert, delete or replace, or of neighbors to exchange, that
// make a into b, without changing a place twice.
func edits(a, b string) int {
	before, last, now := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range last {
		last[j] = j
	}
	for i := range len(a) {
		now[0] = i + 1
		for j := range len(b) {
			replace := last[j]
			if a[i] != b[j] {
				replace++
			}
			now[j+1] = min(replace, last[j+1]+1, now[j]+1)
			if i > 0 && j > 0 && a[i] == b[j-1] && a[i-1] == b[j] {
				now[j+1] = min(now[j+1], before[j-1]+1)
			}
		}
		before, last, now = last, now, before
	}
	return last[len(b)]
}
