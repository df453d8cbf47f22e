package report

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/heisen-go/heisen/internal/printable"
)

// FollowingOf returns a race as one that follows from another one. It returns the zero value if f is nil.
func FollowingOf(f *Finding) (one Following) {
	if f == nil {
		return one
	}
	one.Fingerprint = f.Fingerprint
	one.Variable = cmp.Or(f.Variable, f.Identity[strings.LastIndexByte(f.Identity, '/')+1:]) // of calls of the standard library, only the latter is known
	for i := range f.Accesses {
		one.Places = append(one.Places, step(&f.Accesses[i]))
	}
	return one
}

// writeFollowing prints which races follow from a race, and from which ones it follows.
func writeFollowing(b *strings.Builder, f *Finding) {
	if len(f.Following) > 0 {
		b.WriteString("\nRaces on what is reached only through this one:\n")
	}
	for _, one := range f.Following {
		fmt.Fprintf(b, "  %s\n", one)
	}
	if len(f.Roots) > 0 {
		fmt.Fprintf(b, "\nWhat it is about is reached only through the race %s\n", strings.Join(f.Roots, ", "))
	}
}

// String returns the race on one line.
func (r Following) String() string {
	return printable.Text(cmp.Or(r.Variable, "a variable") + ": " + strings.Join(r.Places, ", ") + " [" + r.Fingerprint + "]")
}
