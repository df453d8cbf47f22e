package fold

import (
	"testing"

	"github.com/heisen-go/heisen"
)

// TestAllocs: a repeated finding costs no allocation.
func TestAllocs(t *testing.T) {
	symbols := heisen.NewSymbols()
	called := symbols.Context(symbols.Call(heisen.Cursor{}, 3))
	f := heisen.Finding{Detector: "fasttrack", Kind: heisen.Race, Accesses: []heisen.Access{
		{Op: heisen.Write, Site: 2, Context: called}, {Op: heisen.Read, Site: 1},
	}}
	s := NewSet(symbols, nil)
	s.Add(f)
	if n := testing.AllocsPerRun(100, func() { s.Add(f) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
