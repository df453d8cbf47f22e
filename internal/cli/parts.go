package cli

import (
	"flag"
	"strings"
)

// An owner says whose a part of a command line is.
type owner uint8

const (
	heisenFlag  owner = iota // a flag of heisen's
	goFlag                   // a flag of the go command
	packageName              // a package, or a file of one
	programWord              // an argument of the program or of the test binary
	separator                // -- or -args; without words where go test would imagine -args
)

// A part is an argument of a command line: a word, or a flag with its value.
type part struct {
	owner    owner
	words    []string // as they stand in the command line
	name     string   // of a flag
	value    string   // of a flag; "true" for a boolean flag without a value
	implicit bool     // the flag has no value
}

// String returns a flag of the go command as one word.
func (p *part) String() string {
	if p.implicit {
		return "-" + p.name
	}
	return "-" + p.name + "=" + p.value
}

// grammar takes command lines apart as go build, go run and go test do. Flags of heisen's may stand wherever
// flags of the go command may stand.
type grammar struct {
	verb     string        // build, run or test
	own      *flag.FlagSet // heisen's flags; the values are not set
	ownFirst bool          // a name that both have is heisen's
	parts    []part
}

// kinds of words
const (
	plainWord = iota
	flagWord
	terminator
	helpFlag
)

// syntax says what a word is, in the way of the go command.
func syntax(word string) (kind int, name, value string, hasValue bool) {
	if word == "--" {
		return terminator, "", "", false
	}
	short := word
	if strings.HasPrefix(word, "--") {
		short = word[1:]
	}
	switch short {
	case "-?", "-h", "-help":
		return helpFlag, "", "", false
	}
	if len(short) < 2 || short[0] != '-' || short[1] == '-' || short[1] == '=' {
		return plainWord, "", "", false
	}
	name, value, hasValue = strings.Cut(short[1:], "=")
	return flagWord, name, value, hasValue
}

// lookup finds a flag. theirs means that heisen's flags don't count.
func (g *grammar) lookup(name string, theirs bool) (who owner, short string, takesValue, known bool) {
	short, takesValue, known = goFlagNamed(g.verb, name)
	if f := g.own.Lookup(name); f != nil && !theirs && (g.ownFirst || !known) {
		b, isBool := f.Value.(interface{ IsBoolFlag() bool })
		return heisenFlag, name, !isBool || !b.IsBoolFlag(), true
	}
	return goFlag, short, takesValue, known
}

// takeFlag adds the flag with which args begin, and returns the arguments after it. If the flag is
// unknown, it adds and takes nothing.
func (g *grammar) takeFlag(args []string, theirs bool) (rest []string, known bool, err error) {
	_, name, value, hasValue := syntax(args[0])
	who, short, takesValue, known := g.lookup(name, theirs)
	if !known {
		return args, false, nil
	}
	p := part{owner: who, words: args[:1:1], name: short, value: value}
	switch {
	case hasValue:
	case !takesValue:
		p.value, p.implicit = "true", true
	case len(args) == 1:
		return args, true, misuse("flag needs an argument: -%s", name)
	default:
		p.words, p.value = args[:2:2], args[1]
	}
	g.parts = append(g.parts, p)
	return args[len(p.words):], true, nil
}

func (g *grammar) add(who owner, words ...string) {
	for _, word := range words {
		g.parts = append(g.parts, part{owner: who, words: []string{word}})
	}
}

// test takes a command line of go test apart, by the rules of cmd/go/internal/test/testflag.go: a
// flag ends the list of packages, a flag that is unknown is for the test binary, and so is a word
// after it, which may be its value. Any other word after the list of packages is for the test
// binary, with all that follow.
//
// The first -- is heisen's own: only flags of the go command come after it.
func (g *grammar) test(args []string) error {
	listing, listed, mayBeValue, theirs := false, false, false, false
	for len(args) > 0 {
		kind, name, _, hasValue := syntax(args[0])
		afterUnknown := mayBeValue
		mayBeValue = false
		switch {
		case kind == helpFlag:
			return flag.ErrHelp
		case kind == terminator && !theirs:
			theirs = true
			g.add(separator, args[0])
			args = args[1:]
		case kind == plainWord && (listing || !listed):
			listing, listed = true, true
			g.add(packageName, args[0])
			args = args[1:]
		case kind == plainWord && afterUnknown:
			g.add(programWord, args[0])
			args = args[1:]
		case kind == plainWord || kind == terminator:
			g.parts = append(g.parts, part{owner: separator})
			g.add(programWord, args...)
			return nil
		case name == "args" && !hasValue:
			g.add(separator, args[0])
			g.add(programWord, args[1:]...)
			return nil
		default:
			rest, known, err := g.takeFlag(args, theirs)
			if err != nil {
				return err
			}
			listing = false
			if !known {
				if like := nearest(name, g.names(theirs)); like != nil {
					return misuse("unknown flag -%s; did you mean %s? Flags of the tests come after -args", name, alternatives(like))
				}
				g.add(programWord, args[0])
				listed, mayBeValue, rest = true, !hasValue, args[1:]
			}
			args = rest
		}
	}
	return nil
}

// run takes a command line of go run apart: flags, then a package or the files of one, then
// arguments of the program. If these begin with --, that is heisen's own.
func (g *grammar) run(args []string) error {
	args, err := g.flags(args)
	if err != nil {
		return err
	}
	n := 0
	for n < len(args) && strings.HasSuffix(args[n], ".go") {
		n++
	}
	if n == 0 && len(args) > 0 && args[0] != "--" {
		n = 1
	}
	g.add(packageName, args[:n]...)
	args = args[n:]
	if len(args) > 0 && args[0] == "--" {
		g.add(separator, args[0])
		args = args[1:]
	}
	g.add(programWord, args...)
	return nil
}

// build takes a command line of go build apart: flags, then packages or the files of one.
func (g *grammar) build(args []string) error {
	args, err := g.flags(args)
	if err != nil {
		return err
	}
	if len(args) > 0 && args[0] == "--" {
		g.add(separator, args[0])
		args = args[1:]
	}
	g.add(packageName, args...)
	return nil
}

// flags takes flags up to the first other word. An unknown flag is an error.
func (g *grammar) flags(args []string) (rest []string, err error) {
	for len(args) > 0 {
		kind, name, _, _ := syntax(args[0])
		switch kind {
		case helpFlag:
			return args, flag.ErrHelp
		case plainWord, terminator:
			return args, nil
		}
		rest, known, err := g.takeFlag(args, false)
		if err == nil && !known {
			err = unknownFlag(name, g.names(false))
		}
		if err != nil {
			return args, err
		}
		args = rest
	}
	return nil, nil
}

// names returns the names of all flags.
func (g *grammar) names(theirs bool) (names []string) {
	names = goFlagNames(g.verb)
	if !theirs {
		g.own.VisitAll(func(f *flag.Flag) { names = append(names, f.Name) })
	}
	return names
}

// unknownFlag returns an error with the nearest names.
func unknownFlag(name string, names []string) error {
	if like := nearest(name, names); like != nil {
		return misuse("unknown flag -%s; did you mean %s?", name, alternatives(like))
	}
	return misuse("unknown flag -%s", name)
}

// alternatives returns names of flags as text.
func alternatives(names []string) string { return "-" + strings.Join(names, " or -") }

// set sets the values of heisen's flags.
func (g *grammar) set() error {
	for i := range g.parts {
		p := &g.parts[i]
		if p.owner != heisenFlag {
			continue
		}
		if err := g.own.Set(p.name, p.value); err != nil {
			return misuse("invalid value %q for flag -%s: %v", p.value, p.name, err)
		}
	}
	return nil
}

// refuse returns an error if a flag of the go command cannot work under heisen.
func (g *grammar) refuse(tool Tool) error {
	for i := range g.parts {
		p := &g.parts[i]
		if p.owner != goFlag {
			continue
		}
		why := refused[p.name]
		if p.name == "compiler" && p.value != "gc" {
			why = "$heisen needs the compiler gc"
		}
		if why != "" && p.value != "false" {
			return misuse("-%s cannot be combined with %s: %s", p.name, tool.Name, tool.named(why))
		}
	}
	return nil
}
