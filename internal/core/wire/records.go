package wire

// A record has one to six words. The highest byte of the first is the op. The rest is its argument:
// an address or a number. A place is the number of one that was sent before, see MsgPlaces.
const (
	OpShift = 56
	ArgMask = 1<<OpShift - 1
	Orphan  = 1 << 55 // in the argument of a begin record

	OpSwitch = 1 // arg: goroutine; word 1: words of that goroutine before
	OpBegin  = 2 // arg: goid
	OpPoint  = 4 // the goroutine has reached another point; arg: point, or number of accesses since; recorded on demand

	// word 1: place<<32 | size
	OpRead  = 5
	OpWrite = 6
	OpAlloc = 7
	OpFree  = 8

	// word 1: stamp; word 2: place
	OpAtomicRead    = 9
	OpAtomicWrite   = 10
	OpAtomicUpdate  = 11
	OpAcquire       = 12
	OpRelease       = 13
	OpAcquireShared = 14
	OpReleaseShared = 15
	OpSend          = 16
	OpReceive       = 17
	OpFork          = 18 // arg: goroutine
	OpEnd           = 19
	OpCollected     = 20 // everything so far happened before

	// as 5 and 6, of accesses that would be left out
	OpReadAgain  = 21
	OpWriteAgain = 22

	// as 12 and 14, but would fail rather than wait
	OpTryAcquire       = 24
	OpTryAcquireShared = 25
	OpChanceReceive    = 26 // as 17, but from goroutines that happened to be earlier

	// arg: the channel, which holds at most one element, on which the goroutine's next records are one operation; word 1:
	// which, of the next three, with TokenSlot if the element has a size; recorded on demand
	OpToken    = 27
	TokenPut   = 1
	TokenTaken = 2 // and nobody gets the element
	TokenRead  = 3
	TokenSlot  = 4

	OpValue = 23 // arg: address of the goroutine's latest access; word 1: what the eight bytes there are once it has taken place; recorded on demand

	// overlapping accesses, see overlaps.go; arg: address; word 1: stamp; words 2 and 3: the access
	// and the other one, each goroutine<<32 | op<<24 | place, with the op as in package heisen;
	// word 4: size<<48 | the other one's address; word 5: of a section, the low half of the access
	// at which it was entered <<32 | number of the end among all <<16 | number of the section; both
	// from 1
	OpOverlap = 28

	// arg: address in the function; word 1: place<<32
	OpHide   = 29
	OpReveal = 30

	OpShade = 31 // arg: whether the next events are of hidden code; recorded on demand

	// as 9, of states; see states.go
	OpChange  = 32
	OpObserve = 33
	OpStep    = 34 // both: depends on the steps before

	// arg: address of a word in which something has synchronized, of a new object; word 1: stamp
	OpRenew = 35

	OpEntered = 36 // arg: how many of the goroutine's calls are those of its last record; recorded on demand

	NumOps = 37
)

// PlaceBits is how many bits the number of a place has.
const PlaceBits = 24
