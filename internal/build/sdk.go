package build

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/heisen-go/heisen/internal/filename"
	"github.com/heisen-go/heisen/internal/private"
)

// sdkMark is the file that says that a GOROOT was made by WriteSDK.
const sdkMark = "heisen-sdk.json"

// sdkOrigin is its content: what an SDK was made from.
type sdkOrigin struct {
	Heisen string `json:"heisen"` // version of heisen
	Go     string `json:"go"`     // version of Go
	Root   string `json:"goroot"`
}

// WriteSDK makes dir a copy of the Go installation in which -race means heisen. It has symbolic links to files that are
// the same, or copies of them if copied is set, or if the user may make no links on Windows. version is that of heisen.
//
// The installation is the one of the go command in the working directory. An SDK that dir already is, and an empty folder,
// are replaced, and anything else is an error. Nobody sees an SDK that is not complete, and nothing is left of one after
// an error.
func WriteSDK(ctx context.Context, dir, version string, copied bool) (*Toolchain, error) {
	t, err := FindToolchain(ctx, "")
	if err != nil {
		return nil, err
	}
	if dir, err = sdkFolder(dir, t.Root); err != nil {
		return nil, err
	}
	parent := filepath.Dir(dir)
	if err := private.Open(parent); err != nil {
		return nil, err
	}
	private.RemoveAbandoned(parent)
	temp, err := private.NewTemporaryIn(parent)
	if err != nil {
		return nil, err
	}
	defer temp.Remove()
	s := &sdk{from: t, root: filepath.Join(temp.Path, "sdk"), copied: copied}
	if err := s.write(ctx, version); err != nil {
		return nil, err
	}
	return t, exchangeFolder(s.root, dir, filepath.Join(temp.Path, "old"))
}

// sdkFolder returns the absolute path of the folder that an SDK can have, without links if it exists.
func sdkFolder(dir, goroot string) (string, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return "", err
	}
	entries, err := os.ReadDir(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		if _, err := os.Lstat(dir); err == nil {
			return "", fmt.Errorf("%s is a link to nothing", dir)
		}
	case err != nil:
		return "", err
	default:
		if _, made := madeBySDK(dir); !made && len(entries) > 0 {
			return "", fmt.Errorf("%s has files, and is no SDK of heisen that could be replaced", dir)
		}
		if dir, err = filepath.EvalSymlinks(dir); err != nil {
			return "", err
		}
	}
	if filename.Below(goroot, dir) {
		return "", fmt.Errorf("%s is in the Go installation %s", dir, goroot)
	}
	return dir, nil
}

// exchangeFolder renames a folder to dir. What dir was gets the name old, and its name back if that fails.
func exchangeFolder(folder, dir, old string) error {
	err := os.Rename(dir, old)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	had := err == nil
	if err = os.Rename(folder, dir); err != nil && had {
		err = errors.Join(err, os.Rename(old, dir))
	}
	return err
}

// madeBySDK returns what an SDK was made from, if the folder is one.
func madeBySDK(root string) (from sdkOrigin, ok bool) {
	text, err := os.ReadFile(filepath.Join(root, sdkMark))
	return from, err == nil && json.Unmarshal(text, &from) == nil
}

// checkNoSDK returns an error if a toolchain was made by WriteSDK: its files are patched already.
func (t *Toolchain) checkNoSDK() error {
	from, made := madeBySDK(t.Root)
	if !made {
		return nil
	}
	return fmt.Errorf("%w Go installation %s: heisen sdk has made it. Use its own go command with -race, or heisen with %s first in PATH",
		ErrUnsupported, t.Root, filepath.Join(from.Root, "bin"))
}

// sdk is a GOROOT that is being made.
type sdk struct {
	from   *Toolchain
	root   string
	copied bool // without links to the other one
	files  overlay
}

// write makes the folder.
func (s *sdk) write(ctx context.Context, version string) (err error) {
	if s.files, err = sdkFiles(s.from); err != nil {
		return err
	}
	if err := s.tree(ctx); err != nil {
		return err
	}
	if err := s.settings(version); err != nil {
		return err
	}
	return s.goCommand(ctx)
}

// tree makes everything but the go command and its settings.
func (s *sdk) tree(ctx context.Context) error {
	entries, err := os.ReadDir(s.from.Root)
	if err != nil {
		return err
	}
	if err := os.Mkdir(s.root, 0o777); err != nil {
		return err
	}
	for _, e := range entries {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		switch name := e.Name(); name {
		case "src":
			err = s.source("", false)
		case "bin", "pkg": // the go command may write to them
			err = s.entries(name)
		case "go.env", sdkMark:
		default:
			err = s.same(name)
		}
		if err != nil {
			return err
		}
	}
	return s.addFiles()
}

// source makes the folder dir below src. Folders are no links, because the go command follows none where it looks for
// packages. Its index of the packages of the standard library leaves out those with links, and takes four times as long
// without, so these are copied. embeds says that a package above embeds files, which must not be links either.
func (s *sdk) source(dir string, embeds bool) error {
	from, to := filepath.Join(s.from.Root, "src", dir), filepath.Join(s.root, "src", dir)
	if err := os.Mkdir(to, 0o777); err != nil {
		return err
	}
	entries, err := os.ReadDir(from)
	if err != nil {
		return err
	}
	elements := strings.Split(dir, string(filepath.Separator))
	indexed := elements[0] != "cmd" && !slices.Contains(elements, "testdata")
	embeds = embeds || embedsFiles(from, entries)
	for _, e := range entries {
		name := filepath.Join(dir, e.Name())
		info, err := os.Stat(filepath.Join(from, e.Name()))
		if err != nil {
			return err
		}
		_, changed := s.files[filepath.ToSlash(name)]
		switch {
		case info.IsDir():
			err = s.source(name, embeds)
		case changed:
		case indexed || embeds:
			err = copyFile(filepath.Join(from, e.Name()), filepath.Join(to, e.Name()))
		default:
			err = s.same(filepath.Join("src", name))
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// embedsFiles reports whether a Go file of a folder has a directive go:embed.
func embedsFiles(dir string, entries []fs.DirEntry) bool {
	return slices.ContainsFunc(entries, func(e fs.DirEntry) bool {
		if e.IsDir() || !isGo(e.Name()) {
			return false
		}
		text, err := os.ReadFile(filepath.Join(dir, e.Name()))
		return err == nil && bytes.Contains(text, []byte("\n//go:embed "))
	})
}

// entries makes a folder with the same entries.
func (s *sdk) entries(dir string) error {
	if err := os.Mkdir(filepath.Join(s.root, dir), 0o777); err != nil {
		return err
	}
	entries, err := os.ReadDir(filepath.Join(s.from.Root, dir))
	if err != nil {
		return err
	}
	for _, e := range entries {
		if name := filepath.Join(dir, e.Name()); name != goCommandFile {
			if err := s.same(name); err != nil {
				return err
			}
		}
	}
	return nil
}

// goCommandFile is the go command, below GOROOT.
var goCommandFile = filepath.Join("bin", executable(runtime.GOOS, "go"))

// same makes a file or folder that is the same as in the other GOROOT.
func (s *sdk) same(name string) error {
	from, to := filepath.Join(s.from.Root, name), filepath.Join(s.root, name)
	if !s.copied {
		err := os.Symlink(from, to)
		if err == nil || runtime.GOOS != "windows" {
			return err
		}
		s.copied = true // there, most users may not make links
	}
	info, err := os.Stat(from)
	if err != nil {
		return err
	}
	if !info.IsDir() {
		return copyFile(from, to)
	}
	if err := os.Mkdir(to, 0o777); err != nil {
		return err
	}
	entries, err := os.ReadDir(from)
	for _, e := range entries {
		err = errors.Join(err, s.same(filepath.Join(name, e.Name())))
	}
	return err
}

// copyFile copies a file with its permission to be executed.
func copyFile(from, to string) error {
	text, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	info, err := os.Stat(from)
	if err != nil {
		return err
	}
	return os.WriteFile(to, text, 0o666|info.Mode().Perm()&0o111)
}

// addFiles writes the files that are not the same.
func (s *sdk) addFiles() error {
	for name, text := range s.files {
		if text == nil {
			continue
		}
		file := filepath.Join(s.root, "src", filepath.FromSlash(name))
		if err := os.WriteFile(file, text, 0o666); err != nil {
			return err
		}
	}
	return nil
}

// settings writes the defaults of the go command's environment, and the mark. A line toolchain of a module must not make
// the go command run another one, in which -race means something else.
func (s *sdk) settings(version string) error {
	text, err := os.ReadFile(filepath.Join(s.from.Root, "go.env"))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	var env strings.Builder
	for line := range strings.Lines(string(text)) {
		if !strings.HasPrefix(line, "GOTOOLCHAIN=") {
			env.WriteString(line)
		}
	}
	if env.Len() > 0 && !strings.HasSuffix(env.String(), "\n") {
		env.WriteString("\n")
	}
	env.WriteString("GOTOOLCHAIN=local\n")
	mark, err := json.MarshalIndent(sdkOrigin{version, s.from.Version, s.from.Root}, "", "\t")
	if err != nil {
		return err
	}
	return errors.Join(
		os.WriteFile(filepath.Join(s.root, "go.env"), []byte(env.String()), 0o666),
		os.WriteFile(filepath.Join(s.root, sdkMark), append(mark, '\n'), 0o666),
	)
}

// goCommand builds the go command from the source of the SDK, by that of the GOROOT that the SDK is made from. The one in
// PATH may belong to another release, and would only call it.
func (s *sdk) goCommand(ctx context.Context) error {
	from := *s.from
	from.Go = filepath.Join(s.from.Root, goCommandFile)
	cmd := from.command(ctx, s.root, "build", "-trimpath", "-o", filepath.Join(s.root, goCommandFile), "cmd/go")
	cmd.Env = append(cmd.Env, "GOROOT="+s.root, "GOTOOLCHAIN=local", "GOENV=off", "GOFLAGS=", "GOWORK=off", "GO111MODULE=on",
		"GOOS=", "GOARCH=", "GOEXPERIMENT=", "CGO_ENABLED=0")
	printed, err := cmd.CombinedOutput()
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case err != nil && len(printed) > 0:
		return fmt.Errorf("the go command does not build: %w", &Error{Output: strings.TrimSpace(string(printed))})
	case err != nil:
		return fmt.Errorf("go build cmd/go: %w", err)
	}
	return nil
}
