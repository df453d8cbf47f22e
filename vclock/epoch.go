package vclock

import "fmt"

// Epoch is a point in the life of a thread: a slot of vector clocks, in the high
// 20 bits, and the slot's time in the low 44. Times start at 1 and advance when
// the thread publishes what it did, so an epoch stands for all its steps between
// two publications. Epochs of the same slot compare as numbers. The zero Epoch
// is before everything.
//
// Slots are not threads: a slot serves one thread after another, see Order.
type Epoch uint64

const (
	timeBits = 44
	maxTime  = 1<<timeBits - 1

	// MaxSlots is how many slots there are: of 2^20 numbers the last is not
	// used.
	MaxSlots = 1<<20 - 1
)

// MakeEpoch returns the epoch of a slot below MaxSlots at a time below 2^44.
func MakeEpoch(slot uint32, time uint64) Epoch {
	return Epoch(slot)<<timeBits | Epoch(time)
}

// Slot returns the epoch's slot.
func (e Epoch) Slot() uint32 { return uint32(e >> timeBits) }

// Time returns the epoch's time.
func (e Epoch) Time() uint64 { return uint64(e & maxTime) }

// String returns the epoch as time@slot.
func (e Epoch) String() string { return fmt.Sprintf("%d@%d", e.Time(), e.Slot()) }
