//go:build heisen_inject

package runtime

import "internal/bytealg"

// The text of a race that the program prints itself: the form of package report, without what needs
// the source. The functions run on the system stack, hold heisenAlone.lock, and append to
// heisenAlone.out. The names of functions and files come from the tables that the runtime needs for
// tracebacks, so that they are there in stripped programs, too.

const (
	heisenReportLine    = "==================\n"
	heisenMaxAncestors  = 16 // printed for each access
	heisenPrintedFrames = 50 // of a stack, as in package report
)

// heisenOpNames has the names of the ops of package heisen, as they begin a heading and as they stand in a message.
var heisenOpNames = [...][3]string{
	heisenRead:         {"read", "Read", "read"},
	heisenWrite:        {"write", "Write", "write"},
	heisenAtomicRead:   {"atomic-read", "Atomic read", "atomic read"},
	heisenAtomicWrite:  {"atomic-write", "Atomic write", "atomic write"},
	heisenAtomicUpdate: {"atomic-update", "Atomic update", "atomic update"},
}

// heisenAccessParts takes the description of an access apart: the goroutine, the op, the place, and
// the set of locks.
func heisenAccessParts(access uint64) (id, op, place, locks uint32) {
	place, locks = heisenPlaceParts(uint32(access) % heisenMaxPlaces)
	return uint32(access >> 32), uint32(access) >> heisenPlaceBits, place, locks
}

// heisenComposeRace composes the report of a race.
func heisenComposeRace(fingerprint uint64, r *heisenFoundRace) {
	t := &heisenAlone.out
	id, op, _, _ := heisenAccessParts(r.later)
	earlierID, earlierOp, _, _ := heisenAccessParts(r.earlier)
	t.clear()
	t.add(heisenReportLine)
	t.add("WARNING: DATA RACE\n")
	t.add(heisenOpNames[op][2])
	t.add(" races with earlier ")
	t.add(heisenOpNames[earlierOp][2])
	t.add("\nFound by fasttrack, fingerprint ")
	t.hex(fingerprint, 16)
	t.unseen()
	t.add("\n\n")
	t.add(heisenOpNames[op][1])
	t.access(r.later, r.laterAddr)
	t.add("\nPrevious ")
	t.add(heisenOpNames[earlierOp][2])
	t.access(r.earlier, r.earlierAddr)
	g := &heisenPrintedGoroutines
	g.count = 0
	t.origins(id)
	t.origins(earlierID)
	t.add(heisenReportLine)
}

// unseen appends what may order the accesses without being seen.
func (t *heisenText) unseen() {
	u := &heisenUnseen
	for i := range min(u.count, heisenMaxUnseen) {
		switch {
		case i > 0:
			t.add(", ")
		default:
			t.add("\nNot certain: ")
		}
		if u.why[i] == heisenUnseenLinked {
			t.add("go:linkname in package ")
		} else {
			t.add("assembly in package ")
		}
		t.add(u.packages[i])
	}
	if u.count > 0 {
		t.add(" may order the accesses, which is not seen")
	}
}

// access appends the rest of the heading of an access, its stack and the locks held.
func (t *heisenText) access(access uint64, addr uintptr) {
	id, _, place, locks := heisenAccessParts(access)
	t.add(" by ")
	t.goroutine(id, false)
	t.task(id, place)
	t.labels(heisenLabelsIn(uint32(access) % heisenMaxPlaces))
	t.add(" at ")
	t.address(uint64(addr))
	t.add(":\n")
	if !t.stack(place, false) {
		t.add("  ?\n")
	}
	t.locks(locks)
}

// goroutine appends the name of a goroutine, at the start of a sentence if first is set.
func (t *heisenText) goroutine(id uint32, first bool) {
	name := "runtime timers"
	var o heisenOrigin
	if id != 0 && id != heisenUnknownG {
		o = heisenFindOrigin(id)
	}
	switch {
	case id == 0 && first:
		name = "Main goroutine"
	case id == 0:
		name = "main goroutine"
	case id == heisenUnknownG || o.place == heisenOriginForgotten:
		name = "a goroutine that ended long ago"
	case o.place&heisenOriginForked != 0 && heisenFindOrigin(o.parent).goid == o.goid && o.goid != 0: // a function of AddCleanup
		if name = "cleanup "; first {
			name = "Cleanup "
		}
		t.add(name)
		t.number(uint64(id))
		t.add(" on goroutine ")
		t.number(o.goid)
		return
	case o.goid != 0:
		if name = "goroutine "; first {
			name = "Goroutine "
		}
		t.add(name)
		t.number(o.goid)
		return
	}
	t.add(name)
}

// task appends the test that goroutine id works on at a place, in parentheses, if there is one. It
// is the innermost one of the calls, otherwise that of the goroutine that has started this one.
func (t *heisenText) task(id, place uint32) {
	for {
		for place = heisenParentPlace(place); place != 0; place = heisenParentPlace(place) {
			if pc := uint32(*heisenNode(place)); pc&heisenTaskPlace != 0 {
				if name := heisenTaskName(pc &^ heisenTaskPlace); name != "" {
					t.add(" (")
					t.add(name)
					t.add(")")
				}
				return
			}
		}
		o := heisenFindOrigin(id)
		if id == heisenUnknownG || o.place&heisenOriginForked == 0 {
			return
		}
		id, place = o.parent, o.place%heisenMaxPlaces
	}
}

func heisenParentPlace(place uint32) uint32 { return uint32(*heisenNode(place)>>32) % heisenMaxPlaces }

// locks appends the locks of a set, in the order in which they were acquired.
func (t *heisenText) locks(set uint32) {
	var sets [heisenMaxHeld]uint32
	n := 0
	for ; set != 0 && n < len(sets); n++ {
		sets[n] = set
		_, _, set = heisenLockOf(set)
	}
	if n == 0 {
		t.add("  holding no locks\n")
	}
	for n--; n >= 0; n-- {
		t.add("  holding ")
		lock, shared, _ := heisenLockOf(sets[n])
		switch lock {
		case heisenManyLocks:
			t.add("one of many locks")
		case heisenLostLock:
			t.add("a lock (address unknown)")
		default:
			t.address(lock)
		}
		if shared {
			t.add(" (read), acquired at ")
		} else {
			t.add(" (write), acquired at ")
		}
		t.userPlace(uint32(*heisenNode(sets[n])) &^ heisenNodeShared)
		t.add("\n")
	}
}

// heisenLockOf returns the lock that was added last to a set of locks, and the set without it.
func heisenLockOf(set uint32) (lock uint64, shared bool, below uint32) {
	node := *heisenNode(set)
	if uint32(node>>32)&^(heisenMaxPlaces-1) == heisenNodeSite {
		return heisenLostLock, node&heisenNodeShared != 0, heisenParentPlace(set)
	}
	high := heisenParentPlace(set)
	low, top := heisenParentPlace(high), uint32(*heisenNode(high))
	return uint64(top&^heisenNodeShared)<<32 | uint64(uint32(*heisenNode(low))), top&heisenNodeShared != 0, heisenParentPlace(low)
}

// userPlace appends file and line of a program counter, where the program itself calls what
// implements synchronization.
func (t *heisenText) userPlace(pc uint32) {
	var innermost, user heisenNamedFrame
	heisenFrames(pc, func(f heisenNamedFrame) {
		if innermost.file == "" {
			innermost = f
		}
		if user.file == "" && !heisenSynchronizes(f.name) {
			user = f
		}
	})
	if user.file == "" {
		user = innermost
	}
	if user.file == "" {
		t.add("?")
		return
	}
	t.file(user)
}

// heisenSynchronizes reports whether a function belongs to the packages that implement
// synchronization.
func heisenSynchronizes(name string) bool {
	for _, prefix := range [...]string{"sync.", "sync/atomic.", "internal/sync.", "internal/race.", "internal/runtime/", "runtime."} {
		if len(name) >= len(prefix) && name[:len(prefix)] == prefix {
			return true
		}
	}
	return false
}

// heisenPrintedGoroutines are the goroutines whose origins are in the report.
var heisenPrintedGoroutines struct {
	ids   [2 * heisenMaxAncestors]uint32
	count int
}

// origins appends where a goroutine and its ancestors were started, as far as that is not in the
// report already.
func (t *heisenText) origins(id uint32) {
	g := &heisenPrintedGoroutines
	for range heisenMaxAncestors {
		for i := range g.count {
			if g.ids[i] == id {
				return
			}
		}
		g.ids[g.count] = id
		g.count++
		o := heisenFindOrigin(id)
		if id == heisenUnknownG || o.place&heisenOriginForked == 0 {
			return
		}
		t.add("\n")
		t.goroutine(id, true)
		t.add(" created by ")
		t.goroutine(o.parent, false)
		t.add(" at:\n")
		if !t.stack(o.place%heisenMaxPlaces, true) {
			t.add("  ?\n")
		}
		id = o.parent
	}
}

// stack appends the stack of a place, without what package report leaves out, too: wrappers that the
// compiler makes, and the functions around the one that a goroutine was started with. It reports
// whether there is anything. Of a go statement in a function that starts goroutines for its callers,
// the place is that of the call of the function, which would be twice in the stack.
func (t *heisenText) stack(place uint32, start bool) bool {
	if parent := heisenParentPlace(place); start && parent != 0 && uint32(*heisenNode(parent)) == uint32(*heisenNode(place)) {
		place = parent
	}
	count, outer := 0, 0 // frames, and further ones that may be around the first function
	heisenPathFrames(place, func(f heisenNamedFrame) {
		if count > 0 && heisenStartsGoroutines(f.name) {
			outer++
			return
		}
		count += outer + 1
		outer = 0
	})
	done := 0
	heisenPathFrames(place, func(f heisenNamedFrame) {
		if done < min(count, heisenPrintedFrames) {
			t.add("  ")
			t.function(f.name)
			t.add("()\n      ")
			t.file(f)
			t.add("\n")
		}
		done++
	})
	if count > heisenPrintedFrames {
		t.add("  (")
		t.number(uint64(count - heisenPrintedFrames))
		t.add(" more frames)\n")
	}
	return count > 0
}

// heisenPathFrames calls each with the functions at a place and those that led to it, innermost
// first.
func heisenPathFrames(place uint32, each func(heisenNamedFrame)) {
	for ; place != 0; place = heisenParentPlace(place) {
		if pc := uint32(*heisenNode(place)); pc&heisenTaskPlace == 0 {
			heisenFrames(pc, func(f heisenNamedFrame) {
				if f.file != "<autogenerated>" {
					each(f)
				}
			})
		}
	}
}

func heisenStartsGoroutines(name string) bool {
	return name == "runtime.goexit" || name == "runtime.main" || name == "runtime.doInit" || name == "runtime.doInit1"
}

// function appends the name of a function. Type arguments are left out, as in tracebacks.
func (t *heisenText) function(name string) {
	if open := bytealg.IndexByteString(name, '['); open >= 0 {
		last := len(name) - 1
		for last > open && name[last] != ']' {
			last--
		}
		if last > open {
			t.add(name[:open])
			t.add("[...]")
			t.add(name[last+1:])
			return
		}
	}
	t.add(name)
}

// file appends file and line of a frame.
func (t *heisenText) file(f heisenNamedFrame) {
	t.add(heisenStripped(f.file))
	t.add(":")
	t.number(uint64(f.line))
}

// heisenStripped removes from a file's name everything up to and with the text of the option
// strip_path_prefix, and "./" behind it.
func heisenStripped(file string) string {
	prefix := heisenOptions.stripPrefix
	for i := 0; prefix != "" && i+len(prefix) <= len(file); i++ {
		if file[i:i+len(prefix)] != prefix {
			continue
		}
		file = file[i+len(prefix):]
		if len(file) > 2 && file[:2] == "./" {
			file = file[2:]
		}
		break
	}
	return file
}
