package cli_test

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// filled returns as many copies of one(i) as fit into a hostile file, between begin and end.
func filled(begin string, one func(i int) string, end string) string {
	var b strings.Builder
	b.WriteString(begin)
	for i := 1; ; i++ {
		next := one(i)
		if b.Len()+len(next)+len(end) > maxHostile {
			break
		}
		b.WriteString(next)
	}
	return b.String() + end
}

// TestHostileInputs: all commands that read a file that is not a trace keep the limits, whatever is in the
// file, and say on one line what is wrong with it, and where.
func TestHostileInputs(t *testing.T) {
	const (
		finding  = `{"detector":"hb","kind":"race","fingerprint":"%x","count":1}` + "\n"
		access   = `{"op":"read","thread":1,"object":"x","stack":[{"func":"main.main","file":"main.go","line":%d}]}`
		sections = "heisen sections 1\n\n"
		plan     = "heisen plan 1\n"
		profile  = `{"format":"heisen profile of passing runs","version":1,"functions":{%s},"pairs":{"format":"heisen profile","version":2,"variables":[%s]}}`
		function = `"m.f%d":{"file":"a.go","line":3,"hash":"%064d"},`
		pair     = `{"first":{"func":"m.f1","file":"a.go","line":%d,"op":"read"},"second":{"func":"m.f1","file":"a.go","line":2,"op":"write"},"atomic":"exclusive"},`
	)
	repeated := func(text string) string { return filled("", func(int) string { return text }, "") }
	numbered := func(begin, format, end string) string {
		return filled(begin, func(i int) string { return fmt.Sprintf(format, i) }, end)
	}
	ofProfile := func(functions, pairs string) string {
		if pairs != "" {
			pairs = `{"name":"x","pairs":[` + strings.TrimSuffix(pairs, ",") + `]}`
		}
		return fmt.Sprintf(profile, strings.TrimSuffix(functions, ","), pairs)
	}
	anything := map[string]string{
		"letters":  repeated("a"),
		"newlines": repeated("\n"),
		"zeros":    repeated("\x00"),
		"deep":     repeated(`{"detector":`),
		"brackets": `{"detector":"hb","kind":"race","fingerprint":"0","accesses":` + repeated("[")[:maxHostile/2],
	}
	kinds := []struct {
		name     string
		commands []string // FILE is the file, and other.std a trace
		inputs   map[string]string
	}{
		{"findings", []string{"analyze -baseline FILE other.std", "fuzz -merge FILE", "build -heal FILE -o app ."}, map[string]string{
			"many":     numbered("", finding, ""),
			"accesses": strings.Replace(numbered(`{"detector":"hb","kind":"race","fingerprint":"0","count":1,"accesses":[`, access+",", "]}\n"), ",]}", "]}", 1),
			"same":     repeated(fmt.Sprintf(finding, 1)),
		}},
		{"suppressions", []string{"analyze -suppress FILE other.std"}, map[string]string{
			"packages":  repeated("package a/... # why\n"),
			"variables": numbered("", "variable v%d # why\n", ""),
			"quoted":    "variable \"" + repeated("\\x00")[:60_000],
		}},
		{"sections", []string{"analyze -detect atomrace,mcm -sections FILE other.std", "view -sections FILE -o /dev/null other.std", "build -heal FILE -o app ."}, map[string]string{
			"many":  filled(sections, func(i int) string { return fmt.Sprintf("section f.go:%d read\n\tend f.go:%d write {read}\n", i, i+1) }, ""),
			"ends":  filled(sections+"section f.go:1 read\n", func(i int) string { return fmt.Sprintf("\tend f.go:%d write {read}\n", i+1) }, ""),
			"same":  repeated(sections + "section f.go:1 read\n\tend f.go:2 write {read}\n"),
			"names": filled(sections+"section \"", func(int) string { return "\\u202e" }, "\":1 read\n"),
		}},
		{"schedule", []string{"replay FILE"}, map[string]string{
			"choices": "heisen schedule 1\nchoices 4294967295\n 0:0*4294967294\nend\n",
			"turns":   "heisen schedule 2\nturns 4000000000\n 0:1+4000000000\nchoices 0\nend\n",
			"args":    filled("heisen schedule 1\nargs ", func(int) string { return "a " }, "\nchoices 0\nend\n"),
			"longer":  filled("heisen schedule 1\nchoices 500000\n", func(int) string { return " 0" }, "\n"),
		}},
		{"plan", []string{"run -focus FILE ."}, map[string]string{
			"twice":     plan + "file a.go " + strings.Repeat("0", 64) + "\n" + repeated("reads 1-2000000000\n")[:maxHostile/2],
			"unordered": filled(plan, func(i int) string { return fmt.Sprintf("function f%d typed\nrequires field x shared\n", i%7) }, ""),
		}},
		{"profile", []string{"heal -enforce FILE -o out"}, map[string]string{
			"functions": ofProfile(filled("", func(i int) string { return fmt.Sprintf(function, i, 0) }, "")[:900_000], ""),
			"pairs":     ofProfile(fmt.Sprintf(function, 1, 0), numbered("", pair, "")[:maxHostile-10_000]),
		}},
	}
	for _, kind := range kinds {
		for _, inputs := range []map[string]string{anything, kind.inputs} {
			for name, text := range inputs {
				if len(text) > maxHostile {
					t.Fatalf("%s: %s has %d bytes", kind.name, name, len(text))
				}
				t.Run(kind.name+"/"+name, func(t *testing.T) {
					dir := writeFiles(t, map[string]string{
						"go.mod":    "module example.com/m\n\ngo 1.25\n",
						"main.go":   "package main\n\nfunc main() {}\n",
						"other.std": "T0|w(x)|f.go:1\nT1|w(x)|f.go:2\n",
						"hostile":   text,
					})
					for _, command := range kind.commands {
						args := strings.Fields(strings.Replace(command, "FILE", "hostile", 1))
						begin := time.Now()
						status, _, errs := limited(t, 800, filepath.Join(dir, "hostile"), args...)
						if took := time.Since(begin); took > 30*time.Second {
							t.Errorf("%s: it took %v", command, took)
						}
						if lines := strings.Count(errs, "\n"); status == 1 && (lines == 0 || len(errs) > 10_000*lines) {
							t.Errorf("%s: %d lines of errors in %d bytes", command, lines, len(errs))
						}
					}
				})
			}
		}
	}
}
