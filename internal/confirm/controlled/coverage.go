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
	Goroutines int // go statements
	Cases      int // cases of select statements with two or more channel operations
	Locks      int // places at which locks were acquired
	Waits      int // places at which goroutines have waited for others

	// Uncovered has a line for each go statement that was not executed, each case that was not
	// chosen, and each place at which a lock was acquired, but no goroutine had to wait for it.
	Uncovered                        []string
	NotStarted, NotChosen, Contended int
}

// CoverageOf returns the coverage of all executions of programs so far.
func CoverageOf(programs []*Program) (c Coverage) {
	started, locked, waited := map[sourcePlace]bool{}, map[sourcePlace]bool{}, map[sourcePlace]bool{}
	contended, chosen, own := map[sourcePlace]bool{}, map[chosenCase]bool{}, map[string]bool{}
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
		if p.behaviors == nil {
			continue
		}
		p.behaviors.mu.Lock()
		for b, at := range p.behaviors.seen {
			if !own[at.file] {
				continue
			}
			switch b.Kind() {
			case recorder.Started:
				started[at] = true
			case recorder.Locked:
				locked[at] = true
			case recorder.Waited:
				waited[at] = true
				contended[at] = contended[at] || b.ForLock()
			case recorder.Selected:
				send, receive := b.Case()
				chosen[chosenCase{at, send, receive}] = true
			}
		}
		p.behaviors.mu.Unlock()
	}
	c.Locks, c.Waits = len(locked), len(waited)
	for _, file := range files {
		c.addStatements(file, started, chosen)
	}
	for _, at := range sortedPlaces(locked) {
		if contended[at] {
			c.Contended++
		} else {
			c.uncovered(at, "no goroutine waited for the lock")
		}
	}
	return c
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

func (c *Coverage) uncovered(at sourcePlace, what string) {
	c.Uncovered = append(c.Uncovered, fmt.Sprintf("%s:%d: %s", at.file, at.line, what))
}

// addStatements adds the statements of a file.
func (c *Coverage) addStatements(file string, started map[sourcePlace]bool, chosen map[chosenCase]bool) {
	fset := token.NewFileSet()
	parsed, err := parser.ParseFile(fset, file, nil, parser.SkipObjectResolution)
	if err != nil {
		return
	}
	place := func(n ast.Node) sourcePlace { return sourcePlace{file, fset.Position(n.Pos()).Line} }
	ast.Inspect(parsed, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.GoStmt:
			c.Goroutines++
			if at := place(n); !started[at] {
				c.NotStarted++
				c.uncovered(at, "this go statement was not executed")
			}
		case *ast.SelectStmt:
			c.addSelect(n, place, chosen)
		}
		return true
	})
}

// addSelect adds the cases of a select statement, unless it has fewer than two channel operations: such
// statements are compiled to other operations.
func (c *Coverage) addSelect(n *ast.SelectStmt, place func(ast.Node) sourcePlace, chosen map[chosenCase]bool) {
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
		c.Cases++
		if !chosen[one] {
			c.NotChosen++
			c.uncovered(place(clause), "this case of a select statement was not chosen")
		}
	}
}
