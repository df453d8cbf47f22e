package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/bench/measure"
	"github.com/heisen-go/heisen/bench/results"
	"github.com/heisen-go/heisen/internal/ownership"
	"github.com/heisen-go/heisen/internal/ssaload"
	"github.com/heisen-go/heisen/trace"
)

// rest is what is still recorded of a program under its plan: numbers of accesses in one recorded run.
type rest struct {
	program
	all, left int
	outside   int            // of those left, in code of other modules
	lines     map[string]int // of the others, by line and kind
	remarks   map[string]int // and by why they are left
}

// showLeft prints what the plans leave of the accesses in recorded runs, and why. The numbers are those of accesses, so
// they do not depend on the machine.
func showLeft(w io.Writer, only string) error {
	var all []*rest
	if err := recordEach(only, func(p program, file string) error {
		r := &rest{program: p, lines: map[string]int{}, remarks: map[string]int{}}
		all = append(all, r)
		return r.count(file)
	}); err != nil {
		return err
	}
	return printLeft(w, all)
}

// accessCounts is a detector that counts the accesses at each site.
type accessCounts map[accessedAt]int

type accessedAt struct {
	site  heisen.Site
	write bool
}

// Handle implements heisen.Detector.
func (c accessCounts) Handle(e heisen.Event) {
	if op := e.Op(); op == heisen.Read || op == heisen.Write {
		c[accessedAt{e.Site(), op == heisen.Write}]++
	}
}

// Flush implements heisen.Detector.
func (accessCounts) Flush() error { return nil }

// count counts the accesses in a trace.
func (r *rest) count(file string) error {
	inferred, err := ownership.Analyze(context.Background(), ssaload.Source{Packages: []string{"./bench/focus/programs/" + r.name}})
	if err != nil {
		return err
	}
	remarks := inferred.Remarks()
	in, err := trace.Open(file)
	if err != nil {
		return err
	}
	defer in.Close()
	counts := accessCounts{}
	if _, err := heisen.Run(context.Background(), in, counts); err != nil {
		return err
	}
	for where, n := range counts {
		r.all += n
		place := heisen.Frame{}
		if frames := in.Symbols().Site(where.site).Frames; len(frames) > 0 {
			place = frames[0]
		}
		name, err := filepath.Rel(inferred.Root, place.File)
		source, known := inferred.Plan.Files[filepath.ToSlash(name)]
		if err != nil || !known {
			r.left += n
			r.outside += n
			continue
		}
		safe, kind := source.Reads, "read"
		if where.write {
			safe, kind = source.Writes, "written"
		}
		if safe.Contains(place.Line) {
			continue
		}
		r.left += n
		r.lines[fmt.Sprintf("%s:%d, %s", r.name, place.Line, kind)] += n
		why := remarks[ownership.Line{Position: ownership.Position{File: place.File, Line: place.Line}, Write: where.write}]
		if len(why) == 0 {
			why = []string{"no access is known there"}
		}
		for _, text := range why {
			r.remarks[r.name+": "+text] += n
		}
	}
	return nil
}

func printLeft(w io.Writer, all []*rest) error {
	if err := results.Conditions(w, "./bench/focus"); err != nil {
		return err
	}
	fmt.Fprint(w, "Accesses in one recorded run of each program, and those of them that are recorded under a plan.\n\n")
	table := results.NewTable("program", "accesses", "recorded", "share", "of them in other modules")
	lines, remarks := map[string]int{}, map[string]int{}
	var shares []float64
	for _, r := range all {
		share := float64(r.left) / float64(r.all)
		shares = append(shares, share)
		table.Add(r.name, r.all, r.left, percent(share), r.outside)
		maps.Copy(lines, r.lines)
		maps.Copy(remarks, r.remarks)
	}
	if err := table.Print(w); err != nil {
		return err
	}
	fmt.Fprintf(w, "Median share %s.\n\nAn access counts for each reason on its line.\n\n", percent(measure.Median(shares)))
	for _, ranking := range []struct {
		title string
		of    map[string]int
	}{{"reason", remarks}, {"line", lines}} {
		table := results.NewTable(ranking.title, "accesses")
		for _, name := range slices.SortedFunc(maps.Keys(ranking.of), func(x, y string) int {
			return cmp.Or(cmp.Compare(ranking.of[y], ranking.of[x]), cmp.Compare(x, y))
		}) {
			table.Add(strings.ReplaceAll(name, "github.com/heisen-go/heisen/bench/focus/programs/", ""), ranking.of[name])
		}
		if err := table.Print(w); err != nil {
			return err
		}
	}
	return nil
}
