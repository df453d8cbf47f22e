package report

import (
	"fmt"
	"slices"
	"strings"

	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/internal/option"
	"github.com/heisen-go/heisen/internal/source"
)

// Resolver turns findings of any number of streams into words. It keeps parsed source files between
// findings. The zero Resolver and the nil Resolver read no files, so that statements and variables
// stay empty.
//
// Several goroutines may use a Resolver, each with the Symbols of its own stream.
type Resolver struct {
	sources *source.Cache
}

// ResolverOption is an option of NewResolver.
type ResolverOption func(*resolverConfig) error

type resolverConfig struct {
	memory int64
	only   func(file string) bool
	stands func(file string) string
}

// WithSources restricts the source files that a Resolver opens to those for which a function returns
// true. Names of files in traces may come from anybody. One goroutine at a time calls the function. The
// default is all Go files.
func WithSources(only func(file string) bool) ResolverOption {
	return func(c *resolverConfig) error {
		if only == nil {
			return option.Errorf("WithSources: a nil function")
		}
		c.only = only
		return nil
	}
}

// WithReplacements names the files that a program was built from in the place of others, as the go command's flag -overlay does: the
// function returns the name of the file to read for one, which may be that itself. One goroutine at a time calls it. By default, each file
// is read itself.
func WithReplacements(replacement func(file string) string) ResolverOption {
	return func(c *resolverConfig) error {
		if replacement == nil {
			return option.Errorf("WithReplacements: a nil function")
		}
		c.stands = replacement
		return nil
	}
}

// WithSourceMemory bounds the memory for parsed source files, in bytes. The default is 128 MiB,
// which is enough for packages with 4 MB of source. 0 means that no files are read. Packages that do
// not fit are parsed again for each finding.
func WithSourceMemory(bytes int64) ResolverOption {
	return func(c *resolverConfig) error {
		if bytes < 0 {
			return option.Errorf("WithSourceMemory: %d bytes, want at least 0", bytes)
		}
		c.memory = bytes
		return nil
	}
}

// NewResolver returns a Resolver that reads source files. Close it when it is no longer used.
// Errors wrap heisen.ErrOption.
func NewResolver(opts ...ResolverOption) (*Resolver, error) {
	c := resolverConfig{memory: source.DefaultMemory}
	if err := option.Apply("report.NewResolver", &c, opts); err != nil {
		return nil, err
	}
	r := &Resolver{}
	if c.memory > 0 {
		r.sources = source.NewCacheOf(c.memory, c.only, c.stands)
	}
	return r, nil
}

// Close gives up the parsed files. It may be called several times. A closed Resolver still resolves,
// slowly.
func (r *Resolver) Close() {
	if r != nil {
		r.sources.Close()
	}
}

// Receiver returns the identity of the variable to whose value a function of another package is applied in a frame, such as that of b in
// b.WriteString(s). It is empty if that is not known.
func (r *Resolver) Receiver(frame Frame, function string) string {
	if r == nil {
		return ""
	}
	return r.sources.Receiver(heisen.Frame{Func: frame.Func, File: frame.File, Line: frame.Line}, function)
}

// maxAncestors bounds the chain of creations shown for one access. Programs that start goroutines
// from goroutines can be thousands deep, and a damaged trace may contain a cycle.
const maxAncestors = 16

// Resolve returns f in words, with Count 1. A finding without a Kind gets the kind "unclassified". symbols are those of f's stream. Without them, numbers
// stay numbers. The result does not refer to f or to symbols.
func (r *Resolver) Resolve(f heisen.Finding, symbols *heisen.Symbols) Finding {
	out := Finding{
		Detector:    f.Detector,
		Kind:        kindOf(&f),
		Fingerprint: f.Fingerprint(symbols),
		Count:       1,
		Message:     f.Message,
		Accesses:    make([]Access, len(f.Accesses)),
	}
	in := resolution{symbols: symbols, kind: f.Kind}
	if r != nil {
		in.sources = r.sources
	}
	names := variablesOf(&f)
	for i := range f.Accesses {
		var excerpt *source.Excerpt
		out.Accesses[i], excerpt = in.access(f.Accesses[i])
		names.add(f.Accesses[i].Object, useOf(&f.Accesses[i]), excerpt)
	}
	in.addLocks(&f, names)
	for i := range f.Witness {
		step, excerpt := in.step(&f.Witness[i])
		step.Pending = i >= len(f.Witness)-f.Last
		out.Witness = append(out.Witness, step)
		names.add(f.Witness[i].Object, useOfStep(&f.Witness[i]), excerpt)
	}
	choices := make([]source.Choice, len(f.Accesses))
	for i := range f.Accesses {
		c := names.choice(f.Accesses[i].Object, useOf(&f.Accesses[i]))
		choices[i] = c
		out.Accesses[i].Variable = c.Variable
		if f.Accesses[i].Object != 0 { // a select statement waits for several
			out.Accesses[i].Alternatives = c.Alternatives
		}
		if c.Statement != "" {
			out.Accesses[i].Source = c.Statement
		}
	}
	for i := range f.Witness {
		c := names.choice(f.Witness[i].Object, useOfStep(&f.Witness[i]))
		out.Witness[i].Variable, out.Witness[i].Alternatives, out.Witness[i].Verb = c.Variable, c.Alternatives, verbOf(f.Witness[i].Op, c.Verb)
	}
	in.nameHeld(&f, &out, names)
	nameAccesses(&f, &out)
	nameLocks(f.Witness, out.Witness)
	out.Variable = headVariable(out.Accesses)
	if f.Kind != heisen.Leak || len(f.Accesses) == 1 && f.Accesses[0].Object != 0 { // a select statement waits for several
		out.Identify(source.SameVariable(choices), out.Fingerprint)
	}
	if isCycle(&f) {
		out.Cycle = cycle(&f, out.Accesses)
	}
	if isSection(&out) {
		out.Unserializable = interleavings(f.Accesses)
	}
	out.Locks = in.locksOf(&f)
	out.Goroutines = in.goroutines(f.Accesses)
	return out
}

// nameAccesses gives the steps without a name that are to the objects of accesses, at the same lines, the names of these. An access
// may be known to be in a call of package sync, which a step does not say.
func nameAccesses(f *heisen.Finding, out *Finding) {
	for i := range f.Witness {
		step := &out.Witness[i]
		for k := range f.Accesses {
			if a := &out.Accesses[k]; step.Expression() == "" && f.Witness[i].Object == f.Accesses[k].Object && step.Site == a.Site {
				step.Variable, step.Alternatives = a.Variable, a.Alternatives
			}
		}
	}
}

// nameLocks gives the steps that acquire or release a lock without a name the name that all other such steps have for it. So it does with
// those in the Wait of a Cond, which know it as the L of the Cond.
func nameLocks(records []heisen.Record, steps []Step) {
	names := map[heisen.Object]string{}
	for i := range records {
		if r, name := &records[i], steps[i].Variable; r.Op.IsLock() && name != "" && !isLocker(name) {
			if known, ok := names[r.Object]; ok && known != name {
				name = ""
			}
			names[r.Object] = name
		}
	}
	for i := range records {
		r := &records[i]
		if name := names[r.Object]; r.Op.IsLock() && name != "" && (steps[i].Variable == "" || isLocker(steps[i].Variable)) {
			steps[i].Variable, steps[i].Alternatives = name, nil
		}
	}
}

// isLocker reports whether an expression is the lock of a Cond.
func isLocker(name string) bool { return strings.HasSuffix(name, ".L") }

// headVariable returns the variable of a finding with these accesses: that of the latest one that has a name.
func headVariable(accesses []Access) string {
	for i := len(accesses) - 1; i >= 0; i-- {
		if v := accesses[i].Variable; v != "" {
			return v
		}
	}
	return ""
}

// kindOf returns the kind of a finding. That of a detector that gave none is "unclassified".
func kindOf(f *heisen.Finding) heisen.Kind {
	if f.Kind == "" {
		return "unclassified"
	}
	return f.Kind
}

// resolution resolves the parts of one finding.
type resolution struct {
	symbols *heisen.Symbols
	sources *source.Cache
	kind    heisen.Kind
}

func (r resolution) access(a heisen.Access) (Access, *source.Excerpt) {
	out := Access{
		Op:        a.Op.String(),
		Thread:    a.Thread,
		Goroutine: r.name(a.Thread),
		Test:      r.symbols.Task(a.Thread, a.Context),
		Labels:    labelsOf(r.symbols.Labels(a.Labels)),
		Object:    r.symbols.Name(a.Object),
		Size:      a.Size,
		Index:     a.Index,
		Site:      r.site(a.Site),
		Stack:     r.stack(a.Site, a.Context),
		Locks:     []Lock{},

		LocksUnknown: r.symbols.NumContexts() <= 1, // there is only the empty context
	}
	if at := r.symbols.Site(a.Site).Frames; len(at) > 0 && len(out.Stack) > 0 && out.Stack[0].Func == at[0].Func {
		out.Start = at[0].Start
	}
	for _, held := range r.symbols.Locks(a.Context) {
		out.Locks = append(out.Locks, r.lock(held))
	}
	excerpt := r.excerpt(out.Stack, a.Op, a.Size)
	out.Source = excerpt.Statement
	return out, excerpt
}

// excerpt returns what the source says about an operation with a stack. Within a call of a package that implements
// synchronization, it is an operation on what is synchronized.
func (r resolution) excerpt(stack []Frame, op heisen.Op, size uint64) *source.Excerpt {
	f := userFrame(stack)
	frame := heisen.Frame{Func: f.Func, File: f.File, Line: f.Line}
	if (op == heisen.Read || op == heisen.Write) && len(stack) > 0 && source.Synchronizes(stack[0].Func) {
		return r.sources.Within(frame)
	}
	switch {
	case r.kind == heisen.Leak: // the goroutine waits in the operation
		return r.sources.Waiting(frame, op)
	case r.kind == heisen.Unstoppable && op == heisen.Receive: // the object is what would stop it
		return r.sources.Stopping(frame)
	}
	return r.sources.At(frame, op, size)
}

func (r resolution) lock(held heisen.HeldLock) Lock {
	out := Lock{
		Lock: r.symbols.Name(held.Lock),
		Mode: "write",
		Site: r.site(held.Site),
	}
	if held.Shared {
		out.Mode = "read"
	}
	out.Variable = r.excerpt(frames(r.symbols.Site(held.Site).Frames), acquisition(held).op, 0).Variable()
	return out
}

// acquisition returns the use of a lock by which a thread holds it.
func acquisition(held heisen.HeldLock) use {
	if held.Shared {
		return use{site: held.Site, op: heisen.AcquireShared}
	}
	return use{site: held.Site, op: heisen.Acquire}
}

// addLocks adds the acquisitions of the locks that are held at the accesses of a finding.
func (r resolution) addLocks(f *heisen.Finding, names variables) {
	for i := range f.Accesses {
		for _, held := range r.symbols.Locks(f.Accesses[i].Context) {
			u := acquisition(held)
			names.add(held.Lock, u, r.excerpt(frames(r.symbols.Site(held.Site).Frames), u.op, 0))
		}
	}
}

// nameHeld names the held locks of which the other uses tell which expressions they are.
func (r resolution) nameHeld(f *heisen.Finding, out *Finding, names variables) {
	for i := range f.Accesses {
		for k, held := range r.symbols.Locks(f.Accesses[i].Context) {
			if lock := &out.Accesses[i].Locks[k]; lock.Variable == "" {
				lock.Variable = names.choice(held.Lock, acquisition(held)).Variable
			}
		}
	}
}

// locksOf resolves f.Locks. The expression of a lock is known if one of the accesses holds it.
func (r resolution) locksOf(f *heisen.Finding) (out []Lock) {
	for _, l := range f.Locks {
		lock := Lock{Lock: r.symbols.Name(l)}
		for _, a := range f.Accesses {
			for _, held := range r.symbols.Locks(a.Context) {
				if held.Lock == l && lock.Site == "" {
					lock = r.lock(held)
				}
			}
		}
		out = append(out, lock)
	}
	return out
}

// site names a place as in the file of a text trace, else by the line of the program's own code.
func (r resolution) site(site heisen.Site) string {
	info := r.symbols.Site(site)
	if f := userFrame(frames(info.Frames)); info.Text == "" && f.File != "" {
		return fmt.Sprintf("%s:%d", f.File, f.Line)
	}
	return info.String()
}

// stack returns the frames at a site in a context. It is empty if no frame is known, as in a text
// trace. As in Go's own reports, it ends with the function that the goroutine was started with. It
// has neither the runtime's frames around that nor the wrappers that the compiler makes.
func (r resolution) stack(site heisen.Site, ctx heisen.Context) []Frame {
	stack := slices.DeleteFunc(frames(r.symbols.Stack(site, ctx)), func(f Frame) bool {
		return f.File == "<autogenerated>"
	})
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

// startsGoroutines reports whether a function of the runtime calls the first function of a
// goroutine, main.main or an init function.
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
		out[i] = Frame{f.Func, f.File, f.Line}
	}
	return out
}

// userFrame returns the innermost frame outside of the packages that implement synchronization: a
// report shows an atomic operation or a lock where the program calls it. If there is no such frame
// it returns the innermost one.
func userFrame(stack []Frame) Frame {
	for _, f := range stack {
		if f.File != "" && !source.Synchronizes(f.Func) {
			return f
		}
	}
	if len(stack) > 0 {
		return stack[0]
	}
	return Frame{}
}

// name returns the name of a thread. Thread 0 of a text trace has a name, so a thread 0 without one
// is the main goroutine.
func (r resolution) name(t heisen.Thread) string {
	switch name := r.symbols.Thread(t).Name; {
	case r.isCleanup(t):
		return fmt.Sprintf("cleanup %d on %s", t, name)
	case name != "":
		return name
	case t == 0:
		return "main goroutine"
	case r.isNew(t):
		return "a goroutine that has done nothing yet"
	}
	return fmt.Sprintf("goroutine %d", t)
}

// isNew reports whether a goroutine of a program has been started and has done nothing. Its number is not known then: that of the
// thread is the number of another one.
func (r resolution) isNew(t heisen.Thread) bool {
	info := r.symbols.Thread(t)
	return info.Forked && info.Name == "" && r.symbols.Thread(info.Parent).Name != ""
}

// isCleanup reports whether a thread is a function of runtime.AddCleanup. Those that run on one goroutine are threads of their own,
// because nothing orders them. They have the name of the goroutine, which has started them.
func (r resolution) isCleanup(t heisen.Thread) bool {
	info := r.symbols.Thread(t)
	return info.Forked && info.Parent != t && info.Name != "" && r.symbols.Thread(info.Parent).Name == info.Name
}

// goroutines lists the threads of the accesses, the later access first, each followed by its
// ancestors.
func (r resolution) goroutines(accesses []heisen.Access) (out []Goroutine) {
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
				site := info.Site
				if calls := r.symbols.Calls(info.Context); len(calls) > 0 && calls[0] == site {
					site = 0 // the call of a function that starts goroutines for its callers
				}
				g.Stack = r.stack(site, info.Context)
				if r.isCleanup(t) { // the place is where the runtime has started the goroutine
					g.Stack = nil
				} else if len(g.Stack) == 0 && info.Site != 0 {
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

// verbOf returns Step.Verb for an operation, if the source says that it does what verb says.
func verbOf(op heisen.Op, verb string) string {
	switch op {
	case heisen.Observe:
		switch verb {
		case "":
			return "look at"
		case source.Send, source.Receive, source.Lock:
			return "fail to " + verb
		}
		return verb
	case heisen.Receive:
		if verb == source.Wait {
			return "return from Wait of"
		}
		return verb
	case heisen.Change, heisen.Send:
		return verb
	case heisen.Read:
		if verb == source.Send || verb == source.Receive { // the runtime reads the channel first
			return "try to " + verb
		}
	}
	return ""
}

func (r resolution) step(rec *heisen.Record) (Step, *source.Excerpt) {
	excerpt := &source.Excerpt{}
	s := Step{
		Op:     rec.Op.String(),
		Thread: rec.Thread,
		Name:   r.name(rec.Thread),
		Object: r.symbols.Name(rec.Object),
		Site:   r.site(rec.Site),
	}
	if rec.Op == heisen.Fork || rec.Op == heisen.Join {
		s.Object = r.name(rec.Object.Thread())
	} else {
		excerpt = r.excerpt(frames(r.symbols.Site(rec.Site).Frames), rec.Op, rec.Size())
	}
	if rec.Flags&heisen.HasValue != 0 {
		v := rec.Value
		s.Value = &v
	}
	return s, excerpt
}
