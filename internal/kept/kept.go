// Package kept keeps the findings that heisen has reported, so that they can be shown again without another run: the bug of one
// execution in a thousand does not come back for that.
//
// The findings of a module are in a private folder of the user's cache, each in a file of its own, so that several processes can keep
// theirs at the same time. A module is where it is: copies of it, such as those of two branches, do not share findings, whose fingerprints
// may be equal and whose files, lines and harm are not. A finding takes the place of the one with its detector and fingerprint, unless only that one is known to do
// harm. Of many, the latest stay; those of a module in which nothing was found for 30 days go.
package kept

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"golang.org/x/mod/modfile"

	"github.com/heisen-go/heisen/internal/private"
	"github.com/heisen-go/heisen/report"
)

// Bounds of what a folder keeps, which Trim restores.
const (
	maxFindings = 10_000   // as many as a command reports
	maxBytes    = 64 << 20 // of all files together
)

// ErrUnknown is wrapped by the error of Find if there is no such finding.
var ErrUnknown = errors.New("no such finding is kept")

// Folder keeps the findings of a module.
type Folder struct{ path string }

// Entry is a finding that is kept.
type Entry struct {
	report.Finding
	Time time.Time // about when it was found the last time, to an hour
}

// Open returns the folder of the module that a folder is in, or of the folder itself if it is in none. It is made if it does not exist.
func Open(folder string) (*Folder, error) {
	path, err := FolderOf("findings", folder)
	if err != nil {
		return nil, err
	}
	return &Folder{path}, nil
}

// FolderOf returns the name of the folder in the user's cache in which something of a kind is kept about the module that a folder is in. It is
// made if it does not exist. Those of the kind that nobody has used for 30 days are removed.
func FolderOf(kind, folder string) (path string, err error) {
	of, err := Root(folder)
	if err != nil {
		return "", err
	}
	cache, err := private.Cache("heisen")
	if err != nil {
		return "", err
	}
	all := filepath.Join(cache, kind)
	if err := private.Folder(all); err != nil {
		return "", err
	}
	hash := sha256.Sum256([]byte(of))
	path = filepath.Join(all, hex.EncodeToString(hash[:8]))
	if err := private.Folder(path); err != nil {
		return "", err
	}
	private.Use(path)
	private.RemoveUnused(all, "*")
	return path, nil
}

// Root returns the folder of the module that a folder is in, or the folder itself if it is in none. It has no symbolic links.
func Root(folder string) (string, error) {
	folder, err := filepath.Abs(folder)
	if err == nil {
		folder, err = filepath.EvalSymlinks(folder)
	}
	if err != nil {
		return "", err
	}
	return Module(folder), nil
}

// Module returns the folder of the module that a folder is in, or the folder itself if it is in none. The path is absolute.
func Module(folder string) string {
	for dir := folder; ; {
		text, err := os.ReadFile(filepath.Join(dir, "go.mod"))
		if err == nil && modfile.ModulePath(text) != "" {
			return dir
		}
		above := filepath.Dir(dir)
		if above == dir {
			return folder
		}
		dir = above
	}
}

// Put keeps a finding.
func (f *Folder) Put(finding *report.Finding) error {
	if !isFingerprint(finding.Fingerprint) {
		return fmt.Errorf("%q is no fingerprint", finding.Fingerprint)
	}
	var text bytes.Buffer
	if err := report.WriteJSON(&text, finding); err != nil {
		return err
	}
	detector := sha256.Sum256([]byte(finding.Detector))
	name := finding.Fingerprint + "-" + hex.EncodeToString(detector[:4]) + extension
	path := filepath.Join(f.path, name)
	if before, err := f.read(name); err != nil || before == nil || harms(finding) || !harms(&before.Finding) {
		if err := private.Put(path, text.Bytes()); err != nil {
			return err
		}
	}
	private.Use(path)
	return nil
}

// harms reports whether executions have shown that a finding does harm.
func harms(f *report.Finding) bool { return f.Trials != nil && f.Trials.Harmful }

const extension = ".json"

// isFingerprint reports whether s consists of digits of hexadecimal numbers, as fingerprints do. Those in files that heisen reads may have
// other characters.
func isFingerprint(s string) bool {
	return s != "" && len(s) <= 64 && strings.Trim(s, "0123456789abcdef") == ""
}

// Find returns the findings whose fingerprint begins with a prefix: one of each detector that has found the bug. It is an error if no
// fingerprint begins so, or several do.
func (f *Folder) Find(prefix string) ([]report.Finding, error) {
	names, err := f.names()
	if err != nil {
		return nil, err
	}
	var found []report.Finding
	var fingerprints []string
	for _, name := range names {
		if !strings.HasPrefix(name, prefix) || prefix == "" {
			continue
		}
		fingerprint, _, _ := strings.Cut(name, "-")
		if !slices.Contains(fingerprints, fingerprint) {
			fingerprints = append(fingerprints, fingerprint)
		}
		entry, err := f.read(name)
		if err != nil {
			return nil, err
		}
		if entry != nil {
			found = append(found, entry.Finding)
		}
	}
	switch {
	case len(fingerprints) > 1:
		return nil, fmt.Errorf("%s begins several fingerprints: %s", prefix, strings.Join(fingerprints[:min(len(fingerprints), 5)], ", "))
	case len(found) == 0:
		return nil, fmt.Errorf("%w: %q", ErrUnknown, prefix)
	}
	return found, nil
}

// All returns the findings, the latest first.
func (f *Folder) All() (all []Entry, err error) {
	names, err := f.names()
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		entry, err := f.read(name)
		if err != nil {
			return nil, err
		}
		if entry != nil {
			all = append(all, *entry)
		}
	}
	slices.SortStableFunc(all, func(a, b Entry) int { return b.Time.Compare(a.Time) })
	return all, nil
}

// names returns the names of the files of findings, in alphabetical order. Others are those that processes are about to write.
func (f *Folder) names() (names []string, err error) {
	entries, err := os.ReadDir(f.path)
	for _, e := range entries {
		if e.Type().IsRegular() && filepath.Ext(e.Name()) == extension {
			names = append(names, e.Name())
		}
	}
	return names, err
}

// read reads a finding. It returns nil if the file is gone or of another version of heisen.
func (f *Folder) read(name string) (*Entry, error) {
	path := filepath.Join(f.path, name)
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	found, err := report.ReadJSON(bytes.NewReader(text))
	info, gone := os.Lstat(path)
	if err != nil || gone != nil || len(found) != 1 {
		return nil, nil
	}
	return &Entry{found[0], info.ModTime()}, nil
}

// abandoned is how old a file is at least that a process has begun to write, and that no process writes any more.
const abandoned = time.Hour

// Trim removes the oldest findings of too many. What cannot be removed stays: another process may be removing it.
func (f *Folder) Trim() { f.trim(maxFindings, maxBytes) }

func (f *Folder) trim(most int, bytes int64) {
	entries, err := os.ReadDir(f.path)
	if err != nil {
		return
	}
	var files []fs.FileInfo
	for _, e := range entries {
		info, err := e.Info()
		switch {
		case err != nil || !info.Mode().IsRegular():
		case filepath.Ext(e.Name()) == extension:
			files = append(files, info)
		case time.Since(info.ModTime()) > abandoned:
			os.Remove(filepath.Join(f.path, e.Name()))
		}
	}
	slices.SortStableFunc(files, func(a, b fs.FileInfo) int {
		return cmp.Or(b.ModTime().Compare(a.ModTime()), cmp.Compare(a.Name(), b.Name()))
	})
	for i, info := range files {
		if bytes -= info.Size(); i >= most || bytes < 0 && i > 0 {
			os.Remove(filepath.Join(f.path, info.Name()))
		}
	}
}
