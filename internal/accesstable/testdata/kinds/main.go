// This program has a line for each way to access memory, and behind it what the table of accesses must have for the line.
package main

import (
	"fmt"
	"kinds/other"
	"math"
	"math/bits"
	"os"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"unsafe"
)

type node struct {
	a, b  int
	small int8
	f     float64
	name  string
	next  *node
	list  []int
	any   any
	big   [40]int
}

type pair struct{ x, y int32 }

type shape interface{ Area() int }

type square struct{ side int }

func (s *square) Area() int {
	return s.side // want read
}

type circle struct{ r int }

func (c *circle) Area() int {
	return c.r * c.r // want read
}

var (
	global  int
	pointer *node
	table   = map[string]int{}
	word    int64
	typed   atomic.Int64
	mu      sync.Mutex
	once    sync.Once
	rw      sync.RWMutex
	pool    sync.Pool
	sink    any
	shapes  shape
	start   = make(chan int, 1)
)

//go:noinline
func field(n *node) int {
	return n.a // want read
}

//go:noinline
func setField(n *node, v int) {
	n.b = v // want write
}

//go:noinline
func increment(n *node) {
	n.a++ // want read write
}

//go:noinline
func readGlobal() int {
	return global // want read
}

//go:noinline
func setGlobal(v int) {
	global = v // want write
}

//go:noinline
func element(s []int, i int) int {
	return s[i] // want read
}

//go:noinline
func setElement(s []int, i, v int) {
	s[i] = v // want write
}

//go:noinline
func deref(p *int) int {
	return *p // want read
}

//go:noinline
func small(n *node) bool {
	return n.small == 3 // want read
}

//go:noinline
func bit(n *node) bool {
	return n.small&4 != 0 // want read
}

//go:noinline
func float(n *node, by float64) {
	n.f = n.f*by + 1 // want read write
}

//go:noinline
func header(n *node) int {
	return len(n.list) // want read
}

//go:noinline
func copyPair(to, from *pair) {
	*to = *from // want read write
}

//go:noinline
func copyBig(to, from *node) {
	to.big = from.big // want read write
}

//go:noinline
func zero(p *[3]int) {
	*p = [3]int{} // want write
}

//go:noinline
func two(p *pair) {
	p.x = 1 // want write?
	p.y = 2 // want write?
}

//go:noinline
func bytes(b []byte) uint32 {
	_ = b[3]
	return uint32(b[0]) | uint32(b[1])<<8 | uint32(b[2])<<16 | uint32(b[3])<<24 // want read
}

//go:noinline
func loadWord() int64 {
	return atomic.LoadInt64(&word) // want none
}

//go:noinline
func storeWord(v int64) {
	atomic.StoreInt64(&word, v) // want none
}

//go:noinline
func addWord() int64 {
	return atomic.AddInt64(&word, 1) // want none
}

//go:noinline
func loadTwice(n *node) int64 {
	return int64(n.a) + atomic.LoadInt64(&word) // want none
}

//go:noinline
func loadSplit(n *node) int64 {
	return atomic.LoadInt64( // want none
		&word) // want none
}

//go:noinline
func loadTyped() bool {
	return typed.Load() == 3 // want none
}

//go:noinline
func loadPointer(p *unsafe.Pointer) unsafe.Pointer {
	return atomic.LoadPointer(p) // want none
}

//go:noinline
func loadValue(v *atomic.Value) any {
	return v.Load() // want none
}

//go:noinline
func lock() {
	mu.Lock()   // want none
	mu.Unlock() // want none
}

//go:noinline
func readLock() {
	rw.RLock()   // want none
	rw.RUnlock() // want none
}

//go:noinline
func doOnce() {
	once.Do(lock) // want none
}

//go:noinline
func fromPool() any {
	return pool.Get() // want none
}

//go:noinline
func nilCheck(n *node) *int {
	return &n.b // want none
}

//go:noinline
func nilCheckFar(p *[1 << 20]node) *int {
	return &p[900].b // want none
}

//go:noinline
func pointerStore(n, next *node) {
	n.next = next // want write
}

//go:noinline
func pointerGlobal(n *node) {
	pointer = n // want write
}

//go:noinline
func appendTo(n *node, v int) {
	n.list = append(n.list, v) // want read write
}

//go:noinline
func index(s string, i int) byte {
	return s[i] // want none
}

//go:noinline
func compare(s string) bool {
	return s == "abcdefgh" // want none
}

//go:noinline
func lookup(k string) int {
	return table[k] // want read
}

//go:noinline
func assign(k string, v int) {
	table[k] = v // want read write
}

//go:noinline
func closure(v int) func() int {
	return func() int {
		return v // want none
	}
}

//go:noinline
func counter() func() int {
	n := 0
	return func() int {
		n++      // want read write
		return n // want read?
	}
}

//go:noinline
func channel(c chan int) int {
	c <- 1     // want none
	return <-c // want none
}

//go:noinline
func buffered(c chan int) int {
	return len(c) + cap(c) // want none
}

//go:noinline
func length(m map[string]int) int {
	return len(m) // want read
}

//go:noinline
func pointerInMap(m map[int]*node, n *node) {
	m[n.a] = n // want read write
}

//go:noinline
func pointerBoth(n, m *node) {
	n.next = m.next // want read write
}

//go:noinline
func loop(n *node) (all []func() int) {
	for i := 0; i < n.a; i++ { // want read?
		all = append(all, func() int {
			return i // want none
		})
	}
	return all
}

//go:noinline
func overFunc(n *node) (sum int) {
	for v := range n.each { // want none
		sum += v // want none
	}
	return sum
}

func (n *node) each(yield func(int) bool) {
	for _, v := range n.list { // want read
		if !yield(v) { // want none
			return
		}
	}
}

//go:noinline
func start2(n *node, done chan bool) {
	go func() { // want write
		n.a = 7      // want write
		done <- true // want none
	}()
	<-done // want none
}

//go:noinline
func method(n *node) func(int) {
	return n.set // want write
}

func (n *node) set(v int) {
	n.b = v // want write
}

//go:noinline
func interfaceOf(n *node) any {
	return n.a // want read
}

//go:noinline
func both(n *node) (int, string) {
	return n.a, n.name // want read
}

//go:noinline
func fma(n *node) float64 {
	return math.FMA(n.f, n.f, 1) // want read
}

//go:noinline
func ones(n *node) int {
	return bits.OnesCount(uint(n.a)) // want read
}

//go:noinline
func selects(a, b chan int) int {
	select { // want none
	case v := <-a: // want none
		return v
	case b <- 1: // want none
		return 1
	default:
		return 0
	}
}

//go:noinline
func deferred(n *node) {
	defer lock() // want none
	n.a = 5      // want write
}

//go:noinline
func rangeSlice(s []int) (sum int) {
	for _, v := range s { // want read?
		sum += v // want none
	}
	return sum
}

//go:noinline
func rangeMap(m map[string]int) (sum int) {
	for _, v := range m { // want read
		sum += v // want none
	}
	return sum
}

//go:noinline
func typeSwitch(v any) int {
	switch v := v.(type) { // want none
	case int: // want read
		return v // want read?
	case shape: // want none
		return v.Area() // want none
	}
	return 0
}

//go:noinline
func fieldAssert(n *node) int {
	s, ok := n.any.(shape) // want none
	if !ok {
		return 0
	}
	return s.Area() // want none
}

//go:noinline
func dynamic(s shape) int {
	return s.Area() // want none
}

type holder struct {
	shape shape
	call  func() int
}

//go:noinline
func held(h *holder) int {
	return h.shape.Area() // want read
}

//go:noinline
func called(h *holder) int {
	return h.call() // want read
}

//go:noinline
func generic[T any](p *T) T {
	return *p // want read
}

//go:noinline
func genericMethod[T fmt.Stringer](v T) string {
	return v.String() // want none
}

type label struct{ text string }

func (l label) String() string { return l.text }

//go:noinline
func inlined(c *other.Counter, s []int) int {
	c.Add(2)           // want none
	return c.Value() + // want none
		other.First(s) // want none
}

//go:noinline
func builder(b *strings.Builder, s string) {
	b.WriteString(s) // want none
}

//go:noinline
//go:norace
func unchecked(n *node) int {
	return n.a // want none
}

//go:noinline
func divide(n *node, by int) int {
	return by / n.b // want read
}

//go:noinline
func convert(n *node) float64 {
	return float64(n.a) // want read
}

//go:noinline
func jump(v int) string {
	switch v { // want none
	case 0:
		return "a"
	case 1:
		return "b"
	case 2:
		return "c"
	case 3:
		return "d"
	case 4:
		return "e"
	case 5:
		return "f"
	case 6:
		return "g"
	case 7:
		return "h"
	case 8:
		return "i"
	}
	return "j"
}

func main() {
	n := &node{a: 1, b: 2, list: make([]int, 4)}
	m := &node{}
	setField(n, 3)
	increment(n)
	setGlobal(4)
	setElement(n.list, 1, 2)
	float(n, 2)
	copyPair(&pair{}, &pair{1, 2})
	copyBig(m, n)
	zero(&[3]int{1})
	two(&pair{})
	storeWord(1)
	lock()
	readLock()
	doOnce()
	pointerStore(n, m)
	pointerGlobal(m)
	appendTo(n, 3)
	assign("a", 1)
	deferred(n)
	var p unsafe.Pointer
	var v atomic.Value
	var b strings.Builder
	shapes = &square{2}
	if len(os.Args) > 1 {
		shapes = &circle{3}
	}
	n.any = shapes
	f, g := closure(3), counter()
	sink = fromPool()
	builder(&b, "x")
	fmt.Println(field(n), readGlobal(), element(n.list, 1), deref(&n.a), small(n), bit(n), header(n), bytes([]byte("abcd")),
		loadWord(), addWord(), loadTwice(n), loadSplit(n), loadTyped(), loadPointer(&p), loadValue(&v), *nilCheck(n),
		*nilCheckFar(new([1 << 20]node)), index("abc", 1), compare("abc"), lookup("a"), f(), g(), channel(start), selects(start, start),
		rangeSlice(n.list), rangeMap(table), typeSwitch(shapes), fieldAssert(n), dynamic(shapes), generic(&n.b), genericMethod(label{"l"}),
		inlined(&other.Counter{}, n.list), unchecked(n), divide(n, 9), convert(n), jump(len(os.Args)))
	pointerBoth(n, m)
	pointerInMap(map[int]*node{}, n)
	done := make(chan bool)
	start2(n, done)
	method(n)(4)
	fmt.Println(buffered(start), length(table), len(loop(n)), overFunc(n), interfaceOf(n), fma(n), ones(n))
	fmt.Println(both(n))
	fmt.Println(held(&holder{shape: shapes}), called(&holder{call: f}))
	runtime.KeepAlive(m)
}
