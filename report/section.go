package report

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/heisen-go/heisen"
)

// An atomicity violation of a section over one variable has the thread's access at
// the section's entry first, its access at the end last, and between them those of
// other threads, one at least.

// isSection reports whether f is about such a section. Detectors of other notions of
// atomicity, of transactions for example, have other accesses.
func isSection(f *Finding) bool {
	last := len(f.Accesses) - 1
	if f.Kind != heisen.Atomicity || last < 2 || f.Accesses[last].Thread != f.Accesses[0].Thread {
		return false
	}
	return !slices.ContainsFunc(f.Accesses[1:last], func(a Access) bool { return a.Thread == f.Accesses[0].Thread })
}

// unserialisable are the interleavings that no serial order of the three accesses
// explains: the access at the entry, that of another thread, the access at the end
// (table 1 of AtomRace, after Lu et al., AVIO).
var unserialisable = map[string]string{
	"read-write-read":  "the two reads do not see the same",
	"write-write-read": "the read does not see what its own thread wrote",
	"write-read-write": "another thread sees what was to be overwritten",
	"read-write-write": "the write goes by what the read saw, which another thread has changed",
}

// interleavings returns those of table 1 that the ops of a section make, from its
// entry to its end, one for each way in which others accessed the variable.
func interleavings(accesses []heisen.Access) (out []string) {
	last := len(accesses) - 1
	for _, other := range accesses[1:last] {
		name := mode(accesses[0].Op) + "-" + mode(other.Op) + "-" + mode(accesses[last].Op)
		if unserialisable[name] != "" && !slices.Contains(out, name) {
			out = append(out, name)
		}
	}
	return out
}

// mode is how an op accesses a variable: whether it may change it.
func mode(op heisen.Op) string {
	if op.IsWrite() {
		return "write"
	}
	return "read"
}

// writeSection prints what section was violated and how, and the accesses in their
// order, with a column for each goroutine.
func writeSection(b *strings.Builder, f *Finding) {
	entry, end := &f.Accesses[0], &f.Accesses[len(f.Accesses)-1]
	of := end.Object
	if f.Variable != "" {
		of = f.Variable
	}
	fmt.Fprintf(b, "Section of %s: %s -> %s\n", of, step(entry), step(end))
	for _, name := range f.Unserializable {
		fmt.Fprintf(b, "Not serialisable, %s: %s\n", name, unserialisable[name])
	}
	if len(f.Unserializable) == 0 {
		fmt.Fprintf(b, "Serialisable, but the section does not allow it\n")
	}
	b.WriteByte('\n')
	writeLanes(b, f.Accesses)
}

// step is an access in a few words, such as "read bank.go:31".
func step(a *Access) string { return words(a.Op) + " " + place(a) }

// words is an op's name as it stands in a sentence.
func words(op string) string { return strings.ReplaceAll(op, "-", " ") }

// place is an access's site without directories.
func place(a *Access) string { return a.Site[strings.LastIndexByte(a.Site, '/')+1:] }

// laneGap is the space between the columns of writeLanes.
const laneGap = 3

// writeLanes prints accesses one below the other, each in the column of its
// goroutine.
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
