package trace

import (
	"fmt"
	"io"
	"strconv"

	"github.com/heisen-go/heisen"
)

// Printer is a heisen.Detector that prints events for people, one on a line, as they are in the
// trace:
//
//	12  T1       acquire        L0  at 17  holding L2, L3  calls 4
//
// A line has the number of the event from 1, its thread, op and object, and, if they are known, the
// value, the bytes touched, what a hidden call reaches, the site, the locks held and the number of
// calls that the thread is in.
type Printer struct {
	w       io.Writer
	symbols *heisen.Symbols
	buf     []byte
	events  uint64
	err     error
}

// NewPrinter returns a Printer that writes to w. symbols has the names; if it is nil, numbers take
// their place.
func NewPrinter(w io.Writer, symbols *heisen.Symbols) (*Printer, error) {
	if w == nil {
		return nil, noWriter("trace.NewPrinter")
	}
	return &Printer{w: w, symbols: symbols}, nil
}

// Handle implements heisen.Detector.
func (p *Printer) Handle(e heisen.Event) {
	if p.zero() {
		return
	}
	p.events++
	p.buf = append(appendRecord(p.buf, heisen.AsRecord(e), p.events, p.symbols), '\n')
	if len(p.buf) >= writerBuffer {
		_ = p.Flush()
	}
}

// zero reports whether p was not made by NewPrinter.
func (p *Printer) zero() bool { return p.w == nil }

// Flush writes what is buffered. It returns the first error of the underlying writer, after which
// nothing more is written.
func (p *Printer) Flush() error {
	if p.zero() {
		return heisen.ErrZero
	}
	if len(p.buf) > 0 && p.err == nil {
		if err := write(p.w, p.buf); err != nil {
			p.err = fmt.Errorf("printing trace: %w", err)
		}
	}
	p.buf = p.buf[:0]
	return p.err
}

// appendRecord appends the line, without its end, that a Printer writes for the event with the
// given number. Nothing in a name breaks the line.
func appendRecord(b []byte, rec *heisen.Record, event uint64, symbols *heisen.Symbols) []byte {
	b = fmt.Appendf(b, "%8d  %-8s %-14s ", event, oneLine(threadName(symbols, rec.Thread)), rec.Op)
	switch {
	case rec.Op == heisen.Fork || rec.Op == heisen.Join:
		b = append(b, oneLine(threadName(symbols, rec.Object.Thread()))...)
	case rec.Object != 0 || rec.Op.Valid() && stdWords[rec.Op].required:
		b = append(b, oneLine(symbols.Name(rec.Object))...)
	default:
		b = append(b, '-')
	}
	if rec.Op == heisen.Hide {
		b = appendReached(b, rec.Reach(), symbols)
	} else if rec.Flags&heisen.HasValue != 0 {
		b = fmt.Appendf(b, " = %d", rec.Value)
	} else if hasRange(rec.Op) {
		b = fmt.Appendf(b, "  %d bytes", rec.Value)
	}
	if rec.Len != 0 {
		b = fmt.Appendf(b, "  %d bytes", rec.Len)
	}
	if rec.Site != 0 {
		b = append(b, "  at "...)
		b = append(b, oneLine(symbols.Site(rec.Site).String())...)
	}
	if rec.Context != 0 && symbols != nil {
		for i, h := range symbols.Locks(rec.Context) {
			b = append(b, [...]string{"  holding ", ", "}[min(i, 1)]...)
			b = append(b, oneLine(symbols.Name(h.Lock))...)
			if h.Shared {
				b = append(b, " (shared)"...)
			}
		}
		if calls := len(symbols.Calls(rec.Context)); calls > 0 {
			b = fmt.Appendf(b, "  calls %d", calls)
		}
	}
	return b
}

// printedSpans is the number of spans of a set that a line has.
const printedSpans = 8

// appendReached appends the set of objects that a hidden call reaches.
func appendReached(b []byte, r heisen.Reach, symbols *heisen.Symbols) []byte {
	if r == heisen.Synchronized {
		return append(append(b, "  "...), synchronized...)
	}
	b = append(b, "  reaches "...)
	if r == 0 || symbols == nil || int(r) >= symbols.NumReaches() {
		return append(b, "everything"...)
	}
	objects := symbols.Reach(r)
	if len(objects) == 0 {
		return append(b, "nothing"...)
	}
	for i, s := range objects {
		if i > 0 {
			b = append(b, ", "...)
		}
		if i == printedSpans {
			return fmt.Appendf(b, "and %d more", len(objects)-i)
		}
		if t, ok := s.Start.AsThread(); ok {
			b = append(b, oneLine(threadName(symbols, t))...)
		} else {
			b = append(b, oneLine(symbols.Name(s.Start))...)
		}
		if s.Len > 1 {
			b = fmt.Appendf(b, "+%d", s.Len)
		}
	}
	return b
}

// oneLine returns s, quoted unless all its characters are printable.
func oneLine(s string) string {
	for _, r := range s {
		if !strconv.IsPrint(r) {
			return strconv.Quote(s)
		}
	}
	return s
}
