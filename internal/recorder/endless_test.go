package recorder

import (
	"bytes"
	"io"
	"math/rand/v2"
	"runtime"
	"testing"

	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/internal/core/wire"
	"github.com/heisen-go/heisen/trace"
)

// endless is a recording of a program whose main goroutine starts goroutines and waits for none. The words
// of its goroutines come through several buffers, which are sent at any time.
type endless struct {
	*recorder
	rng     *rand.Rand
	started int
	limit   int // of started
	unread  []byte
}

const (
	endlessPs    = 4
	endlessLocks = 10
)

func newEndless() *endless {
	e := &endless{recorder: newRecorder(endlessPs), rng: rand.New(rand.NewPCG(4, 2))}
	e.goroutine(0, true)
	return e
}

// Read implements io.Reader. The recording ends when the limit of goroutines is reached, and goes on when
// that is raised.
func (e *endless) Read(b []byte) (int, error) {
	for len(e.unread) == 0 {
		if e.started >= e.limit {
			return 0, io.EOF
		}
		for range 100 {
			e.start()
		}
		if e.started >= e.limit {
			e.flushAll()
		}
		e.unread, e.rec = e.rec, nil
	}
	n := copy(b, e.unread)
	e.unread = e.unread[n:]
	return n, nil
}

// start starts a goroutine, which does a few things and ends.
func (e *endless) start() {
	e.started++
	g, p := e.started, e.rng.IntN(endlessPs)
	e.goroutine(g, false)
	e.sync(0, 0, wire.OpFork, uint64(g), 10)
	object, lock := uint64(0x10000+256*e.rng.IntN(200)), uint64(0x8000+8*e.rng.IntN(endlessLocks))
	e.access(p, g, wire.OpAlloc, object, 11, 256)
	e.call(g, 20+e.rng.Uint32N(5))
	e.access(p, g, wire.OpWrite, object, 12, 8)
	e.sync(p, g, wire.OpAcquire, lock, 13)
	if p = e.rng.IntN(endlessPs); e.rng.IntN(3) > 0 {
		e.flush(e.rng.IntN(endlessPs))
	}
	e.access(p, g, wire.OpWrite, 0x9000, 14, 8)
	if e.rng.IntN(20) > 0 {
		e.sync(p, g, wire.OpRelease, lock, 15)
	} else {
		e.sync(0, 0, wire.OpRelease, lock, 15) // the main goroutine does it
	}
	e.leave(g, 1)
	e.sync(p, g, wire.OpEnd, 0, 16)
	delete(e.gs, g)
}

// TestEndless: what a stream stores, and what a trace of it and the reader of that trace do, does not grow
// with the number of goroutines that have ended.
func TestEndless(t *testing.T) {
	const first, more, tolerance = 20_000, 100_000, 1 << 19
	in := newEndless()
	in.limit = first
	s, err := NewStream(in, nil)
	if err != nil {
		t.Fatal(err)
	}
	limits := defaultLimits
	limits.EndedThreads = 1 << 10
	s.syms.SetLimits(limits)
	var file bytes.Buffer
	w, err := trace.NewWriter(&file, s.Symbols())
	if err != nil {
		t.Fatal(err)
	}
	r, err := trace.NewBinaryReader(&file)
	if err != nil {
		t.Fatal(err)
	}
	r.Symbols().SetLimits(limits)
	batch := make([]heisen.Record, 512)
	read, written := uint64(0), uint64(0)
	pass := func(limit int) {
		t.Helper()
		in.limit, s.err = limit, nil
		for {
			n, err := s.Next(batch)
			written += uint64(n)
			if err := w.Write(batch[:n]); err != nil {
				t.Fatal(err)
			}
			if err == io.EOF {
				break
			} else if err != nil {
				t.Fatal(err)
			}
		}
		if err := w.Flush(); err != nil {
			t.Fatal(err)
		}
		for read < written {
			n, err := r.Next(batch)
			if err != nil {
				t.Fatal(err)
			}
			for i := range batch[:n] {
				if batch[i].Op == heisen.End {
					r.Symbols().EndThread(batch[i].Thread)
				}
			}
			read += uint64(n)
		}
	}
	heap := func() int {
		runtime.GC()
		var stats runtime.MemStats
		runtime.ReadMemStats(&stats)
		return int(stats.HeapAlloc)
	}
	for limit := first / 4; limit <= first; limit += first / 4 {
		pass(limit)
	}
	before := heap()
	for limit := first; limit <= first+more; limit += first / 4 {
		pass(limit)
	}
	if grown := heap() - before; grown > tolerance {
		t.Errorf("%d bytes more after %d more goroutines", grown, more)
	}
	if left := s.merge.pending(); left > 0 || len(s.merge.gs) != 1 {
		t.Errorf("%d words are pending, of %d goroutines", left, len(s.merge.gs))
	}
	runtime.KeepAlive(w)
	runtime.KeepAlive(r)
}
