package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"time"
)

// campaign builds heisen and goes through batches until the programs or the time are used up.
func (s *settings) campaign(ctx context.Context) (st *state, err error) {
	dir, err := os.MkdirTemp("", "adversary-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	limited, cancel := context.WithTimeout(ctx, s.limit)
	defer cancel()
	t, err := newTester(limited, s, dir)
	if err != nil {
		return nil, err
	}
	defer t.kept.Close()
	st, err = t.campaign(limited)
	if ctx.Err() == nil && errors.Is(err, context.DeadlineExceeded) {
		err = nil // the rest is for the next call
	}
	return st, err
}

// campaign goes on where the state has stopped.
func (t *tester) campaign(ctx context.Context) (st *state, err error) {
	s := t.settings
	if st, err = readState(s.state); err != nil {
		return nil, err
	}
	if s.seed != 0 {
		st.Next, st.Done, st.Results, st.Trying, st.Deaths = s.seed, nil, nil, "", 0
	}
	for left := s.programs; s.programs == 0 || left > 0; left -= s.batch {
		n := s.batch
		if s.programs > 0 {
			n = min(n, left)
		}
		for i := range s.modes {
			m := &s.modes[i]
			if slices.Contains(st.Done, m.name) {
				continue
			}
			if err := t.step(ctx, st, m, n); err != nil {
				return st, err
			}
		}
		st.Next, st.Done, st.Results = st.Next+uint64(n), nil, nil
		if err := st.write(s.state); err != nil {
			return st, err
		}
	}
	return st, nil
}

// step tries a mode on the batch under way and writes the state.
func (t *tester) step(ctx context.Context, st *state, m *mode, n int) error {
	if m.missing != nil {
		if st.of(m.name).Missing = m.missing(); st.of(m.name).Missing != "" {
			return nil
		}
	}
	b, err := t.make(m, t.outer.Work, st.Next, n)
	if err != nil {
		return err
	}
	defer b.remove()
	var o outcome
	start := time.Now()
	if st.Trying == m.name && st.Deaths > 0 {
		o.wrong = []failure{{Kind: crash, Programs: b.seeds(), Text: "heisen ended this command twice"}}
	} else {
		if st.Trying == m.name {
			st.Deaths++
		} else {
			st.Trying, st.Deaths = m.name, 0
		}
		if err := st.write(t.state); err != nil {
			return err
		}
		if o, err = t.run(ctx, m, b); err == nil {
			err = ctx.Err()
		}
		if err != nil {
			st.Trying = ""
			return errors.Join(err, st.write(t.state))
		}
	}
	t.compare(st, m, b, &o)
	for i := range o.wrong {
		w := &o.wrong[i]
		w.Mode, w.Again = m.name, t.again(m, w.Programs)
		if m.name == "plain" || m.name == "race" {
			w.Kind = fault
		}
		fmt.Fprintf(t.progress, "%s: %s of program %v: %s\n  %s\n", m.name, w.Kind, w.Programs, w.Text, w.Again)
	}
	took := time.Since(start)
	fmt.Fprintf(t.progress, "%s: %d programs from seed %d, %d executions, %d failures, %v\n", m.name, n, st.Next, o.executions, len(o.wrong), took.Round(time.Second))
	st.add(m.name, b, &o, took)
	st.Trying, st.Done = "", append(st.Done, m.name)
	return st.write(t.state)
}

// compare compares the results of a batch with those that it had without heisen, if the programs are the same.
func (t *tester) compare(st *state, m *mode, b *batch, o *outcome) {
	if m.name == "plain" {
		st.Results = map[uint64]string{}
		for i := range b.programs {
			p := &b.programs[i]
			st.Results[p.seed] = o.results[p.seed]
		}
		return
	}
	if st.Results == nil || m.planted || m.broken || o.results == nil {
		return
	}
	expected := map[uint64]string{}
	plain := t.recipe(&modes[0])
	for i := range b.programs {
		p := &b.programs[i]
		if want, known := st.Results[p.seed]; known && plain.generate(p.seed).text == p.text {
			expected[p.seed] = want
		}
	}
	o.compare(b, expected)
}

// again returns a command that tries programs again.
func (s *settings) again(m *mode, programs []uint64) string {
	first, last := slices.Min(programs), slices.Max(programs)
	text := fmt.Sprintf("go run ./internal/testaid/adversary -modes %s -seed %d -n %d -batch %[3]d", m.name, first, last-first+1)
	if s.fragments != 6 {
		text += fmt.Sprintf(" -fragments %d", s.fragments)
	}
	if m.name == "fuzz" {
		text += fmt.Sprintf(" -time %v", s.explore)
	}
	if s.only.String() != "" {
		text += fmt.Sprintf(" -only %q", s.only)
	}
	if s.waiting {
		text += " -waiting"
	}
	if len(s.drop) > 0 {
		text += " -drop " + numbers(s.drop)
	}
	return text
}

// numbers returns a value for -drop.
func numbers(drop map[int]bool) string {
	var texts []string
	for _, n := range slices.Sorted(maps.Keys(drop)) {
		texts = append(texts, fmt.Sprint(n))
	}
	return strings.Join(texts, ",")
}

// failed reports whether there is a failure after the first known ones that is not a missed bug, or if more than one bug in
// a hundred was missed.
func (s *state) failed(known int) bool {
	all, found := 0, 0
	for _, class := range s.Bugs {
		for _, b := range class {
			all += b.Planted
			found += b.Found
		}
	}
	return 100*found < 99*all || slices.ContainsFunc(s.Failures[known:], func(f failure) bool { return f.Kind != missed })
}
