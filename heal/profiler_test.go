package heal

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/heisen-go/heisen"
)

// execution makes the events of an execution from lines such as "1 read log_type new_file:805 is_open:150":
// a thread, an op, an object, and for an access its calling context, outermost first.
type execution struct {
	symbols *heisen.Symbols
	objects map[string]heisen.Object
	sites   map[string]heisen.Site
	records []heisen.Record
}

var executionOps = map[string]heisen.Op{
	"read": heisen.Read, "write": heisen.Write, "acquire": heisen.Acquire, "release": heisen.Release,
	"rlock": heisen.AcquireShared, "runlock": heisen.ReleaseShared, "alloc": heisen.Alloc,
}

func newExecution(text string) *execution {
	x := &execution{heisen.NewSymbols(), map[string]heisen.Object{}, map[string]heisen.Site{}, nil}
	for line := range strings.Lines(text) {
		words := strings.Fields(line)
		if len(words) == 0 {
			continue
		}
		r := heisen.Record{Op: executionOps[words[1]], Object: x.object(words[2]), Len: 8}
		fmt.Sscan(words[0], &r.Thread)
		if r.Op == heisen.Alloc {
			r.Len, r.Value = 0, 8
		}
		var at heisen.Cursor
		for i, place := range words[3:] {
			if i == len(words)-4 {
				r.Site, r.Context = x.site(place), x.symbols.Context(at)
			} else {
				at = x.symbols.Call(at, x.site(place))
			}
		}
		x.records = append(x.records, r)
	}
	return x
}

func (x *execution) object(name string) heisen.Object {
	o, ok := x.objects[name]
	if !ok {
		o = heisen.Object(8 * (1 + len(x.objects)))
		x.objects[name] = o
		if !strings.HasPrefix(name, "0x") {
			x.symbols.SetName(o, name)
		}
	}
	return o
}

func (x *execution) site(place string) heisen.Site {
	s, ok := x.sites[place]
	if !ok {
		f := heisen.Frame{File: "x.go"}
		name, line, _ := strings.Cut(place, ":")
		f.Func = name
		fmt.Sscan(line, &f.Line)
		s = x.symbols.AddSite(heisen.SiteInfo{Frames: []heisen.Frame{f}})
		x.sites[place] = s
	}
	return s
}

func (x *execution) profile(t *testing.T) *Profile {
	t.Helper()
	p, err := NewProfiler(x.symbols)
	if err != nil {
		t.Fatal(err)
	}
	p.HandleRecords(x.records)
	profile, err := p.Profile()
	if err != nil {
		t.Fatal(err)
	}
	return profile
}

// text shows the atomic pairs of a profile, such as "log_type: new_file 805-830 shared".
func (p *Profile) text() (lines []string) {
	for _, v := range p.Atomic() {
		for _, pair := range v.Pairs {
			lines = append(lines, fmt.Sprintf("%s: %s %d-%d %v", v.Name, pair.First.Func, pair.First.Line, pair.Second.Line, pair.Mode))
		}
	}
	return lines
}

// TestProfileFigures profiles the programs of the paper's figures.
func TestProfileFigures(t *testing.T) {
	for _, test := range []struct {
		name, events string
		want         []string
	}{
		{"figure 1: two reads of P, no write is seen", `
			1 read P foo:7
			1 read P foo:8
			2 read P foo:7
			1 read P foo:7
			2 read P foo:8
			1 read P foo:8
		`, []string{"P: foo 7-8 shared", "P: foo 8-7 shared"}},
		{"figure 2: log_type in MySQL", `
			1 acquire LOCK_log
			1 read log_type new_file:805 is_open:150
			2 read log_type mysql_insert:311 is_open:150
			1 read log_type new_file:830
			2 read log_type mysql_insert:1922 is_open:150
			1 read log_type new_file:834
			2 read log_type mysql_insert:311 is_open:150
			1 read log_type new_file:867 close:1490
			1 write log_type new_file:867 close:1496
			1 write log_type new_file:870 open:143
			1 release LOCK_log
			2 read log_type mysql_insert:1922 is_open:150
		`, []string{
			// The pair within close is in close.
			"log_type: mysql_insert 1922-311 shared",
			"log_type: new_file 805-830 shared",
			"log_type: new_file 830-834 shared",
			"log_type: new_file 834-867 shared",
			"log_type: new_file 867-870 exclusive",
			"log_type: close 1490-1496 exclusive",
		}},
		{"figure 3: each access has the lock, but not both together", `
			1 acquire L
			1 write p thread1:3
			1 release L
			1 acquire L
			1 read p thread1:7
			1 release L
			2 write p thread2:2
		`, []string{"p: thread1 3-7 exclusive"}},
		{"a lock around both, and around every other access", `
			1 acquire L
			1 write p thread1:3
			1 read p thread1:7
			1 release L
			2 acquire L
			2 write p thread2:2
			2 release L
		`, nil},
		{"a lock around both, but not around another access", `
			1 acquire L
			1 write p thread1:3
			1 read p thread1:7
			1 release L
			2 write p thread2:2
		`, []string{"p: thread1 3-7 exclusive"}},
		{"locked for reading around reads only", `
			1 rlock L
			1 read p f:1
			1 read p f:2
			1 runlock L
			2 acquire L
			2 write p g:1
			2 release L
			1 acquire L
			1 write p f:5
			1 release L
		`, nil},
		{"a lock for reading does not protect writes", `
			1 rlock L
			1 read p f:1
			1 write p f:2
			1 runlock L
			2 rlock L
			2 read p f:1
			2 runlock L
		`, []string{"p: f 1-2 exclusive"}},
		{"the least atomic occurrence counts", `
			1 read p f:1
			1 read p f:2
			2 write p g:1
			1 read p f:1
			2 write p g:1
			1 read p f:2
			1 read p f:3
		`, []string{"p: g 1-1 shared", "p: f 2-3 exclusive"}},
		{"one thread", `
			1 write p f:1
			1 read p f:2
		`, nil},
		{"another instance", `
			1 write p f:1
			1 read p f:2
			1 alloc p
			2 write p f:1
			2 read p f:2
		`, nil},
		{"callees of one call differ", `
			1 read p f:1 g:1
			1 read p f:1 h:2
			2 read p x:1
		`, []string{"p: f 1-1 exclusive"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			got := newExecution(test.events).profile(t).text()
			slices.Sort(got)
			slices.Sort(test.want)
			if !slices.Equal(got, test.want) {
				t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(test.want, "\n"))
			}
		})
	}
}

// TestMerge: a profile of several executions has the weakest modes, and only the locks of all.
func TestMerge(t *testing.T) {
	locked := newExecution("1 acquire L\n1 read p f:1\n1 read p f:2\n1 release L\n2 acquire L\n2 write p g:1\n2 release L").profile(t)
	plain := newExecution("1 read q f:1\n2 write p g:1\n1 read p f:9").profile(t)
	violated := newExecution("1 read p f:1\n2 write p g:1\n1 read p f:2").profile(t)
	if got := locked.text(); got != nil {
		t.Errorf("with a lock: %q", got)
	}
	var both Profile
	both.Merge(locked)
	both.Merge(plain)
	if got, want := both.text(), []string{"p: f 1-2 exclusive"}; !slices.Equal(got, want) {
		t.Errorf("an execution without the lock: %q, want %q", got, want)
	}
	both.Merge(violated)
	if got := both.text(); got != nil {
		t.Errorf("an execution without atomicity: %q", got)
	}
	if got := locked.text(); got != nil {
		t.Errorf("merging has changed a profile: %q", got)
	}
}

// reference applies the rules of figure 5 to a trace as they stand: all accesses of a variable in order.
func reference(x *execution) map[string]map[[2]string]Mode {
	type access struct {
		thread heisen.Thread
		write  bool
		place  string
		held   map[heldInstance]bool
	}
	places := map[heisen.Site]string{}
	for place, site := range x.sites {
		places[site] = place
	}
	held, instance := map[heisen.Thread]map[heldInstance]bool{}, uint64(0)
	traces := map[heisen.Object][]access{}
	for _, r := range x.records {
		if held[r.Thread] == nil {
			held[r.Thread] = map[heldInstance]bool{}
		}
		switch r.Op {
		case heisen.Acquire:
			instance++
			held[r.Thread][heldInstance{r.Object, instance, false}] = true
		case heisen.Release:
			for h := range held[r.Thread] {
				if h.lock == r.Object {
					delete(held[r.Thread], h)
				}
			}
		default:
			copied := map[heldInstance]bool{}
			for h := range held[r.Thread] {
				copied[h] = true
			}
			traces[r.Object] = append(traces[r.Object], access{r.Thread, r.Op == heisen.Write, places[r.Site], copied})
		}
	}
	result := map[string]map[[2]string]Mode{}
	for name, o := range x.objects {
		trace := traces[o]
		threads := map[heisen.Thread]bool{}
		for _, a := range trace {
			threads[a.thread] = true
		}
		if len(threads) < 2 {
			continue
		}
		common := func(locks []map[heldInstance]bool, same func(a, b heldInstance) bool) (out []heisen.Object) {
			for h := range locks[0] {
				ok := true
				for _, other := range locks[1:] {
					found := false
					for g := range other {
						found = found || same(h, g)
					}
					ok = ok && found
				}
				if ok {
					out = append(out, h.lock)
				}
			}
			return out
		}
		var all []map[heldInstance]bool
		for _, a := range trace {
			all = append(all, a.held)
		}
		ls := common(all, func(a, b heldInstance) bool { return a.lock == b.lock })
		type pairState struct {
			mode  Mode
			locks []heisen.Object
		}
		pairs := map[[2]string]*pairState{}
		for j, b := range trace {
			i := j - 1
			for i >= 0 && trace[i].thread != b.thread {
				i--
			}
			if i < 0 {
				continue
			}
			mode := Exclusive
			for _, remote := range trace[i+1 : j] {
				mode = min(mode, Shared)
				if remote.write {
					mode = Free
				}
			}
			key := [2]string{fmt.Sprintf("%s%t", trace[i].place, trace[i].write), fmt.Sprintf("%s%t", b.place, b.write)}
			s := common([]map[heldInstance]bool{trace[i].held, b.held}, func(a, b heldInstance) bool { return a == b })
			if pairs[key] == nil {
				pairs[key] = &pairState{mode, s}
			}
			p := pairs[key]
			p.mode = min(p.mode, mode)
			p.locks = slices.DeleteFunc(p.locks, func(o heisen.Object) bool { return !slices.Contains(s, o) })
		}
		for key, p := range pairs {
			guarded := slices.ContainsFunc(p.locks, func(o heisen.Object) bool { return slices.Contains(ls, o) })
			if p.mode == Free || guarded {
				continue
			}
			if result[name] == nil {
				result[name] = map[[2]string]Mode{}
			}
			result[name][key] = p.mode
		}
	}
	return result
}

// TestProfilerRandom compares the Profiler with the rules of figure 5 on random executions.
func TestProfilerRandom(t *testing.T) {
	for seed := range uint64(3000) {
		r := rand.New(rand.NewPCG(seed, 2))
		var events strings.Builder
		holds := map[[2]int]bool{}
		for range 5 + r.IntN(60) {
			thread := 1 + r.IntN(3)
			if r.IntN(3) == 0 {
				lock := r.IntN(2)
				other := false
				for t := 1; t <= 3; t++ {
					other = other || t != thread && holds[[2]int{t, lock}]
				}
				key := [2]int{thread, lock}
				switch {
				case holds[key]:
					fmt.Fprintf(&events, "%d release L%d\n", thread, lock)
					holds[key] = false
				case !other:
					fmt.Fprintf(&events, "%d acquire L%d\n", thread, lock)
					holds[key] = true
				}
				continue
			}
			op := []string{"read", "read", "write"}[r.IntN(3)]
			fmt.Fprintf(&events, "%d %s v%d f:%d\n", thread, op, r.IntN(2), 1+r.IntN(4))
		}
		x := newExecution(events.String())
		got := map[string]map[[2]string]Mode{}
		for _, v := range x.profile(t).Atomic() {
			got[v.Name] = map[[2]string]Mode{}
			for _, p := range v.Pairs {
				got[v.Name][[2]string{
					fmt.Sprintf("f:%d%t", p.First.Line, p.First.Op == heisen.Write), fmt.Sprintf("f:%d%t", p.Second.Line, p.Second.Op == heisen.Write),
				}] = p.Mode
			}
		}
		if want := reference(x); !reflect.DeepEqual(got, want) {
			t.Fatalf("seed %d\n%sgot %v\nwant %v", seed, events.String(), got, want)
		}
	}
}

// TestProfileFile: a profile that is written and read is the same.
func TestProfileFile(t *testing.T) {
	p := newExecution("1 acquire L\n1 read p f:1\n1 read p f:2\n1 release L\n2 write p g:1\n2 read p g:2\n1 acquire 0x8\n1 read q f:1\n1 release 0x8\n2 acquire 0x8\n2 read q f:1").profile(t)
	var b bytes.Buffer
	if err := p.Encode(&b); err != nil {
		t.Fatal(err)
	}
	again, err := DecodeProfile(bytes.NewReader(b.Bytes()))
	if err != nil || !reflect.DeepEqual(p, again) {
		t.Errorf("%v\ngot  %+v\nwant %+v\n%s", err, again, p, &b)
	}
}

// TestMaking: accesses that make a variable need no lock, so the lock that all others hold protects it. The pair
// with such an access stays one, and so does all of it without the option.
func TestMaking(t *testing.T) {
	x := newExecution(`
		1 write 0x1 f:1
		1 write 0x2 f:1
		1 acquire mu
		1 read 0x1 f:2
		1 write 0x1 f:3
		1 read 0x2 f:2
		1 write 0x2 f:3
		1 release mu
		2 acquire mu
		2 read 0x1 f:2
		2 write 0x1 f:3
		2 read 0x2 f:2
		2 write 0x2 f:3
		2 release mu
		1 read 0x2 f:4
	`)
	names := func(uses []Use) string { // the second variable has a fourth place
		if len(uses) > 3 {
			return "late"
		}
		return "early"
	}
	makes := func(variable string, at Use) bool {
		return (variable == "early" || variable == "late") && at == Use{x.sites["f:1"], true}
	}
	for _, test := range []struct {
		opts []ProfilerOption
		want []string
	}{
		{[]ProfilerOption{WithUses(names), WithMaking(makes)}, []string{
			"early: f 1-2 exclusive", "late: f 1-2 exclusive", "late: f 2-3 exclusive",
		}},
		{[]ProfilerOption{WithUses(names)}, []string{
			"early: f 1-2 exclusive", "early: f 2-3 exclusive",
			"late: f 1-2 exclusive", "late: f 2-3 exclusive",
		}},
	} {
		p, err := NewProfiler(x.symbols, test.opts...)
		if err != nil {
			t.Fatal(err)
		}
		p.HandleRecords(x.records)
		profile, err := p.Profile()
		if err != nil {
			t.Fatal(err)
		}
		if got := profile.text(); !slices.Equal(got, test.want) {
			t.Errorf("%d options: %q, want %q", len(test.opts), got, test.want)
		}
	}
	if _, err := NewProfiler(x.symbols, WithMaking(nil)); err == nil {
		t.Error("no error for a nil function")
	}
}
