package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/heisen-go/heisen/internal/build"
	"github.com/heisen-go/heisen/internal/recorder"
)

// suitePackage is the import path under which the test data is built. The data imports internal
// packages of Go, so the overlay places it in the standard library. The first element of the path
// is not one of the standard library's, so the recorder treats the package as part of the program.
const suitePackage = "goracetests"

// The tools that can be checked.
const (
	toolHeisen = "heisen"
	toolRace   = "race" // the race detector of go test -race
)

// A suite is the test data, built for a tool.
type suite struct {
	tool     string
	detector string         // heisen's detector
	mode     recorder.Mode  // what heisen's recorder sends
	live     *recorder.Live // which overlaps the program itself looks for, or nil
	alone    bool           // programs print their races themselves
	unseen   bool           // something may synchronize that heisen does not see

	toolchain *build.Toolchain
	pkg       string // package of the data, or empty if it is that of the Go installation
	data      string // folder of the files
	exe       string
	emulator  []string // command line prefix that runs the executable, or empty
}

// String describes what is checked.
func (s *suite) String() string {
	with := fmt.Sprintf("%s %s/%s", s.toolchain.Version, s.toolchain.GOOS, s.toolchain.GOARCH)
	if s.tool == toolRace {
		return "go test -race, " + with
	}
	if s.live != nil {
		return fmt.Sprintf("heisen -detect %s with noise at %d of 1000 accesses, %s", s.detector, s.live.Noise.Strength, with)
	}
	if s.alone {
		return "programs of heisen build, " + with
	}
	filter := "tree"
	if s.mode == recorder.Everything {
		filter = "none"
	}
	return fmt.Sprintf("heisen -detect %s -filter %s, %s", s.detector, filter, with)
}

// inside reports whether the program itself detects races or overlaps.
func (s *suite) inside() bool { return s.live != nil || s.mode == recorder.Races }

// build builds the test data to an executable in the folder work: those of the package s.pkg, or else
// the files in the folder s.data. If both are empty, build sets s.data to the folder of the Go
// installation.
func (s *suite) build(ctx context.Context, work string) error {
	if s.pkg != "" {
		return s.buildPackage(ctx, work)
	}
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
	// Vet would look for the package's folder, which does not exist. If a flag is given twice, the
	// go command uses the last one.
	args := []string{"-c", "-vet=off", "-o", s.exe, "-overlay=" + overlay}
	return s.compile(ctx, b, work, append(args, suitePackage))
}

// buildPackage builds the tests of s.pkg, which is in the working directory's module, and sets s.data
// to its folder.
func (s *suite) buildPackage(ctx context.Context, work string) error {
	b, err := build.New(ctx, "", "")
	if err != nil {
		return err
	}
	s.toolchain, s.exe = b.Toolchain, filepath.Join(work, "suite.test")
	out, err := exec.CommandContext(ctx, b.Toolchain.Go, "list", "-f", "{{.Dir}}", s.pkg).Output()
	if err != nil {
		return fmt.Errorf("go list %s: %w", s.pkg, err)
	}
	s.data = strings.TrimSpace(string(out))
	return s.compile(ctx, b, "", []string{"-c", "-vet=off", "-o", s.exe, s.pkg})
}

// compile runs go test for the tool, with arguments that build the executable.
func (s *suite) compile(ctx context.Context, b *build.Builder, dir string, args []string) error {
	if s.unseen {
		b.AddLinkerFlags("-X=runtime.heisenLinked=" + suitePackage)
	}
	cmd := b.Command(ctx, "test", args...)
	if s.tool == toolRace {
		cmd = exec.CommandContext(ctx, b.Toolchain.Go, append([]string{"test", "-race"}, args...)...)
		cmd.Env = append(cmd.Environ(), "CGO_ENABLED=1")
	}
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("go test -c: %w\n%s", err, out)
	}
	return nil
}

// overlay writes the description of an overlay to the folder work and returns its path. The overlay
// has the files of the overlay base, if that is not empty, and those of the test data.
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
