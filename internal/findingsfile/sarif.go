package findingsfile

import (
	"os"
	"path/filepath"
	"strings"

	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/internal/filename"
	"github.com/heisen-go/heisen/report"
)

// sarif has the parts of a SARIF 2.1.0 file that matter here.
type sarif struct {
	Runs []struct {
		Bases   map[string]artifact `json:"originalUriBaseIds"`
		Results []struct {
			Rule      string `json:"ruleId"`
			Message   struct{ Text string }
			Locations []location `json:"locations"`
			Related   []location `json:"relatedLocations"`
		} `json:"results"`
	} `json:"runs"`
}

type location struct {
	Physical struct {
		Artifact artifact `json:"artifactLocation"`
		Region   struct {
			Line int `json:"startLine"`
		} `json:"region"`
	} `json:"physicalLocation"`
}

type artifact struct {
	URI  string `json:"uri"`
	Base string `json:"uriBaseId"`
}

// findings returns the results that have the places of two accesses: the location, and the related one.
func (s *sarif) findings() (found []report.Finding, err error) {
	for _, run := range s.Runs {
		for _, r := range run.Results {
			f := report.Finding{Message: r.Message.Text}
			for _, l := range append(r.Locations, r.Related...) {
				if file := inParents(fileOf(l.Physical.Artifact, run.Bases)); strings.HasSuffix(file, ".go") && l.Physical.Region.Line > 0 {
					f.Accesses = append(f.Accesses, access("", report.Frame{File: file, Line: l.Physical.Region.Line}))
				}
			}
			if len(f.Accesses) != 2 {
				continue
			}
			if r.Rule == string(heisen.Deadlock) {
				f.Kind = heisen.Deadlock
				for i := range f.Accesses {
					f.Accesses[i].Op = heisen.Acquire.String()
				}
			}
			found = append(found, complete(f))
		}
	}
	if len(found) == 0 {
		return nil, ErrNone
	}
	return once(found), nil
}

// fileOf returns the file of an artifact. A base without an address is the working folder.
func fileOf(a artifact, bases map[string]artifact) string {
	const deepest = 8 // bases may have bases
	address := a.URI
	for range deepest {
		base, known := bases[a.Base]
		if a.Base == "" || !known {
			break
		}
		if base.URI != "" && !strings.Contains(address, "://") {
			address = strings.TrimSuffix(base.URI, "/") + "/" + address
		}
		a = base
	}
	return filepath.FromSlash(filename.OfURI(address))
}

// inParents returns a name from the working folder if the file is there, and otherwise that of the file in the nearest folder above
// that has it: names may begin at the root of a repository.
func inParents(file string) string {
	if file == "" || filepath.IsAbs(file) {
		return file
	}
	for dir := absolute("."); ; dir = filepath.Dir(dir) {
		if at := filepath.Join(dir, file); exists(at) {
			return at
		}
		if dir == filepath.Dir(dir) {
			return file
		}
	}
}

func exists(file string) bool {
	_, err := os.Stat(file)
	return err == nil
}
