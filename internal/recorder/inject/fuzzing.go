//go:build heisen_inject

package runtime

import "unsafe"

// Fuzz tests. Package testing, which is patched to call these functions, runs the inputs in other
// processes, its workers. An input fails if a race is found while it runs.

// heisenFuzzWorker means that inputs run in this process. If it sends events, it waits after each
// input until the analyzer has seen them all.
var heisenFuzzWorker bool

//go:linkname race_FuzzWorker internal/race.FuzzWorker
func race_FuzzWorker() { heisenFuzzWorker = true }

// heisenEventPatience is how long the end of an input waits for events that other goroutines are
// writing: the analyzer cannot order later ones without them.
const heisenEventPatience = 1000 * 1000 // ns

// heisenFailingInputName outlives its message. There is one fuzz test in a process, and one failing
// input.
var heisenFailingInputName [heisenMaxTask]byte

// race_FailingInput tells the analyzer the name of the file with the input at which fuzzing ends.
//
//go:linkname race_FailingInput internal/race.FailingInput
func race_FailingInput(name string) {
	if !heisen.open {
		return
	}
	n := uintptr(copy(heisenFailingInputName[:], name))
	systemstack(func() {
		heisenSend(heisenMsgInput, 0, 0, unsafe.Pointer(&heisenFailingInputName), alignUp(n, 8))
	})
}
