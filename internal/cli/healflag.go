package cli

import (
	"fmt"
	"path/filepath"
	"slices"
	"time"

	"github.com/heisen-go/heisen/internal/infer"
	"github.com/heisen-go/heisen/section"
)

// healFlag defines -heal.
func (o *atomraceFlags) healFlag(inv *invocation) *atomraceFlags {
	inv.flags.StringVar(&o.heal, "heal", "", "atomrace: keep goroutines apart at accesses to the variables of the findings in `file`,\nas -report json writes them, so that races and violated sections do no harm")
	return o
}

// healed returns the places to heal: those of the findings, and where their variables are accessed. It says which of the sections
// at these places cannot be healed, and why.
func (o *atomraceFlags) healed(inv *invocation, sections []section.Section) ([]section.Location, error) {
	if o.heal == "" {
		return nil, nil
	}
	places, err := variablesOf(inv, o.heal)
	if err != nil {
		return nil, err
	}
	// The source may access a part of the variable where a finding names all of it.
	reported, err := locationsOf(o.heal)
	if err != nil {
		return nil, err
	}
	for _, at := range reported {
		if !slices.Contains(places, at) {
			places = append(places, at)
		}
	}
	var concerned []section.Section
	for i := range sections {
		if slices.Contains(places, sections[i].Entry) {
			concerned = append(concerned, sections[i])
		}
	}
	if len(concerned) == 0 {
		fmt.Fprintf(inv.Err, "%s: no section begins at the accesses to heal: single accesses are kept apart\n", inv.tool.Name)
		return places, nil
	}
	done := inv.progress("looking for synchronization", time.Second)
	defer done()
	ctx, stop := inv.interruptible()
	defer stop()
	found, err := infer.Synchronizations(ctx, infer.Source{Packages: inv.line.packages(), Tests: true, Tags: inv.line.tags()}, concerned)
	if ctx.Err() != nil {
		return nil, errInterrupted
	}
	if err != nil && found == nil {
		return nil, err
	}
	here, err := absolute(".")
	if err != nil {
		return nil, err
	}
	for _, s := range found {
		entry := concerned[s.Section].Entry
		entry.File = filepath.ToSlash(relative(here, entry.File))
		fmt.Fprintf(inv.Err, "%s: section %v is healed only in part: %s:%d %s\n", inv.tool.Name, entry, relative(here, s.File), s.Line, s.What)
	}
	return places, nil
}
