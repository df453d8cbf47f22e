package controlled

import (
	"cmp"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"slices"
	"sync"

	"github.com/heisen-go/heisen/internal/recorder"
)

// seenBehaviors has what the executions of a program have done, with places. Several goroutines may use
// it.
type seenBehaviors struct {
	mu   sync.Mutex
	seen map[recorder.Behavior]sourcePlace
}

// sourcePlace is a line of a source file.
type sourcePlace struct {
	file string
	line int
}

func (p sourcePlace) compare(other sourcePlace) int {
	return cmp.Or(cmp.Compare(p.file, other.file), p.line-other.line)
}

// add adds what an execution has done.
func (b *seenBehaviors) add(all []recorder.Behavior, stream *recorder.Stream) {
	if b == nil {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.seen == nil {
		b.seen = map[recorder.Behavior]sourcePlace{}
	}
	for _, one := range all {
		if _, known := b.seen[one]; known || !one.HasSite() {
			continue
		}
		var at sourcePlace
		if frames := stream.Symbols().Site(stream.Site(one)).Frames; len(frames) > 0 {
			at = sourcePlace{frames[0].File, frames[0].Line}
		}
		b.seen[one] = at
	}
}

// Coverage is what the executions of programs have done, and have not, in the source files of the
// programs. Files that cannot be parsed are left out.
type Coverage struct {
	Points []Point // go statements and cases by file, then locks

	Goroutines int // go statements
	Cases      int // cases of select statements with two or more channel operations
	Locks      int // places at which locks were acquired

	// Uncovered has a line for each go statement that was not executed, each case that was not
	// chosen, and each place at which a lock was acquired, but no goroutine had to wait for it.
	Uncovered                        []string
	NotStarted, NotChosen, Contended int
}

// Point is a place that executions cover or do not. Its values are comparable, and equal in programs from the same sources.
type Point struct {
	Kind    PointKind `json:"kind"`
	File    string    `json:"file"`
	Line    int       `json:"line"`
	Nth     int       `json:"nth,omitempty"` // of those of the kind on the line, from 0
	Covered bool      `json:"covered,omitempty"`
}

// PointKind says when a point is covered.
type PointKind string

const (
	GoStatement PointKind = "go"   // it was executed
	SelectCase  PointKind = "case" // it was chosen
	LockPlace   PointKind = "lock" // a goroutine had to wait for the lock; those where none was acquired are no points
)

var uncovered = map[PointKind]string{
	GoStatement: "this go statement was not executed",
	SelectCase:  "this case of a select statement was not chosen",
	LockPlace:   "no goroutine waited for the lock",
}

// NewCoverage returns the coverage of points. Those of other kinds than there are count for nothing.
func NewCoverage(points []Point) (c Coverage) {
	c.Points = points
	for _, p := range points {
		switch p.Kind {
		case GoStatement:
			c.Goroutines++
			c.NotStarted += missing(p)
		case SelectCase:
			c.Cases++
			c.NotChosen += missing(p)
		case LockPlace:
			c.Locks++
			c.Contended += 1 - missing(p)
		default:
			continue
		}
		if !p.Covered {
			c.Uncovered = append(c.Uncovered, fmt.Sprintf("%s:%d: %s", p.File, p.Line, uncovered[p.Kind]))
		}
	}
	return c
}

func missing(p Point) int {
	if p.Covered {
		return 0
	}
	return 1
}

// JoinCoverage returns what all executions together have covered, whichever of several sets they belong to. The order of the sets does not
// matter, and neither does a set that comes again.
func JoinCoverage(sets ...[]Point) Coverage {
	all := map[Point]bool{}
	for _, set := range sets {
		for _, p := range set {
			covered := p.Covered
			p.Covered = false
			all[p] = all[p] || covered
		}
	}
	points := make([]Point, 0, len(all))
	for p, covered := range all {
		p.Covered = covered
		points = append(points, p)
	}
	slices.SortFunc(points, func(a, b Point) int {
		return cmp.Or(isLock(a)-isLock(b), cmp.Compare(a.File, b.File), a.Line-b.Line, cmp.Compare(a.Kind, b.Kind), a.Nth-b.Nth)
	})
	return NewCoverage(points)
}

func isLock(p Point) int {
	if p.Kind == LockPlace {
		return 1
	}
	return 0
}

// CoverageOf returns the coverage of all executions of programs so far.
func CoverageOf(programs []*Program) Coverage {
	done := done{started: map[sourcePlace]bool{}, locked: map[sourcePlace]bool{}, contended: map[sourcePlace]bool{}, chosen: map[chosenCase]bool{}}
	own := map[string]bool{}
	var files []string
	for _, p := range programs {
		for _, file := range p.Files {
			if !own[file] {
				own[file] = true
				files = append(files, file)
			}
		}
	}
	for _, p := range programs {
		done.add(p.behaviors, own)
	}
	for _, file := range files {
		done.addStatements(file)
	}
	for _, at := range sortedPlaces(done.locked) {
		done.point(LockPlace, at, done.contended[at])
	}
	return NewCoverage(done.points)
}

// done is what executions have done.
type done struct {
	started, locked, contended map[sourcePlace]bool
	chosen                     map[chosenCase]bool
	points                     []Point
}

// add adds the behaviors in some files.
func (d *done) add(behaviors *seenBehaviors, own map[string]bool) {
	if behaviors == nil {
		return
	}
	behaviors.mu.Lock()
	defer behaviors.mu.Unlock()
	for b, at := range behaviors.seen {
		if !own[at.file] {
			continue
		}
		switch b.Kind() {
		case recorder.Started:
			d.started[at] = true
		case recorder.Locked:
			d.locked[at] = true
		case recorder.Waited:
			d.contended[at] = d.contended[at] || b.ForLock()
		case recorder.Selected:
			send, receive := b.Case()
			d.chosen[chosenCase{at, send, receive}] = true
		}
	}
}

// point adds a point.
func (d *done) point(kind PointKind, at sourcePlace, covered bool) {
	p := Point{Kind: kind, File: at.file, Line: at.line, Covered: covered}
	for i := len(d.points) - 1; i >= 0 && d.points[i].File == at.file; i-- {
		if last := d.points[i]; last.Kind == kind && last.Line == at.line {
			p.Nth = last.Nth + 1
			break
		}
	}
	d.points = append(d.points, p)
}

// chosenCase is a case of a select statement; see recorder.Behavior.Case.
type chosenCase struct {
	at            sourcePlace
	send, receive int
}

func sortedPlaces(all map[sourcePlace]bool) (sorted []sourcePlace) {
	for at := range all {
		sorted = append(sorted, at)
	}
	slices.SortFunc(sorted, sourcePlace.compare)
	return sorted
}

// addStatements adds the statements of a file.
func (d *done) addStatements(file string) {
	fset := token.NewFileSet()
	parsed, err := parser.ParseFile(fset, file, nil, parser.SkipObjectResolution)
	if err != nil {
		return
	}
	place := func(n ast.Node) sourcePlace { return sourcePlace{file, fset.Position(n.Pos()).Line} }
	ast.Inspect(parsed, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.GoStmt:
			d.point(GoStatement, place(n), d.started[place(n)])
		case *ast.SelectStmt:
			d.addSelect(n, place)
		}
		return true
	})
}

// addSelect adds the cases of a select statement, unless it has fewer than two channel operations: such
// statements are compiled to other operations.
func (d *done) addSelect(n *ast.SelectStmt, place func(ast.Node) sourcePlace) {
	operations := 0
	for _, clause := range n.Body.List {
		if clause.(*ast.CommClause).Comm != nil {
			operations++
		}
	}
	if operations < 2 {
		return
	}
	of := chosenCase{at: place(n), send: -1, receive: -1}
	sends, receives := 0, 0
	for _, clause := range n.Body.List {
		one := of
		switch clause.(*ast.CommClause).Comm.(type) {
		case nil:
		case *ast.SendStmt:
			one.send = sends
			sends++
		default:
			one.receive = receives
			receives++
		}
		d.point(SelectCase, place(clause), d.chosen[one])
	}
}
