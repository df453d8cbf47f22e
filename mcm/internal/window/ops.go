package window

import (
	"math"

	"github.com/heisen-go/heisen"
)

// Constrains reports whether events of an op say anything about which orders are
// possible, or are part of what is asked.
func Constrains(op heisen.Op) bool {
	switch op {
	case heisen.Done, heisen.Call, heisen.Return, heisen.Invalid:
		return false
	}
	return true
}

func IsLockOp(op heisen.Op) bool {
	switch op {
	case heisen.Acquire, heisen.Release, heisen.AcquireShared, heisen.ReleaseShared:
		return true
	}
	return false
}

func IsMessage(op heisen.Op) bool { return IsSend(op) || IsReceive(op) }

// IsSend and isReceived report on which side of a message an op is: those of one keep
// their order with those of the other.
func IsSend(op heisen.Op) bool    { return op == heisen.Send || op == heisen.Change }
func IsReceive(op heisen.Op) bool { return op == heisen.Receive || op == heisen.Observe }

func IsAllocation(op heisen.Op) bool { return op == heisen.Alloc || op == heisen.Free }

// IsRead reports whether what an access by op sees is to stay as it was.
func IsRead(op heisen.Op) bool {
	return op == heisen.Read || op == heisen.AtomicRead || op == heisen.AtomicUpdate
}

// Writes reports whether r changes the cells that it touches.
func Writes(r *heisen.Record) bool { return IsAllocation(r.Op) || r.Access().IsWrite() }

// AllocationSpan returns the span whose life an Alloc or Free starts or ends.
func AllocationSpan(r *heisen.Record) heisen.Span {
	return heisen.Span{Start: r.Object, Len: max(r.Value, 1)}
}

// End returns the object after the span's last one, as far as there is one.
func End(s heisen.Span) heisen.Object {
	if e := s.Start + heisen.Object(s.Len); e > s.Start {
		return e
	}
	return math.MaxUint64
}

// Extent returns what an access touches: of a lock in memory one byte.
func Extent(r *heisen.Record) heisen.Span {
	if r.Op.IsAccess() {
		return heisen.Span{Start: r.Object, Len: r.Size()}
	}
	return heisen.Span{Start: r.Object, Len: 1}
}
