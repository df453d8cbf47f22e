package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
)

// tries is how often a smaller program is tried before it counts as one that does not fail.
const tries = 3

// smallest looks for the pieces that a program needs to fail in a mode, and prints the program.
func (s *settings) smallest(ctx context.Context, out io.Writer) (status int, err error) {
	if len(s.modes) != 1 {
		return 2, errors.New("-minimize needs one mode")
	}
	m := &s.modes[0]
	dir, err := os.MkdirTemp("", "adversary-")
	if err != nil {
		return 1, err
	}
	defer os.RemoveAll(dir)
	t, err := newTester(ctx, s, dir)
	if err != nil {
		return 1, err
	}
	defer t.kept.Close()
	kind := ""
	fails := func() (bool, error) {
		for range tries {
			b, err := s.make(m, dir, s.seed, 1)
			if err != nil {
				return false, err
			}
			o, err := t.run(ctx, m, b)
			if err := errors.Join(err, b.remove()); err != nil {
				return false, err
			}
			for _, w := range o.wrong {
				if kind == "" {
					kind = w.Kind
				}
				if w.Kind == kind {
					return true, nil
				}
			}
		}
		return false, ctx.Err()
	}
	if failed, err := fails(); err != nil || !failed {
		return 1, errors.Join(err, fmt.Errorf("program %d does not fail in %d tries", s.seed, tries))
	}
	var kept []int
	for n := range s.recipe(m).generate(s.seed).pieces {
		if !s.drop[n+1] {
			kept = append(kept, n+1)
		}
	}
	for size := (len(kept) + 1) / 2; size > 0; size /= 2 {
		for first := 0; first < len(kept); {
			part := kept[first:min(first+size, len(kept))]
			for _, n := range part {
				s.drop[n] = true
			}
			failed, err := fails()
			if err != nil {
				return 1, err
			}
			fmt.Fprintf(s.progress, "without %v: fails %v\n", part, failed)
			if failed {
				kept = append(kept[:first:first], kept[first+len(part):]...)
				continue
			}
			for _, n := range part {
				delete(s.drop, n)
			}
			first += size
		}
	}
	fmt.Fprintf(out, "%s\n%s\n", s.recipe(m).generate(s.seed).text, s.again(m, []uint64{s.seed}))
	return 0, nil
}
