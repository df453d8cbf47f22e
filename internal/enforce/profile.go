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

// DecodeProfile reads a profile that Encode has written. An error about the content wraps ErrProfile. What does not fit
// together in the part of one function is no error; Program.Current leaves that function out.
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
	if u.Decl == nil { // a literal in the initial value of a variable
		return u.Package.PkgPath + "." + filepath.Base(u.Path)
	}
	recv := ""
	if u.Decl.Recv != nil && len(u.Decl.Recv.List) > 0 {
		recv = "(" + types.ExprString(u.Decl.Recv.List[0].Type) + ")."
	}
	return u.Package.PkgPath + "." + recv + u.Decl.Name.Name
}

// describe describes the source that a unit belongs to.
func (p *Program) describe(u *unit, text []byte) Function {
	first, last := 0, len(text)
	line := 1
	if u.Decl != nil {
		at := p.src.Fset.PositionFor(u.Decl.Pos(), false)
		first, last, line = at.Offset, p.src.Fset.PositionFor(u.Decl.End(), false).Offset, at.Line
	}
	if first > last || last > len(text) {
		first, last = 0, 0
	}
	sum := sha256.Sum256(text[first:last])
	return Function{File: p.relative(u.Path), Line: line, Hash: hex.EncodeToString(sum[:])}
}

// Current returns the pairs of a profile at their places in the source as it is now. It also returns a line for each
// function whose pairs are left out: because it has changed since, or because the profile says things of it that cannot be.
func (p *Program) Current(profile *Profile) (current *heal.Profile, stale []string, err error) {
	w := &writer{p: p, texts: map[string][]byte{}}
	now := map[string]Function{}
	files := map[string]string{}
	lines := map[string]int{}
	for _, u := range p.units {
		name := p.name(u)
		if _, wanted := profile.Functions[name]; wanted {
			text := w.text(u.Path)
			now[name] = p.describe(u, text)
			files[name] = u.Path
			if now[name].Hash != profile.Functions[name].Hash {
				continue
			}
			lines[name] = bytes.Count(text, []byte("\n")) + 1 // of literals in the initial values of variables
			if u.Decl != nil {
				first, last := p.lines(u.Decl)
				lines[name] = last - first + 1
			}
		}
	}
	if w.fail != nil {
		return nil, nil, w.fail
	}
	broken := profile.broken(lines)
	fresh := map[string]bool{}
	for _, name := range slices.Sorted(maps.Keys(profile.Functions)) {
		old := profile.Functions[name]
		switch f, ok := now[name]; {
		case broken[name] != "":
		case !ok:
			stale = append(stale, fmt.Sprintf("%s: %s is gone since the profile was made", old.File, name))
		case f.Hash != old.Hash:
			stale = append(stale, fmt.Sprintf("%s:%d: %s has changed since the profile was made", f.File, f.Line, name))
		default:
			fresh[name] = true
		}
	}
	for _, name := range slices.Sorted(maps.Keys(broken)) {
		stale = append(stale, fmt.Sprintf("the profile of %s is broken: %s", name, broken[name]))
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

// broken says what cannot be in the parts of functions. lines has the number of lines of the functions that are there and
// as they were.
func (profile *Profile) broken(lines map[string]int) map[string]string {
	out := map[string]string{}
	for name, f := range profile.Functions {
		if !filepath.IsLocal(filepath.FromSlash(f.File)) || f.Line < 1 || len(f.Hash) != 2*sha256.Size {
			out[name] = fmt.Sprintf("it has file %q, line %d and hash %q", f.File, f.Line, f.Hash)
		}
	}
	check := func(at heal.Location, of string) {
		f, known := profile.Functions[at.Func]
		n, there := lines[at.Func]
		switch {
		case out[at.Func] != "":
		case !known:
			out[at.Func] = "it has pairs, but not what the function was"
		case at.File != f.File || at.Line < 1 || there && at.Line > n:
			out[at.Func] = fmt.Sprintf("%v of a pair of %s is not in the function", at, of)
		}
	}
	for _, v := range profile.Pairs.Variables() {
		for _, pair := range v.Pairs {
			check(pair.First, v.Name)
			check(pair.Second, v.Name)
		}
	}
	for _, pair := range profile.Pairs.CrossPairs() {
		check(pair.First, pair.Variables[0])
		check(pair.Second, pair.Variables[1])
	}
	return out
}
