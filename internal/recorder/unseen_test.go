package recorder

import (
	"errors"
	"slices"
	"testing"
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
	}{{unseenLinked, "b"}, {unseenAssembly, "a"}, {unseenAssembly, "a"}, {unseenAssembly, "b"}} {
		if err := u.add(s, named.why, named.pkg); err != nil {
			t.Fatal(err)
		}
	}
	if want := []string{"assembly in package a", "assembly in package b", "go:linkname in package b"}; !slices.Equal(u.Reasons(), want) || !u.Any() {
		t.Errorf("%q, want %q", u.Reasons(), want)
	}
	for _, err := range []error{u.add(s, unseenLinked+1, "a"), u.add(s, unseenAssembly, "")} {
		if !errors.Is(err, ErrCorrupt) {
			t.Errorf("error %v", err)
		}
	}
	for i := range maxUnseen + 1 {
		if err := u.add(s, unseenLinked, string(rune('c'+i))); err != nil {
			if !errors.Is(err, ErrCorrupt) || i < maxUnseen-4 {
				t.Errorf("package %d: %v", i, err)
			}
			return
		}
	}
	t.Error("there is no bound")
}
