package racefuzz

import (
	"bufio"
	"embed"
	"fmt"
	"io/fs"
	"path"
	"regexp"
	"strings"
)

// Program describes a program, or a test, and its races.
type Program struct {
	Name    string // unique
	Package string // the directory, relative to that of this package
	Test    string // if it is a test, the name of its function

	Args  []string // arguments of the program, or of the package's tests
	Small []string // arguments for less work, for detectors that follow every access; nil for Args

	// Row is the row of the paper's table 1 of which it is a counterpart; empty if there is none.
	Row string

	Output string // regular expression for its whole output if it does not fail
	Harm   string // regular expression for its message if it fails; empty if it cannot fail

	// Races are the pairs of places that race: some schedule has both accesses next to
	// each other.
	Races []Pair
	// Apart are pairs that never race but that a detector may suspect, because neither a lock nor a
	// message orders them.
	Apart []Pair

	// Deadlock is the two places at which two goroutines can acquire locks and wait for each other;
	// nil if there are none.
	Deadlock *Pair
	// Section is an atomic section that other goroutines can violate; nil if there is none. It is
	// in the file heisen.sections of the package.
	Section *Section
}

// Pair is two places.
type Pair struct {
	A, B Place
	// Harmful says that some execution in which the two meet fails.
	Harmful bool
	// Seldom says that few executions make both accesses, so a detector may not suspect them.
	Seldom bool
}

// Section has the places of an atomic section, and of an access of another goroutine that violates
// it.
type Section struct{ Entry, Remote, End Place }

// Place is an operation and the mark of a line, such as "read x.size". The operation is one of
// those in findings, or "acquire". The mark is in a comment at the end of the line, such as
// race:x.size. It is unique in its package.
type Place string

// Op returns the operation.
func (p Place) Op() string {
	op, _, _ := strings.Cut(string(p), " ")
	return op
}

// Mark returns the mark.
func (p Place) Mark() string {
	_, mark, _ := strings.Cut(string(p), " ")
	return mark
}

// Line is a line of source.
type Line struct {
	File string // relative to the directory of this package, with slashes
	Line int    // from 1
}

func (l Line) String() string { return fmt.Sprintf("%s:%d", l.File, l.Line) }

//go:embed */*.go
var sources embed.FS

var mark = regexp.MustCompile(`//.*\brace:([a-z0-9.]+)`)

// Lines returns the lines of the marks in the program's package.
func (p *Program) Lines() (map[string]Line, error) {
	files, err := fs.Glob(sources, path.Join(p.Package, "*.go"))
	if err != nil {
		return nil, err
	}
	lines := map[string]Line{}
	for _, name := range files {
		file, err := sources.Open(name)
		if err != nil {
			return nil, err
		}
		defer file.Close()
		text := bufio.NewScanner(file)
		for n := 1; text.Scan(); n++ {
			found := mark.FindStringSubmatch(text.Text())
			if found == nil {
				continue
			}
			at := Line{name, n}
			if other, ok := lines[found[1]]; ok {
				return nil, fmt.Errorf("%v: the mark %q is at %v, too", at, found[1], other)
			}
			lines[found[1]] = at
		}
		if err := text.Err(); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
	}
	return lines, nil
}

// Replayed returns the packages of programs without a bug that print the order of their steps, as
// Package in Program.
func Replayed() []string {
	return []string{
		"replay/channels", "replay/select", "replay/maps", "replay/timers", "replay/pool", "replay/context", "replay/group",
	}
}

// Programs returns the programs for the rows of the paper's table, those for its figures, and those
// with hidden bugs.
func Programs() []Program {
	all := []Program{
		{
			Name: "figure1", Package: "figure1",
			Output: "no error\n", Harm: "panic: ERROR1",
			Races: []Pair{harmful("read 5", "write 7")},
			Apart: []Pair{pair("write 1", "read 10")},
		},
		{
			Name: "figure2", Package: "figure2",
			Output: "no error\n", Harm: "panic: ERROR\n",
			Races: []Pair{harmful("read 8", "write 10")},
		},
		{
			Name: "moldyn", Package: "moldyn", Row: "moldyn",
			Small:  []string{"-particles", "32", "-moves", "20"},
			Output: `\d+ particles, \d+ moves, energy -?\d+\.\d{6}\n`,
			Races:  pairs("write move", "write move", "read report"),
			Apart: join(
				pairs("read distance", "write push"),
				pairs("read force", "write partial.mine", "write partial.other"),
				pairs("read speed", "write force.clear", "write force"),
				pairs("read energy", "write potential.clear", "write potential", "write kinetic.clear", "write kinetic"),
			),
		},
		{
			Name: "raytracer", Package: "raytracer", Row: "raytracer",
			Small:  []string{"-size", "24"},
			Output: `\d+ lines, checksum \d+\n`, Harm: "panic: validation failed",
			Races: []Pair{harmful("read checksum", "write checksum"), harmful("write checksum", "write checksum")},
		},
		{
			Name: "montecarlo", Package: "montecarlo", Row: "montecarlo",
			Small:  []string{"-walks", "60", "-steps", "2000"},
			Output: `\d+ walks, mean \d+\.\d{6}, highest \d+\.\d{6}\n`,
			Races:  pairs("write verbose", "write verbose"),
			Apart: []Pair{
				pair("read sum.results", "write add"),
				pair("read sum.walk", "write result.walk"),
				pair("read sum.end", "write result.end"),
				pair("read sum.high", "write result.high"),
			},
		},
		{
			Name: "cache", Package: "cache", Row: "cache4j",
			Output: "120 lookups\n", Harm: "panic: close of nil channel",
			Races: []Pair{harmful("read interval", "write sleep"), pair("read interval", "write wake")},
			Apart: join(
				pairs("write entry.young", "read entry.grow", "write entry.grow", "read entry.old", "write entry.touch"),
				pairs("write entry.new", "read entry.value"),
				pairs("write limit.age", "read clean.age"),
				pairs("write limit.keys", "read clean.keys"),
				pairs("write count.hits", "read sum.hits"),
				pairs("write count.misses", "read sum.misses"),
			),
		},
		{
			Name: "sor", Package: "sor", Row: "sor",
			Small:  []string{"-size", "16", "-turns", "6"},
			Output: `\d+ lines, \d+ turns, heat \d+\.\d{6}\n`,
			Apart: join(
				pairs("write red", "read black.up", "read black.down"),
				pairs("write black", "read red.up", "read red.down"),
			),
		},
		{
			Name: "search", Package: "search", Row: "hedc",
			Output: "3 answers of 6 are enough\n", Harm: "panic: runtime error: invalid memory address or nil pointer dereference",
			Races: []Pair{harmful("read test", "write start"), harmful("read test", "write end"), harmful("read call", "write end")},
			Apart: join(
				pairs("read call", "write start"),
				pairs("write found", "read result", "read events"),
			),
		},
		{
			Name: "crawler", Package: "crawler", Row: "weblech",
			Output: "12 pages, 209 bytes\n", Harm: `panic: \d+ pages of 12`,
			Races: join(
				harmfuls("read idle.waiting", "write enter", "write take"),
				harmfuls("read idle.busy", "write begin", "write finish"),
			),
			Apart: join(
				pairs("write store", "read total.store"),
				pairs("write page.text", "read total.text"),
				pairs("write page.size", "read total.size"),
				pairs("write fetched", "read total.fetched"),
			),
		},
		{
			Name: "upload", Package: "upload", Row: "jigsaw",
			Output: `\d+ files, \d+ bytes\n`, Harm: `panic: \d+ bytes of \d+`,
			Races: []Pair{harmful("read add", "write add"), harmful("write add", "write add")},
			Apart: []Pair{pair("write add", "read sum")}, // an answer orders them
		},
	}
	for _, of := range []string{"vector", "linkedlist", "arraylist", "hashset", "treeset"} {
		all = append(all, collection(of))
	}
	return append(all,
		Program{
			Name: "dial", Package: "hidden", Test: "TestDial",
			Harm:  `dialed "", the server has no address`,
			Races: []Pair{harmful("write listen", "read dial")},
		},
		Program{
			Name: "transfer", Package: "hidden", Test: "TestTransfer",
			Harm:     "all goroutines are asleep - deadlock!|test timed out",
			Deadlock: &Pair{A: "acquire inner", B: "acquire inner", Harmful: true},
		},
		Program{
			Name: "reserve", Package: "hidden", Test: "TestReserve",
			Harm:    "the seat is reserved twice",
			Section: &Section{Entry: "read look", Remote: "write take", End: "write take"},
		},
		Program{
			Name: "relay", Package: "predicted", Test: "TestRelay",
			Harm:  `the last runner got the medal ""`,
			Races: []Pair{{A: "write judge", B: "read arrive", Harmful: true, Seldom: true}},
		},
		Program{
			Name: "farm", Package: "predicted", Test: "TestFarm",
			Harm:  `the plans of the hands are`,
			Races: []Pair{harmful("write plan", "read work")},
		},
		Program{
			Name: "far", Package: "predicted", Test: "TestFar",
			Harm:  `the letter says ""`,
			Races: []Pair{harmful("write far.post", "read far.wait")},
		},
		Program{
			Name: "guest", Package: "predicted", Test: "TestGuest",
			Apart: []Pair{{A: "write host", B: "read guest"}},
		},
	)
}

// collection returns the program collections for one kind of them.
func collection(of string) Program {
	p := Program{
		Name: of, Package: "collections", Args: []string{"-of", of}, Row: rows[of],
		Output: of + ": all elements are where they should be\n",
		Harm:   "panic: (concurrent modification|no such element|runtime error: )",
	}
	switch of {
	case "vector":
		p.Harm = "" // its iterators do not panic
		p.Races = join(
			pairs("read vector.hasnext", "write vector.add", "write vector.remove", "write vector.clear"),
			pairs("read vector.next", "write vector.set", "write vector.shift"),
		)
	case "arraylist":
		p.Races = join(
			harmfuls("read array.check", "write array.add.modified", "write array.remove.modified", "write array.clear.modified"),
			harmfuls("read array.hasnext", "write array.add", "write array.remove", "write array.clear"),
			harmfuls("read array.data", "write array.add", "write array.remove", "write array.clear"),
			harmfuls("read array.next", "write array.add"),
			[]Pair{{"read array.next", "write array.shift", true, true}},
		)
	case "linkedlist":
		p.Races = join(
			harmfuls("read linked.check", "write linked.add.modified", "write linked.remove.modified"),
			harmfuls("read linked.hasnext", "write linked.add.length", "write linked.remove.length"),
			harmfuls("read linked.end", "write linked.add.length", "write linked.remove.length"),
			harmfuls("read linked.next", "write linked.add", "write linked.unlink", "write linked.cut"),
		)
		p.Apart = []Pair{pair("read linked.get", "write linked.value"), pair("read linked.next", "write linked.new")}
	case "hashset":
		p.Races = join(
			harmfuls("read hash.check", "write hash.add.modified", "write hash.remove.modified", "write hash.clear.modified"),
			harmfuls("read hash.list", "write hash.add", "write hash.unlink", "write hash.clear"),
			harmfuls("read hash.next", "write hash.rehash"),
			harmfuls("read hash.table", "write hash.grow"),
		)
		p.Apart = []Pair{
			pair("read hash.get", "write hash.value"),
			pair("read hash.next", "write hash.new"),
			pair("read hash.list", "write hash.refill"), // made before the table belongs to the set
		}
	case "treeset":
		// Which nodes are rotated depends on the weights of the elements in the set.
		p.Races = join(
			harmfuls("read tree.check", "write tree.add.modified", "write tree.remove.modified", "write tree.clear.modified"),
			harmfuls("read tree.hasnext", "write tree.add.length", "write tree.remove.length", "write tree.clear.length"),
			harmfuls("read tree.first", "write tree.lift.left", "write tree.replace.left"),
			harmfuls("read tree.right", "write tree.add.right", "write tree.turn.right", "write tree.replace.right"),
			harmfuls("read tree.up", "write tree.turn.right", "write tree.replace.right"),
			harmfuls("read tree.up", "write tree.lift.parent", "write tree.replace.parent", "write tree.turn.right.parent"),
			harmfuls("read tree.climb", "write tree.lift.parent", "write tree.replace.parent", "write tree.turn.right.parent"),
			harmfuls("read tree.parent", "write tree.lift.parent", "write tree.replace.parent"),
			[]Pair{
				{"read tree.down", "write tree.lift.left", true, true},
				{"read tree.down", "write tree.replace.left", true, true},
				{"read tree.parent", "write tree.turn.right.parent", true, true},
			},
		)
		// These are writes to nodes that the iterator cannot have reached.
		p.Apart = join(
			pairs("read tree.get", "write tree.value"),
			pairs("write tree.new", "read tree.up", "read tree.climb", "read tree.parent"),
			pairs("write tree.add.right", "read tree.up"),
		)
	}
	return p
}

// rows are the collections' rows in the paper's table.
var rows = map[string]string{
	"vector": "vector 1.1", "linkedlist": "LinkedList", "arraylist": "ArrayList", "hashset": "HashSet", "treeset": "TreeSet",
}

func pair(a, b Place) Pair    { return Pair{A: a, B: b} }
func harmful(a, b Place) Pair { return Pair{A: a, B: b, Harmful: true} }

// pairs returns the pairs of a place with others.
func pairs(a Place, others ...Place) (all []Pair) {
	for _, b := range others {
		all = append(all, pair(a, b))
	}
	return all
}

// harmfuls is pairs with all pairs harmful.
func harmfuls(a Place, others ...Place) (all []Pair) {
	for _, b := range others {
		all = append(all, harmful(a, b))
	}
	return all
}

func join(lists ...[]Pair) (all []Pair) {
	for _, l := range lists {
		all = append(all, l...)
	}
	return all
}
