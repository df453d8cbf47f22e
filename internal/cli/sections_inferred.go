package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/heisen-go/heisen/internal/core/atomrace"
	"github.com/heisen-go/heisen/internal/infer"
	"github.com/heisen-go/heisen/internal/plural"
	"github.com/heisen-go/heisen/section"
)

// noSections is the value of -sections that asks for none.
const noSections = "none"

// inferTime bounds the time that heisen test takes to infer sections.
const inferTime = time.Minute

// inferSections infers the sections of the tested packages if atomrace is chosen and there is no
// file of sections. It says in one line what it has inferred. What cannot be inferred is not
// watched, and a note says why: the tests run all the same.
func (o *atomraceFlags) inferSections(inv *invocation, d *detection) error {
	if o.sections != "" || !slices.Contains(d.chosen, atomraceName) {
		return nil
	}
	return o.inferIn(inv, inv.testedSource())
}

// inferIn infers the sections of a source.
func (o *atomraceFlags) inferIn(inv *invocation, source infer.Source) error {
	done := inv.progress("inferring sections", time.Second)
	ctx, stop := inv.interruptible()
	defer stop()
	bounded, cancel := context.WithTimeout(ctx, inferTime)
	defer cancel()
	found, err := infer.Infer(bounded, source)
	done()
	switch {
	case ctx.Err() != nil:
		return errInterrupted
	case bounded.Err() != nil:
		err = fmt.Errorf("it takes longer than %v", inferTime)
	case errors.Is(err, infer.ErrPackages) && found != nil && found.Packages == 0:
		err = nil // go test says what is wrong
	}
	if err != nil {
		first, _, _ := strings.Cut(err.Error(), "\n")
		fmt.Fprintf(inv.Err, "%s: not all sections could be inferred: %s\n", inv.tool.Name, first)
	}
	if found == nil || found.Packages == 0 {
		return nil
	}
	here, err := absolute(".")
	if err != nil {
		return err
	}
	for _, note := range found.Notes {
		note.File = relative(here, note.File)
		fmt.Fprintf(inv.Err, "%s: %v\n", inv.tool.Name, note)
	}
	kept := withinBounds(found.Sections)
	if left := len(found.Sections) - len(kept); left > 0 {
		fmt.Fprintf(inv.Err, "%s: %s more than a program can watch\n", inv.tool.Name, plural.Of(left, "inferred section"))
	}
	count := map[string]int{}
	for i := range kept {
		count[kept[i].Pattern]++
	}
	o.read, o.inferred = kept, true
	fmt.Fprintf(inv.Err, "%s: inferred %s in %s%s\n", inv.tool.Name,
		plural.Of(len(kept), "section"), plural.Of(found.Packages, "package"), details(count, found.Locked))
	return nil
}

// withinBounds returns as many of the sections as a program can watch.
func withinBounds(sections []section.Section) []section.Section {
	ends, places := 0, map[section.Location]bool{}
	for i := range sections {
		s := &sections[i]
		ends += len(s.Ends)
		places[s.Entry] = true
		for _, e := range s.Ends {
			places[e.At] = true
		}
		if i == atomrace.MaxSections || ends > atomrace.MaxEnds || len(places) > atomrace.MaxLocations {
			return sections[:i]
		}
	}
	return sections
}
