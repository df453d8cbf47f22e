package vclock_test

import (
	"testing"

	"pgregory.net/rapid"

	"github.com/heisen-go/heisen/vclock"
)

// times is a vector clock as a map.
type times map[uint32]uint64

const slots = 200 // several blocks of a Clock

// clocks draws a family of clocks that share memory with each other in all the
// ways that copies, joins and raises lead to, with what each must hold.
func clocks(t *rapid.T) ([]*vclock.Clock, []times) {
	family := []*vclock.Clock{{}, {}, {}}
	model := []times{{}, {}, {}}
	for range rapid.IntRange(0, 40).Draw(t, "steps") {
		i := rapid.IntRange(0, len(family)-1).Draw(t, "i")
		j := rapid.IntRange(0, len(family)-1).Draw(t, "j")
		switch rapid.IntRange(0, 3).Draw(t, "step") {
		case 0:
			family[i].Join(family[j])
			model[i] = join(model[i], model[j])
		case 1:
			c := family[j].Copy()
			family = append(family, &c)
			model = append(model, join(model[j], nil))
		default:
			slot := rapid.Uint32Range(0, slots-1).Draw(t, "slot")
			time := rapid.Uint64Range(1, 5).Draw(t, "time")
			family[i].Raise(vclock.MakeEpoch(slot, time))
			model[i][slot] = max(model[i][slot], time)
		}
	}
	return family, model
}

func join(a, b times) times {
	out := times{}
	for _, m := range []times{a, b} {
		for s, time := range m {
			out[s] = max(out[s], time)
		}
	}
	return out
}

func lessEq(a, b times) bool {
	for s, time := range a {
		if time > b[s] {
			return false
		}
	}
	return true
}

func same(c, d *vclock.Clock) bool { return c.LessEq(d) && d.LessEq(c) }

func TestClockMatchesMap(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		family, model := clocks(t)
		for i, c := range family {
			for slot := range uint32(slots + 100) {
				if got, want := c.Time(slot), model[i][slot]; got != want {
					t.Fatalf("clock %d has %d at slot %d, want %d", i, got, slot, want)
				}
				if time := model[i][slot]; !c.Covers(vclock.MakeEpoch(slot, time)) || c.Covers(vclock.MakeEpoch(slot, time+1)) {
					t.Fatalf("Covers disagrees with Time at slot %d", slot)
				}
			}
			for j, d := range family {
				if got, want := c.LessEq(d), lessEq(model[i], model[j]); got != want {
					t.Fatalf("LessEq of clocks %d and %d is %v", i, j, got)
				}
			}
		}
	})
}

func TestClockIsLattice(t *testing.T) {
	joined := func(cs ...*vclock.Clock) *vclock.Clock {
		c := cs[0].Copy()
		for _, d := range cs[1:] {
			c.Join(d)
		}
		return &c
	}
	rapid.Check(t, func(t *rapid.T) {
		family, _ := clocks(t)
		a, b, c := family[0], family[1], family[2]
		bc := joined(b, c)
		switch {
		case !same(joined(a, b), joined(b, a)):
			t.Fatal("join is not commutative")
		case !same(joined(a, bc), joined(a, b, c)):
			t.Fatal("join is not associative")
		case !same(joined(a, a), a):
			t.Fatal("join is not idempotent")
		case !a.LessEq(joined(a, b)) || !b.LessEq(joined(a, b)):
			t.Fatal("join is not an upper bound")
		case a.LessEq(c) && b.LessEq(c) && !joined(a, b).LessEq(c):
			t.Fatal("join is not the least upper bound")
		case a.LessEq(b) != same(joined(a, b), b):
			t.Fatal("order and join disagree")
		case !new(vclock.Clock).LessEq(a):
			t.Fatal("zero is not the bottom")
		}
	})
}

func TestEpoch(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		slot := rapid.Uint32Range(0, vclock.MaxSlots-1).Draw(t, "slot")
		time := rapid.Uint64Range(0, 1<<44-1).Draw(t, "time")
		e := vclock.MakeEpoch(slot, time)
		if e.Slot() != slot || e.Time() != time {
			t.Fatalf("%v from slot %d and time %d", e, slot, time)
		}
	})
	if s := vclock.MakeEpoch(3, 17).String(); s != "17@3" {
		t.Errorf("String is %q", s)
	}
}

// TestTick compares Tick with the sum of times, up to the largest time.
func TestTick(t *testing.T) {
	var c vclock.Clock
	copied := c.Copy()
	for want := uint64(1); want < 4; want++ {
		if e := c.Tick(70); e != vclock.MakeEpoch(70, want) || !c.Covers(e) || c.Covers(e+1) {
			t.Errorf("tick %d is %v", want, e)
		}
	}
	if copied.Time(70) != 0 {
		t.Error("a copy has ticked")
	}
	last := vclock.MakeEpoch(70, 1<<44-1)
	c.Raise(last)
	if e := c.Tick(70); e != last || c.Time(71) != 0 {
		t.Errorf("the tick after %v is %v", last, e)
	}
}

// TestTickNoSlot checks that a number that is no slot's changes no slot.
func TestTickNoSlot(t *testing.T) {
	for _, slot := range []uint32{vclock.MaxSlots, vclock.MaxSlots + 1, 1 << 31, 1<<32 - 1} {
		var c vclock.Clock
		if e := c.Tick(slot); e != 0 || c.String() != "[]" {
			t.Errorf("tick of slot %d: %v, the clock is %v", slot, e, &c)
		}
	}
	var c vclock.Clock
	if e := c.Tick(vclock.MaxSlots - 1); e != vclock.MakeEpoch(vclock.MaxSlots-1, 1) || !c.Covers(e) {
		t.Errorf("tick of the last slot: %v", e)
	}
}

func TestClockString(t *testing.T) {
	var c vclock.Clock
	if s := c.String(); s != "[]" {
		t.Errorf("the zero clock is %q", s)
	}
	c.Raise(vclock.MakeEpoch(130, 2))
	c.Raise(vclock.MakeEpoch(0, 3))
	if s := c.String(); s != "[3@0 2@130]" {
		t.Errorf("the clock is %q", s)
	}
}

// TestNilClock checks that a nil clock reads as a zero one.
func TestNilClock(t *testing.T) {
	var none *vclock.Clock
	var c vclock.Clock
	c.Tick(1)
	c.Join(none)
	copied := none.Copy()
	if none.Time(1) != 0 || none.Covers(1) || !none.Covers(0) || !none.LessEq(&c) || c.LessEq(none) || none.String() != "[]" || !copied.LessEq(none) {
		t.Error("a nil clock is not zero")
	}
}
