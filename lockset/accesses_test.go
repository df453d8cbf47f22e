package lockset

import (
	"math/rand/v2"
	"testing"

	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/vclock"
)

// TestMembersMatchMap adds, finds and removes members of slots that collide.
func TestMembersMatchMap(t *testing.T) {
	for seed := range uint64(300) {
		rng := rand.New(rand.NewPCG(seed, 9))
		var members accessTable
		model := map[uint32]access{}
		for range 200 {
			slot := uint32(rng.IntN(8) + 16*rng.IntN(4))
			switch {
			case rng.IntN(3) == 0 && len(model) > 0:
				members.removeAny()
				for slot := range model {
					if members.get(slot) == nil {
						delete(model, slot)
						break
					}
				}
			case members.get(slot) == nil:
				m := access{epoch: vclock.MakeEpoch(slot, 1+rng.Uint64N(100)), ctx: heisen.Context(rng.Uint32())}
				members.add(m)
				model[slot] = m
			}
			if int(members.count) != len(model) {
				t.Fatalf("seed %d: %d members, want %d", seed, members.count, len(model))
			}
			for slot := range uint32(64) {
				want, ok := model[slot]
				if got := members.get(slot); (got != nil) != ok || ok && *got != want {
					t.Fatalf("seed %d: slot %d has %v, want %v", seed, slot, got, want)
				}
			}
		}
	}
}

// TestMergeKeepsTheLater: of two accesses of a slot the later stays, and what was
// judged of either is judged of an equal one.
func TestMergeKeepsTheLater(t *testing.T) {
	at := func(time uint64, judged bool) access {
		return access{epoch: vclock.MakeEpoch(3, time), checked: judged}
	}
	for _, test := range []struct{ have, m, want access }{
		{at(5, true), at(4, true), at(5, true)},
		{at(5, false), at(4, true), at(5, false)},
		{at(4, true), at(5, false), at(5, false)},
		{at(5, false), at(5, true), at(5, true)},
		{at(5, true), at(5, false), at(5, true)},
		{at(5, false), at(5, false), at(5, false)},
	} {
		g := accessGroup{first: test.have}
		if dropped := g.merge(test.m); dropped != 1 || g.first != test.want {
			t.Errorf("%v and %v: %v, %d dropped, want %v", test.have, test.m, g.first, dropped, test.want)
		}
	}
	g := accessGroup{first: at(5, true)}
	other := access{epoch: vclock.MakeEpoch(4, 2)}
	if dropped := g.merge(other); dropped != 0 || *g.of(4) != other || *g.of(3) != at(5, true) {
		t.Errorf("%d dropped, group %+v", dropped, g)
	}
}
