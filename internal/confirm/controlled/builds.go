package controlled

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"

	"github.com/heisen-go/heisen/internal/build"
	"github.com/heisen-go/heisen/internal/private"
)

// Builds builds programs and keeps them, for callers that run the same programs many times while their sources do not
// change. A nil *Builds keeps nothing. One goroutine at a time may use it.
type Builds struct {
	folder string
	kept   map[string]kept
}

// kept is what was built of a source.
type kept struct {
	programs []*Program
	with     *build.Toolchain
}

// NewBuilds returns a Builds that keeps programs in a folder, which exists.
func NewBuilds(folder string) *Builds { return &Builds{folder: folder, kept: map[string]kept{}} }

// Close gives up the programs. It does not remove their files.
func (b *Builds) Close() {
	for _, k := range b.kept {
		closeAll(k.programs)
	}
	b.kept = map[string]kept{}
}

func closeAll(programs []*Program) {
	for _, p := range programs {
		p.Close()
	}
}

// Build builds the programs of a source. If b keeps programs, it builds them for the first of the sources that differ
// only in the arguments of their programs. The caller gives the programs up when it needs them no more.
func (b *Builds) Build(ctx context.Context, s *Source) (programs []*Program, with *build.Toolchain, giveUp func(), err error) {
	if b != nil {
		programs, with, err = b.keep(ctx, s)
		return programs, with, func() {}, err
	}
	folder, err := private.NewTemporary()
	if err != nil {
		return nil, nil, nil, err
	}
	giveUp = func() {
		closeAll(programs)
		folder.Remove()
	}
	if programs, with, err = s.Build(ctx, folder.Path); err != nil {
		giveUp()
		return nil, nil, nil, err
	}
	return programs, with, giveUp, nil
}

// keep is Build if b is not nil. The programs share executables and symbols with the kept ones, and nothing that executions
// change.
func (b *Builds) keep(ctx context.Context, s *Source) (programs []*Program, with *build.Toolchain, err error) {
	from, err := os.Getwd()
	if err != nil {
		return nil, nil, err
	}
	same := *s
	same.Args = nil
	key := fmt.Sprintf("%s %#v", from, same)
	k, ok := b.kept[key]
	if !ok {
		folder := filepath.Join(b.folder, strconv.Itoa(len(b.kept)))
		if err := os.Mkdir(folder, 0o777); err != nil && !errors.Is(err, os.ErrExist) {
			return nil, nil, err
		}
		if k.programs, k.with, err = s.Build(ctx, folder); err != nil {
			return nil, nil, err
		}
		b.kept[key] = k
	}
	for _, p := range k.programs {
		programs = append(programs, &Program{
			Package: p.Package, importPath: p.importPath, Test: p.Test, Path: p.Path, Dir: p.Dir, Args: s.Args, Files: p.Files, LeftOut: p.LeftOut,
			behaviors: &seenBehaviors{}, symbols: p.symbols, places: p.places,
		})
	}
	return programs, k.with, nil
}
