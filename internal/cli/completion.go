package cli

import (
	"flag"
	"fmt"
	"io"
	"slices"
	"strings"
)

var completionCommand = command{
	name: "completion", args: "(bash | zsh | fish)",
	short: "print a script with which a shell completes command lines",
	long: `The script asks $heisen itself for commands, flags and the values of flags, so it
fits every version and the detectors of every tool. Where there is nothing to
propose, the shell proposes files. To use it in the present shell:

  bash   source <($heisen completion bash)
  zsh    source <($heisen completion zsh)
  fish   $heisen completion fish | source

$heisen completion words WORD... prints what the last word, which may be empty, can
become, one proposal a line. The scripts call it with the words after the
command's name.
`,
	run: (*invocation).completion,
}

// completionScripts are the scripts by shell. NAME stands for the command.
var completionScripts = map[string]string{
	// bash makes words of their own of the signs = in a line.
	"bash": `_NAME_complete() {
	local word words=()
	for word in "${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
		[[ $word == = ]] || words+=("$word")
	done
	word=${COMP_WORDS[COMP_CWORD]}
	[[ $word == = ]] && word=
	mapfile -t COMPREPLY < <(NAME completion words "${words[@]}" "$word" 2>/dev/null)
}
complete -o default -F _NAME_complete NAME
`,
	"zsh": `#compdef NAME
_NAME() {
	local -a proposals
	proposals=("${(@f)$(NAME completion words "${(@)words[2,CURRENT]}" 2>/dev/null)}")
	if [[ -n $proposals[1] ]]; then
		compadd -Q -- $proposals
	else
		_files
	fi
}
if (( ! $+functions[compdef] )); then
	autoload -Uz compinit && compinit
fi
compdef _NAME NAME
`,
	"fish": `complete -c NAME -f -a '(set -l words (commandline -opc) (commandline -ct); set -l proposals (NAME completion words $words[2..] 2>/dev/null); if set -q proposals[1]; string join \n -- $proposals; else; __fish_complete_path (commandline -ct); end)'
`,
}

// completion is heisen completion.
func (inv *invocation) completion() (int, error) {
	if len(inv.args) > 0 && inv.args[0] == "words" && inv.help == noHelp {
		for _, p := range inv.tool.proposals(inv.all, inv.args[1:]) {
			fmt.Fprintln(inv.Out, p)
		}
		return Clean, nil
	}
	if err := inv.parse(); err != nil {
		return Misused, err
	}
	if len(inv.args) != 1 || completionScripts[inv.args[0]] == "" {
		return Misused, misuse("want bash, zsh or fish")
	}
	fmt.Fprint(inv.Out, strings.ReplaceAll(completionScripts[inv.args[0]], "NAME", inv.tool.Name))
	return Clean, nil
}

// subcommands are the subcommands of commands.
var subcommands = map[string][]string{
	"trace":      {"stat", "validate", "convert", "print"},
	"sections":   {"infer", "refine"},
	"completion": {"bash", "zsh", "fish"},
}

// proposals returns what the last of the words of a command line can become, in alphabetical order; nothing
// if the line is wrong or the word can be anything. The words are those after the name of the tool.
func (t Tool) proposals(commands []command, words []string) []string {
	if len(words) == 0 {
		return nil
	}
	before, word := words[:len(words)-1], words[len(words)-1]
	var all []string
	var names []string
	for _, c := range commands {
		names = append(names, c.name)
	}
	switch {
	case len(before) == 0:
		all = append(names, "help")
	case before[0] == "help":
		if all = names; len(before) > 1 {
			all = []string{"-all"}
		}
	default:
		i := slices.Index(names, before[0])
		if i < 0 || slices.Contains(before, "--") {
			return nil
		}
		all = t.proposalsOf(commands[i], before[1:], word)
	}
	all = slices.DeleteFunc(all, func(s string) bool { return !strings.HasPrefix(s, word) })
	slices.Sort(all)
	return slices.Compact(all)
}

// proposalsOf returns the proposals for a word of a command after some others.
func (t Tool) proposalsOf(c command, before []string, word string) (all []string) {
	subs := subcommands[c.name]
	var line []string // of the command's own subcommand
	if len(subs) > 0 {
		if len(before) == 0 {
			return subs
		}
		line, before = before[:1], before[1:]
	}
	flags := t.flagsOf(c, line)
	if len(before) > 0 {
		if name := flagName(before[len(before)-1]); name != "" {
			if f := flags.Lookup(name); f != nil && !isBool(f) {
				return t.values(name, word)
			}
		}
	}
	if !strings.HasPrefix(word, "-") {
		return nil // packages, files, traces
	}
	dashes := "-"
	if strings.HasPrefix(word, "--") {
		dashes = "--"
	}
	if name, value, ok := strings.Cut(word, "="); ok {
		for _, v := range t.values(strings.TrimLeft(name, "-"), value) {
			all = append(all, name+"="+v)
		}
		return all
	}
	flags.VisitAll(func(f *flag.Flag) { all = append(all, dashes+f.Name) })
	verb := goVerb(c.name, line)
	for _, name := range goFlagNames(verb) {
		if refused[name] == "" || name == "C" {
			all = append(all, dashes+name)
		}
	}
	return all
}

// goVerb returns the command of the go command whose flags a command has, too; empty if there is none.
func goVerb(name string, sub []string) string {
	switch {
	case name == "test" || name == "run" || name == "build":
		return name
	case name == "heal", name == "sections" && slices.Equal(sub, []string{"refine"}):
		return "test"
	}
	return ""
}

// flagsOf returns the flags of a command. It defines them as for the command's help text.
func (t Tool) flagsOf(c command, args []string) *flag.FlagSet {
	inv := &invocation{tool: t, help: allHelp, args: args, flags: flag.NewFlagSet(c.name, flag.ContinueOnError)}
	inv.Out, inv.Err = io.Discard, io.Discard
	inv.flags.SetOutput(io.Discard)
	c.run(inv) // returns flag.ErrHelp
	return inv.flags
}

// flagName returns the name of a flag that stands without a value; empty if the word is something else.
func flagName(word string) string {
	if !strings.HasPrefix(word, "-") || strings.Contains(word, "=") {
		return ""
	}
	return strings.TrimLeft(word, "-")
}

func isBool(f *flag.Flag) bool {
	b, ok := f.Value.(interface{ IsBoolFlag() bool })
	return ok && b.IsBoolFlag()
}

// values returns the values that a flag can have, each with what the word has before it, such as
// "fasttrack,"; nothing if they cannot be listed.
func (t Tool) values(name, word string) (all []string) {
	switch name {
	case "detect":
		list := ""
		if i := strings.LastIndex(word, ","); i >= 0 {
			list = word[:i+1]
		}
		chosen := strings.Split(list, ",")
		for _, d := range t.detectors() {
			if !slices.Contains(chosen, d.Name) {
				all = append(all, list+d.Name)
			}
		}
	case "report":
		all = formats
	case "pkgs":
		all = []string{"work"}
	}
	return slices.Concat(all, flagValues[name])
}

// flagValues are the values of flags with a few of them. The names are those of messages and help texts.
var flagValues = map[string][]string{
	"filter":   {"tree", "none"},
	"to":       {"std", "binary"},
	"noise":    {"none", "random", "loc", "var"},
	"strategy": {"directed", "walk", "pct", "pos"},
}
