package trace

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/heisen-go/heisen"
)

// lineByLine reads whole lines of a text trace with STDReader.parse alone.
func lineByLine(text []byte) (records []heisen.Record, symbols *heisen.Symbols, failed string) {
	r, err := NewSTDReader(bytes.NewReader(nil))
	if err != nil {
		panic(err)
	}
	for len(text) > 0 {
		line, rest, _ := bytes.Cut(text, []byte("\n"))
		text = rest
		r.line++
		var rec heisen.Record
		delivered, reason := r.parse(line, &rec)
		if reason != "" {
			return records, r.symbols, r.syntaxError(r.line, reason, line).Error()
		}
		if delivered {
			records = append(records, rec)
		}
	}
	return records, r.symbols, ""
}

// pieces is an input that comes in pieces of so many bytes, so that as many bytes are a block.
type pieces struct {
	text []byte
	size int
}

func (p *pieces) Read(b []byte) (int, error) {
	if len(p.text) == 0 {
		return 0, io.EOF
	}
	n := copy(b[:min(len(b), p.size)], p.text)
	p.text = p.text[n:]
	return n, nil
}

// checkScan: however a text is cut into blocks, and on however many processors they are scanned, the reader delivers what it delivers
// line by line.
func checkScan(t *testing.T, text []byte, size, processors int) {
	t.Helper()
	want, symbols, failed := lineByLine(text)
	r, err := NewReader(&pieces{text, size}, WithProcessors(processors))
	if err != nil {
		t.Fatal(err)
	}
	if r.Format() != STD {
		return
	}
	var got []heisen.Record
	for err == nil {
		var batch []heisen.Record
		batch, err = r.NextBatch()
		got = append(got, batch...)
	}
	again := err.Error()
	if err == io.EOF {
		again = ""
	}
	if !slices.Equal(got, want) || again != failed {
		for i := range got {
			if i >= len(want) || got[i] != want[i] {
				t.Fatalf("record %d of %q is %+v, not as line by line", i, text, got[i])
			}
		}
		t.Fatalf("%d records of %q, then %q; line by line %d records, then %q", len(got), text, again, len(want), failed)
	}
	was, _ := symbols.Changes(heisen.Revision{})
	is, _ := r.Symbols().Changes(heisen.Revision{})
	if fmt.Sprint(was) != fmt.Sprint(is) {
		t.Fatalf("symbols of %q:\n%v\nline by line:\n%v", text, is, was)
	}
}

// A name for each of the lengths that scan treats in its own way.
func someNames(rng *rand.Rand, prefix string, n int) (names []string) {
	for range n {
		names = append(names, prefix+strings.Repeat("x", rng.IntN(20))+fmt.Sprint(rng.IntN(n)))
	}
	return names
}

func TestScan(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	forms := []string{"%s|r(%s)|%s\n", "%s|w(%s)|%s\n", "%s|w4(%s)=7|%s\n", "%s|acq(%s)|%s\n", "%s|rel(%s)|%s\r\n", "%s|req(%s)|%s\n", "%s|hide(%s)=none|%s\n",
		"%s|fork(%s)|%s\n", "%s|send(%s)|%s|more\n", "%s|begin(%s)|%s\n", "%s|alloc(%s,8)|%s\n"}
	for round := range 16 {
		threads, objects, sites := someNames(rng, "T", 6), someNames(rng, "", 1+rng.IntN(40)), append(someNames(rng, "", 1+rng.IntN(40)), "")
		var text strings.Builder
		for range 3000 {
			switch rng.IntN(40) {
			case 0:
				text.WriteString(" \n")
			case 1:
				text.WriteString("T|branch\n")
			default:
				fmt.Fprintf(&text, forms[rng.IntN(len(forms))], threads[rng.IntN(len(threads))], objects[rng.IntN(len(objects))], sites[rng.IntN(len(sites))])
			}
		}
		if round%4 == 0 {
			text.WriteString([]string{"T|w(x|1\nT|w(x)\n", "no bar\n", "T|w4(x)\nT|w64(x)\n", "T|branch=5|\n"}[round/4%4])
		}
		for _, processors := range []int{1, 2, 7} {
			checkScan(t, []byte(text.String()), 1+rng.IntN(3000), processors)
			checkScan(t, []byte(text.String()), 1<<20, processors)
		}
	}
}

func FuzzScan(f *testing.F) {
	f.Add([]byte("T0|fork(T1)|129\nT0|acq(L)|one\r\n\nT0|w4(V x)=12|14\nT1|begin|2\nT0|req(L)|1\nT0|branch\n"), uint8(9))
	f.Add([]byte("T|acq(x)\nT|hide(f)=o(x)o4(y)o64(0xc000012340)t(U)\nU|w4(y)\nT|hide(g)=none\nT|reveal(g)\nT|reveal(f)\n"), uint8(200))
	f.Add([]byte("\uFEFFT|r(V)|x\n\uFEFFT|r(V)|x\n"), uint8(3))
	f.Add([]byte("T|w(aVariableOf15b)|12345678\nT|w(aVariableOf15b)|a site of 15 by\nT|w(aVariableOf15b)|a site of 16 byt\n"), uint8(70))
	f.Fuzz(func(t *testing.T, text []byte, size uint8) {
		if len(text) == 0 || text[0] == magic[0] || bytes.HasPrefix(text, []byte("\x1f\x8b")) || len(text) > maxLine {
			return
		}
		text = bytes.TrimRight(text, "\n")
		text = slices.Concat(text, []byte("\n"), text, []byte("\n")) // so that names are known
		checkScan(t, text, 1+int(size), 1)
		checkScan(t, text, 1+int(size), 4)
	})
}

// An error of the input comes after the lines before it, with its place, also if the input was read ahead.
func TestReadAheadFails(t *testing.T) {
	wrong := errors.New("the disk is on fire")
	line := "T|w(x)|1\n"
	for _, processors := range []int{1, 3} {
		r, err := NewReader(io.MultiReader(&pieces{[]byte(strings.Repeat(line, 1000)), 100}, failing{wrong}), WithName("file"), WithProcessors(processors))
		if err != nil {
			t.Fatal(err)
		}
		total := 0
		batch := make([]heisen.Record, 7)
		for err == nil {
			var n int
			n, err = r.Next(batch)
			if total += n; err == nil && r.Position() != fmt.Sprintf("file:%d", total+1) {
				t.Fatalf("after %d events at %s", total, r.Position())
			}
		}
		if total != 1000 || !errors.Is(err, wrong) || !strings.HasPrefix(err.Error(), "file:1001: ") {
			t.Errorf("%d events, then %v", total, err)
		}
	}
}
