// Package corpus keeps what heisen fuzz has found out about the tests of a package, or about a program, so that the next run can go on from there.
//
// A Folder has a file for each program that was searched, with a Memory: the findings with schedules that show them, what each test has
// done, and how many ranges of seeds were tried. Files are replaced as a whole, so that a reader never sees a part of one. Two processes that end
// at the same time may lose what one of them would have added, and nothing else. Files that were not used for 30 days go, and so do the oldest
// ones of too many.
//
// A file may come from anybody, as a schedule may. It names no program, arguments or flags: its schedules are those of the program whose
// memory it is. It is read only if it belongs to the user or to root. What is in it is bounded, see Memory.
package corpus

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/heisen-go/heisen/internal/kept"
	"github.com/heisen-go/heisen/internal/private"
)

// Folder is where memories are. Several goroutines and processes may use one.
type Folder struct{ path string }

// Default returns the folder of the module that a folder is in, in the user's cache. It is made if it does not exist.
func Default(folder string) (*Folder, error) {
	path, err := kept.FolderOf("corpus", folder)
	if err != nil {
		return nil, err
	}
	return &Folder{path}, nil
}

// Open returns the folder of a given name. It is made if it does not exist. It is an error if other users could exchange it.
func Open(path string) (*Folder, error) {
	err := private.Open(path)
	if err == nil {
		err = private.Trust(path)
	}
	return &Folder{path}, err
}

// Existing returns a folder from which memories are read. It is an error if other users could exchange it.
func Existing(path string) (*Folder, error) {
	info, err := os.Stat(path)
	if err == nil && !info.IsDir() {
		err = fmt.Errorf("%s is not a folder", path)
	}
	if err == nil {
		err = private.Trust(path)
	}
	if err != nil {
		return nil, err
	}
	return &Folder{path}, nil
}

// Path returns the name of the folder.
func (f *Folder) Path() string { return f.path }

// Key says of which program a memory is.
type Key struct {
	Verb    string   // test or run
	Package string   // as the program names it
	At      string   // of a program, the folder in the module in which the package was named
	Args    []string // of the program
	Tags    []string // build tags
}

// extension is that of the files. Others in the folder are left alone.
const extension = ".corpus"

// names matches the names of the files.
const names = "????????????????????????" + extension

// name returns the name of the file: it says nothing about the program.
func (k *Key) name() string {
	h := sha256.New()
	write := func(words ...string) {
		fmt.Fprintf(h, "%d\n", len(words))
		for _, w := range words {
			fmt.Fprintf(h, "%d %s\n", len(w), w)
		}
	}
	write(k.Verb, k.Package, k.At)
	write(k.Args...)
	write(k.Tags...)
	return hex.EncodeToString(h.Sum(nil)[:12]) + extension
}

// Read returns the memory of a program, which is empty if there is none, and the text that it was read from. The error says in one
// line which file cannot be used, and why. Such a file stays as it is, whatever is written later.
func (f *Folder) Read(k Key) (m *Memory, text []byte, err error) {
	m, text, err = f.named(k.name())
	if errors.Is(err, fs.ErrNotExist) {
		return &Memory{Package: k.Package}, nil, nil
	}
	if err != nil {
		return nil, nil, err
	}
	path := filepath.Join(f.path, k.name())
	if m.Package != k.Package {
		return nil, nil, fmt.Errorf("%s:2: it is about another package: %q", path, m.Package)
	}
	private.Use(path)
	return m, text, nil
}

// named returns the memory in a file, and its text.
func (f *Folder) named(name string) (m *Memory, text []byte, err error) {
	path := filepath.Join(f.path, name)
	text, err = private.Read(path, maxBytes)
	if err != nil {
		return nil, nil, err
	}
	m = new(Memory)
	if err := m.UnmarshalText(text); err != nil {
		return nil, nil, fmt.Errorf("%s:%w", path, err)
	}
	return m, text, nil
}

// Write writes the memory of a program, which was read before, from this folder or another one. What other processes have written since then
// stays.
func (f *Folder) Write(k Key, before, now *Memory) error {
	there, _, err := f.Read(k)
	if err != nil {
		return err
	}
	for i := range before.Findings {
		if name := before.Findings[i].Fingerprint; now.Finding(name) == nil {
			there.Without(name)
		}
	}
	joined, _ := Join(there, now)
	return f.put(k.name(), joined)
}

// put writes a memory to a file.
func (f *Folder) put(name string, m *Memory) error {
	m.bound()
	text, err := m.MarshalText()
	if err != nil {
		return err
	}
	return private.Put(filepath.Join(f.path, name), text)
}

// maxFolder bounds the bytes of a folder.
const maxFolder = 256 << 20

// Trim removes files that nobody has used for 30 days, and the oldest ones of too many. What cannot be removed stays.
func (f *Folder) Trim() { f.trim(maxFolder) }

func (f *Folder) trim(bytes int64) {
	private.RemoveUnused(f.path, names, names+".*.new")
	entries, err := os.ReadDir(f.path)
	if err != nil {
		return
	}
	var files []fs.FileInfo
	for _, e := range entries {
		if ok, _ := filepath.Match(names, e.Name()); !ok {
			continue
		}
		if info, err := e.Info(); err == nil && info.Mode().IsRegular() {
			files = append(files, info)
		}
	}
	slices.SortStableFunc(files, func(a, b fs.FileInfo) int {
		return cmp.Or(b.ModTime().Compare(a.ModTime()), cmp.Compare(a.Name(), b.Name()))
	})
	for i, info := range files {
		if bytes -= info.Size(); bytes < 0 && i > 0 {
			os.Remove(filepath.Join(f.path, info.Name()))
		}
	}
}

// Hash returns a hash of the texts from which memories were read, in the order of their programs: what a run knows of earlier ones.
func Hash(texts ...[]byte) string {
	h, some := sha256.New(), false
	for _, text := range texts {
		fmt.Fprintf(h, "%d\n%s\n", len(text), text)
		some = some || len(text) > 0
	}
	if !some {
		return "empty"
	}
	return hex.EncodeToString(h.Sum(nil)[:8])
}
