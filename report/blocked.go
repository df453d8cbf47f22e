package report

import (
	"fmt"
	"slices"
	"strings"

	"github.com/heisen-go/heisen"
)

// writeBlocked prints where a goroutine is blocked.
func writeBlocked(b *strings.Builder, g *Blocked) {
	who := goroutineAndTest(g.Goroutine, g.Test)
	fmt.Fprintf(b, "\n%s is blocked: %s", heading(who), g.Reason)
	if g.Object != "" {
		fmt.Fprintf(b, ", %s", nameAndObject(g.Variable, g.Object))
	}
	if len(g.WaitsFor) > 0 {
		names := slices.Clone(g.WaitsFor)
		for i, name := range names {
			if name == g.Goroutine {
				names[i] = "itself"
			}
		}
		fmt.Fprintf(b, ", waits for %s", strings.Join(names, " and "))
	}
	b.WriteString("\n")
	writeStack(b, g.Stack, "")
	for _, l := range g.Locks {
		fmt.Fprintf(b, "  holding %s (%s), acquired at %s\n", nameAndObject(l.Variable, l.Lock), l.Mode, l.Site)
	}
}

// String returns what WriteText prints about a blocked goroutine: an empty line, the reason, the
// stack and the locks held, in lines.
func (g Blocked) String() string {
	var b strings.Builder
	g = clean(g)
	writeBlocked(&b, &g)
	return b.String()
}

// writeCircle prints which blocked goroutines wait for each other, unless the finding says so.
func writeCircle(b *strings.Builder, f *Finding) {
	if f.Kind == heisen.Deadlock {
		return
	}
	switch names := circle(f.Blocked); len(names) {
	case 0:
	case 1:
		fmt.Fprintf(b, "\n%s waits for a lock that it holds itself.\n", heading(names[0]))
	default:
		last := len(names) - 1
		fmt.Fprintf(b, "\n%s and %s wait for each other.\n", heading(strings.Join(names[:last], ", ")), names[last])
	}
}

// circle returns the names of goroutines of which each waits for the next one, and the last for the
// first. It returns nil if there are none. Of several that a goroutine waits for, it looks at the first.
func circle(all []Blocked) []string {
	byName := map[string]*Blocked{}
	for i := range all {
		byName[all[i].Goroutine] = &all[i]
	}
	done := map[string]bool{}
	for i := range all {
		var path []string
		for at := &all[i]; at != nil && !done[at.Goroutine]; {
			if from := slices.Index(path, at.Goroutine); from >= 0 {
				return path[from:]
			}
			path = append(path, at.Goroutine)
			if len(at.WaitsFor) == 0 {
				break
			}
			at = byName[at.WaitsFor[0]]
		}
		for _, name := range path {
			done[name] = true
		}
	}
	return nil
}
