package main

import (
	"context"
	"fmt"
	"iter"
	"maps"
	"reflect"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"
	"unique"
	"unsafe"
	"weak"
)

// cargo is an object that knows what it should contain, so that its memory is seen to be freed and
// reused. Every object is new.
type cargo struct {
	n    int
	text *string
	rest [4]uintptr
}

func newCargo(n int) *cargo {
	text := fmt.Sprint("cargo ", n)
	return &cargo{n, &text, [4]uintptr{1, 2, 3, 4}}
}

// check panics unless c is as newCargo has made it, and returns its number.
func (c *cargo) check() int {
	if *c.text != fmt.Sprint("cargo ", c.n) || c.rest != [4]uintptr{1, 2, 3, 4} {
		panic(fmt.Sprintf("memory of %#x was freed or overwritten: %#x", c.n, c.rest))
	}
	return c.n
}

func mustEqual(got, want int) {
	if got != want {
		panic(fmt.Sprintf("%d (%#x) in place of %d", got, got, want))
	}
}

// pointerNoRaces have new objects at hand wherever a goroutine may be stopped, often by nothing but
// the pointer that is being passed on.
func pointerNoRaces() map[string]func() {
	return map[string]func(){
		"pointer-swap": func() {
			var p atomic.Pointer[cargo]
			p.Store(newCargo(0))
			parallel(3, func(int) {
				for range 10 {
					for old := p.Load(); !p.CompareAndSwap(old, newCargo(old.check()+1)); old = p.Load() {
					}
				}
			})
			mustEqual(p.Load().check(), 30)
		},
		"pointer-exchange": func() {
			var p atomic.Pointer[cargo]
			var sum atomic.Int64
			parallel(3, func(int) {
				for i := range 10 {
					if old := p.Swap(newCargo(i)); old != nil {
						sum.Add(int64(old.check()))
					}
				}
			})
			mustEqual(int(sum.Load())+p.Load().check(), 135)
		},
		"pointer-functions": func() {
			var p, q unsafe.Pointer
			atomic.StorePointer(&p, unsafe.Pointer(newCargo(1)))
			parallel(3, func(i int) {
				for range 8 {
					atomic.StorePointer(&q, unsafe.Pointer(newCargo(i)))
					(*cargo)(atomic.LoadPointer(&q)).check()
					(*cargo)(atomic.SwapPointer(&q, unsafe.Pointer(newCargo(i)))).check()
					old := atomic.LoadPointer(&p)
					atomic.CompareAndSwapPointer(&p, old, unsafe.Pointer(newCargo((*cargo)(old).check()+1)))
				}
			})
			if n := (*cargo)(p).check(); n < 2 || n > 25 {
				mustEqual(n, 25)
			}
		},
		"pointer-value": func() {
			var v atomic.Value
			v.Store(newCargo(0))
			parallel(3, func(int) {
				for range 6 {
					for {
						old := v.Load()
						if v.CompareAndSwap(old, newCargo(old.(*cargo).check()+1)) {
							break
						}
					}
				}
			})
			mustEqual(v.Swap(newCargo(7)).(*cargo).check(), 18)
		},
		// A stack without locks: if a node were freed while a goroutine is about to take it off, another
		// one could get its address, and the exchange would succeed.
		"pointer-stack": func() {
			type node struct {
				*cargo
				next *node
			}
			var top atomic.Pointer[node]
			var popped atomic.Int64
			parallel(3, func(id int) {
				for i := range 8 {
					n := &node{cargo: newCargo(100*id + i)}
					for n.next = top.Load(); !top.CompareAndSwap(n.next, n); n.next = top.Load() {
					}
					for {
						old := top.Load()
						if old == nil || top.CompareAndSwap(old, old.next) {
							if old != nil {
								popped.Add(int64(old.check()))
							}
							break
						}
					}
				}
			})
			for n := top.Load(); n != nil; n = n.next {
				popped.Add(int64(n.check()))
			}
			mustEqual(int(popped.Load()), 8*(0+100+200)+3*28)
		},
		"pointer-syncmap": func() {
			var m sync.Map
			parallel(3, func(id int) {
				for i := range 8 {
					key := fmt.Sprint("key ", i)
					v, _ := m.LoadOrStore(key, newCargo(i))
					mustEqual(v.(*cargo).check(), i)
					m.CompareAndSwap(key, v, newCargo(i))
					if old, ok := m.Swap(key, newCargo(i)); ok {
						mustEqual(old.(*cargo).check(), i)
					}
				}
			})
			m.Range(func(_, v any) bool { v.(*cargo).check(); return true })
		},
		"pointer-channels": func() {
			plain, buffered, done := make(chan *cargo), make(chan *cargo, 2), make(chan int)
			go func() {
				for i := range 10 {
					plain <- newCargo(i)
					select {
					case buffered <- newCargo(i):
					case plain <- newCargo(i):
					}
				}
				close(plain)
			}()
			go func() {
				sum := 0
				for plain != nil || len(buffered) > 0 {
					select {
					case c, ok := <-plain:
						if !ok {
							plain = nil
							break
						}
						sum += c.check()
					case c := <-buffered:
						sum += c.check()
					}
				}
				done <- sum
			}()
			mustEqual(<-done, 90)
		},
		"pointer-map": func() {
			var mu sync.RWMutex
			m := map[string]*cargo{}
			keys := map[*cargo]string{}
			parallel(3, func(id int) {
				for i := range 8 {
					key := fmt.Sprint(id, " ", i)
					mu.Lock()
					m[key] = newCargo(i)
					keys[m[key]] = key
					mu.Unlock()
					mu.RLock()
					mustEqual(m[key].check(), i)
					for c, k := range maps.Clone(keys) {
						m[k].check()
						c.check()
					}
					mu.RUnlock()
				}
			})
		},
		"pointer-slices": func() {
			var mu sync.Mutex
			var all []*cargo
			parallel(3, func(int) {
				for i := range 8 {
					mu.Lock()
					all = append(all, newCargo(i), newCargo(i+1))
					all = slices.Insert(all, len(all)/2, newCargo(i))
					all[0], all[len(all)-1] = all[len(all)-1], newCargo(3)
					copied := slices.Clone(all)
					mu.Unlock()
					for _, c := range copied {
						c.check()
					}
				}
			})
		},
		"pointer-pool": func() {
			pool := sync.Pool{New: func() any { return newCargo(1) }}
			parallel(3, func(int) {
				for range 8 {
					c := pool.Get().(*cargo)
					c.check()
					pool.Put(c)
					pool.Put(newCargo(2))
				}
			})
		},
		"pointer-once": func() {
			value := sync.OnceValue(func() *cargo { return newCargo(5) })
			parallel(4, func(int) { mustEqual(value().check(), 5) })
		},
		"pointer-cond": func() {
			var mu sync.Mutex
			filled := sync.NewCond(&mu)
			var queue []*cargo
			go func() {
				for i := range 10 {
					mu.Lock()
					queue = append(queue, newCargo(i))
					mu.Unlock()
					filled.Signal()
				}
			}()
			sum := 0
			for range 10 {
				mu.Lock()
				for len(queue) == 0 {
					filled.Wait()
				}
				c := queue[0]
				queue = queue[1:]
				mu.Unlock()
				sum += c.check()
			}
			mustEqual(sum, 45)
		},
		"pointer-weak": func() {
			parallel(3, func(i int) {
				for range 5 {
					c := newCargo(i)
					p := weak.Make(c)
					u := unique.Make(fmt.Sprint("name ", i))
					mustEqual(p.Value().check(), i)
					mustEqual(c.check(), i)
					if u.Value() != fmt.Sprint("name ", i) {
						panic(u.Value())
					}
				}
			})
		},
		"pointer-pull": func() {
			parallel(3, func(int) {
				next, stop := iter.Pull(func(yield func(*cargo) bool) {
					for i := 0; yield(newCargo(i)); i++ {
					}
				})
				for i := range 6 {
					c, _ := next()
					mustEqual(c.check(), i)
				}
				stop()
			})
		},
		"pointer-reflection": func() {
			out := make(chan *cargo, 1)
			f := reflect.MakeFunc(reflect.TypeFor[func(*cargo) *cargo](), func(in []reflect.Value) []reflect.Value {
				return []reflect.Value{reflect.ValueOf(newCargo(in[0].Interface().(*cargo).check() + 1))}
			})
			parallel(3, func(i int) {
				for range 4 {
					mustEqual(f.Call([]reflect.Value{reflect.ValueOf(newCargo(i))})[0].Interface().(*cargo).check(), i+1)
					reflect.Select([]reflect.SelectCase{{Dir: reflect.SelectSend, Chan: reflect.ValueOf(out), Send: reflect.ValueOf(newCargo(i))}})
					v, _ := reflect.ValueOf(out).Recv()
					v.Interface().(*cargo).check()
					s := reflect.Append(reflect.ValueOf([]*cargo{newCargo(1)}), reflect.ValueOf(newCargo(2)))
					mustEqual(s.Index(1).Interface().(*cargo).check(), 2)
				}
			})
		},
		"pointer-timers": func() {
			ctx, cancel := context.WithTimeout(context.WithValue(context.Background(), "cargo", newCargo(3)), time.Hour)
			var wg sync.WaitGroup
			for i := range 4 {
				wg.Add(1)
				c := newCargo(i)
				time.AfterFunc(time.Millisecond, func() {
					mustEqual(c.check(), i)
					mustEqual(ctx.Value("cargo").(*cargo).check(), 3)
					wg.Done()
				})
			}
			wg.Wait()
			cancel()
			<-ctx.Done()
		},
		"pointer-strings": func() {
			var mu sync.Mutex
			var b strings.Builder
			var last any
			parallel(3, func(i int) {
				for range 5 {
					part := strings.Repeat(fmt.Sprint(i), 40)
					mu.Lock()
					b.WriteString(part)
					last = part + b.String()[:0]
					text := []byte(last.(string))
					mu.Unlock()
					if string(text) != strings.Repeat(fmt.Sprint(i), 40) {
						panic(string(text))
					}
				}
			})
			mustEqual(b.Len(), 600)
		},
		"pointer-deferred": func() {
			var mu sync.Mutex
			var kept []*cargo
			parallel(3, func(i int) {
				for range 5 {
					func() (c *cargo) {
						c = newCargo(i)
						defer func() {
							recover()
							mu.Lock()
							defer mu.Unlock()
							kept = append(kept, c, newCargo(i))
						}()
						mu.Lock()
						defer mu.Unlock()
						if len(kept) > 0 {
							kept[0].check()
						}
						panic(newCargo(i))
					}().check()
				}
			})
			for _, c := range kept {
				c.check()
			}
		},
	}
}
