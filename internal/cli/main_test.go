package cli_test

import (
	"context"
	"os"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/heisen-go/heisen/internal/cli"
)

// TestMain makes the test binary the heisen command of tests that start it.
func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){
		"heisen": func() {
			streams := cli.Streams{In: os.Stdin, Out: os.Stdout, Err: os.Stderr}
			os.Exit(cli.Main(context.Background(), cli.Tool{}, os.Args[1:], streams))
		},
	})
}
