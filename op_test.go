package heisen

import "testing"

// opFacts says of each op what its doc comment says.
var opFacts = map[Op]struct {
	name                              string
	access, write, atomic, lock, sync bool
}{
	Read:          {name: "read", access: true},
	Write:         {name: "write", access: true, write: true},
	Done:          {name: "done"},
	AtomicRead:    {name: "atomic-read", access: true, atomic: true, sync: true},
	AtomicWrite:   {name: "atomic-write", access: true, write: true, atomic: true, sync: true},
	AtomicUpdate:  {name: "atomic-update", access: true, write: true, atomic: true, sync: true},
	Acquire:       {name: "acquire", lock: true, sync: true},
	Release:       {name: "release", lock: true, sync: true},
	AcquireShared: {name: "acquire-shared", lock: true, sync: true},
	ReleaseShared: {name: "release-shared", lock: true, sync: true},
	Fork:          {name: "fork", sync: true},
	Begin:         {name: "begin"},
	End:           {name: "end"},
	Join:          {name: "join", sync: true},
	Send:          {name: "send", sync: true},
	Receive:       {name: "receive", sync: true},
	Call:          {name: "call"},
	Return:        {name: "return"},
	Enter:         {name: "enter"},
	Exit:          {name: "exit"},
	Hide:          {name: "hide"},
	Reveal:        {name: "reveal"},
	Branch:        {name: "branch"},
	Alloc:         {name: "alloc"},
	Free:          {name: "free"},
	Change:        {name: "change"},
	Observe:       {name: "observe"},
}

func TestOps(t *testing.T) {
	if len(opFacts) != NumOps-1 {
		t.Errorf("facts of %d ops, there are %d", len(opFacts), NumOps-1)
	}
	for i := range 256 {
		op := Op(i)
		want, ok := opFacts[op]
		if op.Valid() != ok {
			t.Errorf("%d: valid is %t", i, op.Valid())
		}
		if ok && op.String() != want.name {
			t.Errorf("%d: name %q, want %q", i, op, want.name)
		}
		if op.IsAccess() != want.access || op.IsWrite() != want.write ||
			op.IsAtomic() != want.atomic || op.IsLock() != want.lock || op.IsSync() != want.sync {
			t.Errorf("%d (%s): access %t, write %t, atomic %t, lock %t, sync %t; want %+v",
				i, op, op.IsAccess(), op.IsWrite(), op.IsAtomic(), op.IsLock(), op.IsSync(), want)
		}
	}
	if Invalid.String() != "invalid" || Op(NumOps).String() != "op?" || Op(255).String() != "op?" {
		t.Errorf("names of invalid ops: %s, %s, %s", Invalid, Op(NumOps), Op(255))
	}
}

func TestConflicts(t *testing.T) {
	conflicts := map[[2]Op]bool{
		{Read, Write}: true, {Write, Write}: true,
		{Read, AtomicWrite}: true, {Read, AtomicUpdate}: true,
		{Write, AtomicRead}: true, {Write, AtomicWrite}: true, {Write, AtomicUpdate}: true,
	}
	for a := range Op(NumOps + 1) {
		for b := range Op(NumOps + 1) {
			want := conflicts[[2]Op{a, b}] || conflicts[[2]Op{b, a}]
			if got := a.Conflicts(b); got != want {
				t.Errorf("%s and %s: conflict is %t, want %t", a, b, got, want)
			}
		}
	}
}
