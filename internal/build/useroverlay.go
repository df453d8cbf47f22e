package build

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"

	"github.com/heisen-go/heisen/internal/filename"
	"github.com/heisen-go/heisen/internal/private"
)

// AddOverlay adds the replacements of a file for the go command's -overlay to those of the recorder. Files of the Go
// installation cannot be replaced, because the recorder is made from them. Relative names are relative to the working
// directory, as for the go command.
func (b *Builder) AddOverlay(file string) error {
	added, err := Replacements(file)
	if err != nil {
		return fmt.Errorf("-overlay: %w", err)
	}
	if err := b.addReplacements(added); err != nil {
		return fmt.Errorf("-overlay: %s: %w", file, err)
	}
	return nil
}

// Replace makes the go command compile other texts in the place of files, which are named by absolute paths. Files that are
// replaced already stay as they are.
func (b *Builder) Replace(texts map[string][]byte) error {
	own, err := Replacements(b.overlay)
	if err != nil {
		return err
	}
	added := map[string]string{}
	for name, text := range texts {
		if _, taken := own[name]; taken {
			continue
		}
		sum := sha256.Sum256(text)
		added[name] = filepath.Join(filepath.Dir(b.overlay), "source-"+hex.EncodeToString(sum[:8])+".go")
		if err := b.keep(added[name], text); err != nil {
			return err
		}
	}
	return b.addReplacements(added)
}

// addReplacements adds files that replace others.
func (b *Builder) addReplacements(added map[string]string) error {
	own, err := Replacements(b.overlay)
	if err != nil {
		return err
	}
	merged := maps.Clone(own)
	goroot := filepath.Join(b.Toolchain.Root, "src")
	for name, with := range added {
		if name, err = filepath.Abs(name); err != nil {
			return err
		}
		if with != "" {
			if with, err = filepath.Abs(with); err != nil {
				return err
			}
		}
		if _, taken := own[name]; taken || filename.Below(goroot, name) {
			return fmt.Errorf("%s belongs to the Go installation", name)
		}
		merged[name] = with
	}
	text, err := json.MarshalIndent(replacements{merged}, "", "\t")
	if err != nil {
		return err
	}
	sum := sha256.Sum256(text)
	b.overlay = filepath.Join(filepath.Dir(b.overlay), "overlay-"+hex.EncodeToString(sum[:8])+".json")
	return b.keep(b.overlay, text)
}

// keep puts a file beside the overlay. If the file is new, those that nobody has used for long are removed.
func (b *Builder) keep(name string, text []byte) error {
	_, made := os.Stat(name)
	if err := private.Put(name, text); err != nil {
		return err
	}
	private.Use(name)
	if made != nil {
		private.RemoveUnused(filepath.Dir(name), "source-*.go", "overlay-*.json")
	}
	return nil
}

// replacements is a file for the go command's -overlay.
type replacements struct{ Replace map[string]string }

// Replacements reads a file for the go command's -overlay: the files that stand for others, by the names of these.
func Replacements(file string) (map[string]string, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	var r replacements
	if err := json.Unmarshal(text, &r); err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	return r.Replace, nil
}
