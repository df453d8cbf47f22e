package corpus

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
)

// Merged is what came of the memories of folders.
type Merged struct {
	Memories []*Memory // by file, as they were written
	Gone     []Gone    // findings that are gone now, and were not before
	Others   int       // see Join
	// Unread says in a line each what could not be read. It stays as it is, and the rest does not depend on it.
	Unread []error
}

// Gone is a finding of a package that is gone.
type Gone struct {
	Package string
	Finding
}

// maxFiles bounds the files of a folder that are read.
const maxFiles = 10_000

// Merge adds to the folder what others know, see Join. To merge a folder again changes nothing. A file that cannot be read is left out. So is one about
// another package than the file with its name in this folder, and those of a name that is new here, if they do not agree about the package. The error
// says that nothing can be written.
func (f *Folder) Merge(others ...*Folder) (*Merged, error) {
	m := &Merged{}
	all := map[string][]*Memory{} // by name
	for _, from := range others {
		m.read(from, all)
	}
	for _, name := range slices.Sorted(maps.Keys(all)) {
		there, _, err := f.named(name)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			m.Unread = append(m.Unread, err)
			continue
		}
		known := ""
		if err == nil {
			known, all[name] = there.Package, append(all[name], there)
		}
		agreed := m.agreed(name, known, all[name])
		if len(agreed) == 0 {
			continue
		}
		joined, different := Join(agreed...)
		m.Others += different
		m.Memories = append(m.Memories, joined)
		m.addGone(there, joined)
		if err := f.put(name, joined); err != nil {
			return m, err
		}
	}
	return m, nil
}

// addGone adds the findings that are gone since there, which is nil if nothing was known.
func (m *Merged) addGone(there, now *Memory) {
	for _, f := range now.Findings {
		newly := f.Found+1 == f.Stated
		if there != nil {
			before := there.Finding(f.Fingerprint)
			newly = before != nil && before.Gone == ""
		}
		if f.Gone != "" && newly {
			m.Gone = append(m.Gone, Gone{now.Package, f})
		}
	}
}

// read adds the memories of a folder.
func (m *Merged) read(from *Folder, all map[string][]*Memory) {
	entries, err := os.ReadDir(from.path)
	if err != nil {
		m.Unread = append(m.Unread, err)
	}
	n, bytes := 0, int64(0)
	for _, e := range entries {
		if is, _ := filepath.Match(names, e.Name()); !is {
			continue
		}
		if info, err := e.Info(); err == nil {
			bytes += info.Size()
		}
		if n++; n > maxFiles || bytes > maxFolder {
			m.Unread = append(m.Unread, fmt.Errorf("%s: it is too large, and only a part of it counts", from.path))
			return
		}
		one, _, err := from.named(e.Name())
		if err != nil {
			m.Unread = append(m.Unread, err)
			continue
		}
		all[e.Name()] = append(all[e.Name()], one)
	}
}

// agreed returns the memories that are about the known package or, if none is known, about the same one.
func (m *Merged) agreed(name, known string, all []*Memory) []*Memory {
	packages := map[string]bool{}
	for _, one := range all {
		packages[one.Package] = true
	}
	if known == "" && len(packages) > 1 {
		m.Unread = append(m.Unread, fmt.Errorf("%s: memories of this name are about %d packages", name, len(packages)))
		return nil
	}
	return slices.DeleteFunc(all, func(one *Memory) bool {
		other := known != "" && one.Package != known
		if other {
			m.Unread = append(m.Unread, fmt.Errorf("%s: one is about %q, and not about %q", name, one.Package, known))
		}
		return other
	})
}
