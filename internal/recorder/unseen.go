package recorder

import (
	"slices"

	"github.com/heisen-go/heisen/internal/core/wire"
)

// Unseen is what may synchronize in a program without anybody seeing it. If there is nothing, all
// synchronization is known, and the happens-before order of the program is complete. If there is something,
// what that order leaves unordered may be ordered nevertheless.
//
// The program says what is linked into it: assembly outside of the standard library, which has no hooks,
// and packages that call the standard library past its API. C code is not among it, because a call of C
// counts as a synchronization with all others. Nor is mapped memory: atomic operations and locks order,
// wherever they lie.
type Unseen struct {
	assembly, linked []string // packages; if there are very many, some of them
}

// Unseen returns what is known of that in the stream's program. It is complete before the first event and
// the first finding.
func (s *Stream) Unseen() Unseen { return s.unseen }

// Any reports whether there is anything.
func (u Unseen) Any() bool { return len(u.assembly)+len(u.linked) > 0 }

// Reasons says what there is, each in a few words.
func (u Unseen) Reasons() (all []string) {
	for _, pkg := range u.assembly {
		all = append(all, "assembly in package "+pkg)
	}
	for _, pkg := range u.linked {
		all = append(all, "go:linkname in package "+pkg)
	}
	return all
}

// maxUnseen bounds the packages.
const maxUnseen = 64

// add adds a package that the program has named.
func (u *Unseen) add(s *Stream, why uint32, pkg string) error {
	list := &u.assembly
	switch {
	case pkg == "" || why > wire.UnseenLinked || len(u.assembly)+len(u.linked) >= maxUnseen:
		return s.corrupt("unseen package %q of kind %d", pkg, why)
	case why == wire.UnseenLinked:
		list = &u.linked
	}
	if !slices.Contains(*list, pkg) {
		*list = append(*list, pkg)
	}
	return nil
}
