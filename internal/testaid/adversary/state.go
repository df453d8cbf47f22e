package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// figures count what a mode has tried and shown.
type figures struct {
	Programs   int            `json:"programs"`
	Executions int            `json:"executions"`
	Failures   map[string]int `json:"failures,omitempty"` // programs or findings by kind of failure
	Seconds    float64        `json:"seconds"`
	Racy       int            `json:"racy,omitempty"`    // programs with races, for the mode broken
	Missing    string         `json:"missing,omitempty"` // what the machine lacks for the mode
}

// A score counts planted bugs.
type score struct {
	Planted int `json:"planted"`
	Found   int `json:"found"` // in the time of -search
	Late    int `json:"late"`  // in more time
}

// A state is where the command has stopped, and what it has shown until then.
type state struct {
	Next     uint64                       `json:"next"`    // seed of the first program of the batch under way
	Done     []string                     `json:"done"`    // modes that the batch has gone through
	Results  map[uint64]string            `json:"results"` // results of its programs without heisen
	Trying   string                       `json:"trying"`  // mode under way; it stays if the command dies there
	Deaths   int                          `json:"deaths"`  // how often it has died there
	Modes    map[string]*figures          `json:"modes"`
	Bugs     map[string]map[string]*score `json:"bugs"` // by class and name
	Failures []failure                    `json:"failures"`
}

// readState reads a file, or makes the first state if there is none.
func readState(file string) (*state, error) {
	s := &state{Next: 1}
	if file != "" {
		text, err := os.ReadFile(file)
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			return nil, err
		}
		if err == nil {
			if err := json.Unmarshal(text, s); err != nil {
				return nil, fmt.Errorf("%s: %w", file, err)
			}
		}
	}
	if s.Modes == nil {
		s.Modes = map[string]*figures{}
	}
	if s.Bugs == nil {
		s.Bugs = map[string]map[string]*score{}
	}
	return s, nil
}

// write writes the state to a file, which is whole at any time.
func (s *state) write(file string) error {
	if file == "" {
		return nil
	}
	text, err := json.MarshalIndent(s, "", "\t")
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(file), 0o777); err != nil {
		return err
	}
	if err := os.WriteFile(file+".new", text, 0o666); err != nil {
		return err
	}
	return os.Rename(file+".new", file)
}

// of returns the figures of a mode.
func (s *state) of(mode string) *figures {
	f := s.Modes[mode]
	if f == nil {
		f = &figures{}
		s.Modes[mode] = f
	}
	return f
}

// add adds what a mode showed about a batch.
func (s *state) add(mode string, b *batch, o *outcome, took time.Duration) {
	f := s.of(mode)
	f.Programs += len(b.programs)
	f.Executions += o.executions
	f.Racy += len(o.racy)
	f.Seconds += took.Seconds()
	for _, w := range o.wrong {
		if f.Failures == nil {
			f.Failures = map[string]int{}
		}
		f.Failures[w.Kind]++
	}
	s.Failures = append(s.Failures, o.wrong...)
	for _, h := range o.hunts {
		class := s.Bugs[h.Class]
		if class == nil {
			class = map[string]*score{}
			s.Bugs[h.Class] = class
		}
		if class[h.Bug] == nil {
			class[h.Bug] = &score{}
		}
		class[h.Bug].Planted++
		if h.Found {
			class[h.Bug].Found++
		}
		if h.Late {
			class[h.Bug].Late++
		}
	}
}

// String prints the figures of all modes and bugs.
func (s *state) String() string {
	var out strings.Builder
	fmt.Fprintf(&out, "%-10s %9s %11s %9s  %s\n", "mode", "programs", "executions", "seconds", "failures")
	for _, m := range modes {
		f := s.Modes[m.name]
		if f == nil {
			continue
		}
		said := "none"
		if f.Missing != "" {
			said = "not tried: needs " + f.Missing
		} else if len(f.Failures) > 0 {
			var kinds []string
			for _, kind := range slices.Sorted(maps.Keys(f.Failures)) {
				kinds = append(kinds, fmt.Sprintf("%s %d", kind, f.Failures[kind]))
			}
			said = strings.Join(kinds, ", ")
		}
		if m.broken {
			said += fmt.Sprintf("; %d programs with races", f.Racy)
		}
		fmt.Fprintf(&out, "%-10s %9d %11d %9.0f  %s\n", m.name, f.Programs, f.Executions, f.Seconds, said)
	}
	for _, class := range slices.Sorted(maps.Keys(s.Bugs)) {
		var all score
		var misses []string
		for _, name := range slices.Sorted(maps.Keys(s.Bugs[class])) {
			b := s.Bugs[class][name]
			all.Planted += b.Planted
			all.Found += b.Found
			all.Late += b.Late
			if b.Found < b.Planted {
				misses = append(misses, fmt.Sprintf("%s %d of %d", name, b.Found, b.Planted))
			}
		}
		fmt.Fprintf(&out, "%s: %d of %d found, and %d in more time", class, all.Found, all.Planted, all.Late)
		if len(misses) > 0 {
			fmt.Fprintf(&out, " (%s)", strings.Join(misses, ", "))
		}
		fmt.Fprintln(&out)
	}
	return out.String()
}
