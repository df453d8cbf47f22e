package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/heisen-go/heisen/internal/build"
	"github.com/heisen-go/heisen/internal/recorder"
)

// suitePackage is the import path that the test data is built under. The data
// imports internal packages, so the overlay puts it into the standard library;
// its first element is none of Go's, by which the recorder knows it as a program.
const suitePackage = "racesuite"

// The race detectors that can be measured.
const (
	toolHeisen = "heisen"
	toolRace   = "race" // that of go test -race
)

// suite is the test data, built.
type suite struct {
	tool     string
	detector string         // of heisen
	mode     recorder.Mode  // of heisen's recorder
	live     *recorder.Live // what the functions look for by themselves

	toolchain *build.Toolchain
	data      string // folder with the files
	exe       string
	emulator  []string // what runs it, with arguments; may be empty
}

// String says what is measured.
func (s *suite) String() string {
	with := fmt.Sprintf("%s %s/%s", s.toolchain.Version, s.toolchain.GOOS, s.toolchain.GOARCH)
	if s.tool == toolRace {
		return "go test -race, " + with
	}
	if s.live != nil {
		return fmt.Sprintf("heisen -detect %s with noise at %d of 1000 accesses, %s", s.detector, s.live.Noise.Strength, with)
	}
	filter := "tree"
	if s.mode == recorder.Everything {
		filter = "none"
	}
	return fmt.Sprintf("heisen -detect %s -filter %s, %s", s.detector, filter, with)
}

// build builds the test data in the folder s.data, that of the Go installation if
// empty, to an executable in the folder work.
func (s *suite) build(ctx context.Context, work string) error {
	if err := os.WriteFile(filepath.Join(work, "go.mod"), []byte("module work\n\ngo 1.25\n"), 0o666); err != nil {
		return err
	}
	b, err := build.New(ctx, work, "")
	if err != nil {
		return err
	}
	s.toolchain, s.exe = b.Toolchain, filepath.Join(work, "suite.test")
	if s.data == "" {
		s.data = filepath.Join(b.Toolchain.Root, "src", "runtime", "race", "testdata")
	}
	base := ""
	if s.tool == toolHeisen {
		base = b.Overlay()
	}
	overlay, err := s.overlay(base, work)
	if err != nil {
		return err
	}
	// Vet looks for the folder itself. Of flags that are given twice the go command
	// takes the latter.
	args := []string{"-c", "-vet=off", "-o", s.exe, "-overlay=" + overlay}
	var cmd *exec.Cmd
	if s.tool == toolHeisen {
		args = append(args, "-gcflags="+suitePackage+"...=-race", suitePackage)
		cmd = b.Command(ctx, "test", args...)
	} else {
		args = append([]string{"test", "-race"}, append(args, suitePackage)...)
		cmd = exec.CommandContext(ctx, b.Toolchain.Go, args...)
	}
	cmd.Dir = work
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("go test -c: %w\n%s", err, out)
	}
	return nil
}

// overlay writes the description of an overlay that has, besides the files of
// base, those of the test data.
func (s *suite) overlay(base, work string) (string, error) {
	var description struct{ Replace map[string]string }
	if base != "" {
		text, err := os.ReadFile(base)
		if err != nil {
			return "", err
		}
		if err := json.Unmarshal(text, &description); err != nil {
			return "", fmt.Errorf("%s: %w", base, err)
		}
	} else {
		description.Replace = map[string]string{}
	}
	files, err := testFiles(s.data)
	if err != nil {
		return "", err
	}
	for _, path := range files {
		description.Replace[filepath.Join(s.toolchain.Root, "src", suitePackage, filepath.Base(path))] = path
	}
	text, err := json.Marshal(description)
	if err != nil {
		return "", err
	}
	file := filepath.Join(work, "overlay.json")
	return file, os.WriteFile(file, text, 0o666)
}
