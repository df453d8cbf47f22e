package heisen

import (
	"testing"
	"unsafe"
)

func TestRecordSize(t *testing.T) {
	if size := unsafe.Sizeof(Record{}); size != 32 {
		t.Errorf("a Record is %d bytes, streams count on 32", size)
	}
}

func TestRecordIsAnEvent(t *testing.T) {
	r := Record{Object: 1, Value: 2, Thread: 3, Site: 4, Context: 5, Len: 6, Op: Write, Flags: HasValue}
	var e Event = r.Event()
	if e.Op() != Write || e.Thread() != 3 || e.Object() != 1 || e.Site() != 4 {
		t.Errorf("the event of %+v answers %s, %d, %d, %d", r, e.Op(), e.Thread(), e.Object(), e.Site())
	}
	if r.Context != 5 || r.Size() != 6 {
		t.Errorf("context %d and size %d of %+v", r.Context, r.Size(), r)
	}
	if size := (&Record{Op: Read}).Size(); size != 1 {
		t.Errorf("an access without a length touches %d bytes, want 1", size)
	}
	if (Object(7)).Thread() != 7 {
		t.Error("object 7 is not thread 7")
	}
}

// eventSink keeps the compiler from putting events on the stack.
var eventSink Event

func TestRecordsAreEventsWithoutAllocation(t *testing.T) {
	records := make([]Record, 8)
	n := testing.AllocsPerRun(100, func() {
		for i := range records {
			eventSink = records[i].Event()
		}
	})
	if n != 0 {
		t.Errorf("handing on 8 records as events allocates %v times", n)
	}
}

// bareEvent is an event of a source that has no records.
type bareEvent struct{}

func (bareEvent) Op() Op         { return Acquire }
func (bareEvent) Thread() Thread { return 1 }
func (bareEvent) Object() Object { return 2 }
func (bareEvent) Site() Site     { return 3 }

func TestAsRecord(t *testing.T) {
	r := &Record{Op: Read, Value: 9}
	if AsRecord(r.Event()) != r {
		t.Error("a record is copied")
	}
	want := Record{Op: Acquire, Thread: 1, Object: 2, Site: 3}
	if got := AsRecord(bareEvent{}); *got != want {
		t.Errorf("record %+v, want %+v", *got, want)
	}
}
