package corpus

import (
	"bytes"
	"cmp"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/heisen-go/heisen/racefuzz"
)

// The text of a memory has a line for each thing that is known, with a key and words. Words that could be anything are quoted as in Go.
//
//	heisen corpus 2
//	package "example.org/shop"
//	runs 7
//	program 1f0a...
//	rounds 2 7
//	test "TestPay" 1204 9.8s 0 7
//	work 03fa... 402 1.2s
//	behaviors AAAA...
//	orders AAAA...
//	finding 9f01c2437ab0de55 "data race of total" 2026-11-02 2026-11-09 - - harmful "^TestPay$" 7 7 14
//	  heisen schedule 1
//	  ...
//	order whole
//	place write "example.org/shop.(*Shop).Add" 9f01c243 0 0
//	turn 7 acquire "example.org/shop.(*Shop).Add" 9f01c243 0 0 write "example.org/shop.(*Shop).Add" 9f01c243 0 1
//	end
//
// Behind the rounds stands the last run that had the program. The words of a test are its name, its executions, their time, the number of all
// different ones, or 0, and its last run, of which the lines work are: an ID, executions, and their time. Hashes are in base64, eight bytes
// each, the lowest first. The words of a finding are its fingerprint, what it is about, when it was found first and last, since when it is gone,
// whether it is fixed and harmful, the tests, the run that has stated this and the last one that has found it, and how many lines with the
// schedule follow. A dash stands for a day that there is not. An order is whole, or partial. Its lines have anchors: the
// operation, the function, a hash of the line, and two numbers. Those of a turn are of its first and its last operation, after the number of
// the goroutine. A text of version 1 has no numbers of runs, and no work.

const (
	header  = "heisen corpus "
	version = 2
)

// ErrVersion is wrapped by the error of UnmarshalText for a text of another version.
var ErrVersion = errors.New("another version of heisen has written it")

// MarshalText implements encoding.TextMarshaler.
func (m *Memory) MarshalText() ([]byte, error) {
	var b bytes.Buffer
	fmt.Fprintf(&b, "%s%d\npackage %q\n", header, version, m.Package)
	if m.Runs > 0 {
		fmt.Fprintf(&b, "runs %d\n", m.Runs)
	}
	if m.Program != "" {
		fmt.Fprintf(&b, "program %s\nrounds %d %d\n", m.Program, m.Rounds, m.Used)
	}
	for i := range m.Tests {
		t := &m.Tests[i]
		fmt.Fprintf(&b, "test %q %d %v %d %d\n", t.Name, t.Executions, t.Took, t.All, t.Run)
		for _, w := range t.Work {
			fmt.Fprintf(&b, "work %s %d %v\n", w.ID, w.Executions, w.Took)
		}
		writeHashes(&b, "behaviors", t.Behaviors)
		writeHashes(&b, "orders", t.Orders)
	}
	for i := range m.Findings {
		f := &m.Findings[i]
		var schedule []byte
		if f.Schedule != nil {
			var err error
			if schedule, err = f.Schedule.MarshalText(); err != nil {
				return nil, err
			}
			if len(schedule) > maxSchedule {
				schedule = nil
			}
		}
		fmt.Fprintf(&b, "finding %s %q %s %s %s %s %s %q %d %d %d\n", f.Fingerprint, cut(f.Subject), day(f.First), day(f.Last), day(f.Gone),
			ifSet(f.Fixed, fixed), ifSet(f.Harmful, harmful), f.Tests, f.Stated, f.Found, bytes.Count(schedule, []byte("\n")))
		for line := range bytes.Lines(schedule) {
			fmt.Fprintf(&b, "  %s", line)
		}
		if len(f.Order.Turns) > 0 && schedule != nil {
			writeOrder(&b, &f.Order)
		}
	}
	b.WriteString("end\n")
	return b.Bytes(), nil
}

func writeOrder(b *bytes.Buffer, o *Order) {
	if o.Whole {
		fmt.Fprintf(b, "order %s\n", whole)
	} else {
		fmt.Fprintf(b, "order %s\n", partial)
	}
	for i := range o.Places {
		fmt.Fprintf(b, "place %s\n", &o.Places[i])
	}
	for i := range o.Turns {
		t := &o.Turns[i]
		fmt.Fprintf(b, "turn %d %s %s\n", t.Thread, &t.First, &t.Last)
	}
}

// String returns the words of an anchor.
func (a *Anchor) String() string {
	return fmt.Sprintf("%s %q %08x %d %d", a.Op, cut(a.Func), a.Text, a.Nth, a.Of)
}

const (
	fixed   = "fixed"
	harmful = "harmful"
	whole   = "whole"
	partial = "partial"
)

func ifSet(set bool, word string) string {
	if !set {
		return "-"
	}
	return word
}

func cut(text string) string { return strings.ToValidUTF8(text[:min(len(text), maxText)], "") }

func day(d Day) string {
	if d == "" {
		return "-"
	}
	return string(d)
}

func writeHashes(b *bytes.Buffer, key string, hashes []uint64) {
	if len(hashes) == 0 {
		return
	}
	var raw []byte
	for _, h := range hashes {
		raw = binary.LittleEndian.AppendUint64(raw, h)
	}
	fmt.Fprintf(b, "%s %s\n", key, base64.StdEncoding.EncodeToString(raw))
}

// parseError is the error of UnmarshalText.
type parseError struct {
	line int
	err  error
}

func (e *parseError) Error() string { return fmt.Sprintf("%d: %v", e.line, e.err) }
func (e *parseError) Unwrap() error { return e.err }

// UnmarshalText implements encoding.TextUnmarshaler. Its error is one line, begins with the number of the line of the text, and leaves m as it is. It
// takes every text that MarshalText returns, and none of which the parts are not in the order that they have there.
func (m *Memory) UnmarshalText(text []byte) error {
	p := parser{rest: string(text)}
	if err := p.parse(); err != nil {
		return &parseError{p.line, err}
	}
	*m = p.out
	return nil
}

type parser struct {
	rest    string
	line    int
	version int
	out     Memory
	ordered bool // the latest finding has an order
}

// next returns the next line, without its end.
func (p *parser) next() (string, error) {
	p.line++
	line, rest, ended := strings.Cut(p.rest, "\n")
	if !ended {
		return "", errors.New("the text is truncated")
	}
	p.rest = rest
	return line, nil
}

func (p *parser) parse() error {
	line, err := p.next()
	if err != nil {
		return err
	}
	number, ok := strings.CutPrefix(line, header)
	if !ok {
		return errors.New("not a corpus of heisen")
	}
	if p.version, err = strconv.Atoi(number); err != nil || p.version < 1 || p.version > version || strconv.Itoa(p.version) != number {
		return fmt.Errorf("%w (format %q)", ErrVersion, short(number))
	}
	for {
		line, err := p.next()
		if err != nil {
			return err
		}
		key, rest, _ := strings.Cut(line, " ")
		if p.ordered && key != "place" && key != "turn" && len(p.out.Findings[len(p.out.Findings)-1].Order.Turns) == 0 {
			return errors.New("an order without a turn")
		}
		if key == "end" && rest == "" {
			break
		}
		words, err := split(rest)
		if err == nil {
			err = p.take(key, words)
		}
		if err != nil {
			return err
		}
	}
	p.line++
	switch {
	case p.rest != "":
		return errors.New("there is text after the end")
	case p.out.Package == "":
		return errors.New("the package is missing")
	}
	return nil
}

// split returns the words of a line.
func split(text string) (words []string, err error) {
	for text != "" {
		var word string
		if strings.HasPrefix(text, `"`) {
			quoted, err := strconv.QuotedPrefix(text)
			if err != nil {
				return nil, errors.New("a quoted word has no end")
			}
			if word, err = strconv.Unquote(quoted); err != nil || len(word) > maxText {
				return nil, errors.New("a quoted word is wrong or too long")
			}
			text = text[len(quoted):]
		} else {
			end := strings.IndexByte(text, ' ')
			if end < 0 {
				end = len(text)
			}
			word, text = text[:end], text[end:]
		}
		words = append(words, word)
		if text == "" {
			break
		}
		if text[0] != ' ' || len(text) == 1 {
			return nil, errors.New("words are not separated by single blanks")
		}
		text = text[1:]
	}
	return words, nil
}

// lengths are how many words the lines have, in each version.
var lengths = map[string][version]int{
	"package": {1, 1}, "runs": {0, 1}, "program": {1, 1}, "rounds": {1, 2}, "test": {4, 5}, "work": {0, 3}, "behaviors": {1, 1}, "orders": {1, 1},
	"finding": {9, 11}, "order": {1, 1}, "place": {5, 5}, "turn": {11, 11},
}

func (p *parser) take(key string, w []string) (err error) {
	n, known := lengths[key][p.version-1], lengths[key][p.version-1] > 0
	switch {
	case !known:
		return fmt.Errorf("unknown key %q", short(key))
	case len(w) != n:
		return fmt.Errorf("%s has %d words, not %d", key, len(w), n)
	}
	m := &p.out
	switch key {
	case "package":
		if m.Package != "" || w[0] == "" {
			return errors.New("a second package, or none")
		}
		m.Package = w[0]
	case "program":
		if !isHex(w[0]) || m.Program != "" || len(m.Tests)+len(m.Findings) > 0 {
			return errors.New("the program is no number, or in the wrong place")
		}
		m.Program = w[0]
	case "runs":
		if m.Runs, err = strconv.ParseUint(w[0], 10, 48); err != nil || m.Program != "" || len(m.Findings) > 0 {
			return errors.New("runs are no number, or in the wrong place")
		}
	case "rounds":
		if m.Rounds, err = strconv.ParseUint(w[0], 10, 32); err != nil || m.Program == "" {
			return errors.New("rounds are a number below 4294967296, of a program")
		}
		if p.version > 1 {
			m.Used, err = p.run(w[1])
		}
		return err
	case "test":
		return p.test(w)
	case "work":
		return p.work(w)
	case "behaviors", "orders":
		return p.hashes(key, w[0])
	case "finding":
		return p.finding(w)
	case "order", "place", "turn":
		return p.order(key, w)
	}
	return nil
}

func (p *parser) test(w []string) error {
	m := &p.out
	t := Test{Name: w[0]}
	var err1, err2, err3, err4 error
	t.Executions, err1 = strconv.ParseUint(w[1], 10, 48)
	t.Took, err2 = time.ParseDuration(w[2])
	t.All, err3 = strconv.ParseUint(w[3], 10, 31)
	if p.version > 1 {
		t.Run, err4 = p.run(w[4])
	}
	switch {
	case errors.Join(err1, err2, err3, err4) != nil || t.Took < 0 || t.Took > maxTook:
		return errors.New("a number of the test is wrong")
	case m.Program == "" || len(m.Findings) > 0 || len(m.Tests) == maxTests || len(m.Tests) > 0 && m.Tests[len(m.Tests)-1].Name >= t.Name:
		return errors.New("the test is in the wrong place")
	}
	m.Tests = append(m.Tests, t)
	return nil
}

// run returns the number of a run, which is one of those that the memory counts.
func (p *parser) run(word string) (uint64, error) {
	n, err := strconv.ParseUint(word, 10, 48)
	if err != nil || n > p.out.Runs {
		return 0, errors.New("a run is no number, or there was none")
	}
	return n, nil
}

func (p *parser) work(w []string) error {
	m := &p.out
	if len(m.Tests) == 0 || len(m.Findings) > 0 {
		return errors.New("work of no test")
	}
	of, one := &m.Tests[len(m.Tests)-1], Work{ID: w[0]}
	var err1, err2 error
	one.Executions, err1 = strconv.ParseUint(w[1], 10, 48)
	one.Took, err2 = time.ParseDuration(w[2])
	switch n := len(of.Work); {
	case errors.Join(err1, err2) != nil || one.Took < 0 || one.Took > maxTook || !isHex(one.ID):
		return errors.New("a word of the work is wrong")
	case n == maxWork || n > 0 && of.Work[n-1].ID >= one.ID || len(of.Behaviors)+len(of.Orders) > 0:
		return errors.New("the work is in the wrong place")
	}
	of.Work = append(of.Work, one)
	return nil
}

func (p *parser) hashes(key, word string) error {
	m := &p.out
	if len(m.Tests) == 0 || len(m.Findings) > 0 {
		return errors.New(key + " of no test")
	}
	raw, err := base64.StdEncoding.Strict().DecodeString(word)
	if err != nil || len(raw)%8 != 0 || len(raw) > 8*maxHashes || len(raw) == 0 {
		return errors.New(key + " are wrong, or too many")
	}
	var all []uint64
	for len(raw) > 0 {
		all = append(all, binary.LittleEndian.Uint64(raw))
		raw = raw[8:]
	}
	for i := range all[1:] {
		if all[i] >= all[i+1] {
			return errors.New(key + " do not ascend")
		}
	}
	of := &m.Tests[len(m.Tests)-1]
	at := &of.Behaviors
	if key == "orders" {
		at = &of.Orders
	}
	if *at != nil {
		return errors.New(key + " come twice")
	}
	*at = all
	return nil
}

func (p *parser) finding(w []string) (err error) {
	m := &p.out
	f := Finding{Fingerprint: w[0], Subject: w[1], Tests: w[7]}
	for i, to := range []*Day{&f.First, &f.Last, &f.Gone} {
		if *to, err = parseDay(w[2+i]); err != nil {
			return err
		}
	}
	f.Fixed, f.Harmful = w[5] == fixed, w[6] == harmful
	if p.version > 1 {
		var err1, err2 error
		f.Stated, err1 = p.run(w[8])
		f.Found, err2 = p.run(w[9])
		if err := cmp.Or(err1, err2); err != nil {
			return err
		}
	}
	lines, err := strconv.Atoi(w[len(w)-1])
	switch {
	case err != nil || lines < 0 || lines > maxSchedule:
		return errors.New("the number of lines of the schedule is wrong")
	case !isHex(w[0]) || w[5] != ifSet(f.Fixed, fixed) || w[6] != ifSet(f.Harmful, harmful) || f.First == "" || f.Last == "" || f.Fixed && f.Gone == "":
		return errors.New("a word of the finding is wrong")
	case len(m.Findings) == maxFindings || len(m.Findings) > 0 && m.Findings[len(m.Findings)-1].Fingerprint >= f.Fingerprint:
		return errors.New("the finding is in the wrong place")
	}
	if lines > 0 {
		if f.Schedule, err = p.schedule(lines); err != nil {
			return err
		}
	}
	m.Findings, p.ordered = append(m.Findings, f), false
	return nil
}

// order takes a line of the order of the latest finding: what it is, then the places, then the turns.
func (p *parser) order(key string, w []string) (err error) {
	n := len(p.out.Findings)
	if n == 0 || p.out.Findings[n-1].Schedule == nil || p.ordered == (key == "order") {
		return errors.New("an order of nothing, or a second one")
	}
	o := &p.out.Findings[n-1].Order
	switch {
	case key == "order":
		o.Whole, p.ordered = w[0] == whole, true
		if !o.Whole && w[0] != partial {
			return errors.New("an order is whole or partial")
		}
	case key == "place":
		if len(o.Places) == maxPlaces || len(o.Turns) > 0 {
			return errors.New("a place too many, or after a turn")
		}
		var a Anchor
		a, err = parseAnchor(w)
		o.Places = append(o.Places, a)
	default:
		if len(o.Turns) == MaxTurns {
			return errors.New("too many turns")
		}
		thread, err1 := number32(w[0])
		first, err2 := parseAnchor(w[1:6])
		last, err3 := parseAnchor(w[6:])
		err = cmp.Or(err1, err2, err3)
		o.Turns = append(o.Turns, Turn{thread, first, last})
	}
	return err
}

func parseAnchor(w []string) (a Anchor, err error) {
	hash, err1 := strconv.ParseUint(w[2], 16, 32)
	nth, err2 := number32(w[3])
	of, err3 := number32(w[4])
	a = Anchor{Op: w[0], Func: w[1], Text: uint32(hash), Nth: nth, Of: of}
	if cmp.Or(err1, err2, err3) != nil || w[2] != fmt.Sprintf("%08x", hash) || a.Op == "" || strings.Trim(a.Op, "abcdefghijklmnopqrstuvwxyz-") != "" {
		return a, errors.New("a word of an anchor is wrong")
	}
	return a, nil
}

// number32 returns a number as it is written.
func number32(word string) (uint32, error) {
	n, err := strconv.ParseUint(word, 10, 32)
	if err == nil && word != strconv.FormatUint(n, 10) {
		err = strconv.ErrSyntax
	}
	return uint32(n), err
}

// schedule takes the lines of a schedule.
func (p *parser) schedule(lines int) (*racefuzz.Schedule, error) {
	var text strings.Builder
	first := p.line
	for range lines {
		line, err := p.next()
		if err != nil {
			return nil, err
		}
		line, ok := strings.CutPrefix(line, "  ")
		if !ok {
			return nil, errors.New("a line of the schedule is not indented")
		}
		if text.WriteString(line + "\n"); text.Len() > maxSchedule {
			return nil, fmt.Errorf("the schedule has more than %d bytes", maxSchedule)
		}
	}
	s := new(racefuzz.Schedule)
	if err := s.UnmarshalText([]byte(text.String())); err != nil {
		var at *racefuzz.ScheduleError
		if errors.As(err, &at) {
			p.line, err = first+at.Line, at.Err
		}
		return nil, err
	}
	if s.Command != "" || s.Program != "" || len(s.Args) > 0 || len(s.Tags) > 0 || len(s.Packages) > 0 {
		return nil, errors.New("the schedule names a program, arguments or flags")
	}
	return s, nil
}

func parseDay(word string) (Day, error) {
	if word == "-" {
		return "", nil
	}
	if _, err := time.Parse(time.DateOnly, word); err != nil {
		return "", errors.New("a day is wrong")
	}
	return Day(word), nil
}

// isHex reports whether a word consists of digits of hexadecimal numbers.
func isHex(word string) bool {
	return word != "" && len(word) <= 64 && strings.Trim(word, "0123456789abcdef") == ""
}

// short returns the beginning of a word for an error.
func short(word string) string { return word[:min(len(word), 20)] }
