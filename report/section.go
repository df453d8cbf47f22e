package report

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/internal/filename"
)

// isSection reports whether f is a violation of an atomic section of one variable: the first access
// is at the section's entry, the last one at its end, both by one thread, and between them stands at
// least one access by another thread. Detectors of other kinds of atomicity violations report other
// accesses.
func isSection(f *Finding) bool {
	last := len(f.Accesses) - 1
	if f.Kind != heisen.Atomicity || last < 2 || f.Accesses[last].Thread != f.Accesses[0].Thread || beginsTransaction(f.Accesses[0].Op) {
		return false
	}
	return !slices.ContainsFunc(f.Accesses[1:last], func(a Access) bool { return a.Thread == f.Accesses[0].Thread })
}

// unserializable are the unserializable interleavings of an access at a section's entry, one by
// another thread and one at the section's end, each with its effect (AtomRace, table 1; after Lu et
// al., AVIO, ASPLOS 2006).
var unserializable = map[string]string{
	"read-write-read":  "the two reads see different values",
	"write-write-read": "the read does not see the value that its own thread wrote",
	"write-read-write": "another thread sees a value between the two writes",
	"read-write-write": "the write depends on the read value, which another thread has changed",
}

// interleavings returns the unserializable interleavings among the accesses of a section, from its
// entry to its end, each once.
func interleavings(accesses []heisen.Access) (out []string) {
	last := len(accesses) - 1
	for _, other := range accesses[1:last] {
		for _, first := range modes(accesses[0].Op) {
			for _, between := range modes(other.Op) {
				for _, second := range modes(accesses[last].Op) {
					name := first + "-" + between + "-" + second
					if unserializable[name] != "" && !slices.Contains(out, name) {
						out = append(out, name)
					}
				}
			}
		}
	}
	return out
}

// modes says whether an op may see the value of a variable, and change it. An update does both.
func modes(op heisen.Op) []string {
	switch {
	case op == heisen.AtomicUpdate:
		return []string{"read", "write"}
	case op.IsWrite():
		return []string{"write"}
	}
	return []string{"read"}
}

// writeSection prints which section was violated and how, and the accesses in their order, with a
// column for each goroutine.
func writeSection(b *strings.Builder, f *Finding) {
	entry, end := &f.Accesses[0], &f.Accesses[len(f.Accesses)-1]
	of := end.Object
	if f.Variable != "" {
		of = f.Variable
	}
	fmt.Fprintf(b, "Section of %s: %s -> %s\n", of, step(entry), step(end))
	for _, name := range f.Unserializable {
		fmt.Fprintf(b, "Not serializable, %s: %s\n", name, unserializable[name])
	}
	if len(f.Unserializable) == 0 {
		fmt.Fprintf(b, "Serializable, but the section does not allow it\n")
	}
	b.WriteByte('\n')
	writeLanes(b, f.Accesses)
}

// step returns an access in a few words, such as "read bank.go:31".
func step(a *Access) string { return words(a.Op) + " " + place(a) }

// words returns an op's name as it stands in a sentence.
func words(op string) string { return strings.ReplaceAll(op, "-", " ") }

// place returns an access's site without directories.
func place(a *Access) string { return filename.Base(a.Site) }

// laneGap is the space between the columns of writeLanes.
const laneGap = 3

// writeLanes prints accesses one below the other, each in the column of its goroutine.
func writeLanes(b *strings.Builder, accesses []Access) {
	longest := 0 // of the ops
	for i := range accesses {
		longest = max(longest, len(accesses[i].Op))
	}
	cell := func(a *Access) string { return fmt.Sprintf("%-*s %s", longest, words(a.Op), place(a)) }

	lanes := map[heisen.Thread]int{}
	var names []string
	var widths []int
	for i := range accesses {
		a := &accesses[i]
		lane, ok := lanes[a.Thread]
		if !ok {
			lane = len(names)
			lanes[a.Thread] = lane
			names = append(names, a.Goroutine)
			widths = append(widths, utf8.RuneCountInString(a.Goroutine))
		}
		widths[lane] = max(widths[lane], utf8.RuneCountInString(cell(a)))
	}
	row := func(lane int) string {
		left := 2
		for _, w := range widths[:lane] {
			left += w + laneGap
		}
		return strings.Repeat(" ", left)
	}
	head := ""
	for lane, name := range names {
		head += row(lane)[utf8.RuneCountInString(head):] + name
	}
	fmt.Fprintln(b, head)
	for i := range accesses {
		a := &accesses[i]
		fmt.Fprintf(b, "%s%s\n", row(lanes[a.Thread]), cell(a))
	}
}
