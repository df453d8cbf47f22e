package cli

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/heisen-go/heisen/internal/infer"
	"github.com/heisen-go/heisen/internal/plural"
	"github.com/heisen-go/heisen/section"
)

// healAuto is the value of -heal that asks to heal what the same run finds.
const healAuto = "auto"

// healFlag defines -heal.
func (o *atomraceFlags) healFlag(inv *invocation) *atomraceFlags {
	inv.flags.StringVar(&o.heal, "heal", "", "atomrace: keep goroutines apart at accesses to the variables of the findings or\nsections in `file`, so that races and violated sections do no harm; auto: at those\nof the findings of this run, from each finding on")
	return o
}

// healed returns the places to heal: those of the findings or sections in the file of -heal, and where their variables
// are accessed in the source. Sections in the file become sections to watch. It also returns the sections that begin at
// these places. Those that synchronize are left out, and so are their places; it says which and why.
func (o *atomraceFlags) healed(inv *invocation, source infer.Source) ([]section.Location, []section.Section, error) {
	if o.heal == "" || o.heal == healAuto {
		return nil, nil, nil
	}
	places, err := o.placesToHeal(inv, source)
	if err != nil {
		return nil, nil, err
	}
	concerned := beginningAt(o.read, places)
	if len(concerned) == 0 {
		fmt.Fprintf(inv.Err, "%s: no section begins at the accesses to heal: single accesses are kept apart\n", inv.tool.Name)
		return places, nil, nil
	}
	unfit, err := inv.synchronizing(source, concerned, true)
	if err != nil {
		return nil, nil, err
	}
	var fit []section.Section
	for i := range concerned {
		if !unfit[i] {
			fit = append(fit, concerned[i])
		}
	}
	spared := placesOf(concerned, func(i int) bool { return unfit[i] })
	kept := placesOf(fit, func(int) bool { return true })
	places = slices.DeleteFunc(places, func(at section.Location) bool {
		return slices.Contains(spared, at) && !slices.Contains(kept, at)
	})
	return places, fit, nil
}

// unfit returns the places of the sections that synchronize, which are not healed with -heal auto.
func (o *atomraceFlags) unfit(inv *invocation, source infer.Source) ([]section.Location, error) {
	if o.heal != healAuto || len(o.read) == 0 {
		return nil, nil
	}
	unfit, err := inv.synchronizing(source, o.read, false)
	if n := len(unfit); n > 0 {
		fmt.Fprintf(inv.Err, "%s: not healed, because of synchronization: %s\n", inv.tool.Name, plural.Part(n, len(o.read), "section"))
	}
	return placesOf(o.read, func(i int) bool { return unfit[i] }), err
}

// placesOf returns the entries and ends of some of the sections.
func placesOf(sections []section.Section, some func(i int) bool) (places []section.Location) {
	for i := range sections {
		if !some(i) {
			continue
		}
		places = append(places, sections[i].Entry)
		for _, e := range sections[i].Ends {
			places = append(places, e.At)
		}
	}
	return merged(nil, places)
}

// placesToHeal returns the places to heal, those of sections that synchronize, too.
func (o *atomraceFlags) placesToHeal(inv *invocation, source infer.Source) ([]section.Location, error) {
	if !isSectionsFile(o.heal) {
		reported, err := locationsOf(o.heal)
		if err != nil {
			return nil, err
		}
		places, err := variablesOf(inv, source, o.heal)
		// The source may access a part of the variable where a finding names all of it.
		return merged(places, reported), err
	}
	file := atomraceFlags{sections: o.heal}
	if err := file.readSections(); err != nil {
		return nil, err
	}
	places := placesOf(file.read, func(int) bool { return true })
	known := map[section.Location][]section.Section{} // by entry
	for _, s := range o.read {
		known[s.Entry] = append(known[s.Entry], s)
	}
	var variables []infer.Access
	for _, s := range file.read {
		if s.Variable != "" {
			variables = append(variables, infer.Access{File: s.Entry.File, Line: s.Entry.Line, Expr: s.Variable})
		}
		if !slices.ContainsFunc(known[s.Entry], func(k section.Section) bool { return reflect.DeepEqual(k, s) }) {
			o.read = append(o.read, s)
			known[s.Entry] = append(known[s.Entry], s)
		}
	}
	if len(variables) == 0 {
		return places, nil
	}
	uses, err := usesOf(inv, withFolders(source, variables), o.heal, variables)
	return merged(places, uses), err
}

// withFolders adds the packages in which variables are accessed to a source, unless that is a list of files.
func withFolders(source infer.Source, variables []infer.Access) infer.Source {
	packages := slices.Clone(source.Packages)
	if len(packages) == 0 {
		packages = []string{"."}
	}
	if strings.HasSuffix(packages[0], ".go") {
		return source
	}
	for _, v := range variables {
		if dir := filepath.Dir(filepath.FromSlash(v.File)); !slices.Contains(packages, dir) {
			packages = append(packages, dir)
		}
	}
	source.Packages = packages
	return source
}

// isSectionsFile reports whether a file is one of sections, and not of findings.
func isSectionsFile(name string) bool {
	text, err := os.ReadFile(name)
	return err == nil && bytes.HasPrefix(bytes.TrimSpace(text), []byte("heisen sections"))
}

// merged adds those of more to list that it does not have.
func merged(list, more []section.Location) []section.Location {
	known := map[section.Location]bool{}
	for _, at := range list {
		known[at] = true
	}
	for _, at := range more {
		if !known[at] {
			known[at] = true
			list = append(list, at)
		}
	}
	return list
}

// beginningAt returns the sections that begin at one of the places.
func beginningAt(sections []section.Section, places []section.Location) (at []section.Section) {
	there := map[section.Location]bool{}
	for _, place := range places {
		there[place] = true
	}
	for i := range sections {
		if there[sections[i].Entry] {
			at = append(at, sections[i])
		}
	}
	return at
}

// synchronizing returns the indexes of the sections that synchronize for certain. Between their entry and their end,
// goroutines give up their healing locks, and waiting at the entry would only make it likelier that they meet there. If
// list is set it names these sections, and those that may synchronize.
func (inv *invocation) synchronizing(source infer.Source, sections []section.Section, list bool) (map[int]bool, error) {
	done := inv.progress("looking for synchronization", time.Second)
	defer done()
	ctx, stop := inv.interruptible()
	defer stop()
	found, err := infer.Synchronizations(ctx, source, sections)
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
	certain := map[int]bool{}
	for _, s := range found {
		how := "healed only in part"
		if s.Certain() {
			certain[s.Section], how = true, "not healed"
		}
		if list {
			entry := sections[s.Section].Entry
			entry.File = filepath.ToSlash(relative(here, entry.File))
			fmt.Fprintf(inv.Err, "%s: section %v is %s: %s:%d %s\n", inv.tool.Name, entry, how, relative(here, s.File), s.Line, s.What)
		}
	}
	return certain, nil
}
