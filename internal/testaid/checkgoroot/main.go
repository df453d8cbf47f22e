// Command checkgoroot checks whether heisen can use a Go installation, such as a beta or the tip of development.
//
//	go run ./internal/testaid/checkgoroot ~/sdk/gotip
//	go run ./internal/testaid/checkgoroot -reference $(go env GOROOT) ~/sdk/gotip
//
// It prints, in the unified format, what has changed in the declarations that heisen patches, compared with an installation
// that heisen was tested with. Then it adds the recorder, and runs the self-test. The exit status is 1 if that fails.
package main

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"syscall"

	"github.com/heisen-go/heisen/internal/build"
	"github.com/heisen-go/heisen/internal/selftest"
	"github.com/heisen-go/heisen/internal/textdiff"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := command(ctx, os.Stdout, os.Args[1:]); err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintf(os.Stderr, "checkgoroot: %v\n", err)
		os.Exit(1)
	}
}

func command(ctx context.Context, w io.Writer, args []string) error {
	flags := flag.NewFlagSet("checkgoroot", flag.ContinueOnError)
	reference := flags.String("reference", "", "compare with the installation in `folder` (default: the one in use)")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if flags.NArg() != 1 {
		return errors.New("name one GOROOT")
	}
	root, err := filepath.Abs(flags.Arg(0))
	if err != nil {
		return err
	}
	if *reference == "" {
		used, err := build.FindToolchain(ctx, "")
		if err != nil {
			return err
		}
		*reference = used.Root
	}
	if err := compare(w, *reference, root); err != nil {
		return err
	}
	for name, value := range map[string]string{
		"GOROOT": root, "GOTOOLCHAIN": "local", "PATH": filepath.Join(root, "bin") + string(filepath.ListSeparator) + os.Getenv("PATH"),
	} {
		if err := os.Setenv(name, value); err != nil {
			return err
		}
	}
	b, err := build.New(ctx, "", "")
	if err != nil {
		return err
	}
	fmt.Fprintf(w, "%s: the recorder can be added\n", b.Toolchain.Version)
	if err := selftest.Run(ctx, b); err != nil {
		return err
	}
	fmt.Fprintf(w, "%s: the self-test passes\n", b.Toolchain.Version)
	return nil
}

// compare prints what differs between two installations in the declarations that are patched in the first.
func compare(w io.Writer, reference, root string) error {
	all, err := build.Declarations(reference)
	if err != nil {
		return err
	}
	slices.SortFunc(all, func(a, b build.Declaration) int {
		return cmp.Or(cmp.Compare(a.File, b.File), cmp.Compare(a.Name, b.Name))
	})
	changed, missing := 0, 0
	for _, d := range all {
		text, err := d.In(root)
		switch {
		case err != nil:
			return err
		case text == "":
			missing++
			fmt.Fprintf(w, "%s: no %s\n", d.File, d.Name)
		case text != d.Text:
			changed++
			if err := textdiff.Write(w, d.File+": "+d.Name, []byte(d.Text+"\n"), []byte(text+"\n")); err != nil {
				return err
			}
		}
	}
	fmt.Fprintf(w, "%d declarations that are patched, of which %d have changed and %d are missing\n", len(all), changed, missing)
	return nil
}
