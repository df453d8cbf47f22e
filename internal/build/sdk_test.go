package build

import (
	"context"
	"errors"
	"go/build"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// matchingNames returns those of some files of a folder that a build has, with the given tags.
func matchingNames(t *testing.T, files map[string][]byte, goarch string, tags ...string) (names []string) {
	t.Helper()
	dir := t.TempDir()
	ctx := build.Default
	ctx.GOOS, ctx.GOARCH, ctx.BuildTags, ctx.CgoEnabled = "linux", goarch, tags, true
	for name, text := range files {
		writeFiles(t, dir, map[string]string{name: string(text)})
		ok, err := ctx.MatchFile(dir, name)
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if ok {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

func writeFiles(t *testing.T, dir string, files map[string]string) {
	t.Helper()
	for name, text := range files {
		name = filepath.Join(dir, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(name), 0o777), os.WriteFile(name, []byte(text), 0o666)); err != nil {
			t.Fatal(err)
		}
	}
}

// sourceLines returns the lines of a file with code: comments and empty lines are empty.
func sourceLines(text []byte) []string {
	lines := strings.Split(strings.TrimSuffix(string(text), "\n"), "\n")
	for i, line := range lines {
		if strings.HasPrefix(line, "//go:build ") {
			lines[i] = ""
		}
	}
	return lines
}

// TestSDKFiles: a build without -race has the files that it has with the original ones, with the same code on the same
// lines. A build with -race has what the overlay has.
func TestSDKFiles(t *testing.T) {
	toolchain := installation(t)
	injected, err := newOverlay(toolchain)
	if err != nil {
		t.Fatal(err)
	}
	files, err := sdkFiles(toolchain)
	if err != nil {
		t.Fatal(err)
	}
	folders := map[string]bool{}
	for name := range injected {
		folders[path.Dir(name)] = true
	}
	for _, folder := range slices.Sorted(maps.Keys(folders)) {
		original := readFolder(t, filepath.Join(toolchain.Root, "src", folder))
		overlaid, made := maps.Clone(original), maps.Clone(original)
		for from, to := range map[*overlay]map[string][]byte{&injected: overlaid, &files: made} {
			for name, text := range *from {
				if path.Dir(name) == folder && text == nil {
					delete(to, path.Base(name))
				} else if path.Dir(name) == folder {
					to[path.Base(name)] = text
				}
			}
		}
		for _, port := range PortNames(Emulated) {
			_, goarch, _ := strings.Cut(port, "/")
			plain := matchingNames(t, original, goarch)
			if diff := cmp.Diff(plain, matchingNames(t, made, goarch)); diff != "" {
				t.Errorf("%s without race on %s: %s", folder, goarch, diff)
			}
			for _, name := range plain {
				if diff := cmp.Diff(sourceLines(original[name]), sourceLines(made[name])); diff != "" {
					t.Errorf("%s/%s: %s", folder, name, diff)
				}
			}
			var want, got []string // texts
			for _, name := range matchingNames(t, overlaid, goarch, "race") {
				want = append(want, strings.TrimPrefix(strings.Join(sourceLines(overlaid[name]), "\n"), "\n\n"))
			}
			for _, name := range matchingNames(t, made, goarch, "race") {
				got = append(got, strings.TrimPrefix(strings.Join(sourceLines(made[name]), "\n"), "\n\n"))
			}
			slices.Sort(want)
			slices.Sort(got)
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%s with race on %s: %s", folder, goarch, diff)
			}
		}
	}
}

// readFolder returns the source files of a folder, without tests, by name.
func readFolder(t *testing.T, dir string) map[string][]byte {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	files := map[string][]byte{}
	for _, e := range entries {
		if kind := path.Ext(e.Name()); e.IsDir() || kind != ".go" && kind != ".s" || strings.HasSuffix(e.Name(), "_test.go") {
			continue
		}
		if files[e.Name()], err = os.ReadFile(filepath.Join(dir, e.Name())); err != nil {
			t.Fatal(err)
		}
	}
	return files
}

func TestConstrained(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"// c\n\npackage p\n", "// c\n//go:build race\npackage p\n"},
		{"// c\n\n// d\npackage p\n", "// c\n//go:build race\n// d\npackage p\n"},
		{"// c\n\n//go:build a || b\n\npackage p\n", "// c\n\n//go:build race && (a || b)\n\npackage p\n"},
		{"//go:build !a\n\npackage p\n", "//go:build race && (!a)\n\npackage p\n"},
		{"package p\n\n//go:build a\n", "//go:build race\n\npackage p\n\n//go:build a\n"},
		{"#include \"x.h\"\n", "//go:build race\n\n#include \"x.h\"\n"},
	} {
		got, err := constrained("f.go", []byte(c.text), "race")
		if err != nil || string(got) != c.want {
			t.Errorf("%q: %q, %v, want %q", c.text, got, err, c.want)
		}
	}
	for _, text := range []string{"", "// c\n", "//go:build (\n\npackage p\n"} {
		if got, err := constrained("f.go", []byte(text), "race"); err == nil {
			t.Errorf("%q: %q, no error", text, got)
		}
	}
}

func TestRaceOnly(t *testing.T) {
	for text, want := range map[string]bool{
		"//go:build race\npackage p":                        true,
		"// c\n\n//go:build race && (a || !b)\n\npackage p": true,
		"//go:build (a && race) || (race && b)\npackage p":  true,
		"//go:build race || a\npackage p":                   false,
		"//go:build !race\npackage p":                       false,
		"//go:build !a\npackage p":                          false,
		"package p\n\n//go:build race\n":                    false,
	} {
		if got := raceOnly([]byte(text)); got != want {
			t.Errorf("%q: %t", text, got)
		}
	}
}

// TestChangedName: a changed file is for the platforms of the original one.
func TestChangedName(t *testing.T) {
	for name, want := range map[string]string{
		"runtime/proc.go":               "runtime/proc_heisen.go",
		"runtime/vgetrandom_linux.go":   "runtime/vgetrandom_heisen_linux.go",
		"runtime/time_linux_amd64.s":    "runtime/time_heisen_linux_amd64.s",
		"internal/x_test/a_unix_arm.go": "internal/x_test/a_heisen_unix_arm.go",
	} {
		if got := changedName(name); got != want {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
	}
}

func TestNarrowIf(t *testing.T) {
	const text = "package p\n\nfunc f() {\n\tif !cfg.C.Cgo && (a || b) {\n\t}\n\tif cfg.C {\n\t}\n}\n"
	got, err := apply("f.go", []byte(text), narrowIf("f", "cfg.C.Cgo", "!cfg.Race"))
	if want := strings.Replace(text, "!cfg.C.Cgo && (a || b)", "!cfg.Race && (!cfg.C.Cgo && (a || b))", 1); err != nil || string(got) != want {
		t.Errorf("%s, %v", got, err)
	}
	for _, about := range []string{"cfg.None", "cfg.C"} { // none, and two
		if _, err := apply("f.go", []byte(text), narrowIf("f", about, "x")); !errors.Is(err, ErrUnsupported) {
			t.Errorf("%s: error %v", about, err)
		}
	}
}

// TestSDKFolder: only what is no loss is replaced.
func TestSDKFolder(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	at := func(name string) string { return filepath.Join(dir, name) }
	writeFiles(t, dir, map[string]string{
		"file": "", "full/file": "", "made/" + sdkMark: "{}", "damaged/" + sdkMark: "{", "goroot/bin/go": "",
	})
	for _, err := range []error{
		os.Mkdir(at("empty"), 0o777), os.Symlink("made", at("link")), os.Symlink("nothing", at("dangling")), os.Symlink("full", at("tofull")),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	for name, want := range map[string]string{
		"new": "new", "new/": "new", "a/b/new": "a/b/new", "empty": "empty", "made": "made", "link": "made",
	} {
		if got, err := sdkFolder(at(name), at("goroot")); err != nil || got != at(want) {
			t.Errorf("%s: %s, %v", name, got, err)
		}
	}
	for name, want := range map[string]string{
		"file": "not a directory", "file/below": "not a directory", "full": "has files, and is no SDK", "tofull": "has files, and is no SDK",
		"damaged": "has files, and is no SDK", "dangling": "is a link to nothing", "goroot": "has files, and is no SDK", "goroot/new": "is in the Go installation",
	} {
		if got, err := sdkFolder(at(name), at("goroot")); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %s, error %v, want %s", name, got, err, want)
		}
	}
}

// TestExchangeFolder: if the new folder cannot take the place of the old one, that comes back.
func TestExchangeFolder(t *testing.T) {
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	writeFiles(t, dir, map[string]string{"first/1": "", "second/2": ""})
	if err := exchangeFolder(at("first"), at("sdk"), at("old")); err != nil {
		t.Fatal(err)
	}
	if err := exchangeFolder(at("none"), at("sdk"), at("old")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("error %v", err)
	}
	if _, err := os.Stat(at("sdk/1")); err != nil {
		t.Error(err)
	}
	if err := exchangeFolder(at("second"), at("sdk"), at("old")); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"sdk/2", "old/1"} {
		if _, err := os.Stat(at(name)); err != nil {
			t.Error(err)
		}
	}
}

// TestSDKTree: what is a link, what is a copy, and what is left out.
func TestSDKTree(t *testing.T) {
	from := t.TempDir()
	writeFiles(t, from, map[string]string{
		"src/fmt/print.go":           "package fmt\n",
		"src/fmt/testdata/x.txt":     "x",
		"src/runtime/race_amd64.s":   "",
		"src/runtime/proc.go":        "old",
		"src/cmd/go/main.go":         "package main\n",
		"src/cmd/doc/html.go":        "package doc\n\n//go:embed page\nvar page string\n",
		"src/cmd/doc/page/page.html": "page",
		"pkg/tool/linux/compile":     "compile",
		"bin/go":                     "go",
		"bin/gofmt":                  "gofmt",
		"lib/time/zoneinfo.zip":      "zip",
		"VERSION":                    "go1",
		"go.env":                     "GOPROXY=off\nGOTOOLCHAIN=auto\n# end",
	})
	if err := os.Chmod(filepath.Join(from, "bin/gofmt"), 0o555); err != nil {
		t.Fatal(err)
	}
	for _, copied := range []bool{false, true} {
		s := &sdk{from: &Toolchain{Root: from, Version: "go1"}, root: filepath.Join(t.TempDir(), "sdk"), copied: copied, files: overlay{
			"runtime/race_amd64.s": nil, "runtime/proc.go": []byte("plain"), "runtime/proc_heisen.go": []byte("race"),
		}}
		if err := errors.Join(s.tree(t.Context()), s.settings("v1")); err != nil {
			t.Fatal(err)
		}
		got := map[string]string{}
		err := filepath.WalkDir(s.root, func(name string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() {
				return err
			}
			rel, _ := filepath.Rel(s.root, name)
			if d.Type() == fs.ModeSymlink {
				target, err := os.Readlink(name)
				got[rel] = "-> " + strings.TrimPrefix(target, from+"/")
				return err
			}
			text, err := os.ReadFile(name)
			got[rel] = string(text)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		want := map[string]string{
			"src/fmt/print.go": "package fmt\n", "src/runtime/proc.go": "plain", "src/runtime/proc_heisen.go": "race",
			"src/cmd/doc/html.go": "package doc\n\n//go:embed page\nvar page string\n", "src/cmd/doc/page/page.html": "page",
			"go.env": "GOPROXY=off\n# end\nGOTOOLCHAIN=local\n",
			sdkMark:  "{\n\t\"heisen\": \"v1\",\n\t\"go\": \"go1\",\n\t\"goroot\": \"" + from + "\"\n}\n",
		}
		same := map[string]string{
			"src/fmt/testdata/x.txt": "x", "src/cmd/go/main.go": "package main\n", "pkg/tool": "", "bin/gofmt": "gofmt", "lib": "", "VERSION": "go1",
		}
		for name, text := range same {
			if !copied {
				text = "-> " + name
			}
			want[name] = text
		}
		if copied {
			delete(want, "pkg/tool")
			delete(want, "lib")
			want["pkg/tool/linux/compile"], want["lib/time/zoneinfo.zip"] = "compile", "zip"
			if info, err := os.Stat(filepath.Join(s.root, "bin/gofmt")); err != nil || info.Mode().Perm()&0o111 == 0 {
				t.Errorf("%v, %v", info, err)
			}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("copied %t: %s", copied, diff)
		}
	}
}

// TestSDKEnds: after an error, and after a signal, there is neither an SDK nor a part of one, and the old one stays.
func TestSDKEnds(t *testing.T) {
	dir := t.TempDir()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	writeFiles(t, dir, map[string]string{"sdk/" + sdkMark: "{}"})
	if _, err := WriteSDK(ctx, filepath.Join(dir, "sdk"), "v1", false); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != 1 {
		t.Errorf("%v, %v", entries, err)
	}
	if _, ok := madeBySDK(filepath.Join(dir, "sdk")); !ok {
		t.Error("the old SDK is gone")
	}
}

// TestSDKIsNoOrigin: an SDK is made from no SDK.
func TestSDKIsNoOrigin(t *testing.T) {
	dir := t.TempDir()
	writeFiles(t, dir, map[string]string{sdkMark: `{"goroot": "/go"}`})
	toolchain := *installation(t)
	toolchain.Root = dir
	if err := toolchain.check(); !errors.Is(err, ErrUnsupported) || !strings.Contains(err.Error(), filepath.FromSlash("heisen with /go/bin first in PATH")) {
		t.Errorf("error %v", err)
	}
}
