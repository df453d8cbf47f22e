package cli

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"sync"

	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/internal/plural"
	"github.com/heisen-go/heisen/internal/recorder"
	"github.com/heisen-go/heisen/section"
)

// refine is heisen sections refine. It runs tests and removes the sections that passing runs violate
// (AtomRace, section 4.3).
func (inv *invocation) refine() (int, error) {
	inv.buildFlags()
	o := inv.atomraceFlags()
	runs := inv.flags.Int("runs", 20, "run the tests at most `n` times")
	calm := inv.flags.Int("calm", 3, "stop after `n` passing runs that change nothing")
	out := inv.flags.String("o", "", "write the sections to `file` (default: that of -sections)")
	if err := inv.refineLine(); err != nil {
		return Misused, err
	}
	if o.sections == "" || o.sections == noSections {
		return Misused, misuse("no -sections file")
	}
	if *runs < 1 || *calm < 1 {
		return Misused, misuse("-runs and -calm are at least 1")
	}
	live, err := o.live(inv, &detection{chosen: []string{atomraceName}})
	if err != nil {
		return Failed, err
	}
	refiner, err := section.NewRefiner(o.relative, *calm)
	if err != nil {
		return Failed, fmt.Errorf("%s: %w", o.sections, err)
	}
	ctx, stop := inv.interruptible()
	defer stop()
	correct, done := 0, 0
	for done < *runs && !refiner.Done() {
		watched := *live
		watched.Noise.Seed += uint64(done)
		watched.Sections = o.absolute(refiner.Sections())
		run, err := inv.refiningRun(o, &watched)
		if ctx.Err() != nil {
			return Failed, errors.New("interrupted: the sections stay as they are")
		}
		if err != nil {
			return Failed, err
		}
		pruned, err := refiner.Add(run)
		if err != nil {
			return Failed, err
		}
		done++
		verdict := "the tests fail, so the run proves nothing"
		if run.Correct {
			correct++
			verdict = fmt.Sprintf("correct, %s seen, %d violated, %d of them new", plural.Part(len(run.Seen), pairs(o.read), "pair"), len(run.Violated), len(pruned))
		}
		fmt.Fprintf(inv.Err, "run %d: %s\n", done, verdict)
	}
	if correct == 0 {
		return Failed, errors.New("the tests passed in no run: the sections stay as they are")
	}
	refined := refiner.Refined()
	if err := inv.writeRefined(o, cmp.Or(*out, o.sections), refined); err != nil {
		return Failed, err
	}
	settled := ""
	if !refiner.Done() {
		settled = "; the last runs still changed them"
	}
	fmt.Fprintf(inv.Err, "%s, %d correct; %s %s left, with %s%s\n", plural.Of(done, "run"), correct,
		plural.Part(len(refined), len(o.read), "section"), plural.Form(len(refined), "is", "are"), plural.Part(pairs(refined), pairs(o.read), "end"), settled)
	return Clean, nil
}

// writeRefined writes sections of o's file to the file of that name, which may be the same.
func (inv *invocation) writeRefined(o *atomraceFlags, name string, sections []section.Section) error {
	folder := "."
	if name != stdStream {
		folder = filepath.Dir(name)
	}
	folder, err := absolute(folder)
	if err != nil {
		return err
	}
	if folder != o.dir { // the names of files are relative to it
		sections = o.absolute(sections)
		for i := range sections {
			s := &sections[i]
			s.Entry.File = relative(folder, s.Entry.File)
			for j := range s.Ends {
				s.Ends[j].At.File = relative(folder, s.Ends[j].At.File)
			}
		}
	}
	return inv.writeSections(name, sections)
}

// pairs counts the ends of sections.
func pairs(sections []section.Section) (n int) {
	for i := range sections {
		n += len(sections[i].Ends)
	}
	return n
}

// refiningRun runs the tests once. The tests are the oracle: a run is correct if they pass.
func (inv *invocation) refiningRun(o *atomraceFlags, live *recorder.Live) (section.Observation, error) {
	cmd, err := inv.goTestCommand()
	if err != nil {
		return section.Observation{}, err
	}
	var output bytes.Buffer // printed if the tests fail
	cmd.Stdout = &output
	var run section.Observation
	var mu sync.Mutex
	found := newFindings(inv.resolver, nil, &knownFindings{})
	all := flatten(o.relative)
	s, err := newSession(inv, recorder.FindingsOnly, live, func(_ int, _ *recorder.Program, stream *recorder.Stream) (int32, error) {
		o.observe(stream, found, func(overlap recorder.Overlap, _ heisen.Finding) {
			if overlap.Section >= 0 && overlap.End < len(all) {
				mu.Lock()
				defer mu.Unlock()
				run.Violated = add(run.Violated, all[overlap.End])
			}
		})
		_, err := heisen.Run(inv.ctx, stream)
		mu.Lock()
		defer mu.Unlock()
		for i, seen := range stream.LiveResult().Seen {
			if seen && i < len(all) {
				run.Seen = add(run.Seen, all[i])
			}
		}
		return Clean, err
	})
	if err != nil {
		return run, err
	}
	status, err := s.run(cmd)
	if run.Correct = status == Clean; !run.Correct {
		inv.raw.Err.Write(output.Bytes())
	}
	if err == nil && s.seen == 0 {
		err = errors.New("no instrumented test ran")
	}
	return run, err
}

// add adds a pair to a set.
func add(set []section.Pair, pair section.Pair) []section.Pair {
	if slices.Contains(set, pair) {
		return set
	}
	return append(set, pair)
}

// flatten returns the pairs of sections in the order in which programs number the ends.
func flatten(sections []section.Section) (all []section.Pair) {
	for i := range sections {
		for j := range sections[i].Ends {
			all = append(all, sections[i].Pair(j))
		}
	}
	return all
}
