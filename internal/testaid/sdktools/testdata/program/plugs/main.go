// Command plugs calls a function of a plugin in two goroutines.
package main

import (
	"fmt"
	"os"
	"plugin"
	"sync"
)

func run() error {
	p, err := plugin.Open(os.Args[1])
	if err != nil {
		return err
	}
	count, err := p.Lookup("Count")
	if err != nil {
		return err
	}
	var wg sync.WaitGroup
	for range 2 {
		wg.Go(count.(func()))
	}
	wg.Wait()
	return nil
}

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
