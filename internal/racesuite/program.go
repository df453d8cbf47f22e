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
)

// suitePackage is the import path that the test data is built under. The data
// imports internal packages, so the overlay puts it into the standard library;
// its first element is none of Go's, by which the recorder knows it as a program.
const suitePackage = "racesuite"

// suite is the test data, built.
type suite struct {
	tool      string // "heisen" or "race"
	toolchain *build.Toolchain
	data      string // folder with the files
	exe       string
}

// buildSuite builds the test data in a folder, that of the Go installation if
// empty, to an executable in the folder work.
func buildSuite(ctx context.Context, tool, data, work string) (*suite, error) {
	if err := os.WriteFile(filepath.Join(work, "go.mod"), []byte("module work\n\ngo 1.25\n"), 0o666); err != nil {
		return nil, err
	}
	b, err := build.New(ctx, work, "")
	if err != nil {
		return nil, err
	}
	s := &suite{tool: tool, toolchain: b.Toolchain, data: data, exe: filepath.Join(work, "suite.test")}
	if data == "" {
		s.data = filepath.Join(b.Toolchain.Root, "src", "runtime", "race", "testdata")
	}
	base := ""
	if tool == "heisen" {
		base = b.Overlay()
	}
	overlay, err := s.overlay(base, work)
	if err != nil {
		return nil, err
	}
	// Vet looks for the folder itself. Of flags that are given twice the go command
	// takes the latter.
	args := []string{"-c", "-vet=off", "-o", s.exe, "-overlay=" + overlay}
	var cmd *exec.Cmd
	switch tool {
	case "heisen":
		args = append(args, "-gcflags="+suitePackage+"...=-race", suitePackage)
		cmd = b.Command(ctx, "test", args...)
	case "race":
		args = append([]string{"test", "-race"}, append(args, suitePackage)...)
		cmd = exec.CommandContext(ctx, b.Toolchain.Go, args...)
	default:
		return nil, fmt.Errorf("unknown tool %q; there are heisen and race", tool)
	}
	cmd.Dir = work
	if out, err := cmd.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("%s: %w\n%s", strings.Join(cmd.Args[:2], " "), err, out)
	}
	return s, nil
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
