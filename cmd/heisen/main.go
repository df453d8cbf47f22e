// Command heisen finds concurrency bugs in Go programs. See heisen help.
package main

import (
	"context"
	"os"

	"github.com/heisen-go/heisen/internal/cli"
)

func main() {
	os.Exit(cli.Main(context.Background(), os.Args[1:], cli.Streams{In: os.Stdin, Out: os.Stdout, Err: os.Stderr}))
}
