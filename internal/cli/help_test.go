package cli

import (
	"bytes"
	"context"
	"slices"
	"strings"
	"testing"
)

// helpText returns what heisen help prints with the given arguments.
func helpText(t *testing.T, args ...string) string {
	t.Helper()
	var out, errs bytes.Buffer
	status := Main(context.Background(), Tool{}, append([]string{"help"}, args...), Streams{Out: &out, Err: &errs})
	if status != Clean || errs.Len() > 0 {
		t.Fatalf("heisen help %s: exit status %d, %s", strings.Join(args, " "), status, &errs)
	}
	return out.String()
}

// TestHelpNamesTheTool: help texts and messages name the command as its Tool does. The project keeps its
// name.
func TestHelpNamesTheTool(t *testing.T) {
	project := strings.NewReplacer("heisen's binary format", "", "trace.heisen", "", "t.heisen", "", "t-2.heisen", "", "default heisen-fuzz", "", "default heisen.plan", "")
	run := func(args ...string) string {
		var out bytes.Buffer
		Main(context.Background(), Tool{Name: "hotfinder"}, args, Streams{Out: &out, Err: &out})
		return out.String()
	}
	texts := map[string]string{"no command": run(), "help": run("help"), "an unknown command": run("nothing")}
	for _, c := range commands() {
		for _, all := range []string{"", "-all"} {
			texts[c.name+" "+all] = run("help", c.name, all)
		}
	}
	for _, args := range [][]string{
		{"test", "-race"}, {"test", "-compiler=gccgo"}, {"build", "-detect", "hb"}, {"run", "example.com/x@v1"},
	} {
		texts[strings.Join(args, " ")] = run(args...)
	}
	for name, text := range texts {
		if strings.Contains(project.Replace(text), "heisen") || !strings.Contains(text, "hotfinder") {
			t.Errorf("%s: the command is not called hotfinder:\n%s", name, text)
		}
	}
	for _, line := range []string{"that of hotfinder test or hotfinder run.", "usage: hotfinder record -o trace.heisen ", "hotfinder record", "for hotfinder analyze"} {
		if !strings.Contains(texts["record "], line) {
			t.Errorf("help record lacks %q:\n%s", line, texts["record "])
		}
	}
}

// TestHelpFits: help texts fit a terminal of 80 columns, and those of commands with many flags,
// without -all, a screen of 24 lines with the prompt below it.
func TestHelpFits(t *testing.T) {
	for _, c := range append(commands(), command{}) {
		var topic []string
		if c.name != "" {
			topic = []string{c.name}
		}
		all := helpText(t, append(topic, "-all")...)
		short := helpText(t, topic...)
		for line := range strings.Lines(short + all) {
			if n := len(strings.TrimSuffix(line, "\n")); n > helpWidth {
				t.Errorf("heisen help %s: %d columns: %s", c.name, n, line)
			}
		}
		if lines := strings.Count(short, "\n"); lines >= 24 && (c.first != nil || c.name == "") {
			t.Errorf("heisen help %s: %d lines", c.name, lines)
		}
	}
}

// TestHelpIsComplete: the help text with -all has all flags, and the flags in tables exist.
func TestHelpIsComplete(t *testing.T) {
	used := map[string]bool{}
	for _, c := range commands() {
		if c.name == "trace" {
			continue // its subcommands have the flags
		}
		text := helpText(t, c.name, "-all")
		var names []string
		for _, f := range flagsOf(t, c) {
			names = append(names, f.Name)
			used[f.Name] = true
			if !strings.Contains(text, "\n  -"+f.Name+" ") && !strings.Contains(text, "\n  -"+f.Name+"\n") {
				t.Errorf("heisen help %s -all lacks -%s", c.name, f.Name)
			}
		}
		for _, b := range c.first {
			if !slices.Contains(names, b.flag) {
				t.Errorf("heisen help %s: there is no flag -%s", c.name, b.flag)
			}
		}
		if n := len(c.first); n != 0 && n != 10 {
			t.Errorf("heisen help %s begins with %d flags", c.name, n)
		}
	}
	for _, g := range flagGroups {
		for _, name := range g.flags {
			if !used[name] && name != "runs" && name != "calm" { // of heisen sections refine
				t.Errorf("no command has the flag -%s", name)
			}
		}
	}
}
