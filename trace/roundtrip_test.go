package trace_test

import (
	"bytes"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/trace"
)

// drawSymbols makes tables with entries of every kind.
func drawSymbols(t *rapid.T) *heisen.Symbols {
	s := heisen.NewSymbols()
	text := rapid.String()
	for range rapid.IntRange(0, 20).Draw(t, "sites") {
		info := heisen.SiteInfo{Text: text.Draw(t, "text"), PC: rapid.Uint64().Draw(t, "pc")}
		for range rapid.IntRange(0, 3).Draw(t, "frames") {
			info.Frames = append(info.Frames, heisen.Frame{
				Func: text.Draw(t, "func"), File: text.Draw(t, "file"), Line: rapid.IntRange(0, 1<<30).Draw(t, "line"),
				Start: rapid.IntRange(0, 1<<30).Draw(t, "start"),
			})
		}
		if rapid.IntRange(0, 5).Draw(t, "kind of site") == 0 {
			info = heisen.SiteInfo{Task: rapid.StringN(1, -1, -1).Draw(t, "task")}
		}
		s.AddSite(info)
	}
	site := rapid.Custom(func(t *rapid.T) heisen.Site {
		return heisen.Site(rapid.IntRange(0, s.NumSites()-1).Draw(t, "site"))
	})
	cursor := heisen.Cursor{}
	for range rapid.IntRange(0, 30).Draw(t, "steps") {
		switch rapid.IntRange(0, 3).Draw(t, "step") {
		case 0:
			cursor = s.Call(cursor, site.Draw(t, "call"))
		case 1:
			cursor = s.Return(cursor)
		case 2:
			cursor = s.Acquire(cursor, heisen.HeldLock{
				Lock: drawObject(t), Shared: rapid.Bool().Draw(t, "shared"), Site: site.Draw(t, "at"),
			})
		case 3:
			if held := s.Locks(s.Context(cursor)); len(held) > 0 {
				h := rapid.SampledFrom(held).Draw(t, "release")
				cursor, _ = s.Release(cursor, h.Lock, h.Shared)
			}
		}
		s.Context(cursor)
	}
	for range rapid.IntRange(0, 5).Draw(t, "threads") {
		s.SetThread(drawThread(t), heisen.ThreadInfo{
			Name: text.Draw(t, "name"), Forked: rapid.Bool().Draw(t, "forked"), Parent: drawThread(t),
			Site: site.Draw(t, "fork"), Context: heisen.Context(rapid.IntRange(0, s.NumContexts()-1).Draw(t, "ctx")),
		})
	}
	for range rapid.IntRange(0, 5).Draw(t, "sets") {
		s.AddReach(drawObjects(t))
	}
	for range rapid.IntRange(0, 5).Draw(t, "names") {
		s.SetName(drawObject(t), text.Draw(t, "name"))
	}
	return s
}

func drawThread(t *rapid.T) heisen.Thread {
	return heisen.Thread(rapid.OneOf(rapid.Uint32Range(0, 5), rapid.Uint32Range(0, trace.MaxThreads-1)).Draw(t, "thread"))
}

func drawObject(t *rapid.T) heisen.Object {
	return heisen.Object(rapid.OneOf(
		rapid.Uint64Range(0, 100),
		rapid.Uint64Range(0xc000000000, 0xc000001000),
		rapid.Uint64(),
	).Draw(t, "object"))
}

func drawObjects(t *rapid.T) heisen.Objects {
	var spans []heisen.Span
	for range rapid.IntRange(0, 6).Draw(t, "spans") {
		spans = append(spans, heisen.Span{Start: drawObject(t), Len: rapid.OneOf(rapid.Uint64Range(0, 40), rapid.Uint64()).Draw(t, "span")})
	}
	if rapid.Bool().Draw(t, "with a thread") {
		spans = append(spans, heisen.Span{Start: heisen.ThreadObject(drawThread(t)), Len: 1})
	}
	return heisen.NewObjects(spans...)
}

func drawRecord(t *rapid.T, s *heisen.Symbols) heisen.Record {
	r := heisen.Record{
		Object:  drawObject(t),
		Thread:  drawThread(t),
		Site:    heisen.Site(rapid.IntRange(0, s.NumSites()-1).Draw(t, "loc")),
		Context: heisen.Context(rapid.IntRange(0, s.NumContexts()-1).Draw(t, "ctx")),
		Op:      heisen.Op(rapid.IntRange(1, heisen.NumOps-1).Draw(t, "op")),
	}
	if r.Op == heisen.Fork || r.Op == heisen.Join {
		r.Object = heisen.Object(drawThread(t))
	}
	if rapid.Bool().Draw(t, "extra") {
		r.Value = rapid.Uint64().Draw(t, "val")
		r.Len = rapid.Uint16().Draw(t, "len")
		r.Flags = heisen.Flags(rapid.Byte().Draw(t, "flags"))
	}
	if r.Op == heisen.Hide {
		r.Value = uint64(rapid.IntRange(0, s.NumReaches()).Draw(t, "reach"))
		if r.Value == uint64(s.NumReaches()) {
			r.Value = uint64(heisen.Synchronized)
		}
	}
	return r
}

// Every field of every record and everything in the symbols survives the
// binary format, also when the symbols grow between blocks.
func TestBinaryRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		symbols := drawSymbols(t)
		var out bytes.Buffer
		w, err := trace.NewWriter(&out, symbols,
			trace.WithBlockRecords(rapid.IntRange(1, 20).Draw(t, "block")),
			trace.WithCompression(rapid.IntRange(0, 2).Draw(t, "level")))
		if err != nil {
			t.Fatal(err)
		}
		var want []heisen.Record
		for range rapid.IntRange(0, 60).Draw(t, "records") {
			switch rapid.IntRange(0, 9).Draw(t, "do") {
			case 3:
				symbols.AddReach(drawObjects(t))
			case 0:
				symbols.AddSite(heisen.SiteInfo{PC: uint64(len(want))})
			case 1:
				symbols.SetSite(heisen.Site(symbols.NumSites()-1), heisen.SiteInfo{Text: fmt.Sprint(len(want))})
			case 2:
				if err := w.Flush(); err != nil {
					t.Fatal(err)
				}
			}
			r := drawRecord(t, symbols)
			want = append(want, r)
			if err := w.Write([]heisen.Record{r}); err != nil {
				t.Fatal(err)
			}
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		r, err := trace.NewReader(&out)
		if err != nil {
			t.Fatal(err)
		}
		got, err := collect(r, rapid.IntRange(1, 50).Draw(t, "batch"))
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Fatalf("error %v, records (-want +got):\n%s", err, diff)
		}
		if r.Format() != trace.Binary {
			t.Errorf("format %s", r.Format())
		}
		same(t, symbols, r.Symbols())
	})
}

// same is equalSymbols within a property.
func same(t *rapid.T, want, got *heisen.Symbols) {
	if diff := diffSymbols(want, got); diff != "" {
		t.Fatalf("symbols (-want +got):\n%s", diff)
	}
}

// textual is what the text format keeps of a record: Val and Len where the op
// has them, object numbers if they are addresses, no context.
func textual(r heisen.Record) heisen.Record {
	r.Context = 0
	switch {
	case r.Op.IsAccess() || r.Op == heisen.Done:
		if r.Flags &= heisen.HasValue; r.Flags == 0 {
			r.Value = 0
		}
	case r.Op == heisen.Alloc || r.Op == heisen.Free:
		r.Len, r.Flags = 0, 0
	default:
		r.Len, r.Flags, r.Value = 0, 0, 0
	}
	return r
}

// Every op can be written as text and read back. Addresses keep their numbers;
// other objects, threads and sites may be renumbered, one to one.
func TestSTDRoundTrip(t *testing.T) {
	type object struct {
		class  string
		number heisen.Object
	}
	class := func(op heisen.Op) string {
		switch op {
		case heisen.Acquire, heisen.Release, heisen.AcquireShared, heisen.ReleaseShared:
			return "lock"
		case heisen.Enter, heisen.Exit, heisen.Call, heisen.Return, heisen.Begin, heisen.End,
			heisen.Hide, heisen.Reveal, heisen.Branch:
			return "section"
		}
		return "variable"
	}
	rapid.Check(t, func(t *rapid.T) {
		// Names that clash with each other and with what the writer makes up,
		// and that hold what may not stand in a name.
		name := rapid.OneOf(rapid.String(), rapid.SampledFrom([]string{
			"", "x", "x#8", "x#16", "T0", "T1", "0x8", "0xc000000000", "a|b", "a(b", "a\nb", "\uFEFF", "über x",
		}))
		symbols := heisen.NewSymbols()
		for i := range 20 {
			symbols.AddSite(heisen.SiteInfo{Text: fmt.Sprintf("site %d|of (%d)", i, i)})
			symbols.SetThread(heisen.Thread(i), heisen.ThreadInfo{Name: name.Draw(t, "thread name")})
			symbols.SetName(heisen.Object(8*i), name.Draw(t, "object name"))
			symbols.SetName(1<<44+heisen.Object(8*i), name.Draw(t, "object name"))
		}
		var want []heisen.Record
		for range rapid.IntRange(0, 60).Draw(t, "records") {
			r := textual(drawRecord(t, symbols))
			r.Thread %= 25
			if r.Op == heisen.Fork || r.Op == heisen.Join {
				r.Object %= 25
			}
			if o := r.Object; o < 1<<20 || o >= 1<<44 {
				r.Len = min(r.Len, 8)
				if r.Op == heisen.Alloc || r.Op == heisen.Free {
					r.Value %= 9
				}
			}
			want = append(want, r)
		}
		var out bytes.Buffer
		w, err := trace.NewSTDWriter(&out, symbols)
		if err != nil {
			t.Fatal(err)
		}
		if err := w.Write(want); err != nil {
			t.Fatal(err)
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		text := out.String()
		reader, err := trace.NewReader(&out)
		if err != nil {
			t.Fatal(err)
		}
		got, err := collect(reader, 10)
		if err != nil || len(got) != len(want) {
			t.Fatalf("%d of %d records, error %v in\n%s", len(got), len(want), err, text)
		}
		threads := bijection[heisen.Thread]{}
		objects := bijection[object]{}
		for i, g := range got {
			w := want[i]
			if w.Op == heisen.Fork || w.Op == heisen.Join {
				threads.pair(t, w.Object.Thread(), g.Object.Thread())
				g.Object = w.Object
			} else if w.Object == 0 || w.Object >= 1<<20 && w.Object < 1<<44 {
				if g.Object != w.Object {
					t.Fatalf("address %#x became %#x", uint64(w.Object), uint64(g.Object))
				}
			} else {
				objects.pair(t, object{class(w.Op), w.Object}, object{class(g.Op), g.Object})
				g.Object = w.Object
			}
			threads.pair(t, w.Thread, g.Thread)
			g.Thread = w.Thread
			if w.Site == 0 != (g.Site == 0) || w.Site != 0 && symbols.Site(w.Site).Text != reader.Symbols().Site(g.Site).Text {
				t.Fatalf("site %v became %v", symbols.Site(w.Site), reader.Symbols().Site(g.Site))
			}
			g.Site, g.Context = w.Site, w.Context
			if g != w {
				t.Fatalf("%+v became %+v in\n%s", w, g, text)
			}
		}
	})
}

// bijection is a renumbering seen so far.
type bijection[K comparable] struct{ there, back map[K]K }

func (b *bijection[K]) pair(t *rapid.T, from, to K) {
	if b.there == nil {
		b.there, b.back = map[K]K{}, map[K]K{}
	}
	if old, ok := b.there[from]; ok && old != to {
		t.Fatalf("%v became %v and %v", from, old, to)
	}
	if old, ok := b.back[to]; ok && old != from {
		t.Fatalf("%v and %v became %v", old, from, to)
	}
	b.there[from], b.back[to] = to, from
}
