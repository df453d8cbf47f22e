package static

import (
	"go/ast"
	"strings"
	"testing"
)

// TestPolls: a loop, a recursive call or a goto statement polls if its line says so.
func TestPolls(t *testing.T) {
	const source = `package p

import (
	"errors"
	"os"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

type box struct {
	ready   bool
	n, max  int
	turn    atomic.Int32
	old     int32
	mu      sync.Mutex
	all     []int
	list    *item
	c       chan int
	m       sync.Map
	parts   []*box
}

type item struct {
	next *item
	key  int
}

var global bool

func (b *box) isReady() bool { b.mu.Lock(); defer b.mu.Unlock(); return b.ready }

func (b *box) plain() bool { return b.ready }

func (b *box) done() <-chan int { return b.c }

func (b *box) waiting(path string, deadline time.Time, f func() bool, k int) {
	for !b.ready {                          // polls
	}
	for !global {                           // polls
		runtime.Gosched()
	}
	for b.turn.Load() == 0 {                // polls
		time.Sleep(1)
	}
	for atomic.LoadInt32(&b.old) == 0 {     // polls
	}
	for !b.isReady() {                      // polls
		time.Sleep(1)
	}
	for !b.plain() {                        // polls
	}
	for {                                   // polls
		if b.isReady() {
			break
		}
	}
	for {                                   // polls
		b.mu.Lock()
		ok := b.ready
		b.mu.Unlock()
		if ok {
			return
		}
	}
	for ok := false; !ok; {                 // polls
		select {
		case <-b.c:
			ok = true
		default:
		}
	}
	for len(b.c) == 0 {                     // polls
	}
	for cap(b.done()) > len(b.done()) {     // polls
	}
	for !b.mu.TryLock() {                   // polls
	}
	for {                                   // polls
		old := b.turn.Load()
		if b.turn.CompareAndSwap(old, old+1) {
			break
		}
	}
	for time.Now().Before(deadline) {       // polls
	}
	for {                                   // polls
		if _, err := os.Stat(path); !errors.Is(err, os.ErrNotExist) {
			break
		}
	}
	for os.Getenv("READY") == "" {          // polls
	}
	for runtime.NumGoroutine() > 1 {        // polls
	}
	for i := 0; i < 1000; i++ {             // polls
		if b.turn.Load() > 0 {
			return
		}
		time.Sleep(1)
	}
	for range 1000 {                        // polls
		if b.ready {
			break
		}
		time.Sleep(1)
	}
	for i := 0; i < 1000 && !b.isReady(); i++ { // polls
	}
	for i := 0; i < 10; i++ {               // polls
		if !b.isReady() {
			i--
		}
	}
	for n := b.list; n == nil; n = b.list { // polls
	}
	done := false
	go func() { done = true }()
	for !done {                             // polls
	}
	for i := 0; !b.ready; i++ {             // polls
	}
	for b.parts[k].turn.Load() == 0 {       // polls
	}
	for i := 0; ; i = (i + 1) % len(b.parts) { // polls
		if b.parts[i].turn.Load() > 0 {
			break
		}
	}
	for {                                   // polls
		if _, ok := b.m.Load(k); ok {
			break
		}
	}
again:
	if !b.ready {
		goto again                          // polls
	}
}

func (b *box) again() {
	if !b.ready {
		b.again()                           // polls
	}
}

func (b *box) after(n int) {
	if b.turn.Load() == 0 {
		time.Sleep(1)
		b.after(n+1)                        // polls
	}
}

func (b *box) ping() { if !b.isReady() {
	b.pong()                                // polls
} }

func (b *box) pong() {
	b.ping()                                // polls
}

func (b *box) working(words []string, m map[string]int, root *item, x int, f func(int) bool) int {
	for i := 0; i < len(b.all); i++ {
		b.all[i]++
	}
	for i := range b.all {
		if b.all[i] == x {
			return i
		}
	}
	for n := b.list; n != nil; n = n.next {
		if n.key == x {
			return n.key
		}
	}
	for i := len(b.all) - 1; i >= 0; i-- {
		b.turn.Add(1)
	}
	for len(b.all) > 0 {
		b.all = b.all[1:]
	}
	for x > 0 {
		x /= 10
	}
	for i, j := 0, len(words)-1; i < j; i, j = i+1, j-1 {
		words[i], words[j] = words[j], words[i]
	}
	for lo, hi := 0, len(words); lo < hi; {
		if mid := (lo + hi) / 2; words[mid] < "m" {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	for _, part := range b.parts {
		if part.isReady() {
			return 1
		}
	}
	for range 3 {
		if b.plain() {
			return 1
		}
	}
	for range 3 {
		b.isReady()
		time.Sleep(1)
	}
	for i := 1; i < len(b.all) && b.all[i-1] <= b.all[i]; i++ {
	}
	for j := x; j > 0 && b.all[j] < b.all[j-1]; j-- {
	}
	for _, w := range words {
		if strings.HasPrefix(w, "a") {
			continue
		}
		m[w]++
	}
	for k, v := range m {
		if v == x {
			delete(m, k)
			break
		}
	}
	for x != 1 {
		if x%2 == 0 { x /= 2 } else { x = 3*x + 1 }
	}
	for v := range b.c {
		x += v
	}
	for i := 0; i < 10; i += 2 {
		if f(i) {
			return i
		}
	}
	return depth(root) + fib(x)
}

func depth(n *item) int {
	if n == nil {
		return 0
	}
	return 1 + depth(n.next)
}

func fib(n int) int {
	if n < 2 {
		return n
	}
	return fib(n-1) + fib(n-2)
}
`
	p := load(t, source)
	w := FindWaits(NewCallGraph(p))
	if count := expectMarked(t, p, source, "// polls", func(_ *Function, n ast.Node) bool { return w.Polls(n) }); count < 30 {
		t.Errorf("%d places poll", count)
	}
}

// expectMarked reports an error for each line that has a node for which is is true and no mark at its end, or the other way
// around. It returns how many lines are marked.
func expectMarked(t *testing.T, p *Program, source, mark string, is func(*Function, ast.Node) bool) (count int) {
	t.Helper()
	got := map[int]bool{}
	for _, fn := range p.Functions {
		Own(fn.Body, func(n ast.Node) {
			if is(fn, n) {
				got[p.Fset.Position(n.Pos()).Line] = true
			}
		})
	}
	for i, line := range strings.Split(source, "\n") {
		want := strings.HasSuffix(line, mark)
		if want {
			count++
		}
		if want != got[i+1] {
			t.Errorf("line %d: %s: got %v", i+1, strings.TrimSpace(line), got[i+1])
		}
	}
	return count
}

// TestCertainly: a loop that polls waits for other goroutines for certain, and keeps what it holds meanwhile, if its line says so.
func TestCertainly(t *testing.T) {
	const source = `package p

import (
	"context"
	"runtime"
	"sync"
	"sync/atomic"
	"time"
)

type box struct {
	ready  bool
	n      int
	all    []int
	turn   atomic.Int32
	locked atomic.Bool
	mu     sync.Mutex
	cond   *sync.Cond
	c      chan int
}

func (b *box) isReady() bool { b.mu.Lock(); defer b.mu.Unlock(); return b.ready }

func (b *box) pop() { b.all = b.all[1:] }

func (b *box) empty() bool { return len(b.all) == 0 }

func (b *box) take() bool { return b.locked.CompareAndSwap(false, true) }

func (b *box) waiting(ctx context.Context) {
	for !b.ready {                          // waits
	}
	for !b.ready {                          // waits
		runtime.Gosched()
	}
	for !b.isReady() {                      // waits
		time.Sleep(1)
	}
	for b.turn.Load() == 0 {                // waits
		b.n++
	}
	for {                                   // waits
		if b.turn.Load() > 0 {
			break
		}
	}
	for ctx.Err() == nil {                  // waits
		time.Sleep(1)
	}
	for len(b.c) == 0 {                     // waits
	}
	for !b.mu.TryLock() {                   // waits
	}
	for !b.locked.CompareAndSwap(false, true) { // waits
	}
	for !b.take() {                         // waits
	}
	for {                                   // waits
		select {
		case <-b.c:
			return
		default:
		}
	}
}

func (b *box) spin() {
again:
	if b.turn.Load() == 0 {
		goto again                      // waits
	}
}

func (b *box) working(d time.Duration) {
	for {
		old := b.turn.Load()
		if b.turn.CompareAndSwap(old, old+1) {
			break
		}
	}
	for len(b.all) > 0 {
		b.all = b.all[1:]
	}
	for !b.empty() {
		b.pop()
	}
	for i := 0; i < b.n; i++ {
		if b.ready {
			break
		}
	}
	for i := range 3 {
		if b.turn.Load() > int32(i) {
			break
		}
		time.Sleep(1)
	}
	for start := time.Now(); time.Since(start) < d; {
	}
	for b.n > 0 {
		b.n /= 2
	}
	for !b.ready {
		b.cond.Wait()
	}
	for b.turn.Load() == 0 {
		b.cond.Wait()
	}
	for !b.ready {
		b.await()
	}
}

func (b *box) await() { b.cond.Wait() }
`
	p := load(t, source)
	w := FindWaits(NewCallGraph(p))
	if count := expectMarked(t, p, source, "// waits", func(fn *Function, n ast.Node) bool {
		_, call := n.(*ast.CallExpr)
		return !call && w.Certainly(fn.Info(), n)
	}); count < 12 {
		t.Errorf("%d places wait", count)
	}
}
