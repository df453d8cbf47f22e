package trace

import (
	"bytes"
	"encoding/binary"
	"math/bits"
	"sync/atomic"

	"github.com/heisen-go/heisen"
)

const (
	// blockText is how much text an STDReader reads at a time. With the records of so much text, it stays in the second-level cache.
	blockText = 64 << 10

	// slack is how many bytes behind its end may be loaded with a text.
	slack = 16
)

// newText returns n bytes with slack behind them.
func newText(n int) []byte { return make([]byte, n, n+slack) }

// A textBlock is some whole lines of a text trace, and for each line its record, as far as names were known: without context, and without
// Op if the line is no event or is left to STDReader.parse. One goroutine has it at a time.
type textBlock struct {
	buf     []byte // memory of text
	text    []byte // with slack behind it
	records []heisen.Record
	next    int // records taken

	claimed atomic.Bool   // some goroutine scans the block, or has done so
	scanned chan struct{} // has an element when that has ended
}

// unparsed returns the line of a record without Op that is left to STDReader.parse.
func (b *textBlock) unparsed(r *heisen.Record) []byte {
	at := uint32(r.Value)
	return b.text[at : uint64(at)+r.Value>>textLength]
}

// line returns the line of the record with the given index.
func (b *textBlock) line(index int) []byte {
	rest := b.text
	for ; index > 0; index-- {
		rest = rest[bytes.IndexByte(rest, '\n')+1:]
	}
	return rest[:bytes.IndexByte(rest, '\n')]
}

// What a Record without Op says of its line: the Value is where it is in the text, and this is in Thread.
const (
	noEvent    = heisen.Thread(iota) // the line is none, and changes nothing
	unparsed                         // it is for STDReader.parse
	textLength = 32                  // shift of the length of the line in Value
)

const (
	everyByte = 0x0101010101010101
	topBits   = 0x8080808080808080
)

// zeroBytes returns a word whose lowest bit that is set is the top bit of the lowest byte of w that is 0. It is 0 if there is none.
func zeroBytes(w uint64) uint64 { return (w - everyByte) &^ w & topBits }

// short returns the first n bytes of two words, at most 15, as pack does.
func short(lo, hi uint64, n int) (uint64, uint64) {
	if n < 8 {
		return lo & (1<<(8*n) - 1), uint64(n+1) << 56
	}
	return lo, hi&(1<<(8*(n-8))-1) | uint64(n+1)<<56
}

// scan fills b.records. Several goroutines may scan blocks while another one adds names. What a known name stands for never changes, so
// that it makes no difference when a block is scanned.
func (r *STDReader) scan(b *textBlock) {
	const bars, ends = '|' * everyByte, '\n' * everyByte
	threads, ops, sites := r.threadNames.table.Load(), r.opTexts.table.Load(), r.siteTexts.table.Load()
	opOf, siteOf := r.ops.load(), r.sites.load()
	records := b.records[:0]
	end := len(b.text)
	text := b.text[:end+slack]
	var lastLo, lastHi uint64 // the thread of the line before
	var last uint32
	for at := 0; at < end; {
		// The fast path is for fields of at most 15 bytes that are known. Behind the text there may be anything, but no name has an end of
		// line in it.
		start := at
		lo, hi := binary.LittleEndian.Uint64(text[at:]), uint64(0)
		stop, n := zeroBytes(lo^bars), 0
		if stop == 0 {
			hi = binary.LittleEndian.Uint64(text[at+8:])
			stop, n = zeroBytes(hi^bars), 8
		}
		if stop == 0 {
			goto general
		}
		n += bits.TrailingZeros64(stop) / 8
		lo, hi = short(lo, hi, n)
		if lo != lastLo || hi != lastHi {
			thread, ok := threads.find(lo, hi)
			if !ok {
				goto general
			}
			lastLo, lastHi, last = lo, hi, thread
		}
		at += n + 1
		if at > end {
			goto general
		}
		{
			lo, n = binary.LittleEndian.Uint64(text[at:]), 0
			stop = zeroBytes(lo^bars) | zeroBytes(lo^ends)
			if stop == 0 {
				hi = binary.LittleEndian.Uint64(text[at+8:])
				stop, n = zeroBytes(hi^bars)|zeroBytes(hi^ends), 8
			}
			if stop == 0 {
				goto general
			}
			n += bits.TrailingZeros64(stop) / 8
			id, ok := ops.find(short(lo, hi, n))
			if !ok {
				goto general
			}
			if int(id) >= len(opOf) {
				opOf = r.ops.load()
			}
			op := &opOf[id]
			at += n + 1
			site := heisen.Site(0)
			if text[at-1] == '|' {
				lo, n = binary.LittleEndian.Uint64(text[at:]), 0
				if stop = zeroBytes(lo ^ ends); stop == 0 {
					hi = binary.LittleEndian.Uint64(text[at+8:])
					stop, n = zeroBytes(hi^ends), 8
				}
				if stop == 0 {
					goto general
				}
				n += bits.TrailingZeros64(stop) / 8
				if n > 0 {
					id, ok := sites.find(short(lo, hi, n))
					if !ok {
						goto general
					}
					if int(id) >= len(siteOf) {
						siteOf = r.sites.load()
					}
					site = siteOf[id]
				}
				at += n + 1
			}
			records = append(records, heisen.Record{
				Object: op.obj, Value: op.val, Thread: heisen.Thread(last), Site: site, Len: op.len, Op: op.code,
			})
			if op.code == heisen.Invalid {
				records[len(records)-1].Thread = noEvent
			}
			continue
		}
	general:
		n = bytes.IndexByte(text[start:end], '\n')
		records = append(records, heisen.Record{})
		if rec := &records[len(records)-1]; !r.lookUp(text[start:start+n], rec) {
			*rec = heisen.Record{Thread: unparsed, Value: uint64(start) | uint64(n)<<textLength}
		}
		at = start + n + 1
	}
	b.records, b.next = records, 0
}

// lookUp makes the record of a line whose fields are known, except for its context. It reports false if they are not.
func (r *STDReader) lookUp(line []byte, rec *heisen.Record) bool {
	line = bytes.TrimRight(line, "\r")
	name, text, ok := bytes.Cut(line, []byte("|"))
	if !ok {
		return false
	}
	text, site, _ := bytes.Cut(text, []byte("|"))
	text, value, flags, reason := cutValue(text)
	thread, known := r.threadNames.find(name)
	id, ok := r.opTexts.find(text)
	if !known || !ok || reason != "" {
		return false
	}
	op := r.ops.load()[id]
	if op.code == heisen.Invalid {
		*rec = heisen.Record{Thread: noEvent}
		return flags == 0
	}
	if flags != 0 && !hasLength(op.code) {
		return false
	}
	*rec = heisen.Record{Object: op.obj, Value: op.val | value, Thread: heisen.Thread(thread), Len: op.len, Op: op.code, Flags: flags}
	if len(site) > 0 {
		if id, ok = r.siteTexts.find(site); !ok {
			return false
		}
		rec.Site = r.sites.load()[id]
	}
	return true
}

// start lets another goroutine scan the block, unless somebody else does it before.
func (r *STDReader) start(b *textBlock) {
	b.claimed.Store(false)
	go r.help(b)
}

// help scans the block, unless somebody does or has done so. It reports whether it has.
func (r *STDReader) help(b *textBlock) bool {
	if !b.claimed.CompareAndSwap(false, true) {
		return false
	}
	r.scan(b)
	b.scanned <- struct{}{}
	return true
}
