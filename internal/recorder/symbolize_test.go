package recorder

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/heisen-go/heisen"
)

func TestReadFrames(t *testing.T) {
	want := [][]heisen.Frame{
		{{Func: "main.inlined", File: "/src/a.go", Line: 12, Start: 10}, {Func: "main.main", File: "/src/a.go", Line: 40, Start: 30}},
		nil,
		{{Func: strings.Repeat("x", maxName), File: "", Line: 0}},
	}
	text := answer(want)
	got, err := readFrames(bytes.NewReader(text), len(want))
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	for cut := range text {
		if cut > 200 && cut < len(text)-20 {
			continue
		}
		if _, err := readFrames(bytes.NewReader(text[:cut]), len(want)); !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Errorf("%d bytes: error %v", cut, err)
		}
	}
	long := answer([][]heisen.Frame{{{Func: strings.Repeat("x", maxName+1)}}})
	if _, err := readFrames(bytes.NewReader(long), 1); !errors.Is(err, ErrCorrupt) {
		t.Errorf("a name that is too long: error %v", err)
	}
	many := answer([][]heisen.Frame{make([]heisen.Frame, maxInlined+1)})
	if _, err := readFrames(bytes.NewReader(many), 1); !errors.Is(err, ErrCorrupt) {
		t.Errorf("too many frames: error %v", err)
	}
}

// symbolizerOf returns a symbolizer whose program is a shell script.
func symbolizerOf(t *testing.T, script string) *processSymbolizer {
	t.Helper()
	path := filepath.Join(t.TempDir(), "program")
	if err := os.WriteFile(path, []byte("#!/bin/sh\n"+script), 0o777); err != nil {
		t.Fatal(err)
	}
	exe, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	return &processSymbolizer{exe: exe, env: []string{askedBy(os.Getpid())}}
}

// TestHostileSymbolizer runs programs that are no symbolizers. Each gives an error, and close
// returns.
func TestHostileSymbolizer(t *testing.T) {
	for name, script := range map[string]string{
		"exits":       "exit 0",
		"fails":       "exit 3",
		"garbage":     "while :; do echo xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx; done",
		"closes":      "exec <&- >&-; sleep 1000",
		"half answer": `printf '\001\000\000\000\005\000\000\000'`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := symbolizerOf(t, script)
			if frames, err := p.Frames(make([]uint32, 100_000)); err == nil {
				t.Errorf("frames %v", frames[:10])
			}
			p.close()
		})
	}
	t.Run("no program", func(t *testing.T) {
		p := symbolizerOf(t, "")
		os.Remove(p.exe.Name())
		p.exe.Close()
		var err error
		if p.exe, err = os.Open(t.TempDir()); err != nil {
			t.Fatal(err)
		}
		if _, err := p.Frames([]uint32{1}); err == nil {
			t.Error("a folder answers")
		}
		p.close()
	})
	t.Run("never asked", func(t *testing.T) { symbolizerOf(t, "exit 0").close() })
}

// alike is a shell script that gives the same answer to every request, twice for two places.
const alike = `
[ "$HEISEN_SYMBOLIZE" = "$PPID" ] || exit 1
for _ in 1 2; do
	head -c 12 >/dev/null
	for _ in 1 2; do printf '\001\000\000\000\007\000\000\000\005\000\000\000\001\000\000\000f\001\000\000\000g'; done
done`

// TestSymbolizer asks a program twice that was removed before.
func TestSymbolizer(t *testing.T) {
	p := symbolizerOf(t, alike)
	os.Remove(p.exe.Name())
	askAlike(t, p)
}

// askAlike asks twice the program that runs the script alike.
func askAlike(t *testing.T, p *processSymbolizer) {
	t.Helper()
	defer p.close()
	want := []heisen.Frame{{Func: "f", File: "g", Line: 7, Start: 5}}
	for range 2 {
		frames, err := p.Frames([]uint32{1, 2})
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff([][]heisen.Frame{want, want}, frames); d != "" {
			t.Error(d)
		}
	}
}
