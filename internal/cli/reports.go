package cli

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/heisen-go/heisen/internal/annotation"
	"github.com/heisen-go/heisen/internal/htmlreport"
	"github.com/heisen-go/heisen/internal/private"
	"github.com/heisen-go/heisen/internal/repository"
	"github.com/heisen-go/heisen/internal/sarif"
	"github.com/heisen-go/heisen/internal/tracejson"
	"github.com/heisen-go/heisen/report"
)

// reports is the value of -report flags: in which formats findings are reported, and where to.
type reports struct {
	all  []reportTo
	tool string // name of the command

	foreign bool // see command
	full    bool // text is in full without a format that says so
	keeper  keeper
}

// reportTo is a report in a format. Without a file it goes to the standard streams.
type reportTo struct{ format, file string }

// The formats of reports.
const (
	asText   = "text"
	asFull   = "full"
	asJSON   = "json"
	asGitHub = "github"
	asSARIF  = "sarif"
	asHTML   = "html"
	asTrace  = "trace"
)

var formats = []string{asText, asFull, asJSON, asGitHub, asSARIF, asHTML, asTrace}

// isText reports whether a report is text for people, in short or in full.
func (to reportTo) isText() bool { return to.format == asText || to.format == asFull }

func (r *reports) String() string {
	var all []string
	for _, to := range r.all {
		all = append(all, strings.TrimSuffix(to.format+":"+to.file, ":"))
	}
	return strings.Join(all, " ")
}

func (r *reports) Set(value string) error {
	format, file, hasFile := strings.Cut(value, ":")
	switch {
	case !slices.Contains(formats, format):
		return misuse("unknown format %q; there are %s", format, strings.Join(formats, ", "))
	case hasFile && file == "":
		return misuse("no file after the colon")
	case hasFile && slices.ContainsFunc(r.all, func(to reportTo) bool { return to.file == file }):
		return misuse("two reports to the same file")
	}
	r.all = append(r.all, reportTo{format, file})
	return nil
}

// reportFlag defines -report.
func (inv *invocation) reportFlag(usage string) *reports {
	r := &reports{tool: inv.tool.Name, full: inv.tool.Full}
	inv.flags.Var(r, "report", usage)
	return r
}

// reportUsage is the usage of -report for commands that print text while programs run.
const reportUsage = formatsUsage + ". Without a\nfile, text goes to standard error, and everything else to standard output. The flag may be\ngiven several times. Text goes to standard error unless all reports without a file are in\nother formats"

// formatsUsage is the start of the usage of -report.
const formatsUsage = "report findings in `format[:file]`. Formats are text, full, which is text with whole stacks and\nschedules, json, with a finding on each line, github, annotations of GitHub, sarif, version 2.1.0, html, a page with diagrams, and trace,\nfor Perfetto and Chrome"

// briefReport is -report on one line.
const briefReport = "text, full, json, github, sarif, html or trace"

// shows reports whether findings go to a standard stream in a format, text in short or in full. Without a flag that says so,
// text does, so that findings in a file are not all that there is to see.
func (r *reports) shows(format string) bool {
	shown := slices.DeleteFunc(slices.Clone(r.all), func(to reportTo) bool { return to.file != "" })
	return len(shown) == 0 && format == asText || slices.ContainsFunc(shown, func(to reportTo) bool {
		return to.format == format || format == asText && to.isText()
	})
}

// inFull reports whether text on a standard stream is in full.
func (r *reports) inFull() bool { return r.full || slices.Contains(r.all, reportTo{format: asFull}) }

// includes reports whether there is a report in a format.
func (r *reports) includes(format string) bool {
	return slices.ContainsFunc(r.all, func(to reportTo) bool { return to.format == format }) || r.shows(format)
}

// inFiles reports whether there is a report in a file.
func (r *reports) inFiles() bool {
	return slices.ContainsFunc(r.all, func(to reportTo) bool { return to.file != "" })
}

// check returns an error if a file cannot be written because its folder is none. It is called
// before the program runs.
func (r *reports) check() error {
	for _, to := range r.all {
		if to.file != "" {
			if err := isFolder(filepath.Dir(to.file)); err != nil {
				return err
			}
		}
	}
	return nil
}

// isFolder returns an error if name is no folder.
func isFolder(name string) error {
	info, err := os.Stat(name)
	if err == nil && !info.IsDir() {
		err = fmt.Errorf("%s is not a folder", name)
	}
	return err
}

// fitsEvents returns an error if a report would stand between the lines of go test -json, which it
// would damage.
func (r *reports) fitsEvents() error {
	for _, to := range r.all {
		if to.file == "" && !to.isText() && to.format != asJSON {
			return misuse("with -json, a report in %s needs a file: -report %[1]s:file", to.format)
		}
	}
	return nil
}

// writeOutput writes the reports that go to standard output because they are neither in a file nor
// text. each writes a finding in JSON.
func (r *reports) writeOutput(out io.Writer, all []report.Finding, quiet func(*report.Finding) bool, each func(*report.Finding) error) (failed error) {
	for _, to := range r.all {
		if to.file != "" || to.isText() {
			continue
		}
		if to.format == asJSON {
			failed = errors.Join(failed, writeEach(all, each))
			continue
		}
		failed = errors.Join(failed, to.write(out, all, quiet, r))
	}
	return failed
}

// writeFiles writes the files. Findings for which quiet returns true are only in those in JSON; quiet
// may be nil.
func (r *reports) writeFiles(all []report.Finding, quiet func(*report.Finding) bool) (failed error) {
	for _, to := range r.all {
		if to.file != "" {
			failed = errors.Join(failed, private.Replace(to.file, func(w io.Writer) error { return to.write(w, all, quiet, r) }))
		}
	}
	return failed
}

// write writes a report.
func (to reportTo) write(w io.Writer, all []report.Finding, quiet func(*report.Finding) bool, r *reports) error {
	if to.format == asJSON {
		return writeEach(all, jsonTo(w))
	}
	if quiet != nil {
		all = slices.DeleteFunc(slices.Clone(all), func(f report.Finding) bool { return quiet(&f) })
	}
	if to.isText() {
		return writeEach(all, r.textTo(w, to.format == asFull || r.full, false))
	}
	folder, err := os.Getwd()
	if err != nil {
		return err
	}
	root := repository.Find(folder)
	switch to.format {
	case asSARIF:
		return sarif.Write(w, all, sarif.Tool{Name: r.tool, Version: toolVersion()}, root)
	case asHTML:
		write := htmlreport.Write
		if r.foreign {
			write = htmlreport.WriteForeign
		}
		return write(w, all, r.tool+" "+toolVersion(), root)
	case asTrace:
		return tracejson.Write(w, all)
	}
	return annotation.Write(w, all, root)
}

// writeEach calls write with each finding.
func writeEach(all []report.Finding, write func(*report.Finding) error) error {
	for i := range all {
		if err := write(&all[i]); err != nil {
			return err
		}
	}
	return nil
}
