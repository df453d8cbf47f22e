package section_test

import (
	"fmt"
	"testing"

	"github.com/heisen-go/heisen/section"
)

// TestTable1: a serial order of the three accesses, in which every read sees what it
// saw and the value at the end is the same, exists for all interleavings but those of
// the table.
func TestTable1(t *testing.T) {
	const r, w = section.Reads, section.Writes
	// run returns what each access reads, or 0, and the last value. The remote access
	// is number 1 and comes at the given position; an access that writes writes its
	// number plus one.
	run := func(modes [3]section.Modes, order [3]int) (seen [4]int) {
		value := 9
		for _, i := range order {
			if modes[i] == r {
				seen[i] = value
			} else {
				value = i + 1
			}
		}
		seen[3] = value
		return seen
	}
	for _, first := range []section.Modes{r, w} {
		for _, last := range []section.Modes{r, w} {
			var allowed section.Modes
			for _, remote := range []section.Modes{r, w} {
				modes := [3]section.Modes{first, remote, last}
				happened := run(modes, [3]int{0, 1, 2})
				serial := happened == run(modes, [3]int{1, 0, 2}) || happened == run(modes, [3]int{0, 2, 1})
				i := section.Interleaving{First: first, Remote: remote, Last: last}
				if i.Serializable() != serial || (i.Description() == "") != serial {
					t.Errorf("%v: serializable is %v, described as %q; want %v", i, i.Serializable(), i.Description(), serial)
				}
				if serial {
					allowed |= remote
				}
			}
			if got := section.Allowed(first, last); got != allowed {
				t.Errorf("between %v and %v %v is allowed, want %v", first, last, got, allowed)
			}
		}
	}
}

func ExampleAllowed() {
	// x++ is a read and a write. Others may read x in between.
	fmt.Println(section.Allowed(section.Reads, section.Writes))
	// Output: {read}
}
