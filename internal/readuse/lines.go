package readuse

import (
	"context"
	"errors"
	"go/ast"
	"go/token"
	"go/types"

	"golang.org/x/tools/go/packages"
	"golang.org/x/tools/go/ssa"

	"github.com/heisen-go/heisen/internal/ssaload"
)

// Line says what a line of source reads and writes.
type Line struct {
	// Size is the number of bytes of the longest scalar that the line accesses. It is 0 if one of them has
	// more than eight bytes, or if this is not known.
	Size int
	// Updates is set if the line reads variables and writes what it computes from them, and from nothing
	// else that it reads, back to the same variables, as in x.n++. A read of the line is free if the same
	// execution of the line writes the same address after it.
	Updates bool
	// Copies is set if the line has one store, and nothing else depends on what the line reads. A read of
	// the line is free if the same execution of the line writes anything after it.
	Copies bool
}

// Lines has the lines of the files of some packages. A nil Lines has none.
type Lines struct {
	files map[string]map[int]*found
}

// At returns what is known of a line. The zero Line is returned for all others: all their reads decide.
func (l *Lines) At(file string, line int) Line {
	if l == nil {
		return Line{}
	}
	f := l.files[file][line]
	if f == nil || f.unknown {
		return Line{}
	}
	out := Line{Size: f.size, Copies: f.stores == 1 && f.free+len(f.updated) > 0 && len(f.deciding) == 0 && !f.reads, Updates: len(f.updated) > 0}
	if f.long {
		out.Size = 0
	}
	for _, t := range f.updated {
		for _, other := range f.deciding {
			// It may be the same variable by another name.
			out.Updates = out.Updates && !types.Identical(t, other)
		}
	}
	return out
}

// found is what was found on a line.
type found struct {
	size     int
	long     bool // a scalar has more than eight bytes
	unknown  bool // something of its function has no line
	reads    bool // something else than a load reads
	stores   int
	free     int          // loads that are free, but for those in updated
	updated  []types.Type // of free loads whose variable is what is written
	deciding []types.Type // of the other loads
}

// Load finds the lines of packages and of what they import, without the standard library. What cannot be
// loaded has none; the error says what that is.
func Load(ctx context.Context, source ssaload.Source) (*Lines, error) {
	imported, err := source.Dependencies(ctx)
	if err != nil {
		return nil, err
	}
	l := &Lines{map[string]map[int]*found{}}
	err = l.load(ctx, source)
	if source.Packages, source.Tests = imported, false; len(imported) > 0 && ctx.Err() == nil {
		err = errors.Join(err, l.load(ctx, source))
	}
	return l, err
}

// load adds the lines of packages.
func (l *Lines) load(ctx context.Context, source ssaload.Source) error {
	loaded, err := source.LoadAll(ctx)
	if err != nil {
		return err
	}
	for _, pkg := range loaded.Packages {
		if err := l.add(loaded.Fset, pkg); err != nil {
			return err
		}
	}
	return loaded.Err
}

// add adds the lines of a package.
func (l *Lines) add(fset *token.FileSet, pkg *packages.Package) error {
	_, functions, err := ssaload.Build(fset, pkg.Types, pkg.Syntax, pkg.TypesInfo)
	if err != nil {
		return err
	}
	f := finder{lines: l, fset: fset, sizes: pkg.TypesSizes, spots: ssaload.NewSpots(pkg.Syntax, pkg.TypesInfo, functions)}
	for _, fn := range functions {
		f.function(fn)
	}
	return nil
}

// line returns what was found at a position, and nil if there is no position.
func (f *finder) line(pos token.Pos) *found {
	at := f.fset.Position(pos)
	if !at.IsValid() {
		return nil
	}
	lines := f.lines.files[at.Filename]
	if lines == nil {
		lines = map[int]*found{}
		f.lines.files[at.Filename] = lines
	}
	if lines[at.Line] == nil {
		lines[at.Line] = &found{}
	}
	return lines[at.Line]
}

// finder finds the lines of a package.
type finder struct {
	lines *Lines
	fset  *token.FileSet
	sizes types.Sizes
	spots *ssaload.Spots

	generic bool // the function has type parameters
}

// function adds the accesses of a function.
func (f *finder) function(fn *ssa.Function) {
	outermost := fn
	for outermost.Parent() != nil {
		outermost = outermost.Parent()
	}
	f.generic = outermost.TypeParams().Len() > 0
	known := true
	for _, b := range fn.Blocks {
		for _, ins := range b.Instrs {
			known = f.instruction(ins) && known
		}
	}
	if syntax := fn.Syntax(); !known && syntax != nil {
		f.forget(syntax)
	}
}

// forget makes the lines of a function unknown.
func (f *finder) forget(syntax ast.Node) {
	file := f.fset.File(syntax.Pos())
	for line := file.Line(syntax.Pos()); line <= file.Line(syntax.End()); line++ {
		if at := f.line(file.LineStart(line)); at != nil {
			at.unknown = true
		}
	}
}

// instruction adds an instruction. It reports whether its line is known, if it accesses memory.
func (f *finder) instruction(ins ssa.Instruction) (known bool) {
	switch ins := ins.(type) {
	case *ssa.UnOp:
		if ins.Op != token.MUL || isLocal(ins.X) {
			return true
		}
		return f.load(ins)
	case *ssa.Store:
		if isLocal(ins.Addr) {
			return true
		}
		spot := f.spots.Of(ins)
		if spot == nil {
			return false
		}
		at := f.line(spot.Write)
		if at == nil {
			return false
		}
		at.stores++
		f.accesses(at, ins.Val.Type())
	case *ssa.Lookup, *ssa.MapUpdate, *ssa.Range, *ssa.Next, *ssa.Convert, *ssa.MultiConvert, *ssa.SliceToArrayPointer,
		*ssa.Select, *ssa.Send, *ssa.TypeAssert, *ssa.Call, *ssa.Go, *ssa.Defer, *ssa.BinOp, *ssa.Index:
		// Package runtime, or another function, may read for the line.
		if at := f.line(ins.Pos()); at != nil {
			at.reads = at.reads || !computes(ins)
		}
	}
	return true
}

// load adds a load.
func (f *finder) load(load *ssa.UnOp) (known bool) {
	spot := f.spots.Of(load)
	if spot == nil {
		return false
	}
	at := f.line(spot.Read)
	if at == nil {
		return false
	}
	f.accesses(at, load.Type())
	store := onlyStore(load)
	if store != nil {
		if written := f.spots.Of(store); written == nil || f.line(written.Write) != at {
			store = nil
		}
	}
	switch {
	case store == nil:
		at.deciding = append(at.deciding, load.Type())
	case ssaload.SameValue(load.X, store.Addr):
		at.updated = append(at.updated, load.Type())
	default:
		at.free++
	}
	return true
}

// accesses notes an access to a variable of a type.
func (f *finder) accesses(at *found, t types.Type) {
	if f.generic { // the size of a type parameter is not known
		at.long = true
		return
	}
	size := int(f.sizes.Sizeof(t))
	at.size, at.long = max(at.size, size), at.long || size > 8
}

// isLocal reports whether an address is that of a variable which the compiler keeps in registers or on the stack, as far as
// that is certain: it is never taken.
func isLocal(addr ssa.Value) bool {
	alloc, ok := addr.(*ssa.Alloc)
	return ok && !alloc.Heap
}
