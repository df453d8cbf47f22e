package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

// A part is a section in the file of results: its name, and its text from the anchor on.
type part struct{ name, text string }

// anchorLine is the first line of a section.
var anchorLine = regexp.MustCompile(`(?m)^<a id="([a-z0-9-]+)"></a>\n`)

// anchor returns the first line of a section.
func anchor(name string) string { return `<a id="` + name + "\"></a>\n" }

// parse splits the file of results into what stands before the first section, and the sections.
func parse(text string) (before string, parts []part) {
	found := anchorLine.FindAllStringSubmatchIndex(text, -1)
	if found == nil {
		return text, nil
	}
	for i, m := range found {
		end := len(text)
		if i+1 < len(found) {
			end = found[i+1][0]
		}
		parts = append(parts, part{text[m[2]:m[3]], text[m[0]:end]})
	}
	return text[:found[0][0]], parts
}

// head returns the lines of a section that come before what its commands print.
func (s *section) head() string {
	return fmt.Sprintf("%s## %s\n\n`go run ./bench/book %s` makes this section, in %s. %s\n\n", anchor(s.name), s.title, s.name, s.takes, s.published)
}

// preface returns what stands before the first section.
func preface(all []section) string {
	var b strings.Builder
	b.WriteString(`# Results

What papers have measured and heisen claims, measured again: each section has the tables that one or two commands of this repository print, beside the figures of the paper. Absolute times of different machines and languages cannot be compared; what should be is the ratio between two columns of one table.

A line above each table has the command, the machine, the Go release, the commit of heisen and the date. All sections, or some of them by name, are made again by one command. With ` + "`-quick`" + ` it makes fewer runs.

` + "```sh" + `
go run ./bench/book          # takes hours
go run ./bench/book noise    # takes minutes
` + "```" + `

[Benchmarks](README.md) lists the commands, and what else can be measured.

`)
	for _, s := range all {
		fmt.Fprintf(&b, "- [%s](#%s)\n", s.title, s.name)
	}
	b.WriteByte('\n')
	return b.String()
}

// missing is the text of a section that was never made.
func (s *section) missing() string { return s.head() + "Not measured yet.\n\n" }

// replace returns the text of the file with new texts for some sections, by name. All others keep theirs.
// The sections are in the order of the book; one that the book does not have is left out.
func replace(old string, all []section, made map[string]string) string {
	_, parts := parse(old)
	kept := map[string]string{}
	for _, p := range parts {
		kept[p.name] = p.text
	}
	var b strings.Builder
	b.WriteString(preface(all))
	for _, s := range all {
		switch text, again := made[s.name]; {
		case again:
			b.WriteString(text)
		case kept[s.name] != "":
			b.WriteString(kept[s.name])
		default:
			b.WriteString(s.missing())
		}
	}
	return b.String()
}

// update replaces a section in the file.
func update(file string, all []section, name, text string) error {
	old, err := os.ReadFile(file)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	made := map[string]string{}
	if name != "" {
		made[name] = text
	}
	whole := replace(string(old), all, made)
	temporary, err := os.CreateTemp(filepath.Dir(file), ".results-*")
	if err != nil {
		return err
	}
	defer os.Remove(temporary.Name()) // fails after the renaming
	_, err = temporary.WriteString(whole)
	if err := errors.Join(err, temporary.Chmod(0o644), temporary.Close()); err != nil {
		return err
	}
	return os.Rename(temporary.Name(), file)
}
