package heal

import (
	"bytes"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/heisen-go/heisen"
)

// objectsOf tells of objects of 24 bytes with the fields a, b and c; the names of places, such as set/a, end with those that are
// accessed there. Field c refers to other memory.
func objectsOf(x *execution) Objects {
	offsets := map[string]uint64{"a": 0, "b": 8, "c": 16}
	return Objects{
		Sizes: []uint64{24},
		Fields: func(use Use) (out []Field) {
			_, names, _ := strings.Cut(x.symbols.Site(use.Site).Frames[0].Func, "/")
			for _, name := range strings.Split(names, "/") {
				if offset, ok := offsets[name]; ok {
					out = append(out, Field{Variable: name, Offset: offset, Size: 24, Refers: name == "c"})
				}
			}
			return out
		},
		Name: func(variable string, _ []Use) string { return variable },
		Section: func(stack []heisen.Frame) (int, string) {
			name, _, _ := strings.Cut(stack[len(stack)-1].Func, "/")
			return len(stack) - 1, name
		},
		Follows: func(first, second heisen.Frame, again bool) bool { return !again && first.Line <= second.Line },
	}
}

// observedObjects profiles an execution whose lines are a thread, an op, an address and a place: a function, the fields that it
// may access, and a line.
func observedObjects(t *testing.T, text string) *Profile {
	t.Helper()
	x := &execution{heisen.NewSymbols(), map[string]heisen.Object{}, map[string]heisen.Site{}, nil}
	for line := range strings.Lines(text) {
		words := strings.Fields(line)
		if len(words) == 0 {
			continue
		}
		r := heisen.Record{Op: executionOps[words[1]], Len: 8}
		fmt.Sscan(words[0], &r.Thread)
		fmt.Sscan(words[2], &r.Object)
		if r.Op == heisen.Alloc {
			r.Len, r.Value = 0, 24
		} else if len(words) > 3 {
			r.Site = x.site(words[3])
		}
		x.records = append(x.records, r)
	}
	unnamed := func([]Use) string { return "" }
	p, err := NewProfiler(x.symbols, WithUses(unnamed), WithObjects(objectsOf(x)))
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

// sectionsIn writes sections, such as "2 set:1 a* b": two that begin on line 1 of set, write a, and read b.
func sectionsIn(p *Profile) (out []string) {
	for _, s := range p.Sections() {
		name, _, _ := strings.Cut(s.At.Func, "/")
		text := fmt.Sprintf("%d %s:%d", s.Count, name, s.At.Line)
		for _, v := range s.Accessed {
			text += " " + v
			if slices.Contains(s.Written, v) {
				text += "*"
			}
		}
		out = append(out, text)
	}
	return out
}

// crossesIn writes pairs of accesses to two variables, with what others did in between.
func crossesIn(p *Profile) (out []string) {
	for _, c := range p.CrossPairs() {
		text := fmt.Sprintf("%s:%d-%s:%d", c.Variables[0], c.First.Line, c.Variables[1], c.Second.Line)
		if len(c.Read) > 0 {
			text += " read " + strings.Join(c.Read, ",")
		}
		if len(c.Written) > 0 {
			text += " written " + strings.Join(c.Written, ",")
		}
		out = append(out, text)
	}
	return out
}

// TestObjects: sections, and pairs in them, of objects that two threads access.
func TestObjects(t *testing.T) {
	for name, test := range map[string]struct {
		execution         string
		sections, crosses []string
	}{
		"a section": {`
			1 alloc 1000
			1 write 1000 set/a:1
			1 write 1008 set/b:2
			2 read 1000 get/a:1`, []string{"1 get:1 a", "1 set:1 a* b*"}, []string{"a:1-b:2"}},
		"one thread": {`
			1 alloc 1000
			1 write 1000 set/a:1
			1 write 1008 set/b:2`, nil, nil},
		"calls one after the other": {`
			1 alloc 1000
			1 write 1000 set/a:1
			1 write 1008 set/b:2
			1 write 1000 set/a:1
			1 write 1008 set/b:2
			2 read 1000 get/a:1
			2 read 1000 get/a:1`, []string{"2 get:1 a", "2 set:1 a* b*"}, []string{"a:1-b:2"}},
		"branches of calls one after the other": {`
			1 alloc 1000
			1 write 1000 either/a:2
			1 write 1008 either/b:1
			2 read 1000 get/a:1`, []string{"1 either:1 b*", "1 get:1 a", "1 either:2 a*"}, nil},
		"others in between": {`
			1 alloc 1000
			1 write 1000 set/a:1
			2 read 1000 get/a:1
			2 write 1016 put/c:1
			1 write 1008 set/b:2`, []string{"1 get:1 a", "1 put:1 c*", "1 set:1 a* b*"}, []string{"a:1-b:2 read a written c"}},
		"a variable in between": {`
			1 alloc 1000
			1 write 1000 set/a:1
			1 read 1016 set/c:2
			1 write 1008 set/b:3
			1 write 1008 set/b:4
			2 read 1000 get/a:1`, []string{"1 get:1 a", "1 set:1 a* b* c"}, []string{"a:1-c:2", "a:1-b:3", "c:2-b:3"}},
		"two objects": {`
			1 alloc 1000
			1 alloc 2000
			1 write 1000 set/a:1
			1 write 2008 set/b:2
			2 read 1000 get/a:1
			2 read 2000 get/a:1`, []string{"2 get:1 a", "1 set:1 a*", "1 set:2 b*"}, nil},
		"memory that is used again": {`
			1 alloc 1000
			1 write 1000 set/a:1
			1 alloc 1000
			1 write 1008 set/b:2
			2 read 1000 get/a:1`, []string{"1 get:1 a", "1 set:2 b*"}, nil},
		"a line with two fields": {`
			1 alloc 1000
			1 write 1000 set/a/b:1
			1 write 1008 set/a/b:1
			2 read 1000 get/a:1`, []string{"1 get:1 a", "1 set:1 a* b*"}, []string{"a:1-b:1"}},
		"an element of an array": {`
			1 read 5000 get/a:1
			1 write 5000 set/a/b:1
			1 write 5008 set/a/b:1
			2 read 5000 get/a:1`, []string{"2 get:1 a", "1 set:1 a* b*"}, []string{"a:1-b:1"}},
		"what a field refers to": {`
			1 alloc 1000
			1 write 1000 set/a:1
			1 write 7000 set/c:2
			2 read 7000 get/c:1
			2 read 1000 get/a:1`, []string{"1 get:1 a", "1 set:1 a*"}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			p := observedObjects(t, test.execution)
			if got := sectionsIn(p); !slices.Equal(got, test.sections) {
				t.Errorf("sections %q, want %q", got, test.sections)
			}
			if got := crossesIn(p); !slices.Equal(got, test.crosses) {
				t.Errorf("pairs %q, want %q", got, test.crosses)
			}
		})
	}
}

// TestManyObjects: a program has more objects than are followed at a time, and what was observed of all counts.
func TestManyObjects(t *testing.T) {
	var text strings.Builder
	const n = 2*maxObjects + 10
	for i := range n {
		fmt.Fprintf(&text, "1 write %d set/a:1\n1 write %d set/b:2\n2 read %d get/a:1\n", 32*i+1024, 32*i+1032, 32*i+1024)
	}
	p := observedObjects(t, text.String())
	if got, want := sectionsIn(p), []string{fmt.Sprint(n, " get:1 a"), fmt.Sprint(n, " set:1 a* b*")}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

// belonging is a profile of variables, from sections as sectionsIn writes them, and an atomic pair of all two variables that a
// section accesses.
func belonging(locks map[string][]string, sections ...string) *Profile {
	p := &Profile{}
	for _, text := range sections {
		words := strings.Fields(text)
		s := Section{At: Location{File: "x.go"}}
		fmt.Sscan(words[0], &s.Count)
		s.At.Func, _, _ = strings.Cut(words[1], ":")
		for _, v := range words[2:] {
			name := strings.TrimSuffix(v, "*")
			s.Accessed = append(s.Accessed, name)
			if name != v {
				s.Written = append(s.Written, name)
			}
			p.add(ProfiledVariable{Name: name, Locks: locks[name]})
		}
		p.addSection(s)
		for i, a := range s.Accessed {
			for _, b := range s.Accessed[i+1:] {
				p.addCross(CrossPair{Variables: [2]string{a, b}, First: s.At, Second: s.At, Locks: intersect(locks[a], locks[b])})
			}
		}
	}
	return p
}

// TestGroups: which variables belong together.
func TestGroups(t *testing.T) {
	for name, test := range map[string]struct {
		profile *Profile
		want    [][]string
	}{
		"always together":          {belonging(nil, "1 set a* b*", "1 get a b"), [][]string{{"a", "b"}}},
		"three":                    {belonging(nil, "1 set a* b* c*", "1 move a* c*", "1 get a b c"), [][]string{{"a", "b", "c"}}},
		"a getter called often":    {belonging(nil, "1 set a* b*", "1 clear a* b*", "1 get a b", "100000 size a"), [][]string{{"a", "b"}}},
		"getters of each":          {belonging(nil, "1 set a* b*", "1 clear a* b*", "1 a a", "1 b b"), [][]string{{"a", "b"}}},
		"more getters of each":     {belonging(nil, "1 set a* b*", "1 a a", "1 b b", "1 more a", "1 most b"), nil},
		"a check of one":           {belonging(nil, "9 put a* b", "1 close a* b*"), [][]string{{"a", "b"}}},
		"read together only":       {belonging(nil, "5 hit a*", "5 miss b*", "100 report a b"), nil},
		"reset together":           {belonging(nil, "5 hit a*", "5 miss b*", "1 reset a* b*"), nil},
		"branches":                 {belonging(nil, "5 count a*", "5 count b*"), nil},
		"branches, rarely both":    {belonging(nil, "5 count a*", "5 count b*", "1 count a* b*"), nil},
		"one of two with another":  {belonging(nil, "5 first n* a*", "5 second n* b*"), nil},
		"two groups":               {belonging(nil, "1 set a* b*", "1 put c* d*"), [][]string{{"a", "b"}, {"c", "d"}}},
		"a lock guards both":       {belonging(map[string][]string{"a": {"mu"}, "b": {"mu"}}, "1 set a* b*"), nil},
		"a lock guards one":        {belonging(map[string][]string{"a": {"mu"}}, "1 set a* b*"), [][]string{{"a", "b"}}},
		"a variable that may not":  {belonging(nil, "1 set a* not*"), nil},
		"a variable that does not": {belonging(nil, "1 set a* b*", "1 get a b limit", "1 put a* limit"), [][]string{{"a", "b"}}},
	} {
		got := test.profile.Groups(func(v string) bool { return v != "not" && v != "limit" })
		if !reflect.DeepEqual(got, test.want) {
			t.Errorf("%s: %v, want %v", name, got, test.want)
		}
	}
	free := belonging(nil, "1 set a* b*")
	free.addCross(CrossPair{Variables: [2]string{"a", "b"}, First: free.crosses[0].First, Second: free.crosses[0].Second, Written: []string{"b"}})
	if got := free.Groups(func(string) bool { return true }); got != nil {
		t.Errorf("others came between: %v", got)
	}
}

// TestGrouped: a group has the pairs of its variables and those of two of them, in the mode that the group permits.
func TestGrouped(t *testing.T) {
	at := func(line int, op heisen.Op) Location { return Location{"f", "x.go", line, op} }
	p := &Profile{}
	p.add(ProfiledVariable{Name: "a", Locks: []string{"k", "mu"}, Pairs: []ProfiledPair{{at(1, heisen.Read), at(2, heisen.Write), Exclusive, nil}}})
	p.add(ProfiledVariable{Name: "b", Locks: []string{"mu"}, Pairs: []ProfiledPair{{at(1, heisen.Read), at(2, heisen.Write), Shared, nil}}})
	p.add(ProfiledVariable{Name: "c", Locks: []string{"mu"}})
	p.addCross(CrossPair{[2]string{"a", "b"}, at(3, heisen.Read), at(4, heisen.Write), nil, []string{"c"}, []string{"k", "mu"}})
	p.addCross(CrossPair{[2]string{"b", "a"}, at(5, heisen.Read), at(6, heisen.Write), []string{"a"}, nil, nil})
	p.addCross(CrossPair{[2]string{"b", "c"}, at(7, heisen.Read), at(8, heisen.Write), nil, nil, nil})
	got := p.Grouped(func(v string) string {
		if v == "c" {
			return v
		}
		return "a+b"
	})
	want := []ProfiledVariable{
		{"a+b", []string{"mu"}, []ProfiledPair{
			{at(1, heisen.Read), at(2, heisen.Write), Exclusive, []string{}},
			{at(3, heisen.Read), at(4, heisen.Write), Exclusive, []string{"k", "mu"}},
			{at(5, heisen.Read), at(6, heisen.Write), Shared, nil},
		}},
		{"c", []string{"mu"}, nil},
	}
	if fmt.Sprint(got.Variables()) != fmt.Sprint(want) {
		t.Errorf("%+v\nwant %+v", got.Variables(), want)
	}
}

// TestGroupsFile: sections and pairs of two variables are written, read, merged, and get other places.
func TestGroupsFile(t *testing.T) {
	p := observedObjects(t, "1 alloc 1000\n1 write 1000 set/a:1\n2 read 1000 get/a:1\n1 write 1008 set/b:2\n")
	var b bytes.Buffer
	if err := p.Encode(&b); err != nil {
		t.Fatal(err)
	}
	again, err := DecodeProfile(&b)
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(sectionsIn(again), sectionsIn(p)) || !slices.Equal(crossesIn(again), crossesIn(p)) {
		t.Errorf("read %q, %q", sectionsIn(again), crossesIn(again))
	}
	again.Merge(observedObjects(t, "1 alloc 1000\n1 write 1000 set/a:1\n2 write 1008 put/b:1\n1 write 1008 set/b:2\n"))
	if got, want := crossesIn(again), []string{"a:1-b:2 read a written b"}; !slices.Equal(got, want) {
		t.Errorf("merged %q, want %q", got, want)
	}
	if got, want := sectionsIn(again), []string{"1 get:1 a", "1 put:1 b*", "2 set:1 a* b*"}; !slices.Equal(got, want) {
		t.Errorf("merged %q, want %q", got, want)
	}
	moved := again.Rewrite(func(variable string, at Location) (Location, bool) {
		at.Line += 10
		return at, !strings.HasPrefix(at.Func, "get") && variable != "c"
	})
	if got, want := sectionsIn(moved), []string{"1 put:11 b*", "2 set:11 a* b*"}; !slices.Equal(got, want) {
		t.Errorf("moved %q, want %q", got, want)
	}
	if got, want := crossesIn(moved), []string{"a:11-b:12 read a written b"}; !slices.Equal(got, want) {
		t.Errorf("moved %q, want %q", got, want)
	}
	for _, broken := range []string{
		`"sections": [{"at": {"func": ""}, "accessed": ["a"], "count": 1}]`,
		`"cross": [{"variables": ["a", "b"], "first": {"func": "f", "line": -1}, "second": {"func": "f"}}]`,
	} {
		if _, err := DecodeProfile(strings.NewReader(`{"format": "heisen profile", "version": 2, ` + broken + `}`)); err == nil {
			t.Errorf("%s is read", broken)
		}
	}
}
