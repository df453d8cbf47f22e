package cli

import (
	"slices"
	"strconv"
	"strings"

	"github.com/heisen-go/heisen/internal/build"
	"github.com/heisen-go/heisen/internal/racetag"
)

// commandLine is the command line of a go build, go run or go test that heisen runs, without heisen's
// own flags.
type commandLine struct {
	verb  string // build, run or test
	parts []part

	noRaceFiles bool // the files of the main module are those of a build without the tag race
}

// testLine parses arguments in the form of go test. It sets heisen's flags.
func (inv *invocation) testLine() error {
	return inv.parseLine(&grammar{verb: "test"}, (*grammar).test)
}

// refineLine is testLine, but names that heisen and the go command have are heisen's.
func (inv *invocation) refineLine() error {
	return inv.parseLine(&grammar{verb: "test", ownFirst: true}, (*grammar).test)
}

// runLine parses arguments in the form of go run. It sets heisen's flags.
func (inv *invocation) runLine() error { return inv.parseLine(&grammar{verb: "run"}, (*grammar).run) }

// buildLine parses arguments in the form of go build. It sets heisen's flags.
func (inv *invocation) buildLine() error {
	return inv.parseLine(&grammar{verb: "build"}, (*grammar).build)
}

func (inv *invocation) parseLine(g *grammar, parse func(*grammar, []string) error) error {
	g.own = inv.flags
	if err := inv.asked(); err != nil {
		return err
	}
	if err := parse(g, inv.args); err != nil {
		return err
	}
	return inv.accept(g)
}

// accept sets heisen's flags and inv.line.
func (inv *invocation) accept(g *grammar) error {
	if err := g.set(); err != nil {
		return err
	}
	if err := g.refuse(inv.tool); err != nil {
		return err
	}
	inv.line.verb, inv.line.parts = g.verb, g.parts
	return nil
}

// verbLine parses arguments that begin with flags and a verb, test or run. Before the verb,
// heisen's flags take precedence over those of the go command, and after it the other way around.
// If optional is set, arguments without a verb are those of test.
func (inv *invocation) verbLine(optional bool) error {
	if err := inv.asked(); err != nil {
		return err
	}
	before := &grammar{verb: "test", own: inv.flags, ownFirst: true}
	rest, err := before.flags(inv.args)
	g := &grammar{verb: "test", own: inv.flags}
	if err == nil && len(rest) > 0 && (rest[0] == "test" || rest[0] == "run") {
		g.verb, g.parts = rest[0], before.parts
		rest = rest[1:]
	} else if optional {
		rest, err = inv.args, nil
	} else if err == nil {
		if err := before.set(); err != nil {
			return err
		}
		if len(rest) == 0 {
			return misuse("neither test nor run")
		}
		return misuse("%q is neither test nor run", rest[0])
	}
	if err != nil {
		return err
	}
	for _, p := range g.parts {
		if _, _, known := goFlagNamed(g.verb, p.name); p.owner == goFlag && !known {
			return misuse("-%s is not a flag of go %s", p.name, g.verb)
		}
	}
	if g.verb == "run" {
		err = g.run(rest)
	} else {
		err = g.test(rest)
	}
	if err != nil {
		return err
	}
	return inv.accept(g)
}

// words returns the words of an owner.
func (l *commandLine) words(who owner) (words []string) {
	for i := range l.parts {
		if l.parts[i].owner == who {
			words = append(words, l.parts[i].words...)
		}
	}
	return words
}

// packages returns the packages, or files of one.
func (l *commandLine) packages() []string { return l.words(packageName) }

// program returns the arguments of the program, or those of the test binary besides the flags of go
// test.
func (l *commandLine) program() []string { return l.words(programWord) }

// goFlags returns the flags of the go command, without those named.
func (l *commandLine) goFlags(without ...string) (flags []part) {
	for _, p := range l.parts {
		if p.owner == goFlag && !slices.Contains(without, p.name) {
			flags = append(flags, p)
		}
	}
	return flags
}

// value returns the value of a flag of the go command, the last one if there are several.
func (l *commandLine) value(name string) (value string, given bool) {
	for _, p := range l.named(name) {
		value, given = p.value, true
	}
	return value, given
}

// isTrue reports whether a boolean flag of the go command is set.
func (l *commandLine) isTrue(name string) bool {
	value, _ := l.value(name)
	set, err := strconv.ParseBool(value)
	return err == nil && set
}

// values returns all values of a flag of the go command.
func (l *commandLine) values(name string) (values []string) {
	for _, p := range l.named(name) {
		values = append(values, p.value)
	}
	return values
}

// named returns the flags of the go command with a name.
func (l *commandLine) named(name string) (flags []part) {
	for _, p := range l.goFlags() {
		if p.name == name {
			flags = append(flags, p)
		}
	}
	return flags
}

// texts returns flags as words.
func texts(flags []part) (words []string) {
	for i := range flags {
		words = append(words, flags[i].String())
	}
	return words
}

// heisen passes these flags of the go command on in another way than the others, if at all.
var handled = []string{"tags", "gcflags", "vet", "overlay"}

// tagFlags returns the flag -tags, or nothing.
func (l *commandLine) tagFlags() []string {
	if tags := l.tags(); tags != nil {
		return []string{"-tags=" + strings.Join(tags, ",")}
	}
	return nil
}

// tags returns the build tags, or nil if none are given. racetag.Without may be among them.
func (l *commandLine) tags() (tags []string) {
	if list, given := l.value("tags"); given {
		tags = append([]string{}, strings.FieldsFunc(list, func(r rune) bool { return r == ',' || r == ' ' })...)
	}
	if l.noRaceFiles {
		tags = append(tags, racetag.Without)
	}
	return tags
}

// listFlags returns the build flags that decide which modules and files there are. go list has
// them, too.
func (l *commandLine) listFlags() (flags []string) {
	for _, name := range []string{"mod", "modfile", "modcacherw", "overlay"} {
		if value, given := l.value(name); given {
			flags = append(flags, "-"+name+"="+value)
		}
	}
	return append(flags, l.tagFlags()...)
}

// forTest returns the arguments of go test, in their order. A flag of heisen's may have ended the
// list of packages, so -args stands where the arguments of the test binary begin.
func (l *commandLine) forTest() (args []string) {
	for i := range l.parts {
		switch p := &l.parts[i]; {
		case p.owner == goFlag && !slices.Contains(handled, p.name):
			args = append(args, p.String())
		case p.owner == packageName || p.owner == programWord:
			args = append(args, p.words...)
		case p.owner == separator && (len(p.words) == 0 || p.words[0] != "--"):
			args = append(args, "-args")
		}
	}
	return args
}

// inGOFLAGS returns the value of a flag in GOFLAGS, the last one if there are several.
func inGOFLAGS(goflags, name string) (value string, given bool) {
	values := valuesInGOFLAGS(goflags, name)
	if len(values) == 0 {
		return "", false
	}
	return values[len(values)-1], true
}

// valuesInGOFLAGS returns all values of a flag in GOFLAGS.
func valuesInGOFLAGS(goflags, name string) (values []string) {
	words, err := build.Words(goflags)
	if err != nil {
		return nil // the go command reports it
	}
	for _, word := range words {
		if kind, flag, value, hasValue := syntax(word); kind == flagWord && strings.TrimPrefix(flag, "test.") == name {
			if !hasValue {
				value = "true"
			}
			values = append(values, value)
		}
	}
	return values
}
