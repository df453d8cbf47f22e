// Command book makes the book of results, bench/RESULTS.md, or some of its sections:
//
//	go run ./bench/book [-quick] [-plots] [-note text] [-o file] [section...]
//
// Each section is what one or two commands of bench print: tables in Markdown, with the command line,
// the machine, the versions and the date, and with what a paper had. Without arguments all sections are
// made, one after the other. A section that is not made keeps its text. So does one whose command fails:
// the others are made all the same, and the exit status is 1.
//
// Some sections have plots of their tables, in bench/plots. They are drawn when a section is made, and with
// -plots again from the tables in the file.
//
// The file is written after each section, so that an interrupted run loses one section at most.
//
// With -quick the commands make fewer runs, which their command lines in the book show. A note is a
// sentence for all sections that are made, such as "Other work ran beside it."
//
// It must run in the folder of the module.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	quick := flag.Bool("quick", false, "make fewer runs")
	note := flag.String("note", "", "a `sentence` for the sections that are made, about the machine or the runs")
	redraw := flag.Bool("plots", false, "make no section: draw the plots again, from the tables in the file")
	file := flag.String("o", filepath.Join("bench", "RESULTS.md"), "the `file` with the results")
	flag.Usage = func() {
		fmt.Fprintf(flag.CommandLine.Output(), "usage: go run ./bench/book [flags] [section...]\n\nThe sections are:\n\n")
		for _, s := range sections {
			fmt.Fprintf(flag.CommandLine.Output(), "  %-12s %s, %s\n", s.name, s.title, s.takes)
		}
		fmt.Fprintf(flag.CommandLine.Output(), "\nThe flags are:\n\n")
		flag.PrintDefaults()
	}
	flag.Parse()
	var names []string
	for flag.NArg() > 0 { // flags may follow sections
		names = append(names, flag.Arg(0))
		flag.CommandLine.Parse(flag.Args()[1:]) // exits if it fails
	}
	chosen, err := choose(sections, names)
	if err != nil {
		fmt.Fprintln(os.Stderr, "book:", err)
		os.Exit(2)
	}
	if *redraw {
		err = drawAll(*file)
	} else {
		err = write(ctx, *file, chosen, *quick, *note)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "book:", err)
		os.Exit(1)
	}
}

// write makes the chosen sections of a file.
func write(ctx context.Context, file string, chosen []section, quick bool, note string) error {
	dir, err := os.MkdirTemp("", "heisen-book-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	b := &book{file: file, sections: sections, quick: quick, note: strings.TrimSpace(note), run: programs(dir).run,
		now: time.Now, said: os.Stderr}
	return b.make(ctx, chosen)
}
