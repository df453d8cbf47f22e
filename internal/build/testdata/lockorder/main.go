// Command lockorder executes random programs: goroutines that lock, unlock, send, receive, start others and
// end. Each program has one schedule. Its goroutines take turns by an atomic variable, which is no order for a
// detector of potential deadlocks. The arguments are a seed and the number of programs.
package main

import (
	"math/rand/v2"
	"os"
	"runtime"
	"strconv"
	"sync"
	"sync/atomic"
)

// sites are the places at which programs lock.
var sites = [...]func(sync.Locker){
	func(l sync.Locker) { l.Lock() },
	func(l sync.Locker) { l.Lock() },
	func(l sync.Locker) { l.Lock() },
	func(l sync.Locker) { l.Lock() },
	func(l sync.Locker) { l.Lock() },
	func(l sync.Locker) { l.Lock() },
	func(l sync.Locker) { l.Lock() },
	func(l sync.Locker) { l.Lock() },
	func(l sync.Locker) { l.Lock() },
	func(l sync.Locker) { l.Lock() },
	func(l sync.Locker) { l.Lock() },
	func(l sync.Locker) { l.Lock() },
	func(l sync.Locker) { l.Lock() },
	func(l sync.Locker) { l.Lock() },
	func(l sync.Locker) { l.Lock() },
	func(l sync.Locker) { l.Lock() },
	func(l sync.Locker) { l.Lock() },
	func(l sync.Locker) { l.Lock() },
	func(l sync.Locker) { l.Lock() },
	func(l sync.Locker) { l.Lock() },
	func(l sync.Locker) { l.Lock() },
	func(l sync.Locker) { l.Lock() },
	func(l sync.Locker) { l.Lock() },
	func(l sync.Locker) { l.Lock() },
}

const (
	numLocks      = 4 // of them the latter half are read-write locks
	numGoroutines = 6
	numChannels   = 3
	numSteps      = 200
	maxHeld       = 12 // by a goroutine; programs follow 16
)

// lock is a lock, and who holds it.
type lock struct {
	mutex   *sync.Mutex // or
	rw      *sync.RWMutex
	writer  bool
	readers int
}

// locker returns the lock as it is taken.
func (l *lock) locker(shared bool) sync.Locker {
	switch {
	case l.mutex != nil:
		return l.mutex
	case shared:
		return l.rw.RLocker()
	}
	return l.rw
}

// held is a lock that a goroutine holds.
type held struct {
	lock   int
	shared bool
}

// program is a random program.
type program struct {
	rng      *rand.Rand
	locks    [numLocks]lock
	channels [numChannels]chan int
	sent     [numChannels]int
	once     sync.Once
	group    sync.WaitGroup
	turn     atomic.Int64
	held     [numGoroutines][]held
	steps    [numGoroutines][]step
	running  []int
	begun    int
	n        int64
}

// step is what a goroutine does at its turn.
type step struct {
	turn int64
	do   func()
}

func main() {
	seed, _ := strconv.ParseUint(os.Args[1], 10, 64)
	programs, _ := strconv.Atoi(os.Args[2])
	for i := range programs {
		newProgram(rand.New(rand.NewPCG(seed, uint64(i)))).run(0)
		if i%4 == 3 {
			runtime.GC() // locks and channels of later programs have the memory of earlier ones
		}
	}
}

// newProgram makes a program.
func newProgram(rng *rand.Rand) *program {
	p := &program{rng: rng, running: []int{0}, begun: 1}
	for i := range p.locks {
		if i < numLocks/2 {
			p.locks[i].mutex = new(sync.Mutex)
		} else {
			p.locks[i].rw = new(sync.RWMutex)
		}
	}
	for i := range p.channels {
		p.channels[i] = make(chan int, numSteps)
	}
	for range numSteps {
		p.add(p.running[rng.IntN(len(p.running))])
	}
	for g := range p.begun { // nobody holds a lock in the end
		for len(p.held[g]) > 0 {
			p.unlock(g, g, len(p.held[g])-1)
		}
	}
	return p
}

// then adds a step of goroutine g.
func (p *program) then(g int, do func()) {
	p.steps[g] = append(p.steps[g], step{p.n, do})
	p.n++
}

// add adds a random step of goroutine g, or none.
func (p *program) add(g int) {
	switch p.rng.IntN(13) {
	case 0, 1, 2, 3, 4:
		p.lock(g)
	case 5, 6, 7:
		if n := len(p.held[g]); n > 0 {
			p.unlock(g, g, p.rng.IntN(n))
		}
	case 8:
		c := p.rng.IntN(numChannels)
		p.sent[c]++
		p.then(g, func() { p.channels[c] <- 1 })
	case 9:
		if c := p.rng.IntN(numChannels); p.sent[c] > 0 {
			p.sent[c]--
			p.then(g, func() { <-p.channels[c] })
		}
	case 10:
		if child := p.begun; child < numGoroutines {
			p.begun++
			p.running = append(p.running, child)
			p.then(g, func() { go p.run(child) })
		}
	case 11:
		switch p.rng.IntN(3) {
		case 0:
			p.then(g, func() { p.once.Do(func() {}) })
		case 1:
			p.then(g, func() { p.group.Add(1); p.group.Done() })
		default:
			p.then(g, func() { p.group.Wait() })
		}
	case 12:
		if other := p.running[p.rng.IntN(len(p.running))]; len(p.held[other]) > 0 && p.rng.IntN(4) == 0 {
			at := len(p.held[other]) - 1
			if l := p.held[other][at]; !l.shared || p.locks[l.lock].readers == 1 { // else nobody knows whose it is
				p.unlock(g, other, at)
			}
		}
	}
}

// lock adds an acquisition that need not wait.
func (p *program) lock(g int) {
	i, site, try := p.rng.IntN(numLocks), sites[p.rng.IntN(len(sites))], p.rng.IntN(8) == 0
	l := &p.locks[i]
	shared := l.rw != nil && p.rng.IntN(2) == 0
	if l.writer || !shared && l.readers > 0 || len(p.held[g]) == maxHeld {
		return
	}
	if shared {
		l.readers++
	} else {
		l.writer = true
	}
	p.held[g] = append(p.held[g], held{i, shared})
	locker := l.locker(shared)
	p.then(g, func() {
		switch {
		case !try:
			site(locker)
		case shared:
			l.rw.TryRLock()
		case l.rw != nil:
			l.rw.TryLock()
		default:
			l.mutex.TryLock()
		}
	})
}

// unlock adds a release, by goroutine g, of a lock that another one or g itself holds.
func (p *program) unlock(g, holder, at int) {
	h := p.held[holder][at]
	p.held[holder] = append(p.held[holder][:at:at], p.held[holder][at+1:]...)
	l := &p.locks[h.lock]
	if h.shared {
		l.readers--
	} else {
		l.writer = false
	}
	locker := l.locker(h.shared)
	p.then(g, func() { locker.Unlock() })
}

// run is goroutine g. The first one waits for all turns.
func (p *program) run(g int) {
	for _, s := range p.steps[g] {
		p.await(s.turn)
		s.do()
		p.turn.Add(1)
	}
	if g == 0 {
		p.await(p.n)
	}
}

func (p *program) await(turn int64) {
	for p.turn.Load() != turn {
		runtime.Gosched()
	}
}
