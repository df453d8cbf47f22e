package cli

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/heisen-go/heisen/internal/accesstable"
	"github.com/heisen-go/heisen/internal/build"
	"github.com/heisen-go/heisen/internal/private"
)

// fieldFlags are the flags of builds for production.
type fieldFlags struct {
	on    bool
	cpu   percent
	delay time.Duration
}

// percent is a share of a processor's time.
type percent float64

func (p *percent) String() string { return strconv.FormatFloat(float64(*p), 'g', -1, 64) + "%" }

func (p *percent) Set(text string) error {
	number, ok := strings.CutSuffix(text, "%")
	value, err := strconv.ParseFloat(number, 64)
	if !ok || err != nil || !(value >= 0 && value <= 100) {
		return errors.New("want a share such as 1%")
	}
	*p = percent(value)
	return nil
}

const fieldPrefix = "field"

func (inv *invocation) fieldFlags() *fieldFlags {
	f := &fieldFlags{cpu: 1}
	inv.flags.BoolVar(&f.on, fieldPrefix, false, "build for production: a plain program that stops a goroutine now and then before\nan access, and prints who comes meanwhile; only for linux/amd64")
	inv.flags.Var(&f.cpu, fieldPrefix+"-cpu", "with -field: the `share` of one processor that looking may take; 0%: do not look")
	inv.flags.DurationVar(&f.delay, fieldPrefix+"-delay", 500*time.Microsecond, "with -field: how `long` a goroutine waits before an access")
	return f
}

// check returns an error if other flags make no sense for such builds.
func (f *fieldFlags) check(inv *invocation) (err error) {
	inv.flags.Visit(func(given *flag.Flag) {
		ours := strings.HasPrefix(given.Name, fieldPrefix)
		switch {
		case err != nil:
		case ours && !f.on:
			err = misuse("-%s needs -field", given.Name)
		case !ours && f.on:
			err = misuse("-%s is not for programs with -field, which look for races themselves", given.Name)
		}
	})
	mode, _ := inv.line.value("buildmode")
	switch {
	case err != nil || !f.on:
		return err
	case !slices.Contains([]string{"", "default", "exe", "pie"}, mode):
		return misuse("-buildmode=%s: only programs can be built with -field", mode)
	case inv.line.isTrue("cover"):
		return misuse("-cover: its counters are written without synchronization on purpose")
	case inv.line.isTrue("n"):
		return misuse("-n: a build with -field is more than one command")
	case f.delay < time.Microsecond || f.delay > 100*time.Millisecond:
		return misuse("-field-delay %v: want 1us to 100ms", f.delay)
	}
	return nil
}

// options returns the sampler's options, as the environment variable HEISEN_FIELD has them.
func (f *fieldFlags) options() string {
	return fmt.Sprintf("cpu=%d,delay=%dus", int(float64(f.cpu)*1000), f.delay.Microseconds())
}

// programs builds the programs of inv.line in a folder, with the sampler and the table of accesses. It returns their paths.
func (f *fieldFlags) programs(inv *invocation, folder string) (programs []string, err error) {
	ctx, stop := inv.interruptible()
	defer stop()
	done := inv.building()
	defer func() { done(err == nil) }()
	plain, err := build.NewField(ctx, "", "", inv.line.listFlags())
	if err == nil {
		err = f.build(ctx, inv, plain, folder)
	}
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if err != nil {
		return nil, err
	}
	programs, err = filepath.Glob(filepath.Join(folder, "plain", "*"))
	for _, program := range programs {
		table, err := accesstable.Find(program, filepath.Join(folder, "instrumented", filepath.Base(program)))
		if err != nil {
			return nil, err
		}
		if err := table.Append(program); err != nil {
			return nil, err
		}
	}
	return programs, err
}

// build builds the programs of inv.line plain, and once more with all accesses instrumented, from which the accesses of the
// plain ones are known.
func (f *fieldFlags) build(ctx context.Context, inv *invocation, plain *build.Builder, folder string) error {
	inv.standsAlone, inv.unchecked = true, true
	instrumented, err := inv.newBuilder(ctx)
	if err != nil {
		return err
	}
	if file, given := inv.line.value("overlay"); given && file != "" {
		if err := plain.AddOverlay(file); err != nil {
			return err
		}
	}
	plain.AddLinkerFlags("-X=runtime.heisenSamplerDefaults=" + f.options())
	plain.Printed = inv.Err
	packages := inv.line.packages()
	flags := append(inv.line.tagFlags(), texts(inv.line.goFlags(append(handled, "o", "exec")...))...)
	for _, b := range []struct {
		*build.Builder
		name  string
		flags []string
	}{
		{plain, "plain", slices.Concat(flags, texts(inv.line.named("gcflags")))},
		{instrumented, "instrumented", flags},
	} {
		dir := filepath.Join(folder, b.name)
		if err := os.Mkdir(dir, 0o700); err != nil {
			return err
		}
		if err := b.Build(ctx, "", dir+string(filepath.Separator), b.flags, packages...); err != nil {
			return err
		}
	}
	return nil
}

// write builds the programs of inv.line, and writes them where go build would.
func (f *fieldFlags) write(inv *invocation) (int, error) {
	folder, err := private.NewTemporary()
	if err != nil {
		return Failed, err
	}
	defer folder.Remove()
	programs, err := f.programs(inv, folder.Path)
	if err != nil {
		return Failed, err
	}
	output, _ := inv.line.value("o")
	for _, program := range programs {
		to, err := outputOf(output, filepath.Base(program), len(programs))
		if err == nil && to != "" {
			err = copyProgram(program, to)
		}
		if err != nil {
			return Failed, err
		}
	}
	return Clean, nil
}

// outputOf returns where go build -o output writes a program of several; empty if it discards them.
func outputOf(output, name string, programs int) (string, error) {
	info, err := os.Stat(output)
	switch {
	case output == "" && programs > 1:
		return "", nil
	case output == "":
		return name, nil
	case strings.HasSuffix(output, "/") || err == nil && info.IsDir():
		return filepath.Join(output, name), os.MkdirAll(output, 0o777)
	case programs > 1:
		return "", misuse("-o %s: several programs need a folder", output)
	}
	return output, nil
}

// copyProgram copies an executable. A program that runs from the old file goes on.
func copyProgram(from, to string) (err error) {
	source, err := os.Open(from)
	if err != nil {
		return err
	}
	defer source.Close()
	if err := os.Remove(to); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	target, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o777)
	if err != nil {
		return err
	}
	_, err = io.Copy(target, source)
	return errors.Join(err, target.Close())
}

// runProgram builds the program of inv.line, and runs it.
func (f *fieldFlags) runProgram(inv *invocation) (int, error) {
	defer inv.holdSignals()()
	folder, err := private.NewTemporary()
	if err != nil {
		return Failed, err
	}
	defer folder.Remove()
	programs, err := f.programs(inv, folder.Path)
	if err != nil {
		return Failed, err
	}
	if len(programs) > 1 {
		return Misused, misuse("%s: several programs", strings.Join(inv.line.packages(), " "))
	}
	list, _ := inv.line.value("exec")
	words, err := build.Words(list)
	if err != nil {
		return Misused, misuse("-exec %s: %v", list, err)
	}
	words = slices.Concat(words, programs, inv.line.program())
	return inv.runUnconnected(inv.attach(exec.CommandContext(inv.ctx, words[0], words[1:]...)))
}
