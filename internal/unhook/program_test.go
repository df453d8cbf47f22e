package unhook

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/heisen-go/heisen/internal/build"
)

// built builds the program in testdata.
func built(t *testing.T, flags ...string) string {
	t.Helper()
	b, err := build.New(t.Context(), "testdata/program", "")
	if err != nil {
		t.Fatal(err)
	}
	exe := filepath.Join(t.TempDir(), "program")
	if err := b.Build(t.Context(), "testdata/program", exe, flags, "."); err != nil {
		t.Fatal(err)
	}
	return exe
}

func output(t *testing.T, name string, args ...string) string {
	t.Helper()
	out, err := exec.Command(name, args...).CombinedOutput()
	if err != nil {
		t.Fatalf("%s: %v\n%s", name, err, out)
	}
	return string(out)
}

var calledHook = regexp.MustCompile(`^\s+(\S+):(\d+)\s.*\bCALL runtime\.(race(?:read|write)(?:range)?|racefunc(?:enter|exit)|growslice)\(SB\)`)

// hooks counts the calls of hooks, and of growslice, by lines of main.go and hook, as go tool objdump shows them.
func hooks(t *testing.T, exe string) map[string]int {
	t.Helper()
	found := map[string]int{}
	for line := range strings.Lines(output(t, "go", "tool", "objdump", "-s", `^main\.`, exe)) {
		if m := calledHook.FindStringSubmatch(line); m != nil && m[1] == "main.go" { // there is inlined code, too
			found[fmt.Sprintf("%s:%s %s", m[1], m[2], m[3])]++
		}
	}
	return found
}

// opened returns what is in an executable.
func opened(t *testing.T, exe string) *program {
	t.Helper()
	file, err := os.Open(exe)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	p, err := open(file)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// ofFrame counts the hooks whose argument is in the frame, by lines of main.go and kind of hook.
func ofFrame(t *testing.T, exe string) map[string]int {
	t.Helper()
	p := opened(t, exe)
	found := map[string]int{}
	for _, f := range p.functions {
		sites, _ := p.machine.calls(p.text[f.start-p.start:f.end-p.start], f.start)
		for _, s := range sites {
			kind := p.calls[s.target]
			if file, line, _ := p.lines.PCToLine(f.start + uint64(s.at)); s.ofFrame && (kind == reads || kind == writes) && filepath.Base(file) == "main.go" {
				found[fmt.Sprintf("main.go:%d race%s", line, map[call]string{reads: "read", writes: "write"}[kind])]++
			}
		}
	}
	return found
}

func never(string, int, bool) bool { return false }

func inMain(file string, _ int, _ bool) bool { return filepath.Base(file) == "main.go" }

// TestProgram removes the hooks of each line by itself, and compares with another reader of machine code what
// is left. The program goes on doing the same.
func TestProgram(t *testing.T) {
	for _, flags := range [][]string{nil, {"-buildmode=pie"}, {"-trimpath"}} {
		t.Run(strings.Join(flags, " "), func(t *testing.T) {
			exe := built(t, flags...)
			before, want, framed := hooks(t, exe), output(t, exe), ofFrame(t, exe)
			if len(framed) == 0 || len(framed) == len(before) {
				t.Fatalf("hooks with addresses in frames: %v", framed)
			}
			if r, err := Program(exe, never); err != nil || r != (Result{}) {
				t.Fatalf("%+v, error %v", r, err)
			}
			if diff := cmp.Diff(before, hooks(t, exe)); diff != "" {
				t.Fatalf("nothing is needless (-before +after)\n%s", diff)
			}
			for _, of := range slices.Sorted(maps.Keys(before)) {
				var line int
				var hook string
				fmt.Sscanf(of, "main.go:%d %s", &line, &hook)
				isWrite := strings.HasPrefix(hook, "racewrite")
				if !isWrite && !strings.HasPrefix(hook, "raceread") && hook != "growslice" {
					continue
				}
				mine := copied(t, exe)
				r, err := Program(mine, func(file string, l int, write bool) bool {
					return inMain(file, l, write) && l == line && write == isWrite
				})
				if err != nil || r.Accesses == 0 {
					t.Fatalf("%s: %+v, error %v", of, r, err)
				}
				left := hooks(t, mine)
				maps.DeleteFunc(left, func(k string, n int) bool { return n >= before[k]-framed[strings.TrimSuffix(k, "range")] })
				maps.DeleteFunc(left, func(k string, _ int) bool { return strings.Contains(k, "racefunc") })
				if len(left) != 0 {
					t.Errorf("%s: changed %v", of, left)
				}
			}
			r, err := Program(exe, inMain)
			if err != nil {
				t.Fatal(err)
			}
			accesses := 0
			for of, n := range before {
				if !strings.Contains(of, "racefunc") {
					accesses += n
				}
			}
			if r.Accesses != accesses || r.Kept != 0 {
				t.Errorf("%+v, want %d accesses", r, accesses)
			}
			// The functions that call something else keep their frames.
			var frames []string
			for of := range hooks(t, exe) {
				if !strings.Contains(of, "racefunc") {
					t.Errorf("still there: %s", of)
				} else if strings.HasSuffix(of, "racefuncenter") {
					frames = append(frames, of)
				}
			}
			if r.Frames == 0 || len(frames) == 0 {
				t.Errorf("%d functions without frames, and with them %v", r.Frames, frames)
			}
			if got := output(t, exe); got != want {
				t.Errorf("the program prints %q, and before %q", got, want)
			}
		})
	}
}

// TestLeaves: a function without hooks and calls needs no frame, and one that calls needs it.
func TestLeaves(t *testing.T) {
	exe := built(t)
	if _, err := Program(exe, inMain); err != nil {
		t.Fatal(err)
	}
	framed := map[string]bool{}
	var current string
	for line := range strings.Lines(output(t, "go", "tool", "objdump", "-s", `^main\.`, exe)) {
		if rest, ok := strings.CutPrefix(line, "TEXT "); ok {
			current, _, _ = strings.Cut(rest, "(SB)")
		} else if m := calledHook.FindStringSubmatch(line); m != nil {
			framed[current] = true
		}
	}
	for function, want := range map[string]bool{
		"main.(*grid).leaf": false, "main.(*grid).copies": false, "main.(*grid).calls": true, "main.main": true, "main.main.func1": true,
		"main.(*list).keep":   true,
		"main.(*grid).chosen": true, // an indirect jump might leave the function
	} {
		if framed[function] != want {
			t.Errorf("%s reports its entry: %v", function, !want)
		}
	}
}

func copied(t *testing.T, exe string) string {
	t.Helper()
	data, err := os.ReadFile(exe)
	if err != nil {
		t.Fatal(err)
	}
	name := filepath.Join(t.TempDir(), "copy")
	if err := os.WriteFile(name, data, 0o777); err != nil {
		t.Fatal(err)
	}
	return name
}

// TestOtherProcessor: the hooks of a program for another processor are found and removed, too.
func TestOtherProcessor(t *testing.T) {
	t.Setenv("GOARCH", "arm64")
	exe := built(t)
	before := hooks(t, exe)
	r, err := Program(exe, inMain)
	if err != nil {
		t.Fatal(err)
	}
	accesses := 0
	for of, n := range before {
		if !strings.Contains(of, "racefunc") {
			accesses += n
		}
	}
	if accesses == 0 || r.Accesses != accesses || r.Frames == 0 {
		t.Errorf("%+v, want %d accesses", r, accesses)
	}
	if keep := output(t, "go", "tool", "objdump", "-s", `^main\.\(\*list\)\.keep$`, exe); !strings.Contains(keep, "CALL runtime.heisenGrowslice(SB)") {
		t.Errorf("append calls\n%s", keep)
	}
	for of := range hooks(t, exe) {
		if !strings.Contains(of, "racefunc") {
			t.Errorf("still there: %s", of)
		}
	}
}

// TestDecoding: in a whole program, the standard library included, few functions have instructions that are
// not known, and what looks like a call of a hook is one.
func TestDecoding(t *testing.T) {
	p := opened(t, built(t))
	unknown, called := 0, 0
	for _, f := range p.functions {
		code := p.text[f.start-p.start : f.end-p.start]
		all, ok := p.machine.calls(code, f.start)
		if !ok {
			unknown++
			continue
		}
		isHook := func(s site) bool { c := p.calls[s.target]; return c == reads || c == writes }
		for _, s := range p.machine.direct(code, f.start) {
			if isHook(s) {
				called++
				if !slices.ContainsFunc(all, func(a site) bool { return a.at == s.at && a.target == s.target }) {
					t.Errorf("at %#x there is no instruction", f.start+uint64(s.at))
				}
			}
		}
	}
	if unknown*50 > len(p.functions) || called < 1000 {
		t.Errorf("%d of %d functions are not known, %d hooks are called", unknown, len(p.functions), called)
	}
}

// TestOfFrame: an argument is an address in the frame if the instruction in front of the call says so, and no jump can come between.
func TestOfFrame(t *testing.T) {
	words := func(words ...uint32) (code []byte) {
		for _, w := range words {
			code = binary.LittleEndian.AppendUint32(code, w)
		}
		return code
	}
	const call = "\xE8\x00\x00\x00\x00"
	const lea = "\x48\x8D\x44\x24\x08"     // LEAQ 8(SP), AX
	const bl, add = 0x94000000, 0x910023E0 // BL, ADD $8, RSP, R0
	for name, c := range map[string]struct {
		machine
		code []byte
		want bool
	}{
		"address":            {amd64{}, []byte(lea + call), true},
		"far address":        {amd64{}, []byte("\x48\x8D\x84\x24\x00\x02\x00\x00" + call), true},
		"other register":     {amd64{}, []byte("\x48\x8D\x4C\x24\x08" + call), false},
		"other base":         {amd64{}, []byte("\x48\x8D\x43\x08" + call), false},
		"element":            {amd64{}, []byte("\x48\x8D\x44\x0C\x08" + call), false},
		"value":              {amd64{}, []byte("\x48\x8B\x44\x24\x08" + call), false},
		"no":                 {amd64{}, []byte(lea + "\x90" + call), false},
		"jump to the call":   {amd64{}, []byte("\x74\x05" + lea + call), false},
		"jump in front":      {amd64{}, []byte("\x74\x00" + lea + call), true},
		"jump back":          {amd64{}, []byte(lea + call + "\xEB\xF9"), false},
		"unknown jump":       {amd64{}, []byte(lea + call + "\xFF\xE1"), false},
		"unknown call":       {amd64{}, []byte(lea + call + "\xFF\xD1"), true},
		"arm address":        {arm64{}, words(add, bl), true},
		"arm far address":    {arm64{}, words(0x914007E0, bl), true},
		"arm register":       {arm64{}, words(0x910023E1, bl), false},
		"arm base":           {arm64{}, words(0x91002020, bl), false},
		"arm no":             {arm64{}, words(add, 0xD503201F, bl), false},
		"arm B":              {arm64{}, words(0x14000002, add, bl), false},
		"arm BEQ":            {arm64{}, words(0x54000040, add, bl), false},
		"arm CBZ":            {arm64{}, words(0xB4000041, add, bl), false},
		"arm TBZ":            {arm64{}, words(0x36000041, add, bl), false},
		"arm TBZ back":       {arm64{}, words(add, bl, 0x3607FFE1), false},
		"arm BEQ in front":   {arm64{}, words(0x54000020, add, bl), true},
		"arm unknown jump":   {arm64{}, words(add, bl, 0xD61F0020), false},
		"arm unknown call":   {arm64{}, words(add, bl, 0xD63F0020), true},
		"arm return":         {arm64{}, words(add, bl, 0xD65F03C0), true},
		"arm behind the end": {arm64{}, words(add, bl, 0x14000010), true},
	} {
		found, ok := c.calls(c.code, 0x1000)
		for _, s := range found {
			if at := bytes.Index(c.code, []byte(call)); c.machine == (amd64{}) && s.at != at || c.machine == (arm64{}) && binary.LittleEndian.Uint32(c.code[s.at:]) != bl {
				continue
			}
			if s.ofFrame != c.want {
				t.Errorf("%s: %v", name, s.ofFrame)
			}
			ok = false
		}
		if ok || len(found) == 0 {
			t.Errorf("%s: the call is not found: %v", name, found)
		}
	}
}

// TestOtherFiles: what is no program with hooks is refused and stays as it is.
func TestOtherFiles(t *testing.T) {
	exe := built(t)
	data, err := os.ReadFile(exe)
	if err != nil {
		t.Fatal(err)
	}
	e, err := elf.Open(exe)
	if err != nil {
		t.Fatal(err)
	}
	headers := 64 + 64*len(e.Sections)
	e.Close()
	files := map[string][]byte{"empty": nil, "text": []byte("#!/bin/sh\n"), "stripped": nil}
	for _, n := range []int{4, 20, 63, 64, headers, len(data) / 10, len(data) / 2, len(data) - 1000} {
		files[fmt.Sprint(n, " bytes")] = data[:n]
	}
	stripped := built(t, "-ldflags=-s")
	if files["stripped"], err = os.ReadFile(stripped); err != nil {
		t.Fatal(err)
	}
	for name, content := range files {
		path := filepath.Join(t.TempDir(), "file")
		if err := os.WriteFile(path, content, 0o666); err != nil {
			t.Fatal(err)
		}
		if r, err := Program(path, inMain); !errors.Is(err, ErrFormat) || r != (Result{}) {
			t.Errorf("%s: %+v, error %v", name, r, err)
		}
		if after, err := os.ReadFile(path); err != nil || string(after) != string(content) {
			t.Errorf("%s has changed, error %v", name, err)
		}
	}
	if _, err := Program(filepath.Join(t.TempDir(), "nothing"), inMain); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("no file: error %v", err)
	}
}
