package main

import (
	"sync"
	"sync/atomic"
)

// download is the file of aget: all but one function update the number of bytes under a lock.
type download struct {
	mu      sync.Mutex
	written int
}

func (d *download) write(n int) bool {
	d.mu.Lock()
	d.written += n
	d.mu.Unlock()
	return true
}

// save writes the number to the log, at its begin and its end.
func (d *download) save() bool {
	first := d.written
	pause()
	return d.written == first
}

func aget() bool {
	d := new(download)
	return together(d.save, func() bool { return d.write(1) }, d.save)
}

// queue is what the consumers of pbzip2 take blocks from. It is deleted before all have ended.
type queue struct{ blocks *[4]int }

func (q *queue) consume() bool {
	if q.blocks != nil {
		pause()
		q.blocks[0]++
	}
	return true
}

func (q *queue) destroy() bool {
	q.blocks = nil
	return true
}

func pbzip2() bool {
	q := &queue{blocks: new([4]int)}
	return together(q.consume, q.destroy)
}

// item is a file in an archive of nszip, whose offset is computed when it is first wanted.
type item struct {
	located  bool
	computed int
}

func (i *item) seek() bool {
	if !i.located {
		pause()
		i.computed++
		i.located = true
	}
	return true
}

func nszip() bool {
	i := new(item)
	together(i.seek, i.seek)
	return i.computed == 1
}

// buffered is the access log of Apache.
type buffered struct {
	text  [8]byte
	count int
}

func (b *buffered) write(c byte) bool {
	at := b.count
	pause()
	b.text[at] = c
	b.count = at + 1
	return true
}

func apache25520() bool {
	b := new(buffered)
	together(func() bool { return b.write('a') }, func() bool { return b.write('b') })
	return b.count == 2
}

// engine is that of Spidermonkey: the last context takes it down, and a new one needs it.
type engine struct{ state, contexts int }

func (e *engine) open() bool {
	if e.state == 0 {
		pause()
		e.state = 1
		e.contexts++
	}
	return true
}

func spidermonkey() bool {
	e := new(engine)
	together(e.open, e.open, e.open)
	return e.contexts == 1
}

// binlog is the log of MySQL, which is closed and opened again when it has grown too large.
type binlog struct {
	open bool
	mu   sync.Mutex
}

func (l *binlog) renew() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.open = false
	pause()
	l.open = true
	return true
}

func (l *binlog) insert() bool { return l.open }

func mysql791() bool {
	l := &binlog{open: true}
	return together(l.renew, l.insert, l.insert)
}

// cache is the query cache of MySQL, which is emptied while it gets another size.
type cache struct{ bins []int }

func (c *cache) resize() bool {
	c.bins = nil
	pause()
	c.bins = make([]int, 4)
	return true
}

func (c *cache) look() bool { return c.bins[1] == 0 }

func mysql12848() bool {
	c := &cache{bins: make([]int, 2)}
	return together(c.resize, c.look, c.look)
}

// block is a page of InnoDB, whose hash index may be dropped by two threads.
type block struct{ index *int }

func (b *block) drop() bool {
	if b.index != nil {
		pause()
		*b.index--
		b.index = nil
	}
	return true
}

func mysql14747() bool {
	b := &block{index: new(int)}
	return together(b.drop, b.drop)
}

// thread is a connection of MySQL. One thread wakes it up, and another one detaches it.
type thread struct{ system *bool }

func (t *thread) awake() bool {
	if t.system != nil {
		pause()
		*t.system = true
	}
	return true
}

func (t *thread) detach() bool {
	t.system = nil
	return true
}

func mysql35714() bool {
	t := &thread{system: new(bool)}
	return together(t.awake, t.detach)
}

// safeMutex is what MySQL notes of a mutex when it is locked: whether and by whom it is held. Assertions look at both.
type safeMutex struct {
	global sync.Mutex
	count  int
	owner  int
}

func (m *safeMutex) locked(who int) bool {
	m.global.Lock()
	defer m.global.Unlock()
	m.count++
	pause()
	m.owner = who
	return true
}

func (m *safeMutex) notHeldBy(who int) bool {
	count := m.count
	return count == 0 || m.owner != who
}

func mysql16333() bool {
	m := &safeMutex{owner: 1}
	notHeld := func() bool { return m.notHeldBy(1) }
	return together(notHeld, func() bool { return m.locked(2) }, notHeld)
}

// replica is a MySQL server that follows another one. At its end it forgets that one, while threads still work with it.
type replica struct{ master *master }

type master struct {
	running bool
	read    int
}

func (r *replica) handle() bool {
	if r.master == nil {
		return true
	}
	r.master.running = true
	pause()
	r.master.read++
	pause()
	r.master.running = false
	return true
}

func (r *replica) end() bool {
	r.master = nil
	return true
}

func mysql20850() bool {
	r := &replica{master: new(master)}
	return together(r.handle, r.end)
}

// pools is the list of memory pools in Apache that workers give back, without a lock. Only the listener takes from it.
type pools struct{ recycled atomic.Pointer[pool] }

type pool struct{ next *pool }

func (p *pools) swap(old, new *pool) *pool {
	if p.recycled.CompareAndSwap(old, new) {
		pause()
		return old
	}
	return p.recycled.Load()
}

func (p *pools) setIdle(n *pool) bool {
	for {
		n.next = p.recycled.Load()
		if p.swap(n.next, n) == n.next {
			return true
		}
	}
}

func (p *pools) take() *pool {
	for {
		first := p.recycled.Load()
		if first == nil || p.recycled.CompareAndSwap(first, first.next) {
			return first
		}
	}
}

// reuse takes all pools and gives them back.
func (p *pools) reuse() bool {
	var taken []*pool
	for n := p.take(); n != nil; n = p.take() {
		taken = append(taken, n)
	}
	for _, n := range taken {
		p.setIdle(n)
	}
	return true
}

func apache44402() bool {
	p := new(pools)
	p.setIdle(new(pool))
	n := new(pool)
	together(func() bool { return p.setIdle(n) }, p.reuse)
	count := 0
	for at := p.recycled.Load(); at != nil && count < 3; at = at.next {
		count++
	}
	return count == 2
}
