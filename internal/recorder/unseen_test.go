package recorder

import (
	"errors"
	"slices"
	"testing"

	"github.com/heisen-go/heisen/internal/core/wire"
)

func TestUnseen(t *testing.T) {
	var u Unseen
	if u.Any() || len(u.Reasons()) != 0 {
		t.Errorf("nothing is %v", u.Reasons())
	}
	s := new(Stream)
	for _, named := range []struct {
		why uint32
		pkg string
	}{{wire.UnseenLinked, "b"}, {wire.UnseenAssembly, "a"}, {wire.UnseenAssembly, "a"}, {wire.UnseenAssembly, "b"}} {
		if err := u.add(s, named.why, named.pkg); err != nil {
			t.Fatal(err)
		}
	}
	if want := []string{"assembly in package a", "assembly in package b", "go:linkname in package b"}; !slices.Equal(u.Reasons(), want) || !u.Any() {
		t.Errorf("%q, want %q", u.Reasons(), want)
	}
	for _, err := range []error{u.add(s, wire.UnseenLinked+1, "a"), u.add(s, wire.UnseenAssembly, "")} {
		if !errors.Is(err, ErrCorrupt) {
			t.Errorf("error %v", err)
		}
	}
	for i := range maxUnseen + 1 {
		if err := u.add(s, wire.UnseenLinked, string(rune('c'+i))); err != nil {
			if !errors.Is(err, ErrCorrupt) || i < maxUnseen-4 {
				t.Errorf("package %d: %v", i, err)
			}
			return
		}
	}
	t.Error("there is no bound")
}
