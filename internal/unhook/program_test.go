package unhook

import (
	"debug/elf"
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

func never(string, int, bool) bool { return false }

func inMain(file string, _ int, _ bool) bool { return filepath.Base(file) == "main.go" }

// TestProgram removes the hooks of each line by itself, and compares with another reader of machine code what
// is left. The program goes on doing the same.
func TestProgram(t *testing.T) {
	for _, flags := range [][]string{nil, {"-buildmode=pie"}, {"-trimpath"}} {
		t.Run(strings.Join(flags, " "), func(t *testing.T) {
			exe := built(t, flags...)
			before, want := hooks(t, exe), output(t, exe)
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
				maps.DeleteFunc(left, func(k string, n int) bool { return n == before[k] })
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
	file, err := os.Open(built(t))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	p, err := open(file)
	if err != nil {
		t.Fatal(err)
	}
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
				if !slices.Contains(all, s) {
					t.Errorf("at %#x there is no instruction", f.start+uint64(s.at))
				}
			}
		}
	}
	if unknown*50 > len(p.functions) || called < 1000 {
		t.Errorf("%d of %d functions are not known, %d hooks are called", unknown, len(p.functions), called)
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
