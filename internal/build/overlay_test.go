package build

import (
	"encoding/json"
	"errors"
	"fmt"
	"go/version"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// installation is the Go installation that runs the tests.
func installation(t *testing.T) *Toolchain {
	t.Helper()
	toolchain, err := FindToolchain(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	return toolchain
}

// TestOverlay: all generated files are valid Go, and patched files keep their lines, so that stack
// traces of the program fit the sources.
func TestOverlay(t *testing.T) {
	toolchain := installation(t)
	o, err := newOverlay(toolchain)
	if err != nil {
		t.Fatal(err)
	}
	patched := 0
	for path, text := range o {
		if !strings.HasSuffix(path, ".go") || text == nil { // or it is removed
			continue
		}
		after := declared(t, string(text))
		original, err := os.ReadFile(filepath.Join(toolchain.Root, "src", path))
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		if path == "runtime/race.go" || path == "internal/race/race.go" {
			continue // written anew; it has no code that could stand in a stack trace
		}
		patched++
		before := declared(t, string(original))
		for name, line := range after {
			if before[name] != line {
				t.Errorf("%s: %s was on line %d and is on line %d", path, name, before[name], line)
			}
		}
	}
	want := len(patches) + len(mapFiles) + 5
	for _, path := range uncheckedFiles {
		if o[path] != nil {
			want++
		}
	}
	if patched != want {
		t.Errorf("%d files patched, not %d", patched, want)
	}

	again, err := newOverlay(toolchain)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(o, again); d != "" {
		t.Errorf("a second overlay differs:\n%s", d)
	}
}

// TestOverlayFolder: the same overlay has the same folder, which is written once, however many
// builds start at the same time.
func TestOverlayFolder(t *testing.T) {
	dir := t.TempDir()
	o := overlay{"runtime/a.go": []byte("package runtime\n"), "sync/b.go": []byte("package sync\n")}
	var wg sync.WaitGroup
	files := make([]string, 8)
	for i := range files {
		wg.Add(1)
		go func() {
			defer wg.Done()
			file, err := o.write(dir, "/goroot")
			if err != nil {
				t.Error(err)
			}
			files[i] = file
		}()
	}
	wg.Wait()
	for _, file := range files {
		if file != files[0] {
			t.Errorf("descriptions %s and %s", files[0], file)
		}
	}

	info := func() map[string]os.FileInfo {
		infos := map[string]os.FileInfo{}
		entries, err := os.ReadDir(filepath.Dir(files[0]))
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range entries {
			if infos[e.Name()], err = e.Info(); err != nil {
				t.Fatal(err)
			}
		}
		return infos
	}
	before := info()
	if names := slices.Sorted(maps.Keys(before)); !slices.Equal(names, []string{"overlay.json", "runtime_a.go", "sync_b.go"}) {
		t.Errorf("files %v", names)
	}
	if file, err := o.write(dir, "/goroot"); file != files[0] || err != nil {
		t.Errorf("description %s, error %v", file, err)
	}
	for name, after := range info() {
		if !os.SameFile(before[name], after) || before[name].ModTime() != after.ModTime() {
			t.Errorf("%s was written again", name)
		}
	}

	text, err := os.ReadFile(files[0])
	if err != nil {
		t.Fatal(err)
	}
	var description struct{ Replace map[string]string }
	if err := json.Unmarshal(text, &description); err != nil {
		t.Fatal(err)
	}
	want := map[string]string{
		"/goroot/src/runtime/a.go": filepath.Join(filepath.Dir(files[0]), "runtime_a.go"),
		"/goroot/src/sync/b.go":    filepath.Join(filepath.Dir(files[0]), "sync_b.go"),
	}
	if d := cmp.Diff(want, description.Replace); d != "" {
		t.Error(d)
	}

	// A damaged file is repaired; other content or another installation has a
	// folder of its own.
	if err := os.WriteFile(want["/goroot/src/sync/b.go"], nil, 0o666); err != nil {
		t.Fatal(err)
	}
	if _, err := o.write(dir, "/goroot"); err != nil {
		t.Fatal(err)
	}
	if text, _ := os.ReadFile(want["/goroot/src/sync/b.go"]); string(text) != "package sync\n" {
		t.Errorf("a damaged file stays %q", text)
	}
	other, err := o.write(dir, "/other")
	if err != nil || other == files[0] {
		t.Errorf("description %s, error %v", other, err)
	}
	o["sync/b.go"] = []byte("package sync // changed\n")
	if changed, err := o.write(dir, "/goroot"); err != nil || changed == files[0] {
		t.Errorf("description %s, error %v", changed, err)
	}
	if _, err := o.write(files[0], "/goroot"); err == nil {
		t.Error("a file serves as folder")
	}
}

// TestStrangeGOROOT removes from a GOROOT, one by one, the things that the overlay needs. Each time
// the error names what is missing.
func TestStrangeGOROOT(t *testing.T) {
	toolchain := installation(t)
	o, err := newOverlay(toolchain)
	if err != nil {
		t.Fatal(err)
	}
	needed := []string{"sync/atomic/doc.go", "sync/atomic/doc_64.go", "internal/race/norace.go", "runtime/race/doc.go", "runtime/alg.go"}
	if _, err := os.Stat(filepath.Join(toolchain.Root, "src", mapKeysFile)); err == nil {
		needed = append(needed, mapKeysFile)
	}
	for path := range o {
		if _, err := os.Stat(filepath.Join(toolchain.Root, "src", path)); err == nil && o[path] != nil && filepath.Base(path) != "race.go" {
			needed = append(needed, path)
		}
	}
	root := t.TempDir()
	for _, path := range needed {
		text, err := os.ReadFile(filepath.Join(toolchain.Root, "src", path))
		if err != nil {
			t.Skipf("this release has no %s", path)
		}
		file := filepath.Join(root, "src", path)
		os.MkdirAll(filepath.Dir(file), 0o777)
		if err := os.WriteFile(file, text, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	strange := &Toolchain{Root: root}
	if _, err := newOverlay(strange); err != nil {
		t.Fatalf("the files the overlay is made of do not suffice: %v", err)
	}
	for _, path := range needed {
		file := filepath.Join(root, "src", path)
		if err := os.Rename(file, file+".gone"); err != nil {
			t.Fatal(err)
		}
		if _, err := newOverlay(strange); !errors.Is(err, ErrUnsupported) || !strings.Contains(err.Error(), path) {
			t.Errorf("without %s: error %v", path, err)
		}
		os.Rename(file+".gone", file)
	}
	for _, change := range []struct{ path, from, to, want string }{
		{"runtime/mgc.go", "func gcSweep(", "func gcSweep2(", "no function gcSweep"},
		{"runtime/proc.go", "func sysmon(", "func sysmonitor(", "no function sysmon"},
		{"runtime/time_linux_amd64.s", "TEXT time·now<", "TEXT time·then<", "not one function time.now"},
		{"runtime/time_nofake.go", "func nanotime(", "func nanos(", "no function nanotime"},
		{"runtime/mgcmark.go", "isAsyncPreempt || isDebugCall {", "isDebugCall {", "0 expressions isAsyncPreempt || isDebugCall in scanframeworker, not 1"},
		{"runtime/proc.go", "const randomizeScheduler", "const randomize", "no constant randomizeScheduler"},
		{"internal/sync/mutex.go", "race.Release(", "race.Let(", "0 calls of race.Release(unsafe.Pointer(m)) in Mutex.Unlock, not 1"},
		{"internal/runtime/maps/runtime_fast32.go", "race.", "racing.", "no access to a map is reported"},
		{"internal/race/norace.go", "const Enabled = false", "const Enabled = true", "no constant Enabled"},
		{"internal/race/norace.go", "func Acquire(", "func Obtain(", "unknown function Obtain"},
	} {
		file := filepath.Join(root, "src", change.path)
		text, err := os.ReadFile(file)
		if err != nil || !strings.Contains(string(text), change.from) {
			t.Fatalf("%s in %s: %v", change.from, change.path, err)
		}
		if err := os.WriteFile(file, []byte(strings.ReplaceAll(string(text), change.from, change.to)), 0o666); err != nil {
			t.Fatal(err)
		}
		want := fmt.Sprintf("unsupported GOROOT: %s: %s", change.path, change.want)
		if _, err := newOverlay(strange); !errors.Is(err, ErrUnsupported) || err.Error() != want {
			t.Errorf("error %v, want %s", err, want)
		}
		os.WriteFile(file, text, 0o666)
	}
}

// TestAllocations: each function of the runtime by which compiled code allocates an object of a known size tells the
// recorder, as mallocgc does. The compiler's source says which these are.
func TestAllocations(t *testing.T) {
	toolchain := installation(t)
	o, err := newOverlay(toolchain)
	if err != nil {
		t.Fatal(err)
	}
	compiler, err := os.ReadFile(filepath.Join(toolchain.Root, "src", "cmd", "compile", "internal", "ssagen", "ssa.go"))
	if err != nil {
		t.Fatal(err)
	}
	generated := string(o["runtime/malloc_generated.go"])
	calls := regexp.MustCompile(`LookupRuntimeFunc\((?:fmt\.Sprintf\()?"(malloc\w+(?:%d)?)"`).FindAllStringSubmatch(string(compiler), -1)
	for _, call := range calls {
		name := call[1]
		if name == "mallocgc" {
			continue
		}
		declared := regexp.MustCompile(`(?m)^func `+strings.ReplaceAll(name, "%d", `\d+`)+`\(.*$`).FindAllString(generated, -1)
		if len(declared) == 0 {
			t.Errorf("%s is not there", name)
		}
		for _, f := range declared {
			if !strings.HasSuffix(f, "{ if raceenabled { return heisenMallocgc(size, typ, needzero) };") {
				t.Errorf("does not tell the recorder: %s", f)
			}
		}
	}
	if len(calls) < 4 {
		t.Errorf("%d functions in the compiler, want at least 4", len(calls))
	}
}

// TestAtomicCallers: the packages that call functions of sync/atomic are found, in each release and for each system, and no
// others.
func TestAtomicCallers(t *testing.T) {
	toolchain := installation(t)
	src := filepath.Join(toolchain.Root, "src")
	everywhere := []string{"go/types", "internal/bisect", "internal/poll", "net", "os/exec", "runtime/trace"}
	http := "net/http/internal/http2"
	if version.Compare(toolchain.Version, "go1.27") < 0 {
		http = "net/http"
	}
	for _, platform := range PortNames(Linked) {
		goos, goarch, _ := strings.Cut(platform, "/")
		got, err := atomicCallers(src, goos, goarch)
		if err != nil {
			t.Fatal(err)
		}
		want := append([]string{http}, everywhere...)
		if goos == "windows" {
			want = append(want, "syscall")
		}
		slices.Sort(want)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s:\n%s", platform, diff)
		}
	}
}
