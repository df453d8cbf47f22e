package mcm

import (
	"math"

	"github.com/heisen-go/heisen"
)

// takes reports whether events of an op say anything about which orders are
// possible, or are part of what is asked.
func takes(op heisen.Op) bool {
	switch op {
	case heisen.Done, heisen.Call, heisen.Return, heisen.Invalid:
		return false
	}
	return true
}

func isLockOp(op heisen.Op) bool {
	switch op {
	case heisen.Acquire, heisen.Release, heisen.AcquireShared, heisen.ReleaseShared:
		return true
	}
	return false
}

func isMessage(op heisen.Op) bool { return isSent(op) || isReceived(op) }

// isSent and isReceived report on which side of a message an op is: those of one keep
// their order with those of the other.
func isSent(op heisen.Op) bool     { return op == heisen.Send || op == heisen.Change }
func isReceived(op heisen.Op) bool { return op == heisen.Receive || op == heisen.Observe }

func isLife(op heisen.Op) bool { return op == heisen.Alloc || op == heisen.Free }

// isRead reports whether what an access by op sees is to stay as it was.
func isRead(op heisen.Op) bool {
	return op == heisen.Read || op == heisen.AtomicRead || op == heisen.AtomicUpdate
}

// writes reports whether r changes the cells that it touches.
func writes(r *heisen.Record) bool { return isLife(r.Op) || r.Access().IsWrite() }

// life returns the span whose life an Alloc or Free starts or ends.
func life(r *heisen.Record) heisen.Span { return heisen.Span{Start: r.Object, Len: max(r.Value, 1)} }

// end returns the object after the span's last one, as far as there is one.
func end(s heisen.Span) heisen.Object {
	if e := s.Start + heisen.Object(s.Len); e > s.Start {
		return e
	}
	return math.MaxUint64
}

// extent returns what an access touches: of a lock in memory one byte.
func extent(r *heisen.Record) heisen.Span {
	if r.Op.IsAccess() {
		return heisen.Span{Start: r.Object, Len: r.Size()}
	}
	return heisen.Span{Start: r.Object, Len: 1}
}
