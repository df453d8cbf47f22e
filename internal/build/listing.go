package build

import (
	"context"
	"io"
	"slices"
)

// Listing compiles packages as a build does, with further flags of the compiler for those in the main module, and passes what
// the go command prints to read. The go command keeps this in its cache. flags are those of the build that decide what is
// compiled and how. With tests, the tests of the packages are compiled, too.
//
// The error is that of read. If the packages cannot be compiled, what is printed is not complete, and that is no error: the
// build itself says what is wrong.
func (b *Builder) Listing(ctx context.Context, dir, gcflags string, flags []string, tests bool, packages []string, read func(io.Reader) error) error {
	module, err := b.MainModule(ctx, dir)
	if err != nil {
		return err
	}
	other := *b
	other.gcflags, other.toolexec = slices.Clone(b.gcflags), ""
	if err := other.AddGcflags(ctx, dir, packages, module.Path+"/...="+gcflags); err != nil {
		return err
	}
	args := []string{"-e", "-export", "-deps"}
	if tests {
		args = append(args, "-test")
	}
	cmd := other.Command(ctx, "list", slices.Concat(args, flags, packages)...)
	cmd.Dir = dir
	out, in := io.Pipe()
	cmd.Stderr = in // on its standard output are the names of the packages
	done := make(chan error, 1)
	go func() {
		err := read(out)
		_, rest := io.Copy(io.Discard, out)
		if err == nil {
			err = rest
		}
		done <- err
	}()
	cmd.Run()
	in.Close()
	if err := <-done; err != nil {
		return err
	}
	return ctx.Err()
}
