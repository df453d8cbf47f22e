package infer

import (
	"context"
	"errors"
	"fmt"
	"go/token"
	"go/types"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/analysis/checker"
	"golang.org/x/tools/go/ssa"

	"github.com/heisen-go/heisen/internal/static"
	"github.com/heisen-go/heisen/section"
)

// Synchronization is a place at which a goroutine in an execution of a section may wait for other goroutines.
type Synchronization struct {
	Section int // its index
	File    string
	Line    int
	What    string // what happens there, such as "receives from a channel"
}

// Certain reports whether the place waits for certain, unless the others are ahead: an operation on a channel, or a call of
// the method Wait of a condition or a WaitGroup. Other calls may wait or not.
func (s Synchronization) Certain() bool {
	callee, calls := strings.CutPrefix(s.What, "calls ")
	return !calls || strings.HasPrefix(callee, "(*sync.")
}

// Synchronizations returns one place for each section at which a goroutine may wait for other ones between the entry and an
// end. A lock around such a section could deadlock (section 5.1 of the AtomRace paper).
//
// Calls are followed through all functions of the package, and of functions of the standard library it is known what they
// wait for. It errs on the side of yes: a call of a function of another package, of a function value or of an interface's
// method may wait. Locks, atomic operations, sleeps, output and the disk do not count. If an end is in another function than
// the entry, everything that may come after the entry in its function counts, and nothing of the other function. The names of
// files are absolute. For the error and the cost see Uses.
func Synchronizations(ctx context.Context, source Source, sections []section.Section) ([]Synchronization, error) {
	l, err := source.LoadAll(ctx)
	if err != nil {
		return nil, fmt.Errorf("find synchronization: %w", err)
	}
	graph, err := checker.Analyze([]*analysis.Analyzer{Accesses}, l.Packages, nil)
	if err != nil {
		return nil, fmt.Errorf("find synchronization: %w", err)
	}
	failed := []error{l.Err}
	out := map[int]Synchronization{}
	for _, root := range graph.Roots {
		if root.Err != nil {
			failed = append(failed, fmt.Errorf("%w: %s: %w", ErrPackages, root.Package.PkgPath, root.Err))
			continue
		}
		p := root.Result.(*program)
		for i := range sections {
			if _, known := out[i]; known {
				continue
			}
			if at, what := p.synchronizes(l.Fset, &sections[i]); what != "" {
				out[i] = Synchronization{i, filepath.ToSlash(at.Filename), at.Line, what}
			}
		}
	}
	var list []Synchronization
	for i := range sections {
		if s, ok := out[i]; ok {
			list = append(list, s)
		}
	}
	return list, errors.Join(failed...)
}

// synchronizes returns where a section may synchronize, and how.
func (p *program) synchronizes(fset *token.FileSet, s *section.Section) (at token.Position, what string) {
	for _, fn := range p.funcs {
		for _, a := range p.byFn[fn] {
			if location(fset, a) != s.Entry {
				continue
			}
			for _, ins := range p.within(fset, a, s) {
				if at, what := p.synchronizesAt(fset, ins); what != "" {
					return at, what
				}
			}
		}
	}
	return token.Position{}, ""
}

// within returns the instructions on paths from an entry to the ends of its section, in the entry's function.
// If there are no ends, it returns all that may come after the entry.
func (p *program) within(fset *token.FileSet, entry *access, s *section.Section) (list []ssa.Instruction) {
	fn := entry.ins.Parent()
	end := map[ssa.Instruction]bool{}
	for _, a := range p.byFn[fn] {
		at := location(fset, a)
		if slices.ContainsFunc(s.Ends, func(e section.End) bool { return e.At == at }) {
			end[a.ins] = true
		}
	}
	stop := func(ins ssa.Instruction) bool { return end[ins] }
	after := map[ssa.Instruction]bool{}
	met := walk(entry.ins, stop, after, false)
	before := map[ssa.Instruction]bool{}
	for _, ins := range met {
		walk(ins, func(ins ssa.Instruction) bool { return ins == entry.ins }, before, true)
	}
	for _, b := range fn.Blocks {
		for _, ins := range b.Instrs {
			if after[ins] && (before[ins] || len(met) == 0) {
				list = append(list, ins)
			}
		}
	}
	return list
}

// walk adds to seen the instructions that come after start, or before it, up to those at which stop is true. It
// returns these.
func walk(start ssa.Instruction, stop func(ssa.Instruction) bool, seen map[ssa.Instruction]bool, back bool) (met []ssa.Instruction) {
	var visit func(b *ssa.BasicBlock, instrs []ssa.Instruction)
	visited := map[*ssa.BasicBlock]bool{}
	visit = func(b *ssa.BasicBlock, instrs []ssa.Instruction) {
		if back {
			instrs = slices.Clone(instrs)
			slices.Reverse(instrs)
		}
		for _, ins := range instrs {
			if stop(ins) {
				met = append(met, ins)
				return
			}
			seen[ins] = true
		}
		next := b.Succs
		if back {
			next = b.Preds
		}
		for _, n := range next {
			if !visited[n] {
				visited[n] = true
				visit(n, n.Instrs)
			}
		}
	}
	b := start.Block()
	i := slices.Index(b.Instrs, start)
	if back {
		visit(b, b.Instrs[:i])
	} else {
		visit(b, b.Instrs[i+1:])
	}
	return met
}

// synchronizesAt returns where an instruction, or a function that it calls, may synchronize, and how.
func (p *program) synchronizesAt(fset *token.FileSet, ins ssa.Instruction) (at token.Position, what string) {
	seen := map[*ssa.Function]bool{}
	var in, called func(ssa.Instruction) bool
	inFunction := func(fn *ssa.Function, f func(ssa.Instruction) bool) bool {
		return slices.ContainsFunc(fn.Blocks, func(b *ssa.BasicBlock) bool { return slices.ContainsFunc(b.Instrs, f) })
	}
	in = func(ins ssa.Instruction) bool {
		switch ins.(type) {
		case *ssa.Defer:
			return false // until the function returns
		case *ssa.RunDefers:
			return inFunction(ins.Parent(), func(ins ssa.Instruction) bool {
				_, deferred := ins.(*ssa.Defer)
				return deferred && called(ins)
			})
		}
		return called(ins)
	}
	called = func(ins ssa.Instruction) bool {
		if what = p.synchronization(ins); what != "" {
			at = fset.Position(ins.Pos())
			return true
		}
		call, ok := ins.(ssa.CallInstruction)
		if !ok {
			return false
		}
		callee := p.body(call.Common())
		if callee == nil || seen[callee] {
			return false
		}
		seen[callee] = true
		return inFunction(callee, in)
	}
	in(ins)
	return at, what
}

// synchronization says how an instruction itself may synchronize; "" if it cannot. Calls of functions of the package
// have their own instructions.
func (p *program) synchronization(ins ssa.Instruction) string {
	switch ins := ins.(type) {
	case *ssa.Send:
		return "sends on a channel"
	case *ssa.Select:
		return "selects"
	case *ssa.UnOp:
		if ins.Op == token.ARROW {
			return "receives from a channel"
		}
	case ssa.CallInstruction:
		return p.synchronizingCall(ins.Common())
	}
	return ""
}

// synchronizingCall says how a call may synchronize before anything in the body of a function of the package does.
func (p *program) synchronizingCall(call *ssa.CallCommon) string {
	if _, builtin := call.Value.(*ssa.Builtin); builtin {
		return ""
	}
	if p.body(call) != nil {
		return ""
	}
	if call.IsInvoke() {
		return "calls the method " + call.Method.Name() + " of an interface"
	}
	callee := call.StaticCallee()
	switch {
	case callee == nil:
		return "calls a function value"
	case callee.Object() == nil || callee.Object().Pkg() == nil:
		return "calls " + callee.String()
	case endsAlone(static.Func(callee)):
		return ""
	}
	return "calls " + callee.String()
}

// endsAlone reports whether a function of another package ends whatever other goroutines do: it is prompt, sleeps, prints,
// waits for the disk, or for a lock.
func endsAlone(fn *types.Func) bool {
	facts := static.Known(fn)
	return facts.Has(static.Prompt) || facts.Has(static.Disk) || facts.Has(static.Prints) || facts.Has(static.NeverReturns) ||
		static.LockOpOf(fn) != static.NoLockOp || fn != nil && fn.FullName() == "time.Sleep"
}
