package source

import (
	"bufio"
	"bytes"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/heisen-go/heisen"
)

var (
	compiledFunc = regexp.MustCompile(`^(\S+) STEXT`)
	compiledCall = regexp.MustCompile(`\(.*[/\\]?((?:access|names)\.go):(\d+)\)\s+CALL\s+runtime\.(race(?:read|write)(?:range)?)\(SB\)`)
	allocates    = regexp.MustCompile(`f\(|^go |\.value$|func\(`)
)

// TestCompilerAgrees asks the compiler which accesses it instruments: for each there must be a
// variable to show. It also instruments stores into memory that a statement itself allocates: the
// array of variadic arguments, closures, method values. No other goroutine reaches those yet.
func TestCompilerAgrees(t *testing.T) {
	args := []string{"tool", "compile", "-race", "-S", "-l", "-p", "src", "-o", filepath.Join(t.TempDir(), "src.o")}
	for _, name := range []string{"access.go", "names.go"} {
		args = append(args, filepath.Join("testdata", "src", name))
	}
	cmd := exec.Command("go", args...)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("go tool compile: %v\n%s", err, out)
	}
	sources := newTestCache(t)
	function, accesses, temporaries := "", 0, 0
	lines := bufio.NewScanner(bytes.NewReader(out))
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		if m := compiledFunc.FindStringSubmatch(lines.Text()); m != nil {
			function = m[1]
		}
		m := compiledCall.FindStringSubmatch(lines.Text())
		if m == nil {
			continue
		}
		path := filepath.Join("testdata", "src", m[1])
		line, _ := strconv.Atoi(m[2])
		op := heisen.Read
		if strings.HasPrefix(m[3], "racewrite") {
			op = heisen.Write
		}
		accesses++
		excerpt := sources.At(heisen.Frame{Func: function, File: path, Line: line}, op, 0)
		if len(excerpt.candidates) == 0 {
			if op == heisen.Write && allocates.MatchString(excerpt.Statement) {
				temporaries++
				continue
			}
			t.Errorf("%s: line %d in %s: no variable for %s of %q", path, line, function, op, excerpt.Statement)
		}
	}
	if accesses < 100 {
		t.Errorf("%d accesses in the compiler's output, it was not understood", accesses)
	}
	t.Logf("%d accesses, %d of them to temporaries", accesses, temporaries)
}
