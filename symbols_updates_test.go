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
