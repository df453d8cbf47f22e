package enforce

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"go/types"
	"io"
	"maps"
	"path/filepath"
	"slices"

	"github.com/heisen-go/heisen/heal"
)

// ErrProfile is wrapped by the errors of DecodeProfile about what the file contains.
var ErrProfile = errors.New("invalid profile of passing runs")

// Profile is what passing runs of a module had in common: which pairs of accesses were atomic, and the source of the
// functions that made them.
type Profile struct {
	// Functions has the functions of all locations, by their names, such as "example.com/m.(*T).get". A function literal
	// belongs to the function that it stands in.
	Functions map[string]Function
	// Pairs has the profiled pairs. The locations have the name of the function in Functions, its file relative to the
	// module, and their line in the function, from 1.
	Pairs *heal.Profile
}

// Function is the source of a function when it was profiled.
type Function struct {
	File string `json:"file"` // relative to the module
	Line int    `json:"line"` // on which it began
	Hash string `json:"hash"` // of its text, SHA-256 in hexadecimal
}

// A profile file is JSON of the type profileFile.
const (
	profileFormat  = "heisen profile of passing runs"
	profileVersion = 1
)

type profileFile struct {
	Format    string              `json:"format"`
	Version   int                 `json:"version"`
	Functions map[string]Function `json:"functions"`
	Pairs     json.RawMessage     `json:"pairs"`
}

// Encode writes the profile as JSON that DecodeProfile reads. Equal profiles are written in the same way.
func (p *Profile) Encode(w io.Writer) error {
	var pairs bytes.Buffer
	if err := p.Pairs.Encode(&pairs); err != nil {
		return err
	}
	text, err := json.MarshalIndent(profileFile{profileFormat, profileVersion, p.Functions, pairs.Bytes()}, "", "\t")
	if err == nil {
		_, err = w.Write(append(text, '\n'))
	}
	if err != nil {
		return fmt.Errorf("writing a profile: %w", err)
	}
	return nil
}

// DecodeProfile reads a profile that Encode has written. An error about the content wraps ErrProfile.
func DecodeProfile(r io.Reader) (*Profile, error) {
	data, err := io.ReadAll(r)
	if err != nil {
		return nil, fmt.Errorf("reading a profile: %w", err)
	}
	var in profileFile
	if err := json.Unmarshal(data, &in); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrProfile, err)
	}
	if in.Format != profileFormat {
		return nil, fmt.Errorf("%w: format %q, want %q", ErrProfile, in.Format, profileFormat)
	}
	if in.Version != profileVersion {
		return nil, fmt.Errorf("%w: version %d, want %d", ErrProfile, in.Version, profileVersion)
	}
	p := &Profile{Functions: in.Functions}
	if p.Pairs, err = heal.DecodeProfile(bytes.NewReader(in.Pairs)); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrProfile, err)
	}
	if p.Functions == nil {
		p.Functions = map[string]Function{}
	}
	for name, f := range p.Functions {
		if !filepath.IsLocal(filepath.FromSlash(f.File)) || f.Line < 1 || len(f.Hash) != 2*sha256.Size {
			return nil, fmt.Errorf("%w: function %q: file %q, line %d, hash %q", ErrProfile, name, f.File, f.Line, f.Hash)
		}
	}
	for _, v := range p.Pairs.Variables() {
		for _, pair := range v.Pairs {
			for _, at := range []heal.Location{pair.First, pair.Second} {
				if f, ok := p.Functions[at.Func]; !ok || f.File != at.File || at.Line < 1 {
					return nil, fmt.Errorf("%w: variable %q: %v is in no function", ErrProfile, v.Name, at)
				}
			}
		}
	}
	return p, nil
}

// Merge adds the profile of other passing runs. Functions whose source was another one are left out of p: what other
// says counts.
func (p *Profile) Merge(other *Profile) {
	changed := map[string]bool{}
	for name, f := range other.Functions {
		if old, ok := p.Functions[name]; ok && old.Hash != f.Hash {
			changed[name] = true
		}
	}
	kept := p.Pairs.Rewrite(func(_ string, at heal.Location) (heal.Location, bool) { return at, !changed[at.Func] })
	kept.Merge(other.Pairs)
	p.Pairs = kept
	maps.Copy(p.Functions, other.Functions)
}

// name returns the name of a function in a profile.
func (p *Program) name(u *unit) string {
	if u.decl == nil { // a literal in the initial value of a variable
		return u.file.pkg.PkgPath + "." + filepath.Base(u.file.name)
	}
	recv := ""
	if u.decl.Recv != nil && len(u.decl.Recv.List) > 0 {
		recv = "(" + types.ExprString(u.decl.Recv.List[0].Type) + ")."
	}
	return u.file.pkg.PkgPath + "." + recv + u.decl.Name.Name
}

// describe describes the source that a unit belongs to.
func (p *Program) describe(u *unit, text []byte) Function {
	first, last := 0, len(text)
	line := 1
	if u.decl != nil {
		at := p.fset.PositionFor(u.decl.Pos(), false)
		first, last, line = at.Offset, p.fset.PositionFor(u.decl.End(), false).Offset, at.Line
	}
	if first > last || last > len(text) {
		first, last = 0, 0
	}
	sum := sha256.Sum256(text[first:last])
	return Function{File: p.relative(u.file.name), Line: line, Hash: hex.EncodeToString(sum[:])}
}

// Current returns the pairs of a profile at their places in the source as it is now, and a line for each function that
// has changed since, whose pairs are left out.
func (p *Program) Current(profile *Profile) (current *heal.Profile, stale []string, err error) {
	w := &writer{p: p, texts: map[string][]byte{}}
	now := map[string]Function{}
	files := map[string]string{}
	for _, u := range p.units {
		name := p.name(u)
		if _, wanted := profile.Functions[name]; wanted {
			now[name] = p.describe(u, w.text(u.file.name))
			files[name] = u.file.name
		}
	}
	if w.fail != nil {
		return nil, nil, w.fail
	}
	fresh := map[string]bool{}
	for _, name := range slices.Sorted(maps.Keys(profile.Functions)) {
		old := profile.Functions[name]
		switch f, ok := now[name]; {
		case !ok:
			stale = append(stale, fmt.Sprintf("%s: %s is gone since the profile was made", old.File, name))
		case f.Hash != old.Hash:
			stale = append(stale, fmt.Sprintf("%s:%d: %s has changed since the profile was made", f.File, f.Line, name))
		default:
			fresh[name] = true
		}
	}
	return profile.Pairs.Rewrite(func(_ string, at heal.Location) (heal.Location, bool) {
		if !fresh[at.Func] {
			return at, false
		}
		at.Line += now[at.Func].Line - 1
		at.File = files[at.Func]
		return at, true
	}), stale, nil
}
