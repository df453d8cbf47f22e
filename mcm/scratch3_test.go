package mcm

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/heisen-go/heisen/bench/workload"
)

func TestProbe(t *testing.T) {
	for _, name := range []string{"mixed", "locky", "hot"} {
		for _, n := range []int{100, 200, 400, 700, 1000} {
			if name == "hot" && n > 400 {
				continue
			}
			for _, th := range []int{2, 3, 4, 6} {
				w := Window{Records: profiles[name](workload.Params{Threads: th, Events: n, Seed: 1})}
				m, _ := NewModel(w)
				pairs := pairsOf(m)
				all := racyPairs(&w)
				rng := rand.New(rand.NewPCG(1, 1))
				out := fmt.Sprint(name, n, "x", th, ": ")
				for i := range 2 {
					p := all[rng.IntN(len(all))]
					if i > 0 && len(pairs) > 0 {
						p = pairs[rng.IntN(len(pairs))]
					}
					for _, real := range []bool{false, true} {
						var text bytes.Buffer
						m.WriteSMTLIB(&text, p[0], p[1])
						s := text.String()
						if real {
							s = strings.NewReplacer("QF_IDL", "QF_RDL", " Int)", " Real)").Replace(s)
						}
						at := time.Now()
						cmd := exec.Command("z3", "-in", "-T:5")
						if os.Getenv("CVC5") != "" {
							cmd = exec.Command("cvc5", "--lang=smt2", "--tlimit=5000", "-q")
						}
						cmd.Stdin = strings.NewReader(s)
						o, _ := cmd.Output()
						out += fmt.Sprintf("%s %v | ", strings.TrimSpace(string(o)), time.Since(at).Round(time.Millisecond))
					}
				}
				fmt.Println(out)
			}
		}
	}
}
