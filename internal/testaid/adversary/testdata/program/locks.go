package adversary

import (
	"runtime"
	"sync"
	"sync/atomic"
	"time"
)

type account struct {
	mu      sync.Mutex
	balance int
	number  int
}

func (a *account) add(n int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.balance += n
}

// lockedTransfer locks two accounts in the order of their numbers.
//
//adversary:fragment bubble
func lockedTransfer(r *run) {
	accounts := make([]*account, 3)
	for i := range accounts {
		accounts[i] = &account{balance: 100, number: i}
	}
	transfer := func(from, to *account, n int) {
		first, second := from, to
		if first.number > second.number {
			first, second = second, first
		}
		first.mu.Lock()
		defer first.mu.Unlock()
		second.mu.Lock()
		defer second.mu.Unlock()
		from.balance -= n
		to.balance += n
	}
	var all sync.WaitGroup
	for i := range 3 {
		n := r.n(1, 9)
		all.Go(func() {
			transfer(accounts[i], accounts[(i+1)%3], n)
			accounts[i].add(n)
			accounts[i].add(-n)
		})
	}
	all.Wait()
	sum := 0
	for _, a := range accounts {
		a.mu.Lock()
		sum += a.balance
		a.mu.Unlock()
	}
	check(r, sum, 300, "the sum of all accounts")
}

// lockedReaders reads two variables of which writers keep the sum.
//
//adversary:fragment bubble
func lockedReaders(r *run) {
	var mu sync.RWMutex
	a, b := 10, 0
	var all sync.WaitGroup
	for range r.n(1, 2) {
		all.Go(func() {
			mu.Lock()
			a--
			b++
			mu.Unlock()
		})
		all.Go(func() {
			reader := mu.RLocker()
			reader.Lock()
			sum := a + b
			reader.Unlock()
			check(r, sum, 10, "a sum under RLocker")
		})
		all.Go(func() {
			if mu.TryRLock() {
				check(r, a+b, 10, "a sum under TryRLock")
				mu.RUnlock()
			}
			if mu.TryLock() {
				a, b = b, a
				mu.Unlock()
			}
		})
	}
	all.Wait()
	check(r, a+b, 10, "the sum at the end")
}

// lockedTry increments by TryLock, and waits when that fails.
//
//adversary:fragment bubble
func lockedTry(r *run) {
	var mu sync.Mutex
	n, count := 0, r.n(2, 3)
	var all sync.WaitGroup
	for range count {
		all.Go(func() {
			for !mu.TryLock() {
				runtime.Gosched()
			}
			n++
			mu.Unlock()
		})
	}
	all.Wait()
	check(r, n, count, "increments under TryLock")
}

// lockedElsewhere unlocks in another goroutine than the one that has locked.
//
//adversary:fragment bubble
func lockedElsewhere(r *run) {
	var mu sync.Mutex
	x := 0
	for range r.n(1, 3) {
		mu.Lock()
		x++
		go func() {
			x++
			mu.Unlock()
		}()
	}
	mu.Lock()
	check(r, x%2, 0, "increments under a lock that was handed over")
	mu.Unlock()
}

// lockedQueue is a bounded queue with two conditions.
//
//adversary:fragment bubble
func lockedQueue(r *run) {
	var mu sync.Mutex
	notFull, notEmpty := sync.NewCond(&mu), sync.NewCond(&mu)
	var queue []int
	bound, count, times := r.n(1, 3), r.n(1, 2), r.n(1, 4)
	sum := 0
	var all sync.WaitGroup
	for range count {
		all.Go(func() {
			for i := range times {
				mu.Lock()
				for len(queue) == bound {
					notFull.Wait()
				}
				queue = append(queue, i)
				notEmpty.Signal()
				mu.Unlock()
			}
		})
		all.Go(func() {
			for range times {
				mu.Lock()
				for len(queue) == 0 {
					notEmpty.Wait()
				}
				sum += queue[0]
				queue = queue[1:]
				notFull.Signal()
				mu.Unlock()
			}
		})
	}
	all.Wait()
	check(r, sum, count*times*(times-1)/2, "sum of a bounded queue")
}

// lockedBarrier makes goroutines wait for each other in rounds.
//
//adversary:fragment bubble
func lockedBarrier(r *run) {
	var mu sync.Mutex
	changed := sync.NewCond(&mu)
	const n = 3
	arrived, round := 0, 0
	wait := func() {
		mu.Lock()
		defer mu.Unlock()
		mine := round
		if arrived++; arrived == n {
			arrived = 0
			round++
			changed.Broadcast()
			return
		}
		for round == mine {
			changed.Wait()
		}
	}
	var slots [n]int
	var all sync.WaitGroup
	rounds := r.n(1, 3)
	for i := range n {
		all.Go(func() {
			for k := range rounds {
				slots[i]++
				wait()
				check(r, slots[(i+1)%n], k+1, "a neighbor's slot after the barrier")
				wait()
			}
		})
	}
	all.Wait()
}

// onceValues computes values once, and lets a panic of a once function come again.
//
//adversary:fragment bubble
func onceValues(r *run) {
	calls := 0
	value := sync.OnceValue(func() map[string]int { calls++; return map[string]int{"a": 5} })
	pair := sync.OnceValues(func() (int, error) { return 3, nil })
	broken := sync.OnceFunc(func() { panic("once") })
	var once sync.Once
	plain := 0
	var all sync.WaitGroup
	for range r.n(2, 3) {
		all.Go(func() {
			check(r, value()["a"], 5, "OnceValue")
			n, err := pair()
			check(r, n, 3, "OnceValues")
			no(r, err, "OnceValues")
			once.Do(func() { plain++ })
			check(r, plain, 1, "Once")
			func() {
				defer func() { check(r, recover(), any("once"), "panic of OnceFunc") }()
				broken()
			}()
		})
	}
	all.Wait()
	check(r, calls, 1, "calls of OnceValue")
}

// waitGroups nests groups and uses one again.
//
//adversary:fragment bubble
func waitGroups(r *run) {
	var outer sync.WaitGroup
	results := make([]int, r.n(2, 4))
	for i := range results {
		outer.Add(1)
		go func() {
			defer outer.Done()
			var inner sync.WaitGroup
			halves := [2]int{}
			for k := range halves {
				inner.Go(func() { halves[k] = i + k })
			}
			inner.Wait()
			results[i] = halves[0] + halves[1]
		}()
	}
	outer.Wait()
	for i, got := range results {
		check(r, got, 2*i+1, "a result of a nested group")
	}
	for round := range 2 {
		outer.Go(func() { results[0] = round })
		outer.Wait()
		check(r, results[0], round, "a group that is used again")
	}
	var waiters sync.WaitGroup
	outer.Add(1)
	for range 2 {
		waiters.Go(func() {
			outer.Wait()
			check(r, results[1], -1, "what several waiters see")
		})
	}
	results[1] = -1
	outer.Done()
	waiters.Wait()
}

// syncMaps uses all methods of sync.Map.
//
//adversary:fragment bubble
func syncMaps(r *run) {
	var m sync.Map
	var all sync.WaitGroup
	var won atomic.Int32
	count := r.n(2, 3)
	m.Store("sum", 0)
	for i := range count {
		all.Go(func() {
			if _, loaded := m.LoadOrStore("first", &node{n: i}); !loaded {
				won.Add(1)
			}
			for {
				old, _ := m.Load("sum")
				if m.CompareAndSwap("sum", old, old.(int)+1) {
					break
				}
			}
			m.Store(i, []int{i})
			m.Range(func(key, value any) bool {
				if k, ok := key.(int); ok {
					check(r, value.([]int)[0], k, "a value of sync.Map")
				}
				return true
			})
			if v, loaded := m.LoadAndDelete(i); !loaded || v.([]int)[0] != i {
				r.Errorf("LoadAndDelete: %v, %v", v, loaded)
			}
			m.Swap("last", &node{n: i})
			m.CompareAndDelete("sum", -1)
		})
	}
	all.Wait()
	sum, _ := m.Load("sum")
	check(r, sum, any(count), "updates of sync.Map")
	check(r, won.Load(), 1, "first values of sync.Map")
	m.Clear()
	m.Range(func(k, v any) bool { r.Errorf("a cleared map has %v", k); return false })
}

// pools takes buffers from a pool that the collector empties.
//
//adversary:fragment bubble
func pools(r *run) {
	pool := sync.Pool{New: func() any { return new([64]byte) }}
	var all sync.WaitGroup
	for i := range r.n(2, 3) {
		all.Go(func() {
			for range 3 {
				b := pool.Get().(*[64]byte)
				for k := range b {
					b[k] = byte(i)
				}
				if i == 0 {
					runtime.GC()
				}
				runtime.Gosched()
				check(r, b[5]+b[63], byte(2*i), "a buffer of a pool")
				pool.Put(b)
			}
		})
	}
	all.Wait()
}

// lockedList walks a list hand over hand.
//
//adversary:fragment bubble
func lockedList(r *run) {
	type link struct {
		mu   sync.Mutex
		n    int
		next *link
	}
	head := &link{}
	for range r.n(2, 3) {
		head = &link{next: head}
	}
	var all sync.WaitGroup
	walkers := r.n(2, 3)
	for range walkers {
		all.Go(func() {
			l := head
			l.mu.Lock()
			for {
				l.n++
				next := l.next
				if next == nil {
					l.mu.Unlock()
					return
				}
				next.mu.Lock()
				l.mu.Unlock()
				l = next
			}
		})
	}
	all.Wait()
	for l := head; l != nil; l = l.next {
		check(r, l.n, walkers, "walks over a link")
	}
}

// lockedSleep holds a lock while it sleeps.
//
//adversary:fragment
func lockedSleep(r *run) {
	var mu sync.Mutex
	n := 0
	var all sync.WaitGroup
	for range r.n(2, 3) {
		all.Go(func() {
			mu.Lock()
			defer mu.Unlock()
			was := n
			time.Sleep(10 * time.Microsecond)
			n = was + 1
		})
	}
	all.Wait()
	if n < 2 {
		r.Errorf("%d increments under a lock with a sleep", n)
	}
}
