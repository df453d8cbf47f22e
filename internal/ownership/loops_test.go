package ownership

import (
	"testing"

	"github.com/heisen-go/heisen/internal/ssaload"
)

// TestInterfaceLoops is about programs in which following a value in an interface leads back to the value: the analysis ends.
func TestInterfaceLoops(t *testing.T) {
	for name, body := range map[string]string{
		"its own argument":  "func use(s set) { s.or(s) }",
		"both ways":         "func use(s set) { t := global; s.or(t); t.or(s) }",
		"its own result":    "func use(s set) { for s != nil { s = s.and(s) } }",
		"recursive":         "func use(s set) { s.or(s); use(s.and(global)) }",
		"through a closure": "func use(s set) { func() { s.or(s) }() }",
	} {
		t.Run(name, func(t *testing.T) {
			dir := module(t, map[string]string{"main.go": `package main

type set interface {
	or(set)
	and(set) set
}

type words struct{ n int }

func (w *words) or(s set)      { w.n++; s.and(w) }
func (w *words) and(s set) set { return s }

var global set = &words{}

` + body + `

func main() {
	go use(&words{})
	use(global)
}
`})
			if _, err := Analyze(t.Context(), ssaload.Source{Dir: dir}); err != nil {
				t.Fatal(err)
			}
		})
	}
}
