package racefuzz

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"unicode"
)

// Schedule is what it takes to do an execution of a program again, and what came of it.
// As a text it can be pasted into a bug report, where the lines may be indented:
//
//	heisen schedule 1
//	go go1.26.8 linux/amd64
//	command test ./bank
//	args -test.run TestTransfer
//	procs 4
//	strategy race-directed
//	seed 42
//	target first read bank.go:31 bank.(*Account).Withdraw
//	target second write bank.go:44 bank.(*Account).Deposit
//	outcome panic "negative balance"
//	steps 3104
//	hash 9f01c2437ab0de55
//	choices 5
//	  17:3 120:0 1:2*3
//	end
//
// A schedule of the strategy follow has turns (see [Turn]) before its choices, and is of
// version 2:
//
//	turns 3
//	  0:12+1 4:3+8 0:17+0
//
// Each line is a key and words; a word that is empty or has blanks, quotes or what
// cannot be printed in it is quoted as in Go. Keys of which nothing is said are left
// out. A choice is a number of steps after the one before it (the first: after step 0),
// a colon, and a task, or "wait" if nobody went on until time had passed; *n says that n
// choices are alike. A turn is a task, a colon and the operation until which it goes on: how
// many points, a plus, and how many accesses since. The number of choices, or turns, stands
// before them, and "end" after the choices, so that a text that was cut off is known as
// such.
type Schedule struct {
	Go       string // release of Go, such as go1.26.8
	Platform string // operating system and processor, such as linux/amd64

	Command  string   // how the program is run: test or run
	Program  string   // the package
	Args     []string // the program's
	Tags     []string // build tags
	Packages []string // patterns of the packages that are instrumented, if not the default
	Procs    int      // what the program is told by runtime.GOMAXPROCS, 0 if nothing

	Strategy string // name and parameters
	Seed     uint64
	Targets  []Target
	Outcome  string // the kind of outcome
	Message  string // what it said; not without an outcome

	// Steps and Hash are those of the execution, for comparison, or 0.
	Steps, Hash uint64
	// Turns are what the strategy follow follows.
	Turns []Turn
	// Choices are those that differ from the default.
	Choices []Choice
}

// Target is a place with roles.
type Target struct {
	Roles Roles  // at least one
	Mode  string // what is done there: read, write, lock
	Place string // file and line, of files in the module relative to its root
	Func  string // function, or empty
	// Above is how many calls above this one a section lives that is entered here, from
	// 0 to 255.
	Above int
}

// ScheduleError is the error of Schedule.UnmarshalText.
type ScheduleError struct {
	Line int // from 1; behind the last if the text ends too early
	Err  error
}

// Error implements error.
func (e *ScheduleError) Error() string { return fmt.Sprintf("schedule, line %d: %v", e.Line, e.Err) }

// Unwrap returns what is wrong with the line.
func (e *ScheduleError) Unwrap() error { return e.Err }

// What is wrong with a schedule, beside lines that have the wrong words.
var (
	ErrNoSchedule     = errors.New("not a heisen schedule")
	ErrVersion        = errors.New("a version of schedules that is not known")
	ErrCutOff         = errors.New("the schedule is cut off")
	ErrTooManyChoices = errors.New("more choices, or turns, than there can be")
)

const (
	scheduleHeader  = "heisen schedule"
	scheduleVersion = "1"
	turnsVersion    = "2" // of those that have turns
	lineLength      = 76
)

// MaxChoices is how many choices, and how many turns, a Schedule has at most.
const MaxChoices = 1 << 22

// roleNames are the roles by bit.
var roleNames = [...]string{"first", "second", "entry", "remote", "end", "inner"}

// MarshalText implements encoding.TextMarshaler. The error, which wraps ErrConfig, is
// that of a schedule whose steps don't ascend, that has too many choices, or a target
// without a role.
func (s *Schedule) MarshalText() ([]byte, error) {
	var b bytes.Buffer
	version := scheduleVersion
	if len(s.Turns) > 0 {
		version = turnsVersion
	}
	b.WriteString(scheduleHeader + " " + version + "\n")
	line := func(key string, words ...string) {
		b.WriteString(key)
		for _, w := range words {
			b.WriteString(" " + quoted(w))
		}
		b.WriteString("\n")
	}
	list := func(key string, words []string) {
		if len(words) > 0 {
			line(key, words...)
		}
	}
	number := func(key string, n uint64) {
		if n != 0 {
			line(key, strconv.FormatUint(n, 10))
		}
	}
	switch {
	case s.Procs < 0 || s.Procs > math.MaxInt32:
		return nil, fmt.Errorf("%w: %d processors", ErrConfig, s.Procs)
	case s.Outcome == "" && s.Message != "":
		return nil, fmt.Errorf("%w: a message without an outcome", ErrConfig)
	}
	if s.Go != "" || s.Platform != "" {
		line("go", s.Go, s.Platform)
	}
	if s.Command != "" || s.Program != "" {
		line("command", s.Command, s.Program)
	}
	list("args", s.Args)
	list("tags", s.Tags)
	list("pkgs", s.Packages)
	number("procs", uint64(s.Procs))
	if s.Strategy != "" {
		line("strategy", s.Strategy)
	}
	number("seed", s.Seed)
	for _, t := range s.Targets {
		roles, err := rolesText(t.Roles)
		if err != nil {
			return nil, err
		}
		words := []string{roles, t.Mode, t.Place, t.Func}
		if t.Above < 0 || t.Above > math.MaxUint8 {
			return nil, fmt.Errorf("%w: a section %d calls above", ErrConfig, t.Above)
		}
		if t.Above > 0 {
			words = append(words, strconv.Itoa(t.Above))
		}
		line("target", words...)
	}
	if s.Outcome != "" {
		outcome := []string{s.Outcome, s.Message}
		if s.Message == "" {
			outcome = outcome[:1]
		}
		line("outcome", outcome...)
	}
	number("steps", s.Steps)
	if s.Hash != 0 {
		line("hash", fmt.Sprintf("%016x", s.Hash))
	}
	if len(s.Turns) > 0 {
		line("turns", strconv.Itoa(len(s.Turns)))
		if err := writeTurns(&b, s.Turns); err != nil {
			return nil, err
		}
	}
	line("choices", strconv.Itoa(len(s.Choices)))
	if err := writeChoices(&b, s.Choices); err != nil {
		return nil, err
	}
	b.WriteString("end\n")
	return b.Bytes(), nil
}

func rolesText(roles Roles) (string, error) {
	var names []string
	for i, name := range roleNames {
		if roles&(1<<i) != 0 {
			names = append(names, name)
		}
	}
	if len(names) == 0 || roles>>len(roleNames) != 0 {
		return "", fmt.Errorf("%w: a target of roles %#x", ErrConfig, uint8(roles))
	}
	return strings.Join(names, ","), nil
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
		return 0, fmt.Errorf("role %q is not known or there twice", name)
	}
	return roles, nil
}

// columns writes words in lines.
type columns struct {
	b  *bytes.Buffer
	at int // column; 0 at the start of the first line
}

const indent = "  "

func (c *columns) write(word string) {
	switch {
	case c.at == 0:
		c.at = len(indent)
		c.b.WriteString(indent)
	case c.at+1+len(word) > lineLength:
		c.at = len(indent)
		c.b.WriteString("\n" + indent)
	default:
		c.at++
		c.b.WriteString(" ")
	}
	c.b.WriteString(word)
	c.at += len(word)
}

func (c *columns) end() {
	if c.at > 0 {
		c.b.WriteString("\n")
	}
}

// writeChoices writes lines of choices, each with how often it is repeated.
func writeChoices(b *bytes.Buffer, choices []Choice) error {
	if len(choices) > MaxChoices {
		return fmt.Errorf("%w: %d choices", ErrConfig, len(choices))
	}
	out, last := columns{b: b}, uint64(0)
	for i := 0; i < len(choices); {
		c := choices[i]
		if i > 0 && c.Step <= last {
			return fmt.Errorf("%w: choice %d is of step %d, after one of step %d", ErrConfig, i, c.Step, last)
		}
		delta, n := c.Step-last, 1
		for last = c.Step; i+n < len(choices) && choices[i+n].ID == c.ID && choices[i+n].Step-last == delta && delta > 0; n++ {
			last = choices[i+n].Step
		}
		i += n
		word := fmt.Sprintf("%d:%d", delta, c.ID)
		if c.ID == None {
			word = fmt.Sprintf("%d:%s", delta, waiting)
		}
		if n > 1 {
			word += fmt.Sprintf("*%d", n)
		}
		out.write(word)
	}
	out.end()
	return nil
}

// writeTurns writes lines of turns.
func writeTurns(b *bytes.Buffer, turns []Turn) error {
	if len(turns) > MaxChoices {
		return fmt.Errorf("%w: %d turns", ErrConfig, len(turns))
	}
	out := columns{b: b}
	for _, t := range turns {
		if t.ID == None {
			return fmt.Errorf("%w: a turn of no task", ErrConfig)
		}
		out.write(fmt.Sprintf("%d:%d+%d", t.ID, t.Until>>32, t.Until&math.MaxUint32))
	}
	out.end()
	return nil
}

// UnmarshalText implements encoding.TextUnmarshaler. Blank lines, blanks around lines and
// carriage returns don't matter, nor does what comes after the line "end". The error is a
// *ScheduleError; s is then unchanged.
func (s *Schedule) UnmarshalText(text []byte) error {
	p := parser{rest: string(text)}
	schedule, err := p.schedule()
	if err != nil {
		return &ScheduleError{Line: p.number, Err: err}
	}
	*s = schedule
	return nil
}

// parser reads a schedule line by line.
type parser struct {
	rest   string
	number int // of the line
	line   string
}

// next goes on to the next line that is not blank.
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
	if !p.next() {
		return s, ErrNoSchedule
	}
	version, ok := strings.CutPrefix(p.line, scheduleHeader+" ")
	if !ok {
		return s, ErrNoSchedule
	}
	if version != scheduleVersion && version != turnsVersion {
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
			return s, fmt.Errorf("%q for the second time", key)
		}
		seen[key] = true
		switch {
		case key == "choices":
			return s, p.choices(&s, words[1:])
		case key == "turns" && version == turnsVersion:
			if err := p.turns(&s, words[1:]); err != nil {
				return s, err
			}
			continue
		}
		if err := s.set(key, words[1:]); err != nil {
			return s, err
		}
	}
	return s, ErrCutOff
}

// set takes over what a line says.
func (s *Schedule) set(key string, words []string) (err error) {
	want := map[string]int{"go": 2, "command": 2, "procs": 1, "strategy": 1, "seed": 1, "steps": 1, "hash": 1}
	if n, ok := want[key]; ok && len(words) != n {
		return fmt.Errorf("%q has %d words and should have %d", key, len(words), n)
	} else if len(words) == 0 {
		return fmt.Errorf("%q alone says nothing", key)
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
			return errors.New("more, or less, than an outcome and a message")
		}
	case "strategy":
		s.Strategy = words[0]
	case "procs":
		n, err := decimal(words[0], math.MaxInt32)
		s.Procs = int(n)
		return err
	case "seed":
		s.Seed, err = decimal(words[0], math.MaxUint64)
	case "steps":
		s.Steps, err = decimal(words[0], math.MaxUint64)
	case "hash":
		if s.Hash, err = strconv.ParseUint(words[0], 16, 64); err != nil {
			return fmt.Errorf("%q is no hash", words[0])
		}
	case "target":
		if len(words) != 4 && len(words) != 5 {
			return fmt.Errorf("%q has %d words and should have 4 or 5", key, len(words))
		}
		t := Target{Mode: words[1], Place: words[2], Func: words[3]}
		if t.Roles, err = parseRoles(words[0]); err == nil && len(words) == 5 {
			var above uint64
			above, err = decimal(words[4], math.MaxUint8)
			t.Above = int(above)
			if err == nil && above == 0 {
				err = errors.New("a section in no call above has no number")
			}
		}
		s.Targets = append(s.Targets, t)
	default:
		return fmt.Errorf("%q is not known", key)
	}
	return err
}

// number reads how many choices, or turns, there are.
func number(words []string) (uint64, error) {
	if len(words) != 1 {
		return 0, errors.New("the number of what follows is missing")
	}
	count, err := decimal(words[0], math.MaxUint64)
	if err == nil && count > MaxChoices {
		err = fmt.Errorf("%w: %d", ErrTooManyChoices, count)
	}
	return count, err
}

// turns reads the lines of turns.
func (p *parser) turns(s *Schedule, words []string) error {
	count, err := number(words)
	if err != nil {
		return err
	}
	for uint64(len(s.Turns)) < count {
		if !p.next() {
			return ErrCutOff
		}
		for _, word := range strings.Fields(p.line) {
			t, err := parseTurn(word)
			if err != nil {
				return err
			}
			if uint64(len(s.Turns)) == count {
				return fmt.Errorf("%w: the number that stands before them is %d", ErrTooManyChoices, count)
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
		return Turn{}, fmt.Errorf("%q is no turn", word)
	}
	return Turn{ID: uint32(id), Until: points<<32 | accesses}, nil
}

// choices reads the lines of choices and the last.
func (p *parser) choices(s *Schedule, words []string) error {
	count, err := number(words)
	if err != nil {
		return err
	}
	for p.next() {
		if p.line == "end" {
			if uint64(len(s.Choices)) != count {
				return fmt.Errorf("%d choices, and there should be %d", len(s.Choices), count)
			}
			return nil
		}
		for _, word := range strings.Fields(p.line) {
			if s.Choices, err = parseChoice(s.Choices, word, count); err != nil {
				return err
			}
		}
	}
	return ErrCutOff
}

// waiting stands in place of a task where nobody went on until time had passed.
const waiting = "wait"

// parseChoice appends what a word says, if that are no more than limit.
func parseChoice(choices []Choice, word string, limit uint64) ([]Choice, error) {
	deltaText, rest, ok := strings.Cut(word, ":")
	idText, times, repeated := strings.Cut(rest, "*")
	delta, err := decimal(deltaText, math.MaxUint64)
	id, err2 := uint64(None), error(nil)
	if idText != waiting {
		id, err2 = decimal(idText, math.MaxUint32-1)
	}
	n := uint64(1)
	var err3 error
	if repeated {
		n, err3 = decimal(times, math.MaxUint64)
	}
	if !ok || err != nil || err2 != nil || err3 != nil || n == 0 || delta == 0 && (len(choices) > 0 || n > 1) {
		return nil, fmt.Errorf("%q is no choice", word)
	}
	if n > limit-uint64(len(choices)) {
		return nil, fmt.Errorf("%w: the number that stands before them is %d", ErrTooManyChoices, limit)
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
		choices = append(choices, Choice{Step: step, ID: uint32(id)})
	}
	return choices, nil
}

// decimal parses a number as it is written, without signs and leading zeros.
func decimal(text string, most uint64) (uint64, error) {
	n, err := strconv.ParseUint(text, 10, 64)
	if err != nil || n > most || strconv.FormatUint(n, 10) != text {
		return 0, fmt.Errorf("%q is no number from 0 to %d", text, most)
	}
	return n, nil
}

// quoted returns the word as it stands in a line.
func quoted(word string) string {
	plain := word != "" && strings.IndexFunc(word, func(r rune) bool {
		return r == '"' || r == unicode.ReplacementChar || !unicode.IsGraphic(r) || unicode.IsSpace(r)
	}) < 0
	if plain {
		return word
	}
	return strconv.Quote(word)
}

// split takes a line apart into at least one word.
func split(line string) (words []string, err error) {
	for line != "" {
		word := line
		if line[0] == '"' {
			if word, err = strconv.QuotedPrefix(line); err != nil {
				return nil, errors.New("a quoted word has no end")
			}
			line = line[len(word):]
			if line != "" && line[0] != ' ' && line[0] != '\t' {
				return nil, fmt.Errorf("a word begins right after %s", word)
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
