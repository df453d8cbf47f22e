package enforce

import (
	"path/filepath"
	"strings"
	"testing"
)

const accounts = `package main

import (
	"sync/atomic"
	"time"
)

type account struct {
	balance int
	audit   func()
}

// stopped is set while a withdrawal stops between its test and its act.
var stopped atomic.Bool

func (a *account) withdraw(n int, slow bool) bool {
	if a.balance < n { // test:
		return false
	}
	if slow {
		stopped.Store(true)
		time.Sleep(100 * time.Millisecond)
		stopped.Store(false)
	}
	a.balance -= n // act:
	return true
}

func (a *account) open(n int) { a.balance = n }

func total(all []account) (sum int) {
	for i := range all {
		a := &all[i]
		sum += a.balance // sum:
	}
	return sum
}

func main() {}
`

const accountsTest = `package main

import (
	"sync"
	"testing"
)

// TestApart: a withdrawal from one account does not wait for one from another account.
func TestApart(t *testing.T) {
	all := make([]account, 2)
	for i := range all {
		all[i].open(10)
	}
	var wg sync.WaitGroup
	wins := make([]bool, 2)
	wg.Go(func() { wins[0] = all[0].withdraw(10, true) })
	for !stopped.Load() {
	}
	if !all[1].withdraw(10, false) {
		t.Error("no withdrawal from the second account")
	}
	if !stopped.Load() {
		t.Error("the second account waited for the first one")
	}
	wg.Go(func() { wins[1] = all[0].withdraw(10, false) })
	wg.Wait()
	if wins[0] == wins[1] || total(all) != 0 {
		t.Errorf("withdrawals %v, and the rest is %d", wins, total(all))
	}
}
`

// TestObjectLocks: each account has a lock. Withdrawals from two of them do not exclude each other, and those from one do.
func TestObjectLocks(t *testing.T) {
	p := module(t, map[string]string{"main.go": accounts, "main_test.go": accountsTest})
	pl := plan(t, p, pairsOf(t, p, "main.go", "example.com/m.account.balance", [][3]string{{"testr", "actr", "exclusive"}}))
	if len(pl.Refused) > 0 || len(pl.Variables) != 1 || !pl.Variables[0].Objects {
		t.Fatal(pl.Variables, pl.Refused)
	}
	if s, err := pl.Statistics(); err != nil || s.Locks != 1 || s.Tables != 1 {
		t.Errorf("%+v, %v", s, err)
	}
	golden(t, pl, "main.go", "accounts.golden")
	goWith(t, pl, "vet", "./...")
	goWith(t, pl, "test", "-race", "-count=10", "./...")
}

// TestOneLock has functions for which the objects of a variable cannot have a lock each.
func TestOneLock(t *testing.T) {
	const before = `package main

type node struct {
	n    int
	next *node
}

type outer struct{ node }

var root *node

func (v *node) add() { v.n++ }

func main() {}

`
	for name, test := range map[string]struct {
		source  string
		pairs   [][3]string
		objects bool
	}{
		"one name":                   {"func f(v *node) {\n\t_ = v.n // a:\n\tv.n++ // b:\n}", [][3]string{{"ar", "br", "exclusive"}}, true},
		"a struct":                   {"func f() {\n\tvar v node\n\tgo func() { v.add() }()\n\t_ = v.n // a:\n\tv.n++ // b:\n}", [][3]string{{"ar", "br", "exclusive"}}, true},
		"two names":                  {"func f(v, w *node) {\n\t_ = v.n // a:\n\tw.n++ // b:\n}", [][3]string{{"ar", "br", "exclusive"}}, false},
		"two names without pairs":    {"func f(v, w *node) {\n\t_ = v.n // a:\n\tv.n++ // b:\n\tw.n++\n}", [][3]string{{"ar", "br", "exclusive"}}, true},
		"two names in one statement": {"func f(v, w *node) {\n\t_ = v.n // a:\n\tv.n++ // b:\n\tv.n = w.n\n}", [][3]string{{"ar", "br", "exclusive"}}, false},
		"a name that changes":        {"func f(v *node) {\n\t_ = v.n // a:\n\tv = v.next\n\tv.n++ // b:\n}", [][3]string{{"ar", "br", "exclusive"}}, false},
		"a name of each iteration":   {"func f(all []*node) {\n\tfor _, v := range all {\n\t\t_ = v.n // a:\n\t\tv.n++ // b:\n\t}\n}", [][3]string{{"ar", "br", "exclusive"}}, true},
		"a pair of two iterations":   {"func f(all []*node) {\n\tfor _, v := range all {\n\t\t_ = v.n // a:\n\t\tv.n++ // b:\n\t}\n}", [][3]string{{"ar", "br", "exclusive"}, {"bw", "ar", "exclusive"}}, false},
		"a path":                     {"func f(v *node) {\n\t_ = v.next.n // a:\n\tv.next.n++ // b:\n}", [][3]string{{"ar", "br", "exclusive"}}, false},
		"an embedded struct":         {"func f(v *outer) {\n\t_ = v.n // a:\n\tv.n++ // b:\n}", [][3]string{{"ar", "br", "exclusive"}}, false},
		"a package-level pointer":    {"func f() {\n\t_ = root.n // a:\n\troot.n++ // b:\n}", [][3]string{{"ar", "br", "exclusive"}}, false},
		"a loop clause":              {"func f() {\n\tfor v := (node{}); v.n < 3; v.n++ {\n\t\tv.add()\n\t}\n}\n\nfunc g(v *node) {\n\t_ = v.n // a:\n\tv.n++ // b:\n}", [][3]string{{"ar", "br", "exclusive"}}, false},
		"a call in between":          {"func f(v, w *node) {\n\t_ = v.n // a:\n\tw.add()\n\tv.n++ // b:\n}", [][3]string{{"ar", "br", "exclusive"}}, false},
		"a call as an end":           {"func f(v *node) {\n\tv.add() // a:\n\tv.n++ // b:\n}", [][3]string{{"ac", "br", "exclusive"}}, false},
		"a shadowed name":            {"func f(v *node) {\n\tfor i := 0; i < 3; v.n++ {\n\t\ti++\n\t\tif v := i; v > 1 {\n\t\t\tcontinue\n\t\t}\n\t}\n\t_ = v.n // a:\n\tv.n++ // b:\n}", [][3]string{{"ar", "br", "exclusive"}}, false},
		"in another function":        {"func f(v *node) {\n\t_ = v.n // a:\n\tv.n++ // b:\n}\n\nfunc g(all []node) { all[0].n++ }", [][3]string{{"ar", "br", "exclusive"}}, false},
	} {
		t.Run(name, func(t *testing.T) {
			p := module(t, map[string]string{"main.go": before + test.source + "\n"})
			pl := plan(t, p, pairsOf(t, p, "main.go", "example.com/m.node.n", test.pairs))
			if len(pl.Variables) != 1 || pl.Variables[0].Objects != test.objects {
				t.Errorf("%+v, refused %v", pl.Variables, pl.Refused)
			}
			if test.objects {
				goWith(t, pl, "vet", "./...")
			}
		})
	}
}

// TestHoistedLock: a lock that is acquired earlier, to keep locks in order, is one for all objects.
func TestHoistedLock(t *testing.T) {
	const source = `package main

import "sync"

type node struct {
	n int
}

var mu sync.Mutex

func f(v *node) {
	_ = v.n // a:
	mu.Lock()
	mu.Unlock()
	v.n++ // b:
}

func g(v *node) {
	mu.Lock()
	v.n++
	mu.Unlock()
}

func main() {}
`
	p := module(t, map[string]string{"main.go": source})
	pl := plan(t, p, pairsOf(t, p, "main.go", "example.com/m.node.n", [][3]string{{"ar", "br", "exclusive"}}))
	if len(pl.result.Hoists) == 0 || len(pl.Variables) != 1 || pl.Variables[0].Objects {
		t.Errorf("hoists %v, variables %+v, refused %v", pl.result.Hoists, pl.Variables, pl.Refused)
	}
	files, err := pl.Files()
	if err != nil {
		t.Fatal(err)
	}
	if text := string(files[filepath.Join(p.root, "main.go")]); strings.Contains(text, ".Of(") {
		t.Errorf("a lock for each object:\n%s", text)
	}
}
