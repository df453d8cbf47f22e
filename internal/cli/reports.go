package cli

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/heisen-go/heisen/internal/private"
	"github.com/heisen-go/heisen/report"
)

// reports is the value of -report flags: in which formats findings are reported, and where to.
type reports []reportTo

// reportTo is a report in a format. Without a file it goes to the standard streams.
type reportTo struct{ format, file string }

// The formats of reports.
const (
	asText = "text"
	asJSON = "json"
)

var formats = []string{asText, asJSON}

func (r *reports) String() string {
	var all []string
	for _, to := range *r {
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
	case hasFile && slices.ContainsFunc(*r, func(to reportTo) bool { return to.file == file }):
		return misuse("two reports to the same file")
	}
	*r = append(*r, reportTo{format, file})
	return nil
}

// reportFlag defines -report.
func (inv *invocation) reportFlag(usage string) *reports {
	r := &reports{}
	inv.flags.Var(r, "report", usage)
	return r
}

// reportUsage is the usage of -report for commands that print text while programs run.
const reportUsage = "report findings in `format[:file]`; formats are text and json, the latter with a finding on each\nline. Without a file, text goes to standard error and json to standard output. The flag may\nbe given several times. Text goes to standard error unless all reports without a file are\nin other formats"

// shows reports whether findings go to a standard stream in a format. Without a flag that says so,
// text does, so that findings in a file are not all that there is to see.
func (r *reports) shows(format string) bool {
	shown := slices.DeleteFunc(slices.Clone(*r), func(to reportTo) bool { return to.file != "" })
	return len(shown) == 0 && format == asText || slices.Contains(shown, reportTo{format: format})
}

// includes reports whether there is a report in a format.
func (r *reports) includes(format string) bool {
	return slices.ContainsFunc(*r, func(to reportTo) bool { return to.format == format }) || r.shows(format)
}

// check returns an error if a file cannot be written because its folder is none. It is called
// before the program runs.
func (r *reports) check() error {
	for _, to := range *r {
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

// writeFiles writes the files.
func (r *reports) writeFiles(all []report.Finding) (failed error) {
	for _, to := range *r {
		if to.file == "" {
			continue
		}
		failed = errors.Join(failed, private.Replace(to.file, func(w io.Writer) error {
			print := textTo(w)
			if to.format == asJSON {
				print = jsonTo(w)
			}
			for i := range all {
				if err := print(&all[i]); err != nil {
					return err
				}
			}
			return nil
		}))
	}
	return failed
}
