package static_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/heal"
	"github.com/heisen-go/heisen/internal/enforce"
	"github.com/heisen-go/heisen/internal/infer"
	"github.com/heisen-go/heisen/internal/ownership"
	"github.com/heisen-go/heisen/internal/patch"
	"github.com/heisen-go/heisen/internal/static"
	"github.com/heisen-go/heisen/report"
)

// semaSource is a lock that stands on a semaphore which no Go source implements. Of the methods with an argument, their
// names do not tell what they do.
const semaSource = `package sema

type RWMutex struct{ w, r uint32 }

func (m *RWMutex) Lock()                { acquire(&m.w) }
func (m *RWMutex) Unlock()              { release(&m.w) }
func (m *RWMutex) RLock()               { acquire(&m.r) }
func (m *RWMutex) RUnlock()             { release(&m.r) }
func (m *RWMutex) NestedLock(depth int)   { acquire(&m.w) }
func (m *RWMutex) NestedUnlock(depth int) { release(&m.w) }

func acquire(addr *uint32)
func release(addr *uint32)
`

const bankSource = `package main

import "example.com/m/sema"

type account struct {
	mu      sema.RWMutex
	balance int
	total   int
}

func (a *account) nested(n int) {
	a.mu.NestedLock(1)
	a.balance += n
	a.mu.NestedUnlock(1)
}

func (a *account) read() int {
	a.mu.RLock()
	defer a.mu.RUnlock()
	return a.balance
}

func (a *account) add(n int) {
	a.mu.Lock()
	a.total += n // add
	a.mu.Unlock()
}

func (a *account) reset() {
	a.total = 0 // reset
}

var (
	closed bool
	mu     sema.RWMutex
)

func shut() {
	if closed { // test
		return
	}
	mu.Lock()
	mu.Unlock()
	closed = true // set
}

func main() {
	a := &account{}
	go shut()
	go a.nested(1)
	go a.add(1)
	go a.reset()
	a.read()
	shut()
}
`

// lineOf returns the number of the line of a source that ends with a comment.
func lineOf(source, comment string) int {
	before, _, _ := strings.Cut(source, "// "+comment+"\n")
	return strings.Count(before, "\n") + 1
}

// TestLockType: one entry in the table of lock types teaches all four analyses a lock that they do not know without it.
func TestLockType(t *testing.T) {
	dir := t.TempDir()
	main := filepath.Join(dir, "main.go")
	if err := os.Mkdir(filepath.Join(dir, "sema"), 0o777); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		"go.mod": "module example.com/m\n\ngo 1.25\n", "main.go": bankSource, "sema/sema.go": semaSource, "sema/sema.s": "",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("GOWORK", "off")
	clients := map[string]func() (string, error){
		"inference of sections": func() (string, error) {
			found, err := infer.Infer(context.Background(), infer.Source{Dir: dir})
			if err != nil {
				return "", err
			}
			return fmt.Sprint(found.Locked, " sections are locked"), nil
		},
		"ownership": func() (string, error) {
			result, err := ownership.Analyze(context.Background(), infer.Source{Dir: dir})
			if err != nil {
				return "", err
			}
			for _, v := range result.Variables {
				if v.Name.Name == "balance" {
					return fmt.Sprint(v.Owner, ", safe: ", v.Safe), nil
				}
			}
			return "", fmt.Errorf("balance is no variable")
		},
		"patches": func() (string, error) {
			finding := report.Finding{Kind: heisen.Race, Fingerprint: "0123456789abcdef"}
			for _, comment := range []string{"add", "reset"} {
				finding.Accesses = append(finding.Accesses, report.Access{
					Op: "write", Variable: "a.total", Stack: []report.Frame{{Func: "p.f", File: main, Line: lineOf(bankSource, comment)}},
				})
			}
			result, err := patch.Make(context.Background(), dir, nil, []report.Finding{finding})
			if err != nil {
				return "", err
			}
			var diff bytes.Buffer
			if err := result.WriteDiff(&diff); err != nil {
				return "", err
			}
			return fmt.Sprint("a.mu.Lock in reset: ", strings.Contains(diff.String(), "+\ta.mu.Lock()")), nil
		},
		"enforcement": func() (string, error) {
			p, err := enforce.Load(context.Background(), dir, nil)
			if err != nil {
				return "", err
			}
			at := func(comment, op string) string {
				return fmt.Sprintf(`{"func": "f", "file": %q, "line": %d, "op": %q}`, main, lineOf(bankSource, comment), op)
			}
			profile, err := heal.DecodeProfile(strings.NewReader(fmt.Sprintf(
				`{"format": "heisen profile", "version": 2, "variables": [{"name": "example.com/m.closed", "pairs": [{"first": %s, "second": %s, "atomic": "exclusive"}]}]}`,
				at("test", "read"), at("set", "write"))))
			if err != nil {
				return "", err
			}
			plan, err := p.Plan(context.Background(), profile)
			if err != nil {
				return "", err
			}
			return fmt.Sprint(len(plan.Variables), " locks, ", len(plan.Interruptions), " interruptions"), nil
		},
	}
	answers := func() map[string]string {
		out := map[string]string{}
		for name, ask := range clients {
			answer, err := ask()
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			out[name] = answer
		}
		return out
	}
	check := func(when string, want map[string]string) {
		for name, answer := range answers() {
			if answer != want[name] {
				t.Errorf("%s, %s: %s, want %s", when, name, answer, want[name])
			}
		}
	}
	check("without the entry", map[string]string{
		"inference of sections": "1 sections are locked", "ownership": "unknown, safe: false",
		"patches": "a.mu.Lock in reset: false", "enforcement": "1 locks, 2 interruptions",
	})
	static.TeachLock(t, "example.com/m/sema.RWMutex", map[string]string{"NestedLock": "Lock", "NestedUnlock": "Unlock"})
	check("with the entry", map[string]string{
		"inference of sections": "2 sections are locked", "ownership": "guarded by mu, which readers share, safe: true",
		"patches": "a.mu.Lock in reset: true", "enforcement": "1 locks, 0 interruptions",
	})
}
