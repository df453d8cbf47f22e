package trace

import (
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/internal/option"
	"github.com/heisen-go/heisen/internal/printable"
)

// STDWriterOption changes how an [STDWriter] writes.
type STDWriterOption func(*stdWriterConfig) error

type stdWriterConfig struct {
	siteNumbers bool
	gaps        Gaps
}

// WithTextGaps says what the recording leaves out, as WithGaps does for the binary format. The text has a line for each gap, which
// other analyzers do not know.
func WithTextGaps(g Gaps) STDWriterOption {
	return func(c *stdWriterConfig) error {
		c.gaps = g.clone()
		return nil
	}
}

// WithSiteNumbers makes the writer put the numbers of sites in the place of their texts, for RAPID,
// which reads nothing but numbers.
func WithSiteNumbers() STDWriterOption {
	return func(c *stdWriterConfig) error {
		c.siteNumbers = true
		return nil
	}
}

// STDWriter writes events in the STD text format. The text has the op, thread, object and site of
// an event, and the length and value of an access. An STDReader reconstructs contexts from the
// locks and calls of each thread.
//
// The text is never ambiguous. Different threads, and different objects of a class, get different
// names, if necessary with #number appended. A character that must not be in a name becomes an
// underscore. Sites with equal texts become one.
//
// An STDWriter is a heisen.Detector, so that it can be part of a heisen.Tee. It belongs to one
// goroutine.
type STDWriter struct {
	w           io.Writer
	symbols     *heisen.Symbols
	siteNumbers bool
	gaps        []string // to be written
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

// NewSTDWriter returns a writer of a text trace to w. symbols has the names; it may grow while the
// trace is written. A nil symbols is an empty table.
func NewSTDWriter(w io.Writer, symbols *heisen.Symbols, opts ...STDWriterOption) (*STDWriter, error) {
	var c stdWriterConfig
	if err := option.Apply("trace.NewSTDWriter", &c, opts); err != nil {
		return nil, err
	}
	if w == nil {
		return nil, noWriter("trace.NewSTDWriter")
	}
	return &STDWriter{
		w:       w,
		symbols: symbols,

		siteNumbers: c.siteNumbers,
		gaps:        c.gaps.texts(),

		buf:     make([]byte, 0, writerBuffer),
		threads: map[heisen.Thread]string{},
		objects: map[stdObject]stdText{},
		taken:   map[stdName]bool{},
	}, nil
}

// writerBuffer is what an STDWriter collects before it writes.
const writerBuffer = 256 << 10

// maxEvent is what an event with short names takes in the buffer at most.
const maxEvent = 256

// Write appends records to the trace. The error wraps ErrRecord for a record whose op is not Valid
// or whose thread is not below MaxThreads; it wraps ErrClosed after Close. An error is final:
// nothing is written after it.
func (w *STDWriter) Write(records []heisen.Record) error {
	if w.zero() {
		return heisen.ErrZero
	}
	for i := range records {
		w.add(&records[i])
	}
	return w.err
}

// Handle implements heisen.Detector. Flush returns its error.
func (w *STDWriter) Handle(e heisen.Event) {
	if !w.zero() {
		w.add(heisen.AsRecord(e))
	}
}

// zero reports whether w was not made by NewSTDWriter.
func (w *STDWriter) zero() bool { return w.w == nil }

// Flush writes everything so far to the underlying writer. It returns the first error of the
// writer.
func (w *STDWriter) Flush() error {
	if w.zero() {
		return heisen.ErrZero
	}
	if len(w.buf) > 0 {
		if err := write(w.w, w.buf); err != nil && w.err == nil {
			w.err = fmt.Errorf("writing trace: %w", err)
		}
		w.buf = w.buf[:0]
	}
	return w.err
}

// Close ends the trace like Flush, because the text format has no end mark. It does not close the
// underlying writer.
func (w *STDWriter) Close() error {
	if w.zero() {
		return nil
	}
	err := w.Flush()
	if err == nil {
		w.err = ErrClosed
	}
	return err
}

func (w *STDWriter) add(rec *heisen.Record) {
	if w.err != nil {
		return
	}
	w.events++
	if w.err = checkRecord(rec, w.events); w.err != nil {
		return
	}
	for _, gap := range w.gaps { // the thread is that of the first event, so that threads have the same numbers
		w.buf = fmt.Appendf(w.buf, "%s|%s(%s)|\n", w.thread(rec.Thread), gapWord, nameText(gap))
	}
	w.gaps = nil
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

// object returns the text of the record's object, which is no address: its name, or its number.
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
		w.err = refused("event %d: %d bytes of %s, which has %d bytes in the text", w.events, size, known.text, known.size)
	}
	return known.text
}

// unique makes name fit to stand in the text for one thing only.
func (w *STDWriter) unique(class objectClass, name string, number uint64) string {
	name = nameText(name)
	text := name
	for _, address := parseAddress([]byte(text)); text == "" || address || w.taken[stdName{class, text}]; address = false {
		text += fmt.Sprintf("#%d", number)
	}
	w.taken[stdName{class, text}] = true
	return text
}

// nameText returns a name without the characters that must not be in one.
func nameText(name string) string {
	return printable.Text(strings.NewReplacer("|", "_", "(", "_", ")", "_", "\n", "_", string(byteOrderMark), "_").Replace(name))
}

// site returns the text of a site with the bar before it; nothing for the unknown site.
func (w *STDWriter) site(site heisen.Site) string {
	if site == 0 && !w.siteNumbers {
		return ""
	}
	if int(site) < len(w.sites) && w.sites[site] != "" {
		return w.sites[site]
	}
	text := "|" + strconv.FormatUint(uint64(site), 10)
	if known := w.symbols.Site(site); !w.siteNumbers && known.String() != (heisen.SiteInfo{}).String() {
		text = "|" + printable.Text(known.String())
	}
	if w.symbols != nil && int(site) < w.symbols.NumSites() {
		for len(w.sites) < w.symbols.NumSites() {
			w.sites = append(w.sites, "")
		}
		w.sites[site] = text
	}
	return text
}

// checkRecord refuses what no trace can hold. event is the record's number, from 1.
func checkRecord(rec *heisen.Record, event uint64) error {
	switch {
	case !rec.Op.Valid():
		return refused("event %d: op %d is not valid", event, rec.Op)
	case rec.Thread >= MaxThreads:
		return refused("event %d: thread %d is not below %d", event, rec.Thread, MaxThreads)
	case (rec.Op == heisen.Fork || rec.Op == heisen.Join) && rec.Object >= MaxThreads:
		return refused("event %d: %v of thread %d, which is not below %d", event, rec.Op, rec.Object, MaxThreads)
	}
	return nil
}
