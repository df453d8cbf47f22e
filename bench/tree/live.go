package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"regexp"
	"time"

	"github.com/heisen-go/heisen"
	bm "github.com/heisen-go/heisen/bench/measure"
	"github.com/heisen-go/heisen/bench/results"
	"github.com/heisen-go/heisen/internal/build"
	"github.com/heisen-go/heisen/internal/recorder"
	"github.com/heisen-go/heisen/lockset"
	"github.com/heisen-go/heisen/tree"
	"github.com/heisen-go/heisen/vclock"
)

// detectors are those that -filter tree is for, with what programs record then, and the filter in front of them in heisen analyze.
var detectors = []struct {
	name   string
	mode   recorder.Mode
	make   func() (heisen.Detector, error)
	filter func(heisen.Detector) (heisen.Detector, error) // nil if there is none
}{
	{"fasttrack", recorder.Races, func() (heisen.Detector, error) { return vclock.NewFastTrack() }, nil},
	{"hb", recorder.Unrepeated, func() (heisen.Detector, error) { return vclock.NewHappensBefore() },
		func(d heisen.Detector) (heisen.Detector, error) { return tree.NewFilter(d) }},
	{"hybrid", recorder.Unrepeated, func() (heisen.Detector, error) { return lockset.NewHybrid() },
		func(d heisen.Detector) (heisen.Detector, error) { return tree.NewFilter(d, tree.WithMessageOrder()) }},
	{"lockorder", recorder.Synchronization, func() (heisen.Detector, error) { return lockset.NewLockOrder() }, nil},
}

// maxReference is how many events hb gets, which takes long for each.
const maxReference = 500_000

// printLive measures programs whose names match, with each detector, without the filter and with it.
func printLive(ctx context.Context, w io.Writer, count int, match *regexp.Regexp) error {
	dir, err := os.MkdirTemp("", "heisen-tree-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	builder, err := build.New(ctx, "", "", build.MainModules)
	if err != nil {
		return err
	}
	columns := []string{"program", "events", "sent with the filter"}
	for _, d := range detectors {
		columns = append(columns, "ms: "+d.name, "filter", "faster %")
	}
	table := results.NewTable(columns...)
	gains := make([][]float64, len(detectors))
	for _, p := range programs {
		if !match.MatchString(p.name) {
			continue
		}
		row := []any{p.name}
		exe, err := p.build(ctx, builder, dir)
		if err != nil {
			return fmt.Errorf("%s: %w", p.name, err)
		}
		for _, mode := range []recorder.Mode{recorder.Everything, recorder.Unrepeated} {
			counted := &memory{}
			if _, err := p.run(ctx, exe, p.large(), mode, counted); err != nil {
				return fmt.Errorf("%s: %w", p.name, err)
			}
			row = append(row, counted.seen)
		}
		for i, d := range detectors {
			without, with, err := p.compare(ctx, exe, count, i)
			if err != nil {
				return fmt.Errorf("%s, %s: %w", p.name, d.name, err)
			}
			gain := 100 * (1 - with.Seconds()/without.Seconds())
			gains[i] = append(gains[i], gain)
			row = append(row, 1000*without.Seconds(), 1000*with.Seconds(), gain)
		}
		table.Add(row...)
	}
	row := []any{"median", "", ""}
	for i := range detectors {
		row = append(row, "", "", bm.Median(gains[i]))
	}
	table.Add(row...)
	return table.Print(w)
}

// compare returns the least processor time of a program and a detector, of count runs in turns without and with the filter.
func (p *program) compare(ctx context.Context, exe string, count, detector int) (without, with time.Duration, err error) {
	d := detectors[detector]
	least := [2]time.Duration{}
	for range count {
		for i, mode := range []recorder.Mode{recorder.Everything, d.mode} {
			var detectors []heisen.Detector
			if mode != recorder.Races {
				one, err := d.make()
				if err != nil {
					return 0, 0, err
				}
				detectors = append(detectors, one)
			}
			took, err := p.run(ctx, exe, p.large(), mode, detectors...)
			if err != nil {
				return 0, 0, err
			}
			if least[i] == 0 || took < least[i] {
				least[i] = took
			}
		}
	}
	return least[0], least[1], nil
}
