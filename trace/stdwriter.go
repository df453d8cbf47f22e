package trace

import (
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/heisen-go/heisen"
)

// STDOption changes how an STDWriter writes.
type STDOption func(*STDWriter) error

// SiteNumbers makes the writer put site numbers where it would put their
// texts: RAPID reads numbers only.
func SiteNumbers() STDOption {
	return func(w *STDWriter) error {
		w.siteNumbers = true
		return nil
	}
}

// STDWriter writes events in the STD text format. The text carries op, thread,
// object, site, and for accesses length and value; an STDReader finds contexts
// again by following locks and calls. What the text says is always
// unambiguous: different threads and different objects of a class get
// different names, if need be with #number appended; what may not stand in
// a name becomes an underscore. Sites with equal texts become one.
//
// A writer is a heisen.Detector, so that it can stand in a heisen.Tee. It
// belongs to one goroutine.
type STDWriter struct {
	w           io.Writer
	symbols     *heisen.Symbols
	siteNumbers bool
	buf         []byte
	err         error
	events      uint64

	threads map[heisen.Thread]string
	objects map[stdObject]stdText
	taken   map[stdName]bool
	sites   []string // by site, with the bar before; empty if not made yet
	reaches []string // by set of objects, with the = before; empty if not made yet
}

type stdObject struct {
	class  objectClass
	number heisen.Object
}

// stdText is how an object that is no address stands in the text.
type stdText struct {
	text string
	size uint64 // bytes that the reader gives it
}

type stdName struct {
	class objectClass
	text  string
}

// NewSTDWriter returns a writer of a text trace to w. symbols, which may be
// nil, says what the numbers in the records stand for and may grow while the
// trace is written.
func NewSTDWriter(w io.Writer, symbols *heisen.Symbols, options ...STDOption) (*STDWriter, error) {
	out := &STDWriter{
		w:       w,
		symbols: symbols,
		buf:     make([]byte, 0, stdBuffer),
		threads: map[heisen.Thread]string{},
		objects: map[stdObject]stdText{},
		taken:   map[stdName]bool{},
	}
	for _, option := range options {
		if err := option(out); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// maxEvent is what an event with short names takes in the buffer at most.
const maxEvent = 256

// Write appends records to the trace. An error is final: nothing is written
// after it. The text of a record that the writer refuses, for its Op is not
// Valid or its thread not below MaxThreads, is left out.
func (w *STDWriter) Write(records []heisen.Record) error {
	for i := range records {
		w.add(&records[i])
	}
	return w.err
}

// Handle implements heisen.Detector. An error is kept for Flush.
func (w *STDWriter) Handle(e heisen.Event) { w.add(heisen.AsRecord(e)) }

// Flush hands everything written so far to the underlying writer. It returns
// the first error that the writer met.
func (w *STDWriter) Flush() error {
	if len(w.buf) > 0 {
		if _, err := w.w.Write(w.buf); err != nil && w.err == nil {
			w.err = fmt.Errorf("writing trace: %w", err)
		}
		w.buf = w.buf[:0]
	}
	return w.err
}

// Close ends the trace like Flush; the text format has no end mark. It does
// not close the underlying writer.
func (w *STDWriter) Close() error {
	err := w.Flush()
	if err == nil {
		w.err = errClosed
	}
	return err
}

var errClosed = errors.New("trace: write to a closed trace")

func (w *STDWriter) add(rec *heisen.Record) {
	if w.err != nil {
		return
	}
	w.events++
	if w.err = checkRecord(rec, w.events); w.err != nil {
		return
	}
	b := append(w.buf, w.thread(rec.Thread)...)
	b = append(b, '|')
	b = w.appendOp(b, rec)
	b = append(b, w.site(rec.Site)...)
	if w.err != nil {
		return
	}
	w.buf = append(b, '\n')
	if cap(w.buf)-len(w.buf) < maxEvent {
		_ = w.Flush()
	}
}

func (w *STDWriter) appendOp(b []byte, rec *heisen.Record) []byte {
	form := &stdWords[rec.Op]
	b = append(b, form.word...)
	if hasLength(rec.Op) && rec.Len > 0 {
		b = strconv.AppendUint(b, uint64(rec.Len), 10)
	}
	if !form.required && rec.Object == 0 {
		return b
	}
	b = append(b, '(')
	switch {
	case form.class == threadClass:
		b = append(b, w.thread(rec.Object.Thread())...)
	case isAddress(rec.Object):
		b = append(b, "0x"...)
		b = strconv.AppendUint(b, uint64(rec.Object), 16)
	default:
		b = append(b, w.object(form.class, rec)...)
	}
	if hasRange(rec.Op) {
		b = append(b, ',')
		b = strconv.AppendUint(b, rec.Value, 10)
	}
	b = append(b, ')')
	if rec.Op == heisen.Hide {
		b = w.appendReach(b, rec.Reach())
	}
	if hasLength(rec.Op) && rec.Flags&heisen.HasValue != 0 {
		b = append(b, '=')
		b = strconv.AppendUint(b, rec.Value, 10)
	}
	return b
}

// thread returns the text of a thread: its name, or T and its number.
func (w *STDWriter) thread(t heisen.Thread) string {
	if text, ok := w.threads[t]; ok {
		return text
	}
	name := w.symbols.Thread(t).Name
	if name == "" {
		name = fmt.Sprintf("T%d", t)
	}
	text := w.unique(threadClass, name, uint64(t))
	w.threads[t] = text
	return text
}

// object returns the text of the record's object, which is no address: its
// name, or its number.
func (w *STDWriter) object(class objectClass, rec *heisen.Record) string {
	size := uint64(rec.Len)
	switch {
	case hasRange(rec.Op):
		size = rec.Value
	case !hasLength(rec.Op):
		size = 0
	}
	key := stdObject{class, rec.Object}
	known, ok := w.objects[key]
	if !ok {
		known = stdText{w.unique(class, w.symbols.Name(rec.Object), uint64(rec.Object)), nameSize(size)}
		w.objects[key] = known
	}
	if size > known.size {
		w.err = fmt.Errorf("trace: event %d: %d bytes of %s, which text knows as a name of %d bytes", w.events, size, known.text, known.size)
	}
	return known.text
}

// unique makes name fit to stand in the text for one thing only.
func (w *STDWriter) unique(class objectClass, name string, number uint64) string {
	name = strings.NewReplacer("|", "_", "(", "_", ")", "_", "\n", "_", string(byteOrderMark), "_").Replace(name)
	text := name
	for _, address := parseAddress([]byte(text)); text == "" || address || w.taken[stdName{class, text}]; address = false {
		text += fmt.Sprintf("#%d", number)
	}
	w.taken[stdName{class, text}] = true
	return text
}

// site returns the text of a site with the bar before it; nothing for the
// unknown site.
func (w *STDWriter) site(site heisen.Site) string {
	if site == 0 && !w.siteNumbers {
		return ""
	}
	if int(site) < len(w.sites) && w.sites[site] != "" {
		return w.sites[site]
	}
	text := "|" + strconv.FormatUint(uint64(site), 10)
	if known := w.symbols.Site(site); !w.siteNumbers && known.String() != (heisen.SiteInfo{}).String() {
		text = "|" + strings.TrimRight(strings.ReplaceAll(known.String(), "\n", " "), "\r")
	}
	if w.symbols != nil && int(site) < w.symbols.NumSites() {
		for len(w.sites) < w.symbols.NumSites() {
			w.sites = append(w.sites, "")
		}
		w.sites[site] = text
	}
	return text
}

// checkRecord refuses what no trace can hold. event is the record's number,
// from 1.
func checkRecord(rec *heisen.Record, event uint64) error {
	switch {
	case !rec.Op.Valid():
		return fmt.Errorf("trace: event %d: op %d is not valid", event, rec.Op)
	case rec.Thread >= MaxThreads:
		return fmt.Errorf("trace: event %d: thread %d is not below %d", event, rec.Thread, MaxThreads)
	case (rec.Op == heisen.Fork || rec.Op == heisen.Join) && rec.Object >= MaxThreads:
		return fmt.Errorf("trace: event %d: %v of thread %d, which is not below %d", event, rec.Op, rec.Object, MaxThreads)
	}
	return nil
}
