package resident

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// status returns /proc/self/status. It runs little code, because what runs is resident again.
func status(t *testing.T) []byte {
	t.Helper()
	text, err := os.ReadFile("/proc/self/status")
	if err != nil {
		t.Skip(err)
	}
	return text
}

// residentKiB returns a size of a process from its status, such as RssFile.
func residentKiB(t *testing.T, text []byte, name string) int {
	t.Helper()
	found := regexp.MustCompile(`(?m)^` + name + `:\s+(\d+) kB$`).FindSubmatch(text)
	if found == nil {
		t.Skipf("this kernel does not say %s", name)
	}
	n, err := strconv.Atoi(string(found[1]))
	if err != nil {
		t.Fatal(err)
	}
	return n
}

var kept []byte

// TestShrink gives back a heap of garbage and the executable, and the program goes on.
func TestShrink(t *testing.T) {
	kept = make([]byte, 32<<20)
	for i := range kept {
		kept[i] = 1
	}
	kept = nil
	before := status(t)
	Shrink()
	after := status(t)
	if was, is := residentKiB(t, before, "RssAnon"), residentKiB(t, after, "RssAnon"); is > was-30<<10 {
		t.Errorf("RssAnon was %d KiB and is %d KiB", was, is)
	}
	was, is := residentKiB(t, before, "RssFile"), residentKiB(t, after, "RssFile")
	most := was * 3 / 4
	if positionIndependent() {
		most = was - 1 // the pages that the loader has changed stay
	}
	if is > most {
		t.Errorf("RssFile was %d KiB and is %d KiB", was, is)
	}
	if got := regexp.MustCompile(`(\w+) \d+`).ReplaceAllString("executable 1, data 22", "$1"); got != "executable, data" {
		t.Errorf("code and data of the executable are not what they were: %q", got)
	}
}

// positionIndependent reports whether the loader has put addresses into the test.
func positionIndependent() bool {
	info, ok := debug.ReadBuildInfo()
	return ok && slices.Contains(info.Settings, debug.BuildSetting{Key: "-buildmode", Value: "pie"})
}

// TestPositionIndependent shrinks a process in which the loader has changed read-only memory.
func TestPositionIndependent(t *testing.T) {
	if testing.Short() {
		t.Skip("it builds a program")
	}
	exe := filepath.Join(t.TempDir(), "pie.test")
	if out, err := exec.Command("go", "test", "-c", "-buildmode=pie", "-o", exe, ".").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if out, err := exec.Command(exe, "-test.run=^TestShrink$", "-test.v").CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

// TestDroppable takes only mappings of the executable that cannot be written to and are as in the file.
func TestDroppable(t *testing.T) {
	const path = "/home/a b/heisen"
	const own, others = "Size: 4 kB\nAnonymous:             8 kB\n", "Size: 4 kB\nAnonymous:             0 kB\n"
	for header, want := range map[string]bool{
		"00400000-00c3b000 r-xp 00000000 fe:01 1054                       /home/a b/heisen":           true,
		"00c3b000-01a4f000 r--p 0083b000 fe:01 1054                       /home/a b/heisen":           true,
		"01a4f000-01b36000 rw-p 0164f000 fe:01 1054                       /home/a b/heisen":           false,
		"7ffd5a1c9000-7ffd5a1cb000 r-xp 00000000 00:00 0                  [vdso]":                     false,
		"7f0000000000-7f0000001000 r-xp 00000000 00:00 0":                                             false,
		"7f0000000000-7f0000001000 r-xp 00000000 fe:01 77                 /lib/heisen":                false,
		"00400000-00c3b000 r-xp 00000000 fe:01 1054                       /home/a b/heisen (deleted)": false,
		"00c3b000-00400000 r-xp 00000000 fe:01 1054                       /home/a b/heisen":           false,
		"x-y r-xp 00000000 fe:01 1054                       /home/a b/heisen":                         false,
	} {
		between := header + "\n" + others + "7f0000000000-7f0000001000 rw-p 00000000 00:00 0\n" + others
		got := droppable(strings.NewReader(between), path)
		if (len(got) == 1) != want || len(got) > 1 || want && (got[0].from%0x1000 != 0 || got[0].to <= got[0].from) {
			t.Errorf("%q: %x", header, got)
		}
		if got := droppable(strings.NewReader(header+"\n"+own), path); len(got) > 0 {
			t.Errorf("%q has pages of its own, and is dropped: %x", header, got)
		}
	}
}
