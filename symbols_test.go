package heisen

import (
	"slices"
	"testing"
)

func TestUpdates(t *testing.T) {
	s := NewSymbols()
	site := s.AddSite(SiteInfo{PC: 1})
	s.SetSite(site, SiteInfo{Text: "a"})
	s.SetSite(99, SiteInfo{Text: "unknown"})
	s.SetThread(3, ThreadInfo{Name: "t"})
	s.SetThread(3, ThreadInfo{Name: "t"}) // no change
	s.SetThread(3, ThreadInfo{Name: "u"})
	s.SetName(8, "x")
	s.SetName(8, "x") // no change
	s.SetName(16, "")
	u := s.Updates()
	if !slices.Equal(u.Sites, []Site{site}) || !slices.Equal(u.Threads, []Thread{3, 3}) || !slices.Equal(u.Names, []Object{8, 16}) {
		t.Errorf("updates are %+v", u)
	}
}

func TestLookupName(t *testing.T) {
	var none *Symbols
	s := NewSymbols()
	s.SetName(8, "x")
	for _, c := range []struct {
		symbols *Symbols
		object  Object
		name    string
		ok      bool
		text    string
	}{
		{none, 8, "", false, "0x8"},
		{s, 8, "x", true, "x"},
		{s, 16, "", false, "0x10"},
	} {
		if name, ok := c.symbols.LookupName(c.object); name != c.name || ok != c.ok {
			t.Errorf("LookupName(%d) = %q, %v", c.object, name, ok)
		}
		if text := c.symbols.Name(c.object); text != c.text {
			t.Errorf("Name(%d) = %q", c.object, text)
		}
	}
}
