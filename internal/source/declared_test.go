package source

import "testing"

// TestDeclared: function literals belong to the function that they are in.
func TestDeclared(t *testing.T) {
	for name, want := range map[string]string{
		"a/b.F": "a/b.F", "a/b.(*T).F.func1": "a/b.(*T).F", "a/b.F.func1.2": "a/b.F", "a/b.F.gowrap1": "a/b.F", "a/b.F.func2.deferwrap1": "a/b.F", "a/b.F-range1": "a/b.F",
	} {
		if got := Declared(name); got != want {
			t.Errorf("%s is in %s, want %s", name, got, want)
		}
	}
}
