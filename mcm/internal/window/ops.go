package window

import (
	"math"

	"github.com/heisen-go/heisen"
)

// Constrains reports whether events of an op can constrain orders, or be part of a query.
func Constrains(op heisen.Op) bool {
	switch op {
	case heisen.Done, heisen.Call, heisen.Return, heisen.Invalid:
		return false
	}
	return true
}

// IsLockOp reports whether an op acquires or releases a lock.
func IsLockOp(op heisen.Op) bool {
	switch op {
	case heisen.Acquire, heisen.Release, heisen.AcquireShared, heisen.ReleaseShared:
		return true
	}
	return false
}

// IsMessage reports whether an op sends or receives a message.
func IsMessage(op heisen.Op) bool { return IsSend(op) || IsReceive(op) }

// IsSend reports whether an op is on the sending side of a message. Events on one side keep their
// order with those on the other.
func IsSend(op heisen.Op) bool { return op == heisen.Send || op == heisen.Change }

// IsReceive reports whether an op is on the receiving side of a message.
func IsReceive(op heisen.Op) bool { return op == heisen.Receive || op == heisen.Observe }

// IsAllocation reports whether an op starts or ends an allocation epoch.
func IsAllocation(op heisen.Op) bool { return op == heisen.Alloc || op == heisen.Free }

// IsRead reports whether an op is an access that reads, so that its value matters.
func IsRead(op heisen.Op) bool {
	return op == heisen.Read || op == heisen.AtomicRead || op == heisen.AtomicUpdate
}

// Writes reports whether r changes the cells that it touches.
func Writes(r *heisen.Record) bool { return IsAllocation(r.Op) || r.Access().IsWrite() }

// AllocationSpan returns the objects whose allocation epoch an Alloc or Free starts or ends.
func AllocationSpan(r *heisen.Record) heisen.Span {
	return heisen.Span{Start: r.Object, Len: max(r.Value, 1)}
}

// End returns the object after the last one of a span, or the last of all objects if the span
// reaches the end of the address space.
func End(s heisen.Span) heisen.Object {
	if e := s.Start + heisen.Object(s.Len); e > s.Start {
		return e
	}
	return math.MaxUint64
}

// Extent returns the objects that an access touches. An operation on a lock in memory touches one
// byte.
func Extent(r *heisen.Record) heisen.Span {
	if r.Op.IsAccess() {
		return heisen.Span{Start: r.Object, Len: r.Size()}
	}
	return heisen.Span{Start: r.Object, Len: 1}
}
