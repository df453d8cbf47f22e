package correct

import (
	"sync"
	"testing"
)

// together calls functions at the same time.
func together(functions ...func()) {
	var wg sync.WaitGroup
	for _, f := range functions {
		wg.Go(f)
	}
	wg.Wait()
}

func TestCache(t *testing.T) {
	c := &Cache{m: map[string]int{}}
	use := func() { c.Add("a") }
	together(use, c.reset, use)
}

func TestRegistry(t *testing.T) {
	r := &Registry{names: map[string]int{}}
	use := func() { r.Register("a", 1) }
	together(use, r.reset, use)
}

func TestSessions(t *testing.T) {
	s := &Sessions{all: map[int]bool{}}
	use := func() { s.Open(1) }
	together(use, s.reset, use)
}

func TestSet(t *testing.T) {
	s := &Set[int]{m: map[int]struct{}{}}
	use := func() { s.AddNew(7) }
	together(use, s.reset, use)
}

func TestTags(t *testing.T) {
	g := &Tags{guarded: guarded{m: map[string]string{}}}
	use := func() { g.Tag("a", "b") }
	together(use, g.reset, use)
}

func TestAccount(t *testing.T) {
	a := &Account{balance: 10}
	use := func() { _ = a.Pay(10) }
	together(use, a.reset, use)
}

func TestIDs(t *testing.T) {
	i := &IDs{}
	use := func() { i.Next() }
	together(use, i.reset, use)
}

func TestBuffer(t *testing.T) {
	b := &Buffer{refs: 2}
	use := func() { b.Release() }
	together(use, b.reset, use)
}

func TestPeak(t *testing.T) {
	p := &Peak{}
	use := func() { p.Observe(3) }
	together(use, p.reset, use)
}

func TestQuota(t *testing.T) {
	resetQuota()
	use := func() { Use() }
	together(use, resetQuota, use)
}

func TestQueue(t *testing.T) {
	q := &Queue{}
	q.push(1)
	use := func() { q.Take() }
	together(use, q.reset, use)
}

func TestList(t *testing.T) {
	l := &List{items: []string{"a"}}
	use := func() { l.Last() }
	together(use, l.reset, use)
}

func TestJob(t *testing.T) {
	j := &Job{}
	use := func() { j.Start() }
	together(use, j.reset, use)
}

func TestClient(t *testing.T) {
	c := &Client{}
	use := func() { c.Conn() }
	together(use, c.reset, use)
}

func TestLog(t *testing.T) {
	m := &memory{files: map[string]string{}}
	l := &Log{in: m}
	use := func() { l.Open("a") }
	together(use, m.reset, use)
}

func TestCloser(t *testing.T) {
	c := &Closer{}
	use := func() { c.Close() }
	together(use, c.reset, use)
}

func TestLimiter(t *testing.T) {
	l := &Limiter{}
	l.left.Store(1)
	use := func() { l.Allow() }
	together(use, l.reset, use)
}

func TestHandlers(t *testing.T) {
	h := &Handlers{}
	use := func() { h.Append("a") }
	together(use, h.reset, use)
}

func TestUsers(t *testing.T) {
	u := &Users{}
	use := func() { u.Login("a") }
	together(use, u.reset, use)
}

func TestVisits(t *testing.T) {
	v := &Visits{}
	use := func() { v.Count("a") }
	together(use, v.reset, use)
}
