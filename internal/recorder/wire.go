package recorder

import (
	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/internal/core/wire"
)

// Sizes in the format of package wire.
const (
	nodeParent  = 1<<24 - 1
	goidMax     = wire.Orphan - 1
	headerBytes = 16
	helloBytes  = 40
	byeBytes    = 16
)

// recordWords has the length of records by op; 0 is no op.
var recordWords = [256]uint8{
	wire.OpSwitch: 2, wire.OpBegin: 1, wire.OpPoint: 1,
	wire.OpRead: 2, wire.OpWrite: 2, wire.OpAlloc: 2, wire.OpFree: 2,
	wire.OpAtomicRead: 3, wire.OpAtomicWrite: 3, wire.OpAtomicUpdate: 3,
	wire.OpAcquire: 3, wire.OpRelease: 3, wire.OpAcquireShared: 3, wire.OpReleaseShared: 3,
	wire.OpSend: 3, wire.OpReceive: 3, wire.OpFork: 3, wire.OpEnd: 3, wire.OpCollected: 3,
	wire.OpReadAgain: 2, wire.OpWriteAgain: 2, wire.OpValue: 2, wire.OpToken: 2,
	wire.OpTryAcquire: 3, wire.OpTryAcquireShared: 3, wire.OpChanceReceive: 3,
	wire.OpOverlap: 6, wire.OpHide: 2, wire.OpReveal: 2, wire.OpShade: 1, wire.OpEntered: 1,
	wire.OpChange: 3, wire.OpObserve: 3, wire.OpStep: 3, wire.OpRenew: 3,
}

// eventOps maps the recorder's ops to those of events.
var eventOps = [wire.NumOps]heisen.Op{
	wire.OpBegin: heisen.Begin,
	wire.OpRead:  heisen.Read, wire.OpWrite: heisen.Write,
	wire.OpReadAgain: heisen.Read, wire.OpWriteAgain: heisen.Write,
	wire.OpAlloc: heisen.Alloc, wire.OpFree: heisen.Free, wire.OpRenew: heisen.Free,
	wire.OpAtomicRead: heisen.AtomicRead, wire.OpAtomicWrite: heisen.AtomicWrite, wire.OpAtomicUpdate: heisen.AtomicUpdate,
	wire.OpAcquire: heisen.Acquire, wire.OpRelease: heisen.Release,
	wire.OpAcquireShared: heisen.AcquireShared, wire.OpReleaseShared: heisen.ReleaseShared,
	wire.OpTryAcquire: heisen.Acquire, wire.OpTryAcquireShared: heisen.AcquireShared,
	wire.OpChanceReceive: heisen.Receive,
	wire.OpSend:          heisen.Send, wire.OpReceive: heisen.Receive,
	wire.OpFork: heisen.Fork, wire.OpEnd: heisen.End,
	wire.OpValue: heisen.Done, wire.OpToken: heisen.Done,
	wire.OpHide: heisen.Hide, wire.OpReveal: heisen.Reveal,
	wire.OpChange: heisen.Change, wire.OpObserve: heisen.Observe, wire.OpStep: heisen.Change,
}
