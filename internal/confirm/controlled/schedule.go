package controlled

import (
	"fmt"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/heisen-go/heisen/internal/core/strategies"
	"github.com/heisen-go/heisen/internal/recorder"
	"github.com/heisen-go/heisen/racefuzz"
)

var strategyNames = map[strategies.Strategy]string{
	strategies.RandomWalk: "random-walk", strategies.PCT: "pct", strategies.RaceDirected: "race-directed",
	strategies.DeadlockDirected: "deadlock-directed", strategies.SectionDirected: "section-directed", strategies.Replay: "replay",
	strategies.Follow: "follow", strategies.POS: "pos", strategies.Delay: "delay",
	strategies.Families: "families",
}

// StrategyName returns the name of a strategy in schedules and reports.
func StrategyName(s strategies.Strategy) string { return strategyNames[s] }

// strategyText returns a strategy in the text form of a schedule: its name and its parameters
// besides the seed and the choices.
func strategyText(c *strategies.Config) string {
	text := strategyNames[c.Strategy]
	for _, p := range parameters(c) {
		if *p.value != 0 {
			text += fmt.Sprintf(" %s=%d", p.name, *p.value)
		}
	}
	return text
}

type parameter struct {
	name  string
	value *uint64
}

func parameters(c *strategies.Config) []parameter {
	return []parameter{{"patience", &c.PostponeLimit}, {"wait", &c.WaitLimit}, {"depth", &c.Depth}, {"length", &c.Steps}, {"variation", &c.Variation},
		{"branch", &c.Branch}, {"branchseed", &c.BranchSeed}}
}

// parseStrategy is the inverse of strategyText.
func parseStrategy(text string) (c strategies.Config, err error) {
	words := strings.Fields(text)
	known := false
	for strategy, name := range strategyNames {
		if len(words) > 0 && words[0] == name {
			c.Strategy, known = strategy, true
		}
	}
	if !known {
		return c, fmt.Errorf("unknown strategy %q", text)
	}
words:
	for _, word := range words[1:] {
		name, value, _ := strings.Cut(word, "=")
		for _, p := range parameters(&c) {
			if p.name == name {
				if *p.value, err = strconv.ParseUint(value, 10, 64); err != nil {
					return c, fmt.Errorf("strategy %q: %w", text, err)
				}
				continue words
			}
		}
		return c, fmt.Errorf("strategy %q: unknown parameter %q", text, name)
	}
	return c, nil
}

// Origin says how the program of a schedule is built.
type Origin struct {
	Source
	Version, Platform string // of Go
	Folder            string // absolute; the places in a schedule are relative to it
}

// Schedule returns the text form of a schedule, with which the execution e can be repeated from the
// origin's folder. It has e's outcome for comparison.
func (o *Origin) Schedule(p *Program, tests string, s *recorder.Schedule, e *Execution) *racefuzz.Schedule {
	out := &racefuzz.Schedule{
		Go: o.Version, Platform: o.Platform,
		Command: o.Verb, Program: p.Package, Args: p.Args, Tags: o.Tags, Packages: o.Patterns, Procs: s.Procs,
		Strategy: strategyText(&s.Strategy), Seed: s.Strategy.Seed, Choices: PublicChoices(s.Strategy.Choices), Turns: publicTurns(s.Strategy.Turns),
		Outcome: string(e.Outcome.Class), Message: e.Outcome.Message,
		Steps: e.Steps, Hash: e.Hash,
	}
	if o.Verb == "test" {
		out.Args = testArgs(p.Args, tests)
	}
	if e.Stuck != nil && e.Stuck.Why == recorder.OutOfTime {
		out.Virtual = s.MaxVirtual
	}
	if e.Stuck != nil && e.Stuck.Why == recorder.OutOfSteps {
		out.Stop = e.Steps
	}
	out.Spin, out.Prologue = s.Spin, s.Prologue
	for _, t := range s.Targets {
		file := t.File
		if rel, err := filepath.Rel(o.Folder, file); err == nil && filepath.IsLocal(rel) {
			file = filepath.ToSlash(rel)
		}
		out.Targets = append(out.Targets, racefuzz.Target{
			Roles: racefuzz.Roles(t.Roles), Mode: modeNames[t.Mode], Place: file + ":" + strconv.Itoa(t.Line), Func: t.Func, Above: t.Above,
		})
	}
	return out
}

var modeNames = map[recorder.TargetMode]string{recorder.OnRead: "read", recorder.OnWrite: "write", recorder.OnLock: "lock"}

// Restore is the inverse of Schedule. It returns how to build the program in folder and how to
// execute it.
func Restore(s *racefuzz.Schedule, folder string) (Source, *recorder.Schedule, error) {
	source := Source{Verb: s.Command, Packages: []string{s.Program}, Patterns: s.Packages, Tags: s.Tags, Args: s.Args, Own: true}
	if err := checkSchedule(s); err != nil {
		return source, nil, err
	}
	config, err := parseStrategy(s.Strategy)
	if err != nil {
		return source, nil, err
	}
	config.Seed, config.Choices, config.Turns = s.Seed, CoreChoices(s.Choices), CoreTurns(s.Turns)
	out := &recorder.Schedule{Strategy: config, Procs: s.Procs, MaxVirtual: s.Virtual, MaxSteps: s.Stop, Spin: s.Spin, Prologue: s.Prologue}
	for _, t := range s.Targets {
		at := strings.LastIndexByte(t.Place, ':')
		if at < 0 {
			return source, nil, fmt.Errorf("target %q: no line", t.Place)
		}
		line, err := strconv.Atoi(t.Place[at+1:])
		if err != nil {
			return source, nil, fmt.Errorf("target %q: %w", t.Place, err)
		}
		file := filepath.FromSlash(t.Place[:at])
		if !filepath.IsAbs(file) {
			file = filepath.Join(folder, file)
		}
		target := recorder.Target{File: filepath.ToSlash(file), Line: line, Func: t.Func, Roles: strategies.Roles(t.Roles), Above: t.Above}
		for mode, name := range modeNames {
			if name == t.Mode {
				target.Mode = mode
			}
		}
		if target.Mode == 0 {
			return source, nil, fmt.Errorf("target %q: unknown mode %q", t.Place, t.Mode)
		}
		out.Targets = append(out.Targets, target)
	}
	return source, out, nil
}

// Schedules have the public types of package racefuzz, programs under test those of the core that
// is injected into them. These functions convert slices; nil stays nil.

func converted[S, T any](all []S, one func(S) T) (out []T) {
	for _, s := range all {
		out = append(out, one(s))
	}
	return out
}

func CoreChoices(all []racefuzz.Choice) []strategies.Choice {
	return converted(all, func(c racefuzz.Choice) strategies.Choice { return strategies.Choice(c) })
}

func PublicChoices(all []strategies.Choice) []racefuzz.Choice {
	return converted(all, func(c strategies.Choice) racefuzz.Choice { return racefuzz.Choice(c) })
}

func CoreTurns(all []racefuzz.Turn) []strategies.Turn {
	return converted(all, func(t racefuzz.Turn) strategies.Turn { return strategies.Turn(t) })
}

func publicTurns(all []strategies.Turn) []racefuzz.Turn {
	return converted(all, func(t strategies.Turn) racefuzz.Turn { return racefuzz.Turn(t) })
}
