package static

import (
	"go/ast"
	"slices"
	"strings"
	"testing"
)

// TestLocks: at the calls of here, the locks are held that the comment names: on all paths those without a question mark, and
// possibly those with one.
func TestLocks(t *testing.T) {
	const source = `package p

import (
	"fmt"
	"sync"
)

var a, b, c, d sync.Mutex
var rw sync.RWMutex

type object struct {
	mu   sync.Mutex
	next *object
}

func here() {}

func plain() {
	here() //
	a.Lock()
	here() // a
	b.Lock()
	here() // a b
	a.Unlock()
	here() // b
	b.Unlock()
	here() //
}

func branches(x bool) {
	if x {
		d.Lock()
	}
	here() // d?
	if x {
		d.Unlock()
	}
	for x {
		b.Lock()
		here() // b d?
		b.Unlock()
	}
	if a.TryLock() {
		here() // a? d?
		a.Unlock()
	}
}

func deferred() {
	a.Lock()
	defer a.Unlock()
	defer afterwards()
	b.Lock()
	here() // a b
}

func afterwards() {
	here() // a? b?
	b.Unlock()
}

func (o *object) lock()   { o.mu.Lock() }
func (o *object) unlock() { o.mu.Unlock() }

func wrapped(o *object) {
	o.lock()
	here() // mu?
	o.unlock()
	here() //
}

func (o *object) inside() {
	here() // mu
}

func (o *object) sometimes() {
	here() // mu?
}

func callers(o, p *object) {
	o.mu.Lock()
	o.inside()
	o.sometimes()
	p = o
	here() // mu
	o.mu.Unlock()
	p.sometimes()
	o.mu.Lock()
	o = o.next
	here() // mu?
	p.mu.Unlock()
}

type printed struct{}

func (printed) String() string {
	here() // c?
	return ""
}

func callback() {
	c.Lock()
	_ = fmt.Sprint(printed{})
	c.Unlock()
}

func literals() {
	a.Lock()
	func() {
		here() // a
	}()
	go func() {
		here() //
	}()
	a.Unlock()
}

func panics(x bool) {
	rw.RLock()
	if x {
		panic(1)
	}
	rw.RUnlock()
}

func twice(o, p *object) {
	o.mu.Lock()
	p.mu.Lock()
	here() // mu
	p.mu.Unlock()
	here() // mu
	o.mu.Unlock()
	here() //
}

func main() {
	plain()
	deferred()
	here() //
	wrapped(nil)
	callers(nil, nil)
	callback()
	literals()
	panics(true)
	here() //
	twice(nil, nil)
}
`
	p := load(t, source)
	g := NewCallGraph(p)
	l := NewLocks(g)
	lines := strings.Split(source, "\n")
	seen := 0
	for _, fn := range p.Functions {
		for _, call := range g.Calls(fn) {
			if id, ok := call.Expr.Fun.(*ast.Ident); !ok || id.Name != "here" {
				continue
			}
			seen++
			at := p.Fset.Position(call.Expr.Pos()).Line
			_, comment, _ := strings.Cut(lines[at-1], "//")
			held := l.At(call.Expr)
			if held == nil {
				t.Errorf("line %d is not reached", at)
				continue
			}
			got := map[string]bool{}
			for class := range held.May {
				got[class.Name+"?"] = true
			}
			for lock := range held.Must {
				delete(got, lock.Class.Name+"?")
				got[lock.Class.Name] = true
			}
			var names []string
			for name := range got {
				names = append(names, name)
			}
			slices.Sort(names)
			if want := strings.TrimSpace(comment); strings.Join(names, " ") != want {
				t.Errorf("line %d: %q are held, want %q", at, names, want)
			}
		}
	}
	if seen != 24 {
		t.Errorf("%d calls of here", seen)
	}
	if len(l.Panics) != 1 || !slices.ContainsFunc(keys(l.Panics), func(class Key) bool { return class.Name == "rw" }) {
		t.Errorf("held at panics: %v", l.Panics)
	}
	order := func(first, second string) (waits, known bool) {
		for class, next := range l.Order {
			for other, w := range next {
				if class.Name == first && other.Name == second {
					return w, true
				}
			}
		}
		return false, false
	}
	for _, pair := range []struct {
		first, second string
		waits, known  bool
	}{{"a", "b", true, true}, {"b", "a", false, false}, {"a", "a", false, false}, {"mu", "mu", true, true}, {"d", "a", false, true}} {
		if waits, known := order(pair.first, pair.second); waits != pair.waits || known != pair.known {
			t.Errorf("%s before %s: waits %v, known %v", pair.first, pair.second, waits, known)
		}
	}
}

func keys(set map[Key]bool) (out []Key) {
	for k := range set {
		out = append(out, k)
	}
	return out
}
