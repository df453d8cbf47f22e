package findingsfile

import (
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/internal/filename"
	"github.com/heisen-go/heisen/report"
)

// sarif has the parts of a SARIF 2.1.0 file that matter here.
type sarif struct {
	Runs []struct {
		Tool struct {
			Driver struct{ Name string } `json:"driver"`
		} `json:"tool"`
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

// findings returns the results that have the places of two accesses: the location, and the related one. Those of heisen may have several
// such pairs.
func (s *sarif) findings() (found []report.Finding, err error) {
	for _, run := range s.Runs {
		for _, r := range run.Results {
			var places []report.Access
			for _, l := range append(r.Locations, r.Related...) {
				if file := inParents(fileOf(l.Physical.Artifact, run.Bases)); strings.HasSuffix(file, ".go") && l.Physical.Region.Line > 0 {
					places = append(places, access("", report.Frame{File: file, Line: l.Physical.Region.Line}))
				}
			}
			pairs := run.Tool.Driver.Name == ownName && (r.Rule == string(heisen.Race) || r.Rule == string(heisen.PotentialRace)) && len(places) > 2
			if len(places) != 2 && !pairs {
				continue // it is not known what the others are
			}
			for pair := range slices.Chunk(places, 2) { // heisen's own have further pairs
				if len(pair) == 1 { // of two equal places, one is left out
					pair = append(pair, pair[0])
				}
				found = append(found, ofPlaces(r.Rule, r.Message.Text, pair))
			}
		}
	}
	if len(found) == 0 {
		return nil, ErrNone
	}
	return once(found), nil
}

// ownName is the name of the tool in files that heisen writes.
const ownName = "heisen"

// ofPlaces returns the finding of a rule at two places.
func ofPlaces(rule, message string, places []report.Access) report.Finding {
	f := report.Finding{Message: message, Accesses: places}
	if rule == string(heisen.Deadlock) {
		f.Kind = heisen.Deadlock
		for i := range f.Accesses {
			f.Accesses[i].Op = heisen.Acquire.String()
		}
	}
	return complete(f)
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
