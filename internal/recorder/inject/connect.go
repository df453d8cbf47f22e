//go:build heisen_inject

package runtime

import (
	"internal/bytealg"
	"unsafe"
)

// The start of a recording: the program connects to the analyzer that the environment names, learns
// what it wants, and prepares for that.

const (
	// Lower descriptors stay free for the program. This one is in the table that every process has
	// from the start; a larger table takes the kernel milliseconds.
	heisenFD = 60
)

// heisenSocket is the path of the socket; empty if the program is not recorded.
var heisenSocket string

// heisenIsChild says that a recorded program has started this one.
var heisenIsChild bool

// Recording starts with the initialization of the runtime, before that of any package of the
// program.
func init() {
	defer func() { heisenAsking = false }()
	asked := heisenTakeEnv(heisenSymbolizeEnv)
	path, child := heisenTakeEnv(heisenSocketEnv), heisenTakeEnv(heisenChildEnv)
	heisenTakeEnv(heisenPassesEnv)
	defer heisenStartCollecting(heisenTakeEnv(heisenCollectEnv))
	if heisenIsParent(asked) {
		heisenSymbolize()
		exit(0)
	}
	if path == "" {
		path, heisenIsChild = child, true
	}
	heisenReadOptions(gogetenv(heisenOptionsEnv))
	if path == "" {
		if heisenBuiltIn != "" {
			heisenStartHealing()
		} else {
			heisenStartAlone()
		}
		return
	}
	if heisen.to, heisen.from = heisenConnect(path); heisen.to < 0 {
		print("heisen: cannot reach the analyzer at ", path, ": ")
		heisenPrintNoConnection(-heisen.to)
		print("; ", heisenSocketEnv, " is set by the heisen command only\n")
		exit(1)
	}
	heisenSocket = path
	hello := [5]uint64{heisenVersion, uint64(firstmoduledata.text), uint64(firstmoduledata.etext - firstmoduledata.text),
		uint64(heisenGetpid()), 0}
	if heisenIsChild {
		hello[4] = 1
	}
	heisenSend(heisenMsgHello, 0, 0, unsafe.Pointer(&hello), unsafe.Sizeof(hello))
	// The analyzer looks at this process before it may end. An analyzer that does not want the
	// recording closes the connection.
	want, ok := heisenReadAnswer()
	if !ok {
		heisenCloseConnection()
		return
	}
	if why := heisenPrepare(uint32(want)); why != "" {
		heisenRefuse(why)
		heisenReleaseTables()
		return
	}
	if heisen.leaks && !heisenSched.on {
		heisenStartLooking()
	}
	heisen.on, heisen.open = true, true
}

// heisenPrepare prepares what the analyzer wants. It returns why that is not possible.
func heisenPrepare(want uint32) (why string) {
	if !heisenInitPlaces() {
		return "no address space for call paths"
	}
	heisen.filter = want&heisenWantFilter != 0
	heisen.marks = want&heisenWantMarks != 0
	heisen.quiet = want&heisenWantNothing != 0
	heisen.order = want&heisenWantOrder != 0
	heisen.locks = want&heisenWantLocks != 0
	heisen.overlaps = want&heisenWantOverlaps != 0
	heisenNames.wanted = want&heisenWantNames != 0
	heisenFindUnseen()
	if heisen.overlaps {
		if m, ok := heisenReceive(); !ok || !heisenInitOverlaps(m) {
			return "no memory for what to look for, or it cannot be read"
		}
	}
	heisen.noisy = heisen.overlaps && heisenOverlaps.strength > 0
	if want&heisenWantHidden != 0 {
		if !heisenInitHidden() {
			return "no memory for what is hidden, or it cannot be read"
		}
		heisen.hides = true
	}
	heisen.cells = want&(heisenWantRaces|heisenWantLocks) != 0
	if heisen.cells && !heisenInitFastTrack() {
		return "no address space for shadow memory"
	}
	heisen.races = want&heisenWantRaces != 0
	if want&heisenWantSched != 0 && !heisenInitSched() {
		return "the schedule cannot be read"
	}
	if !heisenPrologue.wanted && !heisenStartSender() {
		return "no memory for messages"
	}
	heisenSendUnseen()
	if heisen.quiet && !heisenInitOrigins() { // last, since it makes do with the address space that is left
		return "no address space for the origins of goroutines"
	}
	if !heisenLeavesRoom() {
		return "no address space is left beside tables"
	}
	heisen.leaks = want&heisenWantLeaks != 0
	heisen.entries = want&heisenWantCalls != 0
	heisen.detour = heisenSched.on || heisen.hides
	heisen.calls = heisen.hides || heisen.overlaps && heisenOverlaps.sections || heisenSched.on
	heisen.mode = heisenModeOf(&heisen)
	heisenSched.passes = heisen.mode == heisenModeExplore && !heisen.hides
	if heisen.mode == heisenModeFollow {
		heisenFastHeap, heisenFastData = heisenShadow.heap, heisenShadow.data
	}
	return ""
}

// heisenCloseConnection closes the descriptors of the connection.
func heisenCloseConnection() {
	if heisen.from != heisen.to {
		heisenCloseFile(heisen.from)
	}
	heisenCloseFile(heisen.to)
}

// heisenRefuse tells the analyzer why this run is not recorded. The program goes on.
func heisenRefuse(why string) {
	heisenSendText(heisenMsgRefused, why)
	heisenHangUp()
}

// heisenSendText sends a message with a short text.
func heisenSendText(kind uint32, s string) {
	var text [16]uint64
	n := copy((*[unsafe.Sizeof(text)]byte)(unsafe.Pointer(&text))[:], s)
	heisenSend(kind, 0, 0, unsafe.Pointer(&text), alignUp(uintptr(n), 8))
}

// heisenReadAnswer waits for a number from the analyzer.
func heisenReadAnswer() (answer int32, ok bool) {
	ok = heisenReadAll(heisen.from, noescape(unsafe.Pointer(&answer)), unsafe.Sizeof(answer))
	return answer, ok
}

// heisenTakeEnv returns an environment variable and removes it: neither the program nor what it
// starts has it.
func heisenTakeEnv(name string) (value string) {
	kept := envs[:0]
	for _, v := range envs {
		if i := bytealg.IndexByteString(v, '='); i == len(name) && v[:i] == name {
			value = v[i+1:]
		} else {
			kept = append(kept, v)
		}
	}
	if len(kept) < len(envs) {
		clear(envs[len(kept):])
		envs = kept
		unsetenv_c(name)
	}
	return value
}

// heisenIsParent reports whether s is the number of the parent process, in decimal.
func heisenIsParent(s string) bool {
	var n uintptr
	for i := range len(s) {
		if s[i] < '0' || s[i] > '9' {
			return false
		}
		n = 10*n + uintptr(s[i]-'0')
	}
	return n != 0 && n == heisenGetppid()
}

// race_ChildEnv returns the variable that makes a program that this one starts, or is replaced by,
// connect; the empty string if this one is not recorded.
//
//go:linkname race_ChildEnv internal/race.ChildEnv
func race_ChildEnv(replaced bool) string {
	switch {
	case heisenSocket == "":
		return ""
	case replaced && !heisenIsChild:
		return heisenSocketEnv + "=" + heisenSocket
	}
	return heisenChildEnv + "=" + heisenSocket
}
