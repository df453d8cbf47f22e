package vclock

import "fmt"

// Epoch is a point in the execution of a thread: a slot of vector clocks in the high 20 bits, and
// the slot's time in the low 44. Times start at 1 and advance when the thread publishes what it
// did (see Order), so that an epoch stands for all steps of the thread between two publications.
// Epochs of the same slot compare as numbers. The zero Epoch is before everything.
//
// A slot is not a thread: it may serve several threads one after another, see Order.
//
// FastTrack calls the pair of a clock and a thread, c@t, an epoch (section 3 of the paper).
type Epoch uint64

// MaxSlots bounds the number of slots of vector clocks, and so the number of threads that are
// unordered with each other; see Order. Slots have the numbers from 0 to MaxSlots-1.
const MaxSlots = 1<<20 - 1

const (
	timeBits = 44
	maxTime  = 1<<timeBits - 1
)

// MakeEpoch returns the epoch of a slot below MaxSlots at a time below 2^44. It uses only the low
// 20 bits of slot and the low 44 of time.
func MakeEpoch(slot uint32, time uint64) Epoch {
	return Epoch(slot)<<timeBits | Epoch(time&maxTime)
}

// Slot returns the epoch's slot.
func (e Epoch) Slot() uint32 { return uint32(e >> timeBits) }

// Time returns the epoch's time.
func (e Epoch) Time() uint64 { return uint64(e & maxTime) }

// String returns the epoch as time@slot, as the FastTrack paper writes it.
func (e Epoch) String() string { return fmt.Sprintf("%d@%d", e.Time(), e.Slot()) }
