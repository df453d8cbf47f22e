package report

import (
	"fmt"
	"strings"

	"github.com/heisen-go/heisen"
)

// maxAncestors bounds the chain of creations shown for one access. Programs
// that start goroutines from goroutines can be thousands deep, and a damaged
// trace may claim a cycle.
const maxAncestors = 16

// Resolve replaces the numbers of a finding by what they stand for. symbols and
// sources may be nil; then numbers stay numbers and no source is shown. It
// costs about as much as parsing and type-checking the packages of the accesses
// that sources has not seen before.
func Resolve(item Item, symbols *heisen.Symbols, sources *Sources) Finding {
	f := item.Finding
	out := Finding{
		Detector:    f.Detector,
		Kind:        f.Kind,
		Fingerprint: item.Fingerprint,
		Count:       item.Count,
		Message:     f.Message,
		Accesses:    make([]Access, len(f.Accesses)),
	}
	r := resolver{symbols, sources}
	excerpts := make([]*Excerpt, len(f.Accesses))
	for i, a := range f.Accesses {
		out.Accesses[i], excerpts[i] = r.access(a)
	}
	for i, c := range choose(excerpts) {
		if c != nil {
			out.Accesses[i].Variable = c.text
			out.Accesses[i].Source = c.statement
		}
	}
	if n := len(out.Accesses); n > 0 {
		out.Variable = out.Accesses[n-1].Variable
	}
	out.Goroutines = r.goroutines(f.Accesses)
	for i := range f.Witness {
		out.Witness = append(out.Witness, r.step(&f.Witness[i]))
	}
	return out
}

type resolver struct {
	symbols *heisen.Symbols
	sources *Sources
}

func (r resolver) access(a heisen.Access) (Access, *Excerpt) {
	out := Access{
		Op:        a.Op.String(),
		Thread:    a.Thread,
		Goroutine: r.name(a.Thread),
		Object:    r.symbols.Name(a.Object),
		Size:      a.Size,
		Index:     a.Index,
		Site:      r.site(a.Site),
		Stack:     r.stack(a.Site, a.Context),
		Locks:     []Lock{},
	}
	for _, held := range r.symbols.Locks(a.Context) {
		out.Locks = append(out.Locks, r.lock(held))
	}
	excerpt := r.sources.At(userFrame(out.Stack), a.Op)
	out.Source = excerpt.Statement
	return out, excerpt
}

func (r resolver) lock(held heisen.Held) Lock {
	out := Lock{
		Lock: r.symbols.Name(held.Lock),
		Mode: "write",
		Site: r.site(held.Site),
	}
	op := heisen.Acquire
	if held.Shared {
		out.Mode, op = "read", heisen.AcquireShared
	}
	frame := userFrame(frames(r.symbols.Site(held.Site).Frames))
	out.Variable = r.sources.At(frame, op).Variable()
	return out
}

// site names a place as it stands in the file of a text trace, else by the line
// of the user's code.
func (r resolver) site(site heisen.Site) string {
	info := r.symbols.Site(site)
	if f := userFrame(frames(info.Frames)); info.Text == "" && f.File != "" {
		return fmt.Sprintf("%s:%d", f.File, f.Line)
	}
	return info.String()
}

// stack is empty where no frame is known: a text trace knows sites, not
// functions. As in Go's own reports it ends with the function that the goroutine
// was started with, without the runtime's frames around.
func (r resolver) stack(site heisen.Site, ctx heisen.Context) []Frame {
	stack := frames(r.symbols.Stack(site, ctx))
	for len(stack) > 1 && startsGoroutines(stack[len(stack)-1].Func) {
		stack = stack[:len(stack)-1]
	}
	for _, f := range stack {
		if f.File != "" {
			return stack
		}
	}
	return []Frame{}
}

// startsGoroutines reports whether a function of the runtime is what calls the
// first function of a goroutine, main.main or an init function.
func startsGoroutines(function string) bool {
	switch function {
	case "runtime.goexit", "runtime.main", "runtime.doInit", "runtime.doInit1":
		return true
	}
	return false
}

func frames(in []heisen.Frame) []Frame {
	out := make([]Frame, len(in))
	for i, f := range in {
		out[i] = Frame(f)
	}
	return out
}

// userFrame returns the innermost frame outside of the packages that implement
// synchronisation: an atomic operation or a lock is to be shown where the
// program asks for it. A stack of nothing else gives its innermost frame.
func userFrame(stack []Frame) Frame {
	for _, f := range stack {
		if f.File != "" && !synchronises(f.Func) {
			return f
		}
	}
	if len(stack) > 0 {
		return stack[0]
	}
	return Frame{}
}

func synchronises(function string) bool {
	for _, pkg := range [...]string{"sync.", "sync/atomic.", "internal/sync.", "internal/race.", "internal/runtime/", "runtime."} {
		if strings.HasPrefix(function, pkg) {
			return true
		}
	}
	return false
}

// name is how people call a thread. Thread 0 of a text trace has a name, so
// that a thread 0 without one is the main goroutine.
func (r resolver) name(t heisen.Thread) string {
	switch name := r.symbols.Thread(t).Name; {
	case name != "":
		return name
	case t == 0:
		return "main goroutine"
	}
	return fmt.Sprintf("goroutine %d", t)
}

// goroutines lists the threads of the accesses, the later access first, each
// followed by its ancestors.
func (r resolver) goroutines(accesses []heisen.Access) (out []Goroutine) {
	seen := map[heisen.Thread]bool{}
	for i := len(accesses) - 1; i >= 0; i-- {
		t := accesses[i].Thread
		for range maxAncestors {
			if seen[t] {
				break
			}
			seen[t] = true
			info := r.symbols.Thread(t)
			g := Goroutine{Thread: t, Name: r.name(t)}
			if info.Forked {
				parent := info.Parent
				g.Parent = &parent
				g.Stack = r.stack(info.Site, info.Context)
				if len(g.Stack) == 0 && info.Site != 0 {
					g.Stack = []Frame{{Func: r.site(info.Site)}}
				}
			}
			out = append(out, g)
			if !info.Forked {
				break
			}
			t = info.Parent
		}
	}
	return out
}

func (r resolver) step(rec *heisen.Record) Step {
	s := Step{
		Op:     rec.Code.String(),
		Thread: rec.TID,
		Name:   r.name(rec.TID),
		Object: r.symbols.Name(rec.Obj),
		Site:   r.site(rec.Loc),
	}
	if rec.Code == heisen.Fork || rec.Code == heisen.Join {
		s.Object = r.name(rec.Obj.Thread())
	}
	if rec.Flags&heisen.HasValue != 0 {
		v := rec.Val
		s.Value = &v
	}
	return s
}
