// Command ends has a race at the place that the first argument names, and ends there.
package main

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"sync"
)

var x, y int

// race makes two accesses to p that nothing orders.
func race(p *int) {
	var started, done sync.WaitGroup
	started.Add(2)
	for range 2 {
		done.Add(1)
		go func() {
			defer done.Done()
			started.Done()
			started.Wait()
			*p = 1
		}()
	}
	done.Wait()
}

// early is a race in the initialization of the package.
var early = func() bool {
	if len(os.Args) > 1 && os.Args[1] == "init" {
		race(&x)
	}
	return true
}()

func main() {
	if len(os.Args) < 2 {
		return
	}
	switch os.Args[1] {
	case "main":
		race(&x)
	case "exit":
		race(&x)
		os.Exit(3)
	case "panic":
		defer race(&x)
		panic("as you wish")
	case "recovered":
		func() {
			defer func() { recover(); race(&x) }()
			panic("as you wish")
		}()
	case "deadlock":
		race(&x)
		select {}
	case "goexit":
		race(&x)
		go os.Exit(0)
		select {}
	case "loop":
		for range 1000 {
			race(&x)
		}
	case "two":
		race(&x)
		fmt.Println("between")
		if len(os.Args) > 2 {
			io.ReadAll(os.Stdin)
		}
		raceElsewhere()
	case "child":
		out, err := exec.Command(os.Args[0], "main").CombinedOutput()
		fmt.Print(string(out), err, "\n")
	}
}

func raceElsewhere() {
	done := make(chan bool)
	go func() { y = 1; done <- true }()
	go func() { y = 1; done <- true }()
	<-done
	<-done
}
