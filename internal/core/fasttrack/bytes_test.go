package fasttrack

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/heisen-go/heisen"
)

// TestBytes is TestFirstRaces for words that threads access byte by byte and in pieces, mostly in
// turn: cells then have many entries and few races.
func TestBytes(t *testing.T) {
	checkRandom(t, 3_000, 15, pieces)
}

// TestText is TestFirstRaces for words that are written byte by byte at many places, and read in
// pieces, mostly in turn. Such cells have histories of bytes, which a second reader or an atomic
// operation ends.
func TestText(t *testing.T) {
	checkRandom(t, 3_000, 17, text)
}

// TestReadersOfBytes: a run of accesses through a word may replace entries of other threads only if
// it is ordered after them, and those threads must not refresh them afterwards.
func TestReadersOfBytes(t *testing.T) {
	const first, message, other = 0, 64, 72
	for _, run := range []heisen.Op{heisen.Read, heisen.Write} {
		for n := range 4 {
			ordered, length := n%2 == 1, 8-n/2*3 // a whole word, or less
			trace := []heisen.Record{
				{Op: heisen.Read, Thread: 1, Object: first, Site: 1},
				{Op: heisen.Send, Thread: 1, Object: message, Site: 2},
				{Op: heisen.Read, Thread: 2, Object: 3, Site: 3},
				{Op: heisen.Receive, Thread: 3, Object: message, Site: 4},
			}
			if ordered {
				trace = append(trace, heisen.Record{Op: heisen.Send, Thread: 2, Object: other, Site: 5}, heisen.Record{Op: heisen.Receive, Thread: 3, Object: other, Site: 6})
			}
			for at := range length {
				trace = append(trace, heisen.Record{Op: run, Thread: 3, Object: heisen.Object(at), Site: 7})
			}
			trace = append(trace, []heisen.Record{
				{Op: heisen.Read, Thread: 2, Object: 3, Site: 3}, // races with a run of writes
				{Op: heisen.Send, Thread: 3, Object: message, Site: 8},
				{Op: heisen.Receive, Thread: 4, Object: message, Site: 9},
				{Op: heisen.Write, Thread: 4, Object: 3, Site: 10}, // races with the reads of 2
			}...)
			if !ordered && run == heisen.Read { // with the first of them
				trace = slices.Delete(trace, len(trace)-4, len(trace)-3)
			}
			for i := range trace {
				trace[i].Len = 1
			}
			if err := checkTrace(t, trace); err != nil {
				t.Errorf("%v\n%s", err, show(trace))
			}
		}
	}
}

// TestRepeatedReaders is TestFirstRaces for words of which several threads read the same bytes
// repeatedly, so that cells overflow, with an atomic operation now and then.
func TestRepeatedReaders(t *testing.T) {
	checkRandom(t, 1_500, 16, repeatedReaders)
}

// TestRefreshBesideOverflow: a read entry in the cell must not be refreshed if another thread has
// written in between and its entry is in the overflow set.
func TestRefreshBesideOverflow(t *testing.T) {
	const message = 64
	checkDirected(t, []heisen.Record{
		{Op: heisen.Read, Thread: 2, Object: 0},
		{Op: heisen.Read, Thread: 2, Object: 2},
		{Op: heisen.Send, Thread: 2, Object: message},
		{Op: heisen.Receive, Thread: 1, Object: message},
		{Op: heisen.Read, Thread: 1, Object: 3},
		{Op: heisen.AtomicUpdate, Thread: 1, Object: 0},
		{Op: heisen.Read, Thread: 1, Object: 1}, // this entry becomes the first
		{Op: heisen.Read, Thread: 2, Object: 0}, // a race
	})
}

// repeatedReaders returns such a trace.
func repeatedReaders(rng *rand.Rand) (trace []heisen.Record) {
	const message = 64
	threads, length := 2+rng.IntN(4), 10+rng.IntN(60)
	rare := [...]heisen.Op{heisen.Write, heisen.AtomicRead, heisen.AtomicWrite, heisen.AtomicUpdate}
	id, channels := 0, 1+rng.IntN(threads)
	add := func(code heisen.Op, at int) {
		trace = append(trace, heisen.Record{Op: code, Thread: heisen.Thread(id), Object: heisen.Object(at), Len: 1, Site: heisen.Site(1 + rng.IntN(3))})
	}
	for len(trace) < length {
		at := rng.IntN(4)
		switch n := rng.IntN(16); {
		case n < len(rare):
			add(rare[n], at)
		case n < 12:
			add(heisen.Read, at)
		default:
			at := message + 8*rng.IntN(channels)
			add(heisen.Send, at)
			id = rng.IntN(threads)
			add(heisen.Receive, at)
		}
		if rng.IntN(4) == 0 {
			id = rng.IntN(threads)
		}
	}
	return trace
}

// pieces returns a trace of accesses to parts of words. The accesses of a run have the same place,
// as in a loop.
func pieces(rng *rand.Rand) (trace []heisen.Record) {
	threads := 2 + rng.IntN(3)
	length := 10 + rng.IntN(60)
	id, message := 0, 64
	add := func(code heisen.Op, at, n, site int) {
		trace = append(trace, heisen.Record{
			Op: code, Thread: heisen.Thread(id), Object: heisen.Object(at), Value: uint64(n) >> 3 << 3, Len: uint16(n & 7), Site: heisen.Site(site),
		})
	}
	for len(trace) < length {
		code := heisen.Read
		if rng.IntN(2) == 0 {
			code = heisen.Write
		}
		site := 1 + rng.IntN(4)
		switch rng.IntN(8) {
		case 0, 1, 2:
			for at, end := rng.IntN(4), 5+rng.IntN(4); at < end; at++ {
				add(code, at, 1, site)
			}
		case 3, 4, 5:
			n := 1 << rng.IntN(4)
			add(code, rng.IntN(8/n)*n, n, site)
		case 6:
			add(heisen.AtomicUpdate, rng.IntN(8)*rng.IntN(2), 1, site)
		}
		next := rng.IntN(threads)
		if rng.IntN(12) == 0 {
			id = next // which may not be ordered after this thread
			continue
		}
		add(heisen.Send, message, 1, site)
		id = next
		add(heisen.Receive, message, 1, site)
		message += 8
	}
	return trace
}

// text returns a trace of threads that write a text and read it.
func text(rng *rand.Rand) (trace []heisen.Record) {
	threads, length := 2+rng.IntN(3), 20+rng.IntN(60)
	id, message := 0, 64
	add := func(code heisen.Op, at, n int) {
		trace = append(trace, heisen.Record{
			Op: code, Thread: heisen.Thread(id), Object: heisen.Object(at), Value: uint64(n) >> 3 << 3, Len: uint16(n & 7), Site: heisen.Site(1 + rng.IntN(12)),
		})
	}
	for len(trace) < length {
		code := heisen.Write
		if rng.IntN(3) == 0 {
			code = heisen.Read
		}
		switch at := rng.IntN(8); rng.IntN(6) {
		case 0:
			add(code, 0, 8)
		case 1:
			add(code, at, 1+rng.IntN(8-at))
		default:
			for ; at < 8; at += 1 + rng.IntN(2) {
				add(code, at, 1)
			}
		}
		switch next := rng.IntN(threads); rng.IntN(24) {
		case 0:
			id = next // which may not be ordered after this thread
		case 1:
			add(heisen.AtomicUpdate, rng.IntN(8), 1)
		case 2, 3, 4, 5, 6, 7:
			add(heisen.Send, message, 1)
			id = next
			add(heisen.Receive, message, 1)
			message += 8
		}
	}
	return trace
}

// TestRewriteAfterRead: a write entry must not be refreshed if another thread has read in between,
// even if an entry of other bytes of the word is before that of the read.
func TestRewriteAfterRead(t *testing.T) {
	const message = 64
	trace := []heisen.Record{
		{Op: heisen.Write, Thread: 1, Object: 4, Site: 1},
		{Op: heisen.Write, Thread: 1, Object: 0, Site: 2},
		{Op: heisen.Send, Thread: 1, Object: message, Site: 3},
		{Op: heisen.Receive, Thread: 2, Object: message, Site: 4},
		{Op: heisen.Read, Thread: 2, Object: 0, Site: 5},
		{Op: heisen.Write, Thread: 1, Object: 0, Site: 2},
	}
	for i := range trace {
		trace[i].Len = 1
	}
	if err := checkTrace(t, trace); err != nil {
		t.Errorf("%v\n%s", err, show(trace))
	}
}
