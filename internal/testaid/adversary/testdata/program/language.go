package adversary

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"runtime"
	"slices"
	"sort"
	"strings"
	"sync"
	"sync/atomic"
)

// A stack is generic, and safe for concurrent use.
type stack[T any] struct {
	mu    sync.Mutex
	items []T
}

func (s *stack[T]) push(v T) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.items = append(s.items, v)
}

func (s *stack[T]) pop() (v T, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.items) == 0 {
		return v, false
	}
	v = s.items[len(s.items)-1]
	s.items = s.items[:len(s.items)-1]
	return v, true
}

func sumOf[K comparable, V cmp.Ordered](m map[K]V) (sum V) {
	for _, v := range m {
		sum += v
	}
	return sum
}

// generics uses generic types at several instances.
//
//adversary:fragment bubble
func generics(r *run) {
	var ints stack[int]
	var texts stack[func() string]
	var all sync.WaitGroup
	n := r.n(1, 4)
	for i := range n {
		all.Go(func() {
			ints.push(i)
			texts.push(func() string { return fmt.Sprint(i) })
		})
	}
	all.Wait()
	sum := 0
	for v, ok := ints.pop(); ok; v, ok = ints.pop() {
		sum += v
	}
	check(r, sum, n*(n-1)/2, "numbers on a stack")
	f, _ := texts.pop()
	check(r, len(f()), 1, "a function of a stack")
	check(r, sumOf(map[string]float64{"a": 1.5, "b": 2}), 3.5, "sum of floats")
	check(r, len(sumOf(map[int]string{1: "a", 2: "bc"})), 3, "sum of texts")
}

type speaker interface{ speak(string) string }

type loud struct{ mark string }

func (l *loud) speak(s string) string { return strings.ToUpper(s) + l.mark }

// Twice is exported, so that reflection finds it.
func (l *loud) Twice(n int) int { return 2 * n }

// reflection calls, makes and sets by reflection from several goroutines.
//
//adversary:fragment bubble
func reflection(r *run) {
	type fields struct {
		A int
		B map[string]*int
	}
	swap := func(in []reflect.Value) []reflect.Value { return []reflect.Value{in[1], in[0]} }
	var all sync.WaitGroup
	for range r.n(1, 3) {
		all.Go(func() {
			made := reflect.MakeFunc(reflect.TypeFor[func(int, string) (string, int)](), swap).Interface().(func(int, string) (string, int))
			s, n := made(5, "x")
			check(r, s, "x", "a made function")
			check(r, n, 5, "a made function")
			twice := reflect.ValueOf(&loud{}).MethodByName("Twice")
			check(r, twice.Call([]reflect.Value{reflect.ValueOf(4)})[0].Int(), 8, "a method by name")
			v := reflect.New(reflect.TypeFor[fields]()).Elem()
			v.Field(0).SetInt(6)
			v.FieldByName("B").Set(reflect.ValueOf(map[string]*int{"x": nil}))
			got := v.Interface().(fields)
			check(r, got.A, 6, "a field that was set")
			check(r, reflect.DeepEqual(got, fields{6, map[string]*int{"x": nil}}), true, "DeepEqual")
			slice := reflect.MakeSlice(reflect.TypeFor[[]int](), 0, 1)
			slice = reflect.Append(slice, reflect.ValueOf(1), reflect.ValueOf(2))
			check(r, slice.Index(1).Int(), 2, "a slice by reflection")
		})
	}
	all.Wait()
}

// closures capture variables of loops, by value and by reference.
//
//adversary:fragment bubble
func closures(r *run) {
	n := r.n(2, 5)
	var functions []func() int
	total := 0
	for i := 0; i < n; i++ {
		functions = append(functions, func() int { total += i; return i })
	}
	results := make(chan int, n)
	var mu sync.Mutex
	for _, f := range functions {
		go func() {
			mu.Lock()
			defer mu.Unlock()
			results <- f()
		}()
	}
	sum := 0
	for range n {
		sum += <-results
	}
	mu.Lock()
	defer mu.Unlock()
	check(r, sum, n*(n-1)/2, "variables of a loop")
	check(r, total, sum, "a captured variable")
}

// recovered panics pass through deferred functions.
//
//adversary:fragment bubble
func recovered(r *run) {
	var order []string
	note := func(s string) { order = append(order, s) }
	err := errors.New("first")
	outer := func() (result error) {
		defer func() {
			if v := recover(); v != nil {
				result = fmt.Errorf("recovered: %w", v.(error))
			}
		}()
		defer note("two")
		defer func() {
			defer note("one")
			if v := recover(); v != nil {
				panic(v)
			}
		}()
		panic(err)
	}
	check(r, errors.Is(outer(), err), true, "an error that was recovered")
	check(r, strings.Join(order, " "), "one two", "order of deferred functions")
	index := r.n(3, 9)
	func() {
		defer func() {
			_, is := recover().(runtime.Error)
			check(r, is, true, "an error of the runtime")
		}()
		sink([]int{1, 2}[index])
	}()
	var none *loud
	func() {
		defer func() { check(r, recover() != nil, true, "a nil pointer") }()
		sink(len(none.mark))
	}()
}

// exits ends goroutines by runtime.Goexit, which runs deferred functions.
//
//adversary:fragment bubble
func exits(r *run) {
	var mu sync.Mutex
	n, count := 0, r.n(1, 3)
	var all sync.WaitGroup
	for range count {
		all.Add(1)
		go func() {
			defer all.Done()
			mu.Lock()
			defer mu.Unlock()
			n++
			runtime.Goexit()
			n += 100
		}()
	}
	all.Wait()
	check(r, n, count, "goroutines that exit")
}

// changedMaps delete and insert while they range.
//
//adversary:fragment bubble
func changedMaps(r *run) {
	m := map[string]record{}
	for i := range r.n(5, 40) {
		m[fmt.Sprint(i)] = record{n: i}
	}
	m2 := maps.Clone(m)
	for k, v := range m {
		if v.n%2 == 1 {
			delete(m, k)
		}
		m["new"] = record{n: 2}
	}
	for k, v := range m {
		check(r, v.n%2, 0, "what is left of a map: "+k)
	}
	var all sync.WaitGroup
	for range 2 {
		all.Go(func() {
			sum := 0
			for _, v := range m2 {
				sum += v.n
			}
			check(r, sum, len(m2)*(len(m2)-1)/2, "a map that is only read")
		})
	}
	all.Wait()
	clear(m2)
	check(r, len(m2), 0, "a cleared map")
	keys := map[any]int{1: 1, "a": 2, [2]int{1, 2}: 3, 1.5: 4}
	check(r, keys[[2]int{1, 2}], 3, "a key of an array")
}

// methodValues call through interfaces, values and expressions.
//
//adversary:fragment bubble
func methodValues(r *run) {
	speakers := []speaker{&loud{"!"}, &loud{"?"}}
	calls := []func(string) string{speakers[0].speak, (&loud{"."}).speak}
	expression := (*loud).speak
	var all sync.WaitGroup
	for range r.n(1, 3) {
		all.Go(func() {
			check(r, speakers[1].speak("a"), "A?", "a method of an interface")
			check(r, calls[0]("a")+calls[1]("b"), "A!B.", "method values")
			check(r, expression(&loud{"x"}, "c"), "Cx", "a method expression")
			switch s := speakers[0].(type) {
			case *loud:
				check(r, s.mark, "!", "a type switch")
			default:
				r.Errorf("a type switch took %T", s)
			}
		})
	}
	all.Wait()
}

// sorted sorts parts in several goroutines and merges them.
//
//adversary:fragment bubble
func sorted(r *run) {
	n := r.n(4, 40)
	numbers := make([]int, n)
	for i := range numbers {
		numbers[i] = r.n(0, 1000)
	}
	half := n / 2
	var all sync.WaitGroup
	all.Go(func() { slices.Sort(numbers[:half]) })
	all.Go(func() { sort.Sort(sort.IntSlice(numbers[half:])) })
	all.Wait()
	check(r, slices.IsSorted(numbers[:half]) && slices.IsSorted(numbers[half:]), true, "sorted halves")
	sort.SliceStable(numbers, func(a, b int) bool { return numbers[a] < numbers[b] })
	check(r, slices.IsSorted(numbers), true, "a sorted whole")
	i, ok := slices.BinarySearch(numbers, numbers[n-1])
	check(r, ok && numbers[i] == numbers[n-1], true, "a search")
}

// copies assigns structs and arrays with neighbors that others write.
//
//adversary:fragment bubble
func copies(r *run) {
	var all sync.WaitGroup
	records := make([]record, 4)
	var flags [8]bool
	for i := range records {
		all.Go(func() {
			records[i] = record{n: i, s: strings.Repeat("s", i)}
			other := records[i]
			other.in.x++
			records[i] = other
			flags[2*i], flags[2*i+1] = true, i%2 == 0
		})
	}
	all.Wait()
	for i, rec := range records {
		check(r, rec, record{n: i, s: strings.Repeat("s", i), in: struct{ x, y int }{x: 1}}, "a record")
		check(r, flags[2*i], true, "a flag")
	}
}

// lockedThreads keeps goroutines on threads of their own.
//
//adversary:fragment outside
func lockedThreads(r *run) {
	c := make(chan int)
	var sum atomic.Int64
	var all sync.WaitGroup
	for i := range r.n(1, 3) {
		all.Go(func() {
			runtime.LockOSThread()
			if i == 0 {
				defer runtime.UnlockOSThread() // otherwise the thread ends with its goroutine
			}
			for v := range c {
				sum.Add(int64(v))
			}
		})
	}
	for i := range 6 {
		c <- i
	}
	close(c)
	all.Wait()
	check(r, int(sum.Load()), 15, "what goroutines on threads of their own receive")
}
