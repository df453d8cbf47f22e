package cli_test

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/heisen-go/heisen/internal/cli"
)

// peakFile is the variable that names a file to which the heisen command writes, at its end, what the
// kernel says of the process, such as the most memory it has used.
const peakFile = "HEISEN_TEST_PEAK"

// TestMain makes the test binary the heisen command of tests that start it.
func TestMain(m *testing.M) {
	os.Setenv("HEISEN_CORPUS", "none") // what a test finds depends on no other one
	testscript.Main(m, map[string]func(){
		"heisen": func() {
			streams := cli.Streams{In: os.Stdin, Out: os.Stdout, Err: os.Stderr}
			status := cli.Main(context.Background(), cli.Tool{}, os.Args[1:], streams)
			if file := os.Getenv(peakFile); file != "" {
				text, _ := os.ReadFile("/proc/self/status")
				os.WriteFile(file, text, 0o666)
			}
			os.Exit(status)
		},
	})
}

// writeFiles returns a new folder with files.
func writeFiles(t *testing.T, files map[string]string) (dir string) {
	t.Helper()
	dir = t.TempDir()
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o777); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}
