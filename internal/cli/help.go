package cli

import (
	"flag"
	"fmt"
	"io"
	"slices"
	"strings"
)

// commands returns the subcommands, in the order of the help text. Each is in the file of its name.
func commands() []command {
	return []command{
		checkCommand,
		testCommand,
		runCommand,
		buildCommand,
		sdkCommand,
		healCommand,
		fuzzCommand,
		replayCommand,
		recordCommand,
		analyzeCommand,
		showCommand,
		viewCommand,
		traceCommand,
		sectionsCommand,
		inferCommand,
		completionCommand,
		versionCommand,
	}
}

// helpKind says how much help the command line asks for.
type helpKind uint8

const (
	noHelp helpKind = iota
	someHelp
	allHelp
)

// helpArgs takes -all from the arguments of heisen help.
func helpArgs(args []string) (kind helpKind, rest []string) {
	kind = someHelp
	for _, arg := range args {
		if arg == "-all" || arg == "--all" {
			kind = allHelp
		} else {
			rest = append(rest, arg)
		}
	}
	return kind, rest
}

// brief is a flag that people need early, on one line.
type brief struct{ flag, text string }

// flagGroups are the groups of flags in help texts.
var flagGroups = []struct {
	title string
	flags []string
}{
	{"detectors", []string{"detect", "predict", "causality", "filter", "transactions"}},
	{"which events", []string{"finding", "first", "last", "events", "goroutine", "object", "atomics"}},
	{"packages", []string{"pkgs", "norace-files", "focus", "hide", "hide.once", "hide.limit"}},
	{"reports", []string{"report", "baseline", "write-baseline", "suppress", "schedules", "unconfirmed", "timing", "merge"}},
	{"search", []string{
		"window", "budget", "seeds", "shard", "strategy", "walks", "depth", "minimize", "patience", "wait",
		"limit", "virtual", "procs", "j",
	}},
	{"atomic sections and noise", []string{
		"sections", "noise", "from", "noise-strength", "noise-wait", "noise-seed", "noise-budget", "runs", "calm",
	}},
}

// baselineHelp is about the flags of knownFlags.
const baselineHelp = `
A baseline is a file of findings, as -report json writes them. Findings with the
same fingerprints are neither reported nor counted. A suppressions file has lines
like

  package example.com/old/...   # why
  function main.(*cache).get    # why
  variable c.hits               # why

for findings with an access in the package, in the function or a function literal
within it, or to the variable. The reason after the number sign is mandatory.
`

// named returns a help text or message with the command's name in the place of $heisen. Without the
// sign, heisen is the project: heisen's binary format, a name such as trace.heisen.
func (t Tool) named(text string) string { return strings.ReplaceAll(text, "$heisen", t.Name) }

func (t Tool) usage(w io.Writer) {
	fmt.Fprintf(w, "%s finds concurrency bugs in Go programs. To begin: %[1]s check ./...\nusage: %[1]s <command> [flags] [arguments]\n\n", t.Name)
	for _, c := range commands() {
		fmt.Fprintf(w, "  %-10s %s\n", c.name, t.named(c.short))
	}
	fmt.Fprintf(w, "\n%[1]s is also a tool of go vet: go vet -vettool=$(which %[1]s) ./...\nFor more about a command, run %[1]s help <command>.\n", t.Name)
}

// printHelp prints the help text of a subcommand. Its flags have been defined.
func (c command) printHelp(inv *invocation) {
	w, named := inv.Out, inv.tool.named
	fmt.Fprintf(w, "usage: %s\n\n%s.\n", strings.TrimSpace(inv.tool.Name+" "+c.name+" "+c.args), strings.ToUpper(c.short[:1])+named(c.short[1:]))
	if c.first != nil && inv.help != allHelp {
		fmt.Fprintf(w, "%s\n", filled(named(c.intro)))
		for _, b := range c.first {
			name := "-" + b.flag
			if f := inv.flags.Lookup(b.flag); f != nil {
				name = flagWithValue(f)
			}
			fmt.Fprintf(w, "  %-22s %s\n", name, named(b.text))
		}
		fmt.Fprintf(w, `
Exit status: 0 nothing found, 66 findings, 2 wrong usage, 1 any other error.
All flags, detectors and more: %s help %s -all
`, inv.tool.Name, c.name)
		return
	}
	if c.long != "" {
		fmt.Fprintf(w, "\n%s", filled(named(c.long)))
	}
	printFlags(w, inv.flags)
	if inv.flags.Lookup("detect") != nil && c.name != buildCommand.name {
		fmt.Fprint(w, "\ndetectors:\n")
		for _, d := range inv.tool.detectors() {
			fmt.Fprintf(w, "  %-10s %s\n", d.Name, wrapped(d.Promise, 13))
		}
	}
	fmt.Fprint(w, `
exit status: 0 nothing found, 66 findings of any kind, 2 wrong usage, 1 any
other error, even after findings. If the program fails, its own status is
passed on.
`)
}

// printFlags prints the flags by group, if there is more than one group.
func printFlags(w io.Writer, fs *flag.FlagSet) {
	groups := make([][]*flag.Flag, len(flagGroups)+1)
	others := &groups[len(flagGroups)]
	fs.VisitAll(func(f *flag.Flag) {
		for i := range flagGroups {
			if slices.Contains(flagGroups[i].flags, f.Name) {
				groups[i] = append(groups[i], f)
				return
			}
		}
		*others = append(*others, f)
	})
	filled := 0
	for i := range groups {
		if len(groups[i]) > 0 {
			filled++
		}
	}
	if filled == 1 {
		fmt.Fprint(w, "\nflags:\n")
	}
	for i, flags := range groups {
		if i < len(flagGroups) {
			order := flagGroups[i].flags
			slices.SortFunc(flags, func(a, b *flag.Flag) int {
				return slices.Index(order, a.Name) - slices.Index(order, b.Name)
			})
		}
		switch {
		case len(flags) == 0:
			continue
		case filled > 1 && i < len(flagGroups):
			fmt.Fprintf(w, "\nflags, %s:\n", flagGroups[i].title)
		case filled > 1:
			fmt.Fprint(w, "\nother flags:\n")
		}
		for _, f := range flags {
			_, usage := flag.UnquoteUsage(f)
			if !slices.Contains([]string{"", "0", "0s", "false"}, f.DefValue) {
				usage += " (default " + f.DefValue + ")"
			}
			fmt.Fprintf(w, "  %s\n      %s\n", flagWithValue(f), wrapped(usage, 6))
		}
	}
}

// flagWithValue returns a flag with the name of its value.
func flagWithValue(f *flag.Flag) string {
	value, _ := flag.UnquoteUsage(f)
	return strings.TrimSpace("-" + f.Name + " " + value)
}

// helpWidth is the width of help texts.
const helpWidth = 80

// filled breaks the paragraphs of text into lines, except those with indented lines.
func filled(text string) string {
	paragraphs := strings.Split(strings.Trim(text, "\n"), "\n\n")
	for i, p := range paragraphs {
		if p[0] != ' ' && !strings.Contains(p, "\n ") {
			paragraphs[i] = wrapped(p, 0)
		}
	}
	return strings.Join(paragraphs, "\n\n") + "\n"
}

// wrapped breaks text into lines. Lines after the first begin with indent spaces, and the first is
// to be printed behind as many columns.
func wrapped(text string, indent int) string {
	var b strings.Builder
	column := indent
	for i, word := range strings.Fields(text) {
		switch {
		case i == 0:
		case column+1+len(word) > helpWidth:
			b.WriteString("\n" + strings.Repeat(" ", indent))
			column = indent
		default:
			b.WriteByte(' ')
			column++
		}
		b.WriteString(word)
		column += len(word)
	}
	return b.String()
}
