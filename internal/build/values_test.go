package build

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/internal/core/strategies"
	"github.com/heisen-go/heisen/internal/recorder"
)

// TestValues: each access to a scalar has the value that it reads or writes, whatever other goroutines do before and
// after it. Writes to the own stack are no accesses.
func TestValues(t *testing.T) {
	names := map[int]string{} // by line
	for name, line := range linesOf(t, "values.go") {
		names[line] = name
	}
	for seed := range uint64(20) {
		rec := record(t, run{exe: program(t), args: []string{"values"},
			schedule: &recorder.Schedule{Strategy: strategies.Config{Strategy: strategies.RandomWalk, Seed: seed}, Number: true, Values: true}})
		if rec.err != nil || rec.status != 0 {
			t.Fatalf("seed %d: error %v, status %d", seed, rec.err, rec.status)
		}
		memory := map[heisen.Object]uint64{}
		read, written := 0, 0
		for i, e := range rec.events {
			name := ""
			if frames := rec.syms.Site(e.Site).Frames; len(frames) > 0 && filepath.Base(frames[0].File) == "values.go" {
				name = names[frames[0].Line]
			}
			if name == "" {
				continue
			}
			if !e.Op.IsAccess() {
				continue
			}
			if e.Flags&recorder.Numbered == 0 || e.Flags&heisen.HasValue != 0 {
				t.Errorf("seed %d: event %d is %+v", seed, i, e)
			}
			done := rec.events[i+1]
			if done.Op != heisen.Done || done.Thread != e.Thread || done.Object != e.Object || done.Flags != heisen.HasValue {
				continue // another read of the place, of a variable that holds a pointer
			}
			if e.Op == heisen.Write {
				written++
				memory[e.Object] = done.Value
			} else if want, ok := memory[e.Object]; ok {
				read++
				if done.Value != want {
					t.Errorf("seed %d: event %d reads %d, not %d", seed, i, done.Value, want)
				}
			}
		}
		if read < 15+15+3-1 || written != 3*15 {
			t.Errorf("seed %d: %d reads and %d writes", seed, read, written)
		}
		var a, b, c uint64
		if _, err := fmt.Sscan(strings.TrimSpace(rec.stderr), &a, &b, &c); err != nil || a != c {
			t.Fatalf("seed %d: %q: %v", seed, rec.stderr, err)
		}
		last := map[uint64]bool{}
		for _, v := range memory {
			last[v] = true
		}
		if !last[a] || !last[b] {
			t.Errorf("seed %d: the program has %d and %d at its end, the recording %v", seed, a, b, memory)
		}
	}
}
