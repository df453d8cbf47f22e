package focus_test

import (
	"fmt"
	"math/rand/v2"

	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/focus"
)

// world makes random runs of a random program that accesses the fields of a struct type T, and a plan that
// is true of the program.
type world struct {
	rng     *rand.Rand
	plan    *focus.Plan
	careful int // one in so many uses of a guarded field does not follow its owner
	symbols *heisen.Symbols
	sites   map[string]heisen.Site
	records []heisen.Record

	threads []*worldThread
	objects []*worldObject
	holders map[heisen.Object]map[heisen.Thread]int // how each goroutine holds a lock: writing or reading
}

const (
	reading = 1
	writing = 2
)

type worldThread struct {
	todo  []func() bool // steps; a step returns false if it must wait
	ended bool
}

// worldObject is a value of T.
type worldObject struct {
	base   heisen.Object
	local  heisen.Thread // the goroutine that may access its local field, if that is safe
	holder int           // the goroutine that has the unique field; -1 while it is being sent
	told   map[int]bool  // goroutines to which a message has published it
}

const (
	muOffset      heisen.Object = 128
	packageLock   heisen.Object = 0x800
	fieldsOffset  heisen.Object = 8
	objectSize                  = 256
	objectSpacing heisen.Object = 0x1000
)

var worldOwners = []focus.Owner{
	{Kind: focus.Guarded, Guard: focus.Guard{SameObject: true, Path: "mu"}},
	{Kind: focus.Guarded, Guard: focus.Guard{Variable: focus.Variable{Package: "main", Name: "mu"}, Shared: true}},
	{Kind: focus.Guarded, Guard: focus.Guard{SameObject: true, Path: "mu"}},
	{Kind: focus.Guarded, Guard: focus.Guard{Variable: focus.Variable{Package: "main", Name: "unknown"}}}, // nobody says where it is
	{Kind: focus.Local},
	{Kind: focus.ReadOnly},
	{Kind: focus.Unique},
	{Kind: focus.Self},
	{},
}

// fields are the variables of T.
var fields = func() (all []focus.Variable) {
	for field := range worldOwners {
		all = append(all, focus.Variable{Package: "main", Type: "T", Name: fmt.Sprint("f", field)})
	}
	return all
}()

func fieldVariable(field int) focus.Variable { return fields[field] }

func newWorld(seed uint64, threads int) *world {
	w := &world{
		rng:     rand.New(rand.NewPCG(seed, 27)),
		plan:    &focus.Plan{Variables: map[focus.Variable]focus.Protection{}, Functions: map[focus.Function]focus.Properties{}},
		symbols: heisen.NewSymbols(),
		sites:   map[string]heisen.Site{},
		holders: map[heisen.Object]map[heisen.Thread]int{},
	}
	for field, owner := range worldOwners {
		unsafe := owner.Kind == focus.Unknown || w.rng.IntN(3) > 0
		w.plan.Variables[fieldVariable(field)] = focus.Protection{Owner: owner, Unsafe: unsafe}
		if owner.Kind == focus.Guarded {
			w.plan.Functions[focus.Function(fmt.Sprint("main.helper", field))] = focus.Properties{Typed: true, Requires: []focus.Guard{owner.Guard}}
		}
	}
	w.careful = []int{2, 10, 40}[seed%3]
	w.plan.Functions["main.typed"] = focus.Properties{Typed: true}
	w.plan.Functions["main.create"] = focus.Properties{Typed: true}
	w.plan.Functions["main.untyped"] = focus.Properties{}
	w.threads = make([]*worldThread, threads)
	for t := range w.threads {
		w.threads[t] = &worldThread{}
	}
	return w
}

// variable returns the variable of an access, and lock the lock of a guard, as Names wants them.
func (w *world) variable(r *heisen.Record) (focus.Variable, bool) {
	o := r.Object
	if o == packageLock {
		return focus.Variable{Package: "main", Name: "mu"}, true
	}
	if o < objectSpacing {
		return focus.Variable{}, false
	}
	if o%objectSpacing == muOffset {
		return focus.Variable{Package: "main", Type: "T", Name: "mu"}, true
	}
	return fieldVariable(int((o%objectSpacing - fieldsOffset) / 8)), true
}

func (w *world) lock(r *heisen.Record, _ focus.Variable, g focus.Guard) (heisen.Object, bool) {
	switch {
	case g.SameObject:
		return r.Object - r.Object%objectSpacing + muOffset, true
	case g.Variable.Name == "mu":
		return packageLock, true
	}
	return 0, false
}

// lockOf is lock, and for the lock that nobody knows the same as for the package-level lock.
func (w *world) lockOf(o *worldObject, field int) heisen.Object {
	if worldOwners[field].Guard.SameObject {
		return o.base + muOffset
	}
	return packageLock
}

// site returns the site of what names a place in a function, with inlined callers if there are any.
func (w *world) site(place string, functions ...string) heisen.Site {
	key := fmt.Sprint(place, functions)
	if w.sites[key] == 0 {
		var frames []heisen.Frame
		for _, f := range functions {
			frames = append(frames, heisen.Frame{Func: f, File: "main.go", Line: 1 + len(w.sites)})
		}
		w.sites[key] = w.symbols.AddSite(heisen.SiteInfo{Frames: frames})
	}
	return w.sites[key]
}

func (w *world) add(r heisen.Record) { w.records = append(w.records, r) }

// execution is an execution of a function.
type execution struct {
	function string
	inlined  string // caller of which the site shows too, or empty
	callers  []string
}

func (w *world) access(t int, o *worldObject, field int, op heisen.Op, e execution) func() bool {
	return func() bool {
		functions := []string{e.function}
		if e.inlined != "" {
			functions = append(functions, e.inlined)
		}
		var cursor heisen.Cursor
		for _, caller := range e.callers {
			cursor = w.symbols.Call(cursor, w.site("call", caller))
		}
		r := heisen.Record{Op: op, Thread: heisen.Thread(t), Object: o.base + fieldsOffset + 8*heisen.Object(field),
			Site: w.site(fmt.Sprint(field, op), functions...), Context: w.symbols.Context(cursor)}
		if w.rng.IntN(4) == 0 && !op.IsAtomic() {
			first := w.rng.IntN(8)
			r.Object += heisen.Object(first)
			r.Len = uint16(1 + w.rng.IntN(8-first))
		}
		w.add(r)
		return true
	}
}

func (w *world) acquire(t int, lock heisen.Object, mode int) func() bool {
	return func() bool {
		for other, how := range w.holders[lock] {
			if how == writing || mode == writing || other == heisen.Thread(t) {
				return false
			}
		}
		if w.holders[lock] == nil {
			w.holders[lock] = map[heisen.Thread]int{}
		}
		w.holders[lock][heisen.Thread(t)] = mode
		op := heisen.Acquire
		if mode == reading {
			op = heisen.AcquireShared
		}
		w.add(heisen.Record{Op: op, Thread: heisen.Thread(t), Object: lock, Site: w.site("lock", "main.typed")})
		return true
	}
}

func (w *world) release(t int, lock heisen.Object) func() bool {
	return func() bool {
		op := heisen.Release
		if w.holders[lock][heisen.Thread(t)] == reading {
			op = heisen.ReleaseShared
		}
		delete(w.holders[lock], heisen.Thread(t))
		w.add(heisen.Record{Op: op, Thread: heisen.Thread(t), Object: lock})
		return true
	}
}

// plainOp returns a random op.
func (w *world) plainOp() heisen.Op {
	if w.rng.IntN(2) == 0 {
		return heisen.Write
	}
	return heisen.Read
}

// create makes a new object, and initializes fields without locks before anybody else sees it.
func (w *world) create(t int) {
	o := &worldObject{base: objectSpacing * heisen.Object(1+len(w.objects)), local: heisen.Thread(w.rng.IntN(len(w.threads))), holder: t, told: map[int]bool{t: true}}
	w.add(heisen.Record{Op: heisen.Alloc, Thread: heisen.Thread(t), Object: o.base, Value: objectSize})
	for field, owner := range worldOwners {
		if w.rng.IntN(3) == 0 || owner.Kind == focus.Local && o.local != heisen.Thread(t) {
			continue
		}
		op := heisen.Write
		if owner.Kind == focus.Self {
			op = heisen.AtomicWrite
		}
		function := []string{"main.create", "main.untyped"}[w.rng.IntN(2)]
		w.access(t, o, field, op, execution{function: function})()
	}
	w.objects = append(w.objects, o)
	w.add(heisen.Record{Op: heisen.Send, Thread: heisen.Thread(t), Object: o.base + objectSize + 16})
}

// use adds steps of an activity of a goroutine.
func (w *world) use(t int) {
	todo := &w.threads[t].todo
	o := w.objects[w.rng.IntN(len(w.objects))]
	field := w.rng.IntN(len(worldOwners))
	protection := w.plan.Variables[fieldVariable(field)]
	guarded := protection.Owner.Kind == focus.Guarded
	trusted := w.rng.IntN(2) == 0
	if guarded {
		trusted = w.rng.IntN(w.careful) > 0
	}
	if !o.told[t] && (!protection.Unsafe || w.rng.IntN(2) == 0) {
		o.told[t] = true
		w.add(heisen.Record{Op: heisen.Receive, Thread: heisen.Thread(t), Object: o.base + objectSize + 16})
	}
	if trusted && guarded || guarded && !protection.Unsafe {
		w.useGuarded(t, o, field, trusted)
		return
	}
	caller := []string{"main.untyped", "main.typed"}[w.rng.IntN(2)]
	e := execution{function: "main.untyped", callers: []string{caller}}
	op := w.plainOp()
	if guarded && w.rng.IntN(2) == 0 {
		e.function = fmt.Sprint("main.helper", field) // called without its lock, or with it
		e.callers = []string{"main.typed", "main.untyped"}
	}
	if !guarded && trusted {
		e.function = "main.typed"
	}
	access := w.access(t, o, field, op, e)
	if protection.Unsafe {
		switch lock := []heisen.Object{packageLock, o.base + muOffset}[w.rng.IntN(2)]; w.rng.IntN(3) {
		case 0:
			*todo = append(*todo, w.acquire(t, lock, 1+w.rng.IntN(2)), access, w.release(t, lock))
		case 1:
			*todo = append(*todo, access)
		default:
			lock := w.lockOf(o, field)
			*todo = append(*todo, w.acquire(t, lock, writing), access, w.release(t, lock))
		}
		return
	}
	switch protection.Owner.Kind {
	case focus.Local:
		if o.local != heisen.Thread(t) {
			return
		}
	case focus.ReadOnly:
		access = w.access(t, o, field, heisen.Read, e)
	case focus.Self:
		access = w.access(t, o, field, []heisen.Op{heisen.AtomicRead, heisen.AtomicWrite, heisen.AtomicUpdate}[w.rng.IntN(3)], e)
	case focus.Unique:
		if o.holder != t {
			return
		}
		access() // at once, before the goroutine hands it over
		return
	}
	*todo = append(*todo, access)
}

// useGuarded accesses a guarded field as the plan says.
func (w *world) useGuarded(t int, o *worldObject, field int, trusted bool) {
	todo := &w.threads[t].todo
	helper := fmt.Sprint("main.helper", field)
	e := execution{function: "main.untyped", callers: []string{"main.typed"}}
	if trusted {
		e = []execution{
			{function: "main.typed", callers: []string{"main.untyped"}},
			{function: helper, inlined: "main.typed"},
			{function: helper, callers: []string{"main.untyped", "main.typed"}},
		}[w.rng.IntN(3)]
	}
	lock, mode := w.lockOf(o, field), writing
	if worldOwners[field].Guard.Shared && w.rng.IntN(2) == 0 {
		mode = reading
	}
	*todo = append(*todo, w.acquire(t, lock, mode))
	for range 1 + w.rng.IntN(3) {
		op := w.plainOp()
		if mode == reading {
			op = heisen.Read
		}
		*todo = append(*todo, w.access(t, o, field, op, e))
	}
	*todo = append(*todo, w.release(t, lock))
}

// handOver sends a unique field to another goroutine.
func (w *world) handOver(t int) {
	o := w.objects[w.rng.IntN(len(w.objects))]
	to := w.rng.IntN(len(w.threads))
	if o.holder != t || w.threads[to].ended {
		return
	}
	channel := o.base + objectSize + 8*heisen.Object(w.rng.IntN(2))
	o.holder = -1
	w.add(heisen.Record{Op: heisen.Send, Thread: heisen.Thread(t), Object: channel})
	w.threads[to].todo = append(w.threads[to].todo, func() bool {
		w.add(heisen.Record{Op: heisen.Receive, Thread: heisen.Thread(to), Object: channel})
		o.holder = to
		return true
	})
}

// run makes a run with about the given number of events.
func (w *world) run(events int) []heisen.Record {
	for range 1 + w.rng.IntN(3) {
		w.create(0)
	}
	for t := 1; t < len(w.threads); t++ {
		w.add(heisen.Record{Op: heisen.Fork, Object: heisen.Object(t)})
		w.add(heisen.Record{Op: heisen.Begin, Thread: heisen.Thread(t), Object: heisen.Object(t)})
	}
	for len(w.records) < events {
		t := w.rng.IntN(len(w.threads))
		todo := &w.threads[t].todo
		switch {
		case w.threads[t].ended:
		case len(*todo) == 0 && t > 0 && w.rng.IntN(60) == 0:
			w.add(heisen.Record{Op: heisen.End, Thread: heisen.Thread(t), Object: heisen.Object(t)})
			w.threads[t].ended = true
		case len(*todo) > 0:
			if (*todo)[0]() {
				*todo = (*todo)[1:]
			}
		case w.rng.IntN(25) == 0:
			w.create(t)
		case w.rng.IntN(10) == 0:
			w.handOver(t)
		default:
			w.use(t)
		}
	}
	return w.records
}
