package enforce

import (
	"strings"
	"testing"
)

// TestOperands: what is accessed in an operand of a statement that waits is accessed before the wait, so the lock is held up to
// there. An access after the wait, or two waits in one statement, leave the variable out.
func TestOperands(t *testing.T) {
	const before = `package main

import "fmt"

type node struct {
	in, out chan int
	n       int
}

func received(c chan int) chan int { return make(chan int, <-c) }

func main() {
	v := &node{in: make(chan int, 1), out: make(chan int, 1)}
	v.out <- 1
	go f(v)
	v.in = make(chan int, 2)
	v.n = 2
	fmt.Println(v.n)
}

func f(v *node) {
	if v.in == nil || v.n == 0 { // a:
		return
	}
`
	for name, test := range map[string]struct{ source, variable, second, refused string }{
		"a send":                       {"\tv.in <- 1 // b:", "in", "br", ""},
		"a select statement":           {"\tselect {\n\tcase v.in <- 1: // b:\n\tcase <-v.out:\n\t}", "in", "br", ""},
		"a later case":                 {"\tselect {\n\tcase <-v.out:\n\tcase v.in <- 1: // b:\n\t}", "in", "br", ""},
		"all cases":                    {"\tselect {\n\tcase <-v.in: // b:\n\tcase v.in <- 1:\n\tcase v.in <- 2:\n\t}", "in", "br", ""},
		"a value that a case sends":    {"\tselect {\n\tcase v.out <- v.n: // b:\n\tcase <-v.in:\n\t}", "n", "br", ""},
		"a case that declares":         {"\tselect {\n\tcase x, ok := <-v.in: // b:\n\t\t_, _ = x, ok\n\tcase <-v.out:\n\t}", "in", "br", ""},
		"a case that writes":           {"\tselect {\n\tcase v.n = <-v.in: // b:\n\tcase <-v.out:\n\t}", "n", "bw", "it is accessed in a statement that may wait before"},
		"a case whose operand waits":   {"\tselect {\n\tcase <-received(v.in): // b:\n\tcase <-v.out:\n\t}", "in", "br", ""},
		"operands of which two wait":   {"\tselect {\n\tcase v.in <- <-v.out: // b:\n\tcase v.in <- <-v.out:\n\t}", "in", "br", "it is accessed in a statement that may wait before"},
		"a select that does not wait":  {"\tselect {\n\tcase v.in <- 1: // b:\n\tdefault:\n\t}", "in", "br", ""},
		"a send whose value is waited": {"\tv.in <- <-v.out // b:", "in", "br", "it is accessed in a statement that may wait before"},
	} {
		t.Run(name, func(t *testing.T) {
			p := module(t, map[string]string{"main.go": before + test.source + "\n}\n"})
			pl := plan(t, p, pairsOf(t, p, "main.go", "example.com/m.node."+test.variable, [][3]string{{"ar", test.second, "exclusive"}}))
			switch {
			case test.refused == "" && (len(pl.Refused) > 0 || len(pl.Variables) != 1):
				t.Errorf("refused %q, variables %+v", pl.Refused, pl.Variables)
			case test.refused != "" && (len(pl.Refused) != 1 || !strings.Contains(pl.Refused[0].String(), test.refused)):
				t.Errorf("refused %q, want %q", pl.Refused, test.refused)
			}
			goWith(t, pl, "vet", "./...")
			goWith(t, pl, "run", ".")
		})
	}
}
