package heal

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/heisen-go/heisen"
)

// ErrProfile is wrapped by the errors of DecodeProfile about what the file contains.
var ErrProfile = errors.New("invalid profile")

// A profile file is JSON of the type profileFile.
const (
	profileFormat  = "heisen profile"
	profileVersion = 2
)

type profileFile struct {
	Format    string         `json:"format"`
	Version   int            `json:"version"`
	Variables []variableFile `json:"variables"`
	Sections  []sectionFile  `json:"sections,omitempty"`
	Crosses   []crossFile    `json:"cross,omitempty"`
}

type sectionFile struct {
	At       locationFile `json:"at"`
	Accessed []string     `json:"accessed"`
	Written  []string     `json:"written,omitempty"`
	Count    uint64       `json:"count"`
}

type crossFile struct {
	Variables [2]string    `json:"variables"`
	First     locationFile `json:"first"`
	Second    locationFile `json:"second"`
	Read      []string     `json:"read,omitempty"`    // by others in between
	Written   []string     `json:"written,omitempty"` // by others in between
	Locks     []string     `json:"locks,omitempty"`
}

type variableFile struct {
	Name  string     `json:"name"`
	Locks []string   `json:"locks,omitempty"`
	Pairs []pairFile `json:"pairs"`
}

type pairFile struct {
	First  locationFile `json:"first"`
	Second locationFile `json:"second"`
	Atomic string       `json:"atomic"` // none, read or exclusive, in the words of the paper
	Locks  []string     `json:"locks,omitempty"`
}

type locationFile struct {
	Func string `json:"func"`
	File string `json:"file,omitempty"`
	Line int    `json:"line,omitempty"`
	Op   string `json:"op,omitempty"` // read, write or call
}

var opWords = map[heisen.Op]string{heisen.Invalid: "", heisen.Read: "read", heisen.Write: "write", heisen.Call: "call"}

func (l Location) file() locationFile { return locationFile{l.Func, l.File, l.Line, opWords[l.Op]} }

// location checks a location of a file.
func (l locationFile) location() (Location, error) {
	for op, word := range opWords {
		if word == l.Op && l.Func != "" && l.Line >= 0 {
			return Location{l.Func, l.File, l.Line, op}, nil
		}
	}
	return Location{}, fmt.Errorf("%q at line %d of function %q", l.Op, l.Line, l.Func)
}

var atomicWords = map[Mode]string{Free: "none", Shared: "read", Exclusive: "exclusive"}

// Encode writes the profile as JSON that DecodeProfile reads. Equal profiles are written in the same way. If w
// is nil, the error wraps heisen.ErrOption; otherwise it is that of w.
func (p *Profile) Encode(w io.Writer) error {
	if w == nil {
		return fmt.Errorf("Profile.Encode: %w: the writer is nil", heisen.ErrOption)
	}
	file := profileFile{Format: profileFormat, Version: profileVersion, Variables: []variableFile{}}
	for _, v := range p.Variables() {
		out := variableFile{v.Name, v.Locks, []pairFile{}}
		for _, pair := range v.Pairs {
			out.Pairs = append(out.Pairs, pairFile{pair.First.file(), pair.Second.file(), atomicWords[pair.Mode], pair.Locks})
		}
		file.Variables = append(file.Variables, out)
	}
	for _, s := range p.Sections() {
		file.Sections = append(file.Sections, sectionFile{s.At.file(), s.Accessed, s.Written, s.Count})
	}
	for _, c := range p.CrossPairs() {
		file.Crosses = append(file.Crosses, crossFile{c.Variables, c.First.file(), c.Second.file(), c.Read, c.Written, c.Locks})
	}
	e := json.NewEncoder(w)
	e.SetIndent("", "\t")
	if err := e.Encode(file); err != nil {
		return fmt.Errorf("writing a profile: %w", err)
	}
	return nil
}

// DecodeProfile reads a profile that Encode has written. An error about the content wraps ErrProfile. If r is
// nil, it wraps heisen.ErrOption.
func DecodeProfile(r io.Reader) (*Profile, error) {
	if r == nil {
		return nil, fmt.Errorf("heal.DecodeProfile: %w: the reader is nil", heisen.ErrOption)
	}
	data, err := io.ReadAll(r)
	if err != nil {
		return nil, fmt.Errorf("reading a profile: %w", err)
	}
	var file profileFile
	if err := json.Unmarshal(data, &file); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrProfile, err)
	}
	if file.Format != profileFormat {
		return nil, fmt.Errorf("%w: format %q, want %q", ErrProfile, file.Format, profileFormat)
	}
	if file.Version != profileVersion {
		return nil, fmt.Errorf("%w: version %d, want %d", ErrProfile, file.Version, profileVersion)
	}
	p := &Profile{}
	for _, in := range file.Variables {
		v, err := in.variable()
		if err != nil {
			return nil, fmt.Errorf("%w: variable %q: %w", ErrProfile, in.Name, err)
		}
		p.add(v)
	}
	for _, in := range file.Sections {
		at, err := in.At.location()
		if err != nil {
			return nil, fmt.Errorf("%w: section: %w", ErrProfile, err)
		}
		p.addSection(Section{at, sorted(in.Accessed), sorted(in.Written), in.Count})
	}
	for _, in := range file.Crosses {
		first, err := in.First.location()
		second, also := in.Second.location()
		if err := cmp.Or(err, also); err != nil {
			return nil, fmt.Errorf("%w: pair of %v: %w", ErrProfile, in.Variables, err)
		}
		p.addCross(CrossPair{in.Variables, first, second, sorted(in.Read), sorted(in.Written), sorted(in.Locks)})
	}
	return p, nil
}

// variable checks a variable of a file.
func (in variableFile) variable() (ProfiledVariable, error) {
	v := ProfiledVariable{Name: in.Name, Locks: sorted(in.Locks)}
	if in.Name == "" {
		return v, errors.New("it has no name")
	}
	for i, pair := range in.Pairs {
		out := ProfiledPair{Locks: sorted(pair.Locks)}
		var err error
		if out.First, err = pair.First.location(); err == nil {
			out.Second, err = pair.Second.location()
		}
		if err != nil {
			return v, fmt.Errorf("pair %d: %w", i+1, err)
		}
		known := false
		for mode, word := range atomicWords {
			if word == pair.Atomic {
				out.Mode, known = mode, true
			}
		}
		if !known {
			return v, fmt.Errorf("pair %d: atomic %q", i+1, pair.Atomic)
		}
		v.Pairs = append(v.Pairs, out)
	}
	return v, nil
}

func sorted(names []string) []string {
	names = slices.Clone(names)
	slices.Sort(names)
	return slices.Compact(names)
}
