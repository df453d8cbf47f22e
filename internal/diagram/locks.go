package diagram

import (
	"fmt"
	"slices"
	"strings"

	"github.com/heisen-go/heisen/internal/wording"
	"github.com/heisen-go/heisen/report"
)

// Distinguish numbers locks that are different ones but have the same expression, and sets Held. accesses
// are those of the finding.
func (d *Diagram) Distinguish(accesses []report.Access) {
	objects := map[string][]string{} // by expression
	see := func(name, object string) {
		if object != "" && !slices.Contains(objects[name], object) {
			objects[name] = append(objects[name], object)
		}
	}
	for _, e := range d.Events {
		if isAcquire(e.Op) {
			see(e.What, e.Object)
		}
	}
	for _, bar := range d.Bars {
		see(bar.Lock, bar.Object)
	}
	numbered, unknown := false, false
	for _, all := range objects {
		known := !slices.ContainsFunc(all, func(o string) bool { return !wording.IsKnown(o) })
		numbered, unknown = numbered || known && len(all) > 1, unknown || !known
	}
	number := func(name, object string) string {
		if slices.ContainsFunc(objects[name], func(o string) bool { return !wording.IsKnown(o) }) {
			return name
		}
		if i := slices.Index(objects[name], object); i >= 0 && len(objects[name]) > 1 {
			return fmt.Sprintf("%s #%d", name, i+1)
		}
		return name
	}
	d.Held = make([][]string, len(accesses))
	for i := range accesses {
		for j := range accesses[i].Locks {
			l := &accesses[i].Locks[j]
			d.Held[i] = append(d.Held[i], number(wording.LockName(l), l.Lock))
		}
	}
	for i := range d.Events {
		e := &d.Events[i]
		if isAcquire(e.Op) || strings.HasPrefix(e.Op, "release") {
			e.What = number(e.What, e.Object)
		}
	}
	for i := range d.Bars {
		d.Bars[i].Lock = number(d.Bars[i].Lock, d.Bars[i].Object)
	}
	if unknown {
		d.note("It is not known whether locks with the same name are the same one.")
	}
	if numbered {
		d.note("Locks with different numbers are different ones, although they have the same name in the program.")
	}
}
