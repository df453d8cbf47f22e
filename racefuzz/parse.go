package racefuzz

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// UnmarshalText implements encoding.TextUnmarshaler. It ignores blank lines, blanks around lines,
// carriage returns, and everything after the line "end". The error is a *ScheduleError; s is then
// unchanged.
func (s *Schedule) UnmarshalText(text []byte) error {
	p := parser{text: string(text), rest: string(text)}
	schedule, err := p.schedule()
	if err != nil && p.cutOff() && !errors.Is(err, ErrTruncated) && !errors.Is(err, ErrNoSchedule) && !errors.Is(err, ErrVersion) {
		err = fmt.Errorf("%w: %w", ErrTruncated, err)
	}
	if err != nil {
		return &ScheduleError{Line: p.number, Err: err}
	}
	*s = schedule
	return nil
}

// parser reads a schedule line by line.
type parser struct {
	text   string
	rest   string // what comes after the line
	number int    // of the line
	line   string
}

// cutOff reports whether the line is the last one of the text and has no end. It may then be the first
// part of another line.
func (p *parser) cutOff() bool { return p.rest == "" && !strings.HasSuffix(p.text, "\n") }

// next advances to the next line that is not blank.
func (p *parser) next() bool {
	for p.rest != "" {
		p.number++
		p.line, p.rest, _ = strings.Cut(p.rest, "\n")
		if p.line = strings.TrimSpace(p.line); p.line != "" {
			return true
		}
	}
	p.number++
	return false
}

func (p *parser) schedule() (s Schedule, err error) {
	if !p.next() || strings.HasPrefix(scheduleHeader, p.line) {
		return s, fmt.Errorf("%w: %w", ErrTruncated, ErrNoSchedule)
	}
	version, ok := strings.CutPrefix(p.line, scheduleHeader+" ")
	if !ok {
		return s, ErrNoSchedule
	}
	number, err := decimal(version, scheduleVersions)
	if err != nil || number == 0 {
		return s, fmt.Errorf("%w: %q", ErrVersion, version)
	}
	seen := map[string]bool{}
	for p.next() {
		words, err := split(p.line)
		if err != nil {
			return s, err
		}
		key := words[0]
		if seen[key] && key != "target" {
			return s, fmt.Errorf("%q occurs twice", key)
		}
		seen[key] = true
		switch {
		case sinceVersion(key) > number:
			return s, fmt.Errorf("unknown key %q", key)
		case key == "choices":
			return s, p.choices(&s, words[1:])
		case key == "turns":
			if err := p.turns(&s, words[1:]); err != nil {
				return s, err
			}
			continue
		}
		if err := s.set(key, words[1:]); err != nil {
			return s, err
		}
	}
	return s, ErrTruncated
}

// set sets the field that a line describes.
func (s *Schedule) set(key string, words []string) (err error) {
	want := map[string]int{"go": 2, "command": 2, "procs": 1, "virtual": 1, "stop": 1, "spin": 1, "prologue": 1, "strategy": 1, "seed": 1, "steps": 1, "hash": 1}
	if n, ok := want[key]; ok && len(words) != n {
		return fmt.Errorf("%q has %d words, want %d", key, len(words), n)
	} else if len(words) == 0 {
		return fmt.Errorf("%q has no words", key)
	}
	switch key {
	case "go":
		s.Go, s.Platform = words[0], words[1]
	case "command":
		s.Command, s.Program = words[0], words[1]
	case "args":
		s.Args = words
	case "tags":
		s.Tags = words
	case "pkgs":
		s.Packages = words
	case "outcome":
		if s.Outcome = words[0]; len(words) == 2 {
			s.Message = words[1]
		}
		if len(words) > 2 || s.Outcome == "" {
			return errors.New("want an outcome and at most one message")
		}
	case "strategy":
		s.Strategy = words[0]
	case "procs":
		n, err := decimal(words[0], math.MaxInt32)
		s.Procs = int(n)
		return err
	case "virtual":
		if s.Virtual, err = time.ParseDuration(words[0]); err != nil || s.Virtual <= 0 || s.Virtual.String() != words[0] {
			return fmt.Errorf("%q is no duration as Go writes it", words[0])
		}
	case "stop":
		s.Stop, err = decimal(words[0], math.MaxUint64)
	case "spin":
		n, err := decimal(words[0], math.MaxInt32)
		s.Spin = int(n)
		return err
	case "prologue":
		s.Prologue, err = decimal(words[0], math.MaxUint64)
	case "seed":
		s.Seed, err = decimal(words[0], math.MaxUint64)
	case "steps":
		s.Steps, err = decimal(words[0], math.MaxUint64)
	case "hash":
		if s.Hash, err = strconv.ParseUint(words[0], 16, 64); err != nil {
			return fmt.Errorf("%q is not a hash", words[0])
		}
	case "target":
		if len(words) != 4 && len(words) != 5 {
			return fmt.Errorf("%q has %d words, want 4 or 5", key, len(words))
		}
		t := Target{Mode: words[1], Place: words[2], Func: words[3]}
		if t.Roles, err = parseRoles(words[0]); err == nil && len(words) == 5 {
			var above uint64
			above, err = decimal(words[4], math.MaxUint8)
			t.Above = int(above)
			if err == nil && above == 0 {
				err = errors.New("the number of calls above is 0, want it left out")
			}
		}
		s.Targets = append(s.Targets, t)
	default:
		return fmt.Errorf("unknown key %q", key)
	}
	return err
}

// number parses the number of choices or turns.
func number(words []string) (uint64, error) {
	if len(words) != 1 {
		return 0, errors.New("want the number of choices or turns")
	}
	count, err := decimal(words[0], math.MaxUint64)
	if err == nil && count > MaxChoices {
		err = fmt.Errorf("%w: %d", ErrTooManyChoices, count)
	}
	return count, err
}

// turns parses the lines of turns.
func (p *parser) turns(s *Schedule, words []string) error {
	count, err := number(words)
	if err != nil {
		return err
	}
	for uint64(len(s.Turns)) < count {
		if !p.next() {
			return ErrTruncated
		}
		for _, word := range strings.Fields(p.line) {
			t, err := parseTurn(word)
			if err != nil {
				return err
			}
			if uint64(len(s.Turns)) == count {
				return fmt.Errorf("%w: %d are announced", ErrTooManyChoices, count)
			}
			s.Turns = append(s.Turns, t)
		}
	}
	return nil
}

func parseTurn(word string) (Turn, error) {
	idText, rest, ok := strings.Cut(word, ":")
	pointsText, accessesText, ok2 := strings.Cut(rest, "+")
	id, err := decimal(idText, math.MaxUint32-1)
	points, err2 := decimal(pointsText, math.MaxUint32)
	accesses, err3 := decimal(accessesText, math.MaxUint32)
	if !ok || !ok2 || err != nil || err2 != nil || err3 != nil {
		return Turn{}, fmt.Errorf("%q is not a turn", word)
	}
	return Turn{ID: uint32(id), Until: points<<32 | accesses}, nil
}

// choices parses the lines of choices and the last line.
func (p *parser) choices(s *Schedule, words []string) error {
	count, err := number(words)
	if err != nil {
		return err
	}
	for p.next() {
		if p.line == "end" {
			if uint64(len(s.Choices)) != count {
				return fmt.Errorf("%d choices, but %d are announced", len(s.Choices), count)
			}
			return nil
		}
		for _, word := range strings.Fields(p.line) {
			if s.Choices, err = parseChoice(s.Choices, word, count); err != nil {
				return err
			}
		}
	}
	return ErrTruncated
}

// parseChoice appends the choices of a word. There may be at most limit choices in all.
func parseChoice(choices []Choice, word string, limit uint64) ([]Choice, error) {
	deltaText, rest, ok := strings.Cut(word, ":")
	rest, times, repeated := strings.Cut(rest, "*")
	idText, caseText, ofSelect := strings.Cut(rest, "/")
	delta, err := decimal(deltaText, math.MaxUint64)
	id, err2 := uint64(NoTask), error(nil)
	if idText != waiting {
		id, err2 = decimal(idText, math.MaxUint32-1)
	}
	n, taken := uint64(1), uint64(0)
	var err3, err4 error
	if repeated {
		n, err3 = decimal(times, math.MaxUint64)
	}
	if ofSelect {
		taken, err4 = decimal(caseText, math.MaxUint32)
	}
	if !ok || err != nil || err2 != nil || err3 != nil || err4 != nil || n == 0 || ofSelect && (taken == 0 || idText == waiting) || delta == 0 && (len(choices) > 0 || n > 1) {
		return nil, fmt.Errorf("%q is not a choice", word)
	}
	if n > limit-uint64(len(choices)) {
		return nil, fmt.Errorf("%w: %d are announced", ErrTooManyChoices, limit)
	}
	step := uint64(0)
	if len(choices) > 0 {
		step = choices[len(choices)-1].Step
	}
	for range n {
		if step+delta < step {
			return nil, fmt.Errorf("the step of %q is too large", word)
		}
		step += delta
		choices = append(choices, Choice{Step: step, ID: uint32(id), Case: uint32(taken)})
	}
	return choices, nil
}

// decimal parses a number without sign and leading zeros.
func decimal(text string, most uint64) (uint64, error) {
	n, err := strconv.ParseUint(text, 10, 64)
	if err != nil || n > most || strconv.FormatUint(n, 10) != text {
		return 0, fmt.Errorf("%q is not a number from 0 to %d", text, most)
	}
	return n, nil
}

// split splits a line into its words, at least one.
func split(line string) (words []string, err error) {
	for line != "" {
		word := line
		if line[0] == '"' {
			if word, err = strconv.QuotedPrefix(line); err != nil {
				return nil, errors.New("a quoted word is not terminated")
			}
			line = line[len(word):]
			if line != "" && line[0] != ' ' && line[0] != '\t' {
				return nil, fmt.Errorf("no blank after %s", word)
			}
			if word, err = strconv.Unquote(word); err != nil {
				return nil, err
			}
		} else {
			if i := strings.IndexAny(line, " \t"); i >= 0 {
				word = line[:i]
			}
			if strings.Contains(word, `"`) {
				return nil, fmt.Errorf("a quote within a word: %s", word)
			}
			line = line[len(word):]
		}
		words = append(words, word)
		line = strings.TrimLeft(line, " \t")
	}
	return words, nil
}

func parseRoles(text string) (roles Roles, err error) {
next:
	for _, name := range strings.Split(text, ",") {
		for i, known := range roleNames {
			if name == known && roles&(1<<i) == 0 {
				roles |= 1 << i
				continue next
			}
		}
		return 0, fmt.Errorf("role %q is unknown or occurs twice", name)
	}
	return roles, nil
}
