package recorder

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"

	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/internal/core/wire"
)

// FuzzStream reads arbitrary bytes after a valid start. There is no panic, no disproportionate
// allocation, and the stream ends in one of the documented ways.
func FuzzStream(f *testing.F) {
	for seed := range uint64(8) {
		shape := shape{steps: 40, goroutines: 4, ps: 2, flush: 6, collected: true, reuse: true}
		rng := rand.New(rand.NewPCG(seed, 3))
		rec := record(rng, shape, randomExecution(rng, shape))
		f.Add(rec[len(helloMessage()):])
	}
	f.Add(message(nil, wire.MsgWords, 0, word(wire.OpSwitch, 1<<31), 0, word(wire.OpBegin, wire.Orphan), word(wire.OpSend, 1), 1<<60, 1<<31))
	f.Add(slices.Concat(message(nil, wire.MsgTask, 7, textWords("task")...),
		message(nil, wire.MsgPlaces, 0, 5, 1<<32|wire.TaskPlace|7, 2<<32|9, 2<<32|8),
		message(nil, wire.MsgWords, 0, word(wire.OpSwitch, 0), 0, word(wire.OpBegin, wire.Orphan), word(wire.OpWrite, 8), 3<<32|1<<31,
			word(wire.OpOverlap, 16), 0, accessID(0, heisen.Write, 3), accessID(0, heisen.Read, 2), 8<<48|20, wire.ByOrder,
			word(wire.OpCollected, 0), 1, 1, word(wire.OpEnd, 0), 2, 0)))
	f.Add(executionMessages())
	f.Add(quietMessages())
	f.Add(message(nil, wire.MsgWords, 0, word(wire.OpSwitch, 0), 0, word(wire.OpBegin, 1|wire.Orphan),
		word(wire.OpHide, testText), 1<<32, word(wire.OpShade, 1), word(wire.OpReveal, testText), 1<<32))
	f.Add(message(nil, wire.MsgWords, 0, placedWords()...))
	f.Add(callMessages())
	f.Fuzz(func(t *testing.T, data []byte) {
		if len(data) > 16<<10 || accessed(data) > 256<<20 {
			t.Skip("what this stands for is large")
		}
		s, err := NewStream(io.MultiReader(bytes.NewReader(helloMessage()), bytes.NewReader(data)), &stub{})
		if err != nil {
			t.Fatal(err)
		}
		s.tellsCalls = len(data)&8 == 0
		s.OnMeeting(func(m Meeting) {
			if len(m.Accesses) != 2 {
				t.Fatalf("meeting %+v", m)
			}
		})
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		batch := make([]heisen.Record, 64)
		for err == nil {
			var n int
			n, err = s.Next(batch)
			for _, r := range batch[:n] {
				if !r.Op.Valid() {
					t.Fatalf("event %+v", r)
				}
				s.Symbols().Stack(r.Site, r.Context)
				s.Symbols().Locks(r.Context)
				s.Symbols().Task(r.Thread, r.Context)
			}
		}
		var lost *LostError
		var refused *RefusedError
		if err != nil && err != io.EOF && !errors.Is(err, ErrCorrupt) && !errors.As(err, &lost) && !errors.As(err, &refused) {
			t.Fatalf("error %v", err)
		}
		runtime.ReadMemStats(&after)
		if used := after.TotalAlloc - before.TotalAlloc; used > 256<<20 {
			t.Errorf("%d bytes of input allocate %d", len(data), used)
		}
	})
}

// accessed bounds the bytes that the accesses in a recording touch.
func accessed(rec []byte) (bytes uint64) {
	for i := 0; i+16 <= len(rec); i += 8 {
		if op := rec[i+7]; op == wire.OpRead || op == wire.OpWrite {
			bytes += uint64(binary.LittleEndian.Uint32(rec[i+8:]))
		}
	}
	return bytes
}

// answer encodes the answer of a symbolizer.
func answer(frames [][]heisen.Frame) (out []byte) {
	for _, stack := range frames {
		out = binary.LittleEndian.AppendUint32(out, uint32(len(stack)))
		for _, f := range stack {
			out = binary.LittleEndian.AppendUint32(out, uint32(f.Line))
			out = binary.LittleEndian.AppendUint32(out, uint32(f.Start))
			for _, name := range []string{f.Func, f.File} {
				out = binary.LittleEndian.AppendUint32(out, uint32(len(name)))
				out = append(out, name...)
			}
		}
	}
	return out
}

// FuzzFrames reads arbitrary answers of a symbolizer. An accepted one equals its encoding.
func FuzzFrames(f *testing.F) {
	f.Add(uint8(2), answer([][]heisen.Frame{{{Func: "main.f", File: "f.go", Line: 3, Start: 2}, {Func: "main.main", File: "m.go", Line: 1}}, nil}))
	f.Add(uint8(1), []byte{255, 255, 255, 255, 1, 0, 0, 0, 255, 255, 255, 255})
	f.Fuzz(func(t *testing.T, n uint8, data []byte) {
		r := bytes.NewReader(data)
		frames, err := readFrames(r, int(n))
		if err != nil {
			return
		}
		if len(frames) != int(n) {
			t.Fatalf("%d answers to %d questions", len(frames), n)
		}
		if read := data[:len(data)-r.Len()]; !bytes.Equal(answer(frames), read) {
			t.Errorf("%q was read as %v", read, frames)
		}
	})
}
