// Package textdiff compares texts line by line.
package textdiff

import (
	"bytes"
	"fmt"
	"io"
)

// unchanged is the number of unchanged lines around a change in a diff.
const unchanged = 3

// lines splits a text into lines with their ends.
func lines(text []byte) [][]byte {
	all := bytes.SplitAfter(text, []byte("\n"))
	if n := len(all); len(all[n-1]) == 0 {
		all = all[:n-1]
	}
	return all
}

// Pair is a line that two texts have in common.
type Pair struct{ Old, New int } // numbers from 0

// Common returns the lines that two texts have in common, in order: those that the fewest changes leave. It
// implements Myers, An O(ND) Difference Algorithm and Its Variations (Algorithmica 1986).
func Common(before, after []byte) []Pair { return common(lines(before), lines(after)) }

func common(old, changed [][]byte) (out []Pair) {
	n, m := len(old), len(changed)
	reached := map[int]int{1: 0} // the furthest old line on each diagonal
	var rounds []map[int]int
	for d := 0; ; d++ {
		round := map[int]int{}
		for k := -d; k <= d; k += 2 {
			x := reached[k-1] + 1
			if k == -d || k != d && reached[k-1] < reached[k+1] {
				x = reached[k+1]
			}
			for x < n && x-k < m && x-k >= 0 && bytes.Equal(old[x], changed[x-k]) {
				x++
			}
			round[k] = x
		}
		before := reached
		reached = map[int]int{}
		for k, x := range before {
			reached[k] = x
		}
		for k, x := range round {
			reached[k] = x
		}
		rounds = append(rounds, before)
		if x, ok := round[n-m]; ok && x >= n {
			return backtrack(rounds, n, m)
		}
	}
}

// backtrack follows the shortest way back from the ends of both texts.
func backtrack(rounds []map[int]int, n, m int) (out []Pair) {
	x, y := n, m
	for d := len(rounds) - 1; d >= 0; d-- {
		before := rounds[d]
		k := x - y
		from := k - 1
		if k == -d || k != d && before[k-1] < before[k+1] {
			from = k + 1
		}
		px := before[from]
		py := px - from
		for x > px && y > py && x > 0 && y > 0 && (d == 0 || x-1 >= startOf(px, from, k)) {
			x, y = x-1, y-1
			out = append(out, Pair{x, y})
		}
		x, y = px, py
		if d == 0 {
			break
		}
	}
	for i, j := 0, len(out)-1; i < j; i, j = i+1, j-1 {
		out[i], out[j] = out[j], out[i]
	}
	return out
}

// startOf returns the old line at which the diagonal k is entered from another one.
func startOf(px, from, k int) int {
	if from == k-1 {
		return px + 1
	}
	return px
}

// Write writes the changes of a file in the unified format, as git apply takes them. There is no
// line "diff --git": after one, git apply takes names relative to the top of the repository, and
// below the top it silently leaves out files that are elsewhere.
func Write(w io.Writer, name string, before, after []byte) error {
	old, changed := lines(before), lines(after)
	var ops []diffLine
	i, j := 0, 0
	emit := func(p Pair) {
		for ; i < p.Old; i++ {
			ops = append(ops, diffLine{'-', old[i], i, j})
		}
		for ; j < p.New; j++ {
			ops = append(ops, diffLine{'+', changed[j], i, j})
		}
	}
	for _, p := range common(old, changed) {
		emit(p)
		ops = append(ops, diffLine{' ', old[i], i, j})
		i, j = i+1, j+1
	}
	emit(Pair{len(old), len(changed)})
	var b bytes.Buffer
	fmt.Fprintf(&b, "--- a/%[1]s\n+++ b/%[1]s\n", name)
	for at := 0; at < len(ops); {
		if ops[at].kind == ' ' {
			at++
			continue
		}
		first, last := max(at-unchanged, 0), at
		for next := at; next < len(ops) && next <= last+2*unchanged+1; next++ {
			if ops[next].kind != ' ' {
				last = next
			}
		}
		end := min(last+unchanged+1, len(ops))
		writeHunk(&b, ops[first:end])
		at = end
	}
	_, err := w.Write(b.Bytes())
	return err
}

// diffLine is a line of a diff, with the numbers of old and new lines before it.
type diffLine struct {
	kind     byte
	text     []byte
	old, new int
}

func writeHunk(b *bytes.Buffer, ops []diffLine) {
	olds, news := 0, 0
	for _, op := range ops {
		if op.kind != '+' {
			olds++
		}
		if op.kind != '-' {
			news++
		}
	}
	start := func(n, count int) int {
		if count == 0 {
			return n
		}
		return n + 1
	}
	fmt.Fprintf(b, "@@ -%d,%d +%d,%d @@\n", start(ops[0].old, olds), olds, start(ops[0].new, news), news)
	for _, op := range ops {
		b.WriteByte(op.kind)
		b.Write(op.text)
		if !bytes.HasSuffix(op.text, []byte("\n")) {
			b.WriteString("\n\\ No newline at end of file\n")
		}
	}
}
