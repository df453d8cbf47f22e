// Package forked has tests of many kinds, whose executions are compared: in a process of their own, and in a forked one.
package forked

import (
	"fmt"
	"os"
	"strings"
)

// Set up before the first test, as programs do.
var (
	words  = strings.Fields("the quick brown fox jumps over the lazy dog")
	counts = map[string]int{}
	host   = func() string { name, _ := os.Hostname(); return name }()
	table  [1 << 16]int
)

func init() {
	for i, w := range words {
		counts[w] += i
	}
	for i := range table {
		table[i] = i * i
	}
	if len(host) > 1000 {
		fmt.Println("a long name")
	}
}
