package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"github.com/heisen-go/heisen/bench/results"
)

// A book makes sections of a file of results.
type book struct {
	file     string
	sections []section // all of the book
	quick    bool
	note     string

	run  func(ctx context.Context, args []string) (printed string, err error)
	now  func() time.Time
	said io.Writer // which section is being made
}

// make makes the chosen sections, one after the other, and writes the file after each. It returns the
// errors of those that fail, whose text in the file stays as it is.
func (b *book) make(ctx context.Context, chosen []section) (failed error) {
	for _, s := range chosen {
		if err := ctx.Err(); err != nil {
			return errors.Join(failed, fmt.Errorf("%s: %w", s.name, err))
		}
		fmt.Fprintf(b.said, "%s: %s\n", s.name, s.takes)
		text, err := b.text(ctx, &s)
		if err == nil {
			err = update(b.file, b.sections, s.name, text)
		}
		if err == nil {
			err = draw(b.file, s.name, text)
		}
		if err != nil {
			failed = errors.Join(failed, fmt.Errorf("%s: %w", s.name, err))
		}
	}
	return failed
}

// text returns the text of a section, with what its commands print.
func (b *book) text(ctx context.Context, s *section) (string, error) {
	var out strings.Builder
	out.WriteString(s.head() + s.pictures())
	commands := s.commands
	if b.quick {
		commands = s.quick
	}
	start := b.now()
	for _, args := range commands {
		printed, err := b.run(ctx, args)
		if err == nil {
			err = check(args, printed)
		}
		if err != nil {
			return "", fmt.Errorf("%s: %w", results.CommandLine(args...), err)
		}
		out.WriteString(strings.TrimSpace(printed) + "\n\n")
	}
	fmt.Fprintf(&out, "This took %s.", b.now().Sub(start).Round(time.Second))
	if b.note != "" {
		out.WriteString(" " + b.note)
	}
	out.WriteString("\n\n")
	return out.String(), nil
}

// check says what a section lacks: the line with the conditions, and a table.
func check(args []string, printed string) error {
	conditions := regexp.MustCompile("(?m)^`" + regexp.QuoteMeta(results.CommandLine(args...)) + "` on ")
	switch {
	case !conditions.MatchString(printed):
		return errors.New("it prints no line with its conditions")
	case !strings.Contains(printed, "\n|--"):
		return errors.New("it prints no table")
	case anchorLine.MatchString(printed):
		return errors.New("it prints an anchor of a section")
	}
	return nil
}

// programs is a folder for executables of commands.
type programs string

// run builds a command, if it has not been, and runs it. It returns what the command prints on standard
// output; the rest goes to standard error, and its last line is part of an error. go run would not do: a
// signal ends it and not the command.
func (dir programs) run(ctx context.Context, args []string) (printed string, err error) {
	exe := filepath.Join(string(dir), filepath.Base(args[0]))
	if _, err := os.Stat(exe); err != nil {
		build := exec.CommandContext(ctx, "go", "build", "-o", exe, args[0])
		if out, err := build.CombinedOutput(); err != nil {
			return "", fmt.Errorf("%w\n%s", err, out)
		}
	}
	cmd := exec.CommandContext(ctx, exe, args[1:]...)
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) } // it removes its files
	cmd.WaitDelay = time.Minute
	var out, wrong bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, io.MultiWriter(os.Stderr, &wrong)
	if err := cmd.Run(); err != nil {
		said := strings.TrimSpace(wrong.String())
		return "", fmt.Errorf("%w: %s", err, said[strings.LastIndexByte(said, '\n')+1:])
	}
	return out.String(), nil
}
