// A program with a large data segment.
package main

import (
	"fmt"
	"os"
	"strings"
)

var (
	racy   int
	global [256 << 20]byte
)

func main() {
	switch os.Args[1] {
	case "race":
		done := make(chan bool)
		go func() { racy++; done <- true }()
		racy++
		<-done
	case "sparse":
		for i := 0; i < len(global); i += 1 << 16 {
			global[i]++
		}
		text, _ := os.ReadFile("/proc/self/status")
		var peak int
		_, rest, _ := strings.Cut(string(text), "VmHWM:")
		fmt.Sscan(rest, &peak)
		fmt.Println(peak / 1024)
	}
}
