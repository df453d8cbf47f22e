//go:build heisen_inject

package runtime

import "internal/runtime/atomic"

// A program without an analyzer finds races and prints them itself, as one that was built with -race
// does. So does a program that has lost its analyzer for good, if it was looking for races only.
// heisenReportRaces hands over what was found, on the system stack. Reports are composed in memory
// that belongs to heisenAlone.lock (racereport.go), and written in one piece.

var heisenAlone heisenAloneState

type heisenAloneState struct {
	on     bool   // this program prints its races
	unable bool   // it has no address space to look for races
	ended  bool   // it prints no more
	lock   uint32 // guards all below, and the parts of a report
	count  uint32 // races printed
	again  uint32 // races equal to a printed one that were found in other places
	known  heisenNumbers
	out    heisenText
	opened bool // the log file was opened

	// kept are races that were sent, in case the analyzer has not received them.
	kept    [heisenMaxKeptRaces]heisenFoundRace
	numKept uint32

	// seen has pairs of places, with their operations, that were found before, so that a race in a
	// loop costs no lock. Threads may overwrite each other's entries.
	seen [1 << heisenSeenRacesBits]uint64
}

const (
	// heisenIncompleteStatus is the exit status of a program that ends with status 0 and without a
	// race, if races may have been missed for want of memory.
	heisenIncompleteStatus = 1

	heisenMaxKeptRaces  = 1 << 10
	heisenSeenRacesBits = 12
)

// heisenFoundRace is a race: the two accesses, each described as in the record of an overlap
// (package internal/core/wire), and their addresses.
type heisenFoundRace struct {
	later, earlier         uint64
	laterAddr, earlierAddr uintptr
}

// heisenStartAlone begins to look for races in a program that has no analyzer. It is called during
// initialization.
func heisenStartAlone() {
	if !heisenInitPlaces() || !heisenInitFastTrack() || !heisenInitOrigins() || !heisenLeavesRoom() {
		print("heisen: no address space for shadow memory; races are not looked for in this run\n")
		heisenReleaseTables()
		heisenAlone.unable = true
		return
	}
	heisenFindUnseen()
	heisenAlone.on = true
	heisen.quiet, heisen.races, heisen.cells = true, true, true
	heisen.mode = heisenModeFollow
	heisenFastHeap, heisenFastData = heisenShadow.heap, heisenShadow.data
	heisen.on = true
}

// heisenAloneNow is called when the connection to the analyzer is lost for good. It reports whether
// the program goes on alone: it does if the analyzer has only waited for its races. It may be called
// in a signal handler and in the monitor thread, so the races so far are printed later.
func heisenAloneNow() bool {
	if heisen.mode != heisenModeFollow {
		return false
	}
	heisenAlone.on = true
	heisen.locks = false // nobody listens
	publicationBarrier() // before the caller ends the connection: a thread that ends the program looks at both
	heisenSayGone("heisen: the analyzer is gone; the program prints the races of this run itself\n")
	return true
}

// heisenPrintKept prints the races that the program had found when it lost the analyzer, which may not
// have reported them. It must run on the system stack.
func heisenPrintKept() {
	a := &heisenAlone
	if !a.on || a.numKept == 0 {
		return
	}
	heisenLock(&a.lock)
	for i := range a.numKept {
		a.print(&a.kept[i])
	}
	a.numKept = 0
	heisenUnlock(&a.lock)
}

// sawRace reports whether a race between the same places was found before, as far as that is
// remembered.
func (a *heisenAloneState) sawRace(later, earlier uint64) bool {
	pair := later<<32 | earlier&(1<<32-1)
	seen := &a.seen[pair*0x9E3779B97F4A7C15>>(64-heisenSeenRacesBits)]
	if atomic.Load64(seen) == pair {
		return true
	}
	atomic.Store64(seen, pair)
	return false
}

// heisenNoteRace takes a race that was found. If the program is alone, it prints the race, unless it
// has done so before. Otherwise it keeps the race, and returns false: the race is to be sent. It must
// run on the system stack.
func heisenNoteRace(r heisenFoundRace) (alone bool) {
	a := &heisenAlone
	heisenLock(&a.lock)
	if a.on {
		a.print(&r)
	} else if a.numKept < heisenMaxKeptRaces {
		a.kept[a.numKept] = r
		a.numKept++
	}
	heisenUnlock(&a.lock)
	return a.on
}

// print prints a race unless an equal one was printed.
func (a *heisenAloneState) print(r *heisenFoundRace) {
	if a.ended || !a.out.reserve() {
		return
	}
	if fingerprint := heisenRaceFingerprint(r); a.known.add(fingerprint) {
		heisenComposeRace(fingerprint, r)
		a.out.write()
		atomic.Xadd(&a.count, 1)
		if heisenOptions.haltOnError {
			exit(heisenOptions.exitCode)
		}
	} else {
		atomic.Xadd(&a.again, 1)
	}
}

// heisenAloneStatus ends the reports of a program that is about to exit with status 0, and returns
// the status to exit with.
func heisenAloneStatus() int32 {
	a := &heisenAlone
	heisenAloneEnd()
	incomplete := int32(0)
	if heisenShadow.beyond {
		incomplete = heisenIncompleteStatus
		print("heisen: ", heisenScarce(), ", and races in part of the memory were missed\n")
	}
	if heisenFastTrack.Exhausted() {
		incomplete = heisenIncompleteStatus
		print("heisen: there was no more memory for clocks; later races were missed\n")
	} else if n := heisenFastTrack.SlotSharers.Load(); n > 0 {
		print("heisen: ", n, " goroutines shared clocks with others, since there were not enough clocks for all; races between those may have been missed\n")
	} else if heisenFastTrack.ForgottenEpochs.Load() > 0 {
		print("heisen: there were so many goroutines that some accesses of ended ones were forgotten; races with those may have been missed\n")
	}
	if a.count == 0 {
		return incomplete
	}
	a.out.clear()
	a.out.add("Found ")
	a.out.number(uint64(a.count))
	a.out.add(" data race(s)\n")
	a.out.write()
	return heisenOptions.exitCode
}

// heisenAloneEnd waits until a report that is being printed is complete, and prevents others. If
// several threads end the program, they all may call it.
func heisenAloneEnd() {
	a := &heisenAlone
	if heisenTryLock(&a.lock, heisenAbortPatience) {
		a.ended = true
		heisenUnlock(&a.lock)
	}
}
