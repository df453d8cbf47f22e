// Command heisen finds concurrency bugs in Go programs. See heisen help.
package main

import (
	"os"

	"github.com/heisen-go/heisen/driver"
)

func main() { os.Exit(driver.Main()) }
