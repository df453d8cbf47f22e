package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
)

// The ways to run tests.
const (
	underRace  = "race"    // go test -race
	underTest  = "test"    // heisen test
	inExplore  = "explore" // one by one, in the default order
	maxPrinted = 2000      // bytes of a run's output that are kept
)

// verdict is the outcome of a test, or of a package's run as a whole if Test is empty.
type verdict struct {
	Package string
	Test    string `json:",omitempty"`
	Way     string
	Outcome string // pass, fail, skip, or what else has happened
	Output  string `json:",omitempty"` // unless it has passed

	hung bool // it did not end in its time
}

func (v *verdict) key() string { return v.Package + " " + v.Test + " " + v.Way }

// open reads the verdicts of an earlier run, and prepares to add to them. An empty name keeps them in
// memory only.
func (c *comparison) open(name string) error {
	c.verdicts = map[string]verdict{}
	if name == "" {
		return nil
	}
	var err error
	if c.file, err = os.OpenFile(name, os.O_RDWR|os.O_CREATE, 0o666); err != nil {
		return err
	}
	for d := json.NewDecoder(c.file); ; {
		var v verdict
		err := d.Decode(&v)
		switch {
		case err == io.EOF:
			return nil
		case errors.Is(err, io.ErrUnexpectedEOF): // the last run was killed as it wrote
			_, err = c.file.Seek(d.InputOffset(), io.SeekStart)
			return errors.Join(err, c.file.Truncate(d.InputOffset()))
		case err != nil:
			return fmt.Errorf("%s: %w", name, err)
		}
		c.verdicts[v.key()] = v
	}
}

func (c *comparison) close() {
	if c.file != nil {
		c.file.Close()
	}
	c.sources.Close()
	if c.work != "" {
		os.RemoveAll(c.work)
	}
}

// add keeps a verdict.
func (c *comparison) add(v verdict) error {
	if v.Outcome == "pass" {
		v.Output = ""
	}
	if n := len(v.Output); n > maxPrinted {
		v.Output = v.Output[:maxPrinted/2] + "\n[...]\n" + v.Output[n-maxPrinted/2:]
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.verdicts[v.key()] = v
	if c.file == nil {
		return nil
	}
	text, err := json.Marshal(v)
	if err != nil {
		return err
	}
	_, err = c.file.Write(append(text, '\n'))
	return err
}

// summarize prints the differences and their number.
func (c *comparison) summarize() error {
	counts, explained, differ := map[string]int{}, 0, 0
	for _, key := range c.order {
		v, ran := c.verdicts[key]
		if !ran {
			continue
		}
		counts[v.Way]++
		base := c.verdicts[v.Package+" "+v.Test+" "+underRace]
		if v.Way == underRace || v.Outcome == base.Outcome || v.Outcome == "skip" {
			continue
		}
		if base.Outcome != "pass" {
			continue // it fails with the race detector, or is skipped there
		}
		if reason, ok := known[v.key()]; ok {
			explained++
			fmt.Fprintf(c.out, "%s: %s, explained: %s\n", v.key(), v.Outcome, reason)
			continue
		}
		differ++
		fmt.Fprintf(c.out, "%s: %s\n\t%s\n", v.key(), v.Outcome, strings.ReplaceAll(strings.TrimSpace(v.Output), "\n", "\n\t"))
	}
	fmt.Fprintf(c.out, "%d tests with -race, %d under heisen test, %d in explore mode: %d verdicts differ, and %d for a known reason\n",
		counts[underRace], counts[underTest], counts[inExplore], differ, explained)
	if c.stopped {
		fmt.Fprintln(c.out, "the time was over before all tests had run")
	}
	if differ > 0 {
		return errDiffers
	}
	return nil
}
